"""What a script says that does not fit its test: replies for a judge that nobody asks, unknown skills.

A rehearsal may be about just that: a model that calls what is not there, a judge whose answer is no answer.
So it is told, and stops nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skillwalker.errors import Problem
from skillwalker.evals import Eval, Test
from skillwalker.expectations.bound import Bound
from skillwalker.gateway.replies import Reply, TestScript, Turn
from skillwalker.plugin_set import PluginSet, UnresolvedError
from skillwalker.text import count, listed, safe

_TAKES = "takes one reply for each vote, and one more after an answer that cannot be read"


def script_misfits(
    script: TestScript, evaluation: Eval, plugins: PluginSet, expectations: Sequence[Bound]
) -> Iterator[Problem]:
    """With their JSON paths in the script."""
    for one in (script, *script.trials.values()):
        yield from _judge_misfits(one.judge or (), evaluation, expectations)
        for path, name in _unknown_skills(one, plugins):
            yield Problem(safe(_why(name, plugins)), path=path)


def script_notices(script: TestScript, test: Test) -> Iterator[str]:
    """What has no place in the script of its own, and depends on how often the test is run."""
    for number in script.trials:
        if number > test.trials:
            have = f"the test has {count(test.trials, 'trial')} unless --trials says otherwise"
            yield f"{script.file}: {safe(test.name)} has answers for trial {number}, and {have}"


def _judge_misfits(
    turns: Sequence[Turn], evaluation: Eval, expectations: Sequence[Bound]
) -> Iterator[Problem]:
    """None where it is not known for how much an expectation asks the judge."""
    judges = [bound for bound in expectations if getattr(bound.expectation, "uses_judge", False)]
    if not turns:
        return
    told = [_size(bound, evaluation) for bound in judges]
    sizes = {size for size in told if size is not None}
    if None in told:
        return
    wanted_turns = _most_turns(turns, sum(map(_votes, judges)))
    for turn in turns[wanted_turns:]:
        said = "no expectation asks a judge"
        if judges:
            names = listed([bound.spec.type for bound in judges])
            said = f"the test asks a judge for {names} only, and each {_TAKES}"
        yield Problem(f"is never asked for: {said}", path=turn[0].path)
    for reply in (reply for turn in turns[:wanted_turns] for reply in turn):
        if reply.passed is not None and len(reply.passed) not in sizes:
            wanted = " or ".join(count(size, "criterion", "criteria") for size in sorted(sizes))
            has = count(len(reply.passed), "answer")
            yield Problem(f"has {has}, and the judge is asked for {wanted}", path=f"{reply.path}.passed")


def _most_turns(turns: Sequence[Turn], askings: int) -> int:
    """How many turns may be asked for at most: a text that is no answer is asked for once more."""
    used = 0
    for _ in range(askings):
        again = used < len(turns) and any(reply.passed is None for reply in turns[used])
        used += 2 if again else 1
    return used


def _votes(bound: Bound) -> int:
    votes = getattr(bound.expectation, "votes", 1)
    return votes if isinstance(votes, int) and votes > 0 else 1


def _size(bound: Bound, evaluation: Eval) -> int | None:
    """How many criteria an expectation asks the judge for; None where it does not say."""
    ask = getattr(bound.expectation, "criteria_count", None)
    return ask(evaluation) if callable(ask) else None


def _unknown_skills(script: TestScript, plugins: PluginSet) -> Iterator[tuple[str, str]]:
    """(JSON path, name) of each skill that the script calls and that its plugin does not have."""
    prefixes = {plugin.name for plugin in plugins.plugins}
    for turns in (script.main or (), *script.agents.values()):
        for reply in (reply for turn in turns for reply in turn):
            for path, name in _skills_of(reply):
                if name.partition(":")[0] in prefixes and name not in plugins.names.skills:
                    yield path, name


def _skills_of(reply: Reply) -> Iterator[tuple[str, str]]:
    for index, block in enumerate(reply.content or ()):
        if block.get("type") == "tool_use" and block.get("name") == "Skill":
            name = block["input"].get("skill")
            if isinstance(name, str) and ":" in name:
                yield f"{reply.path}.content[{index}].input.skill", name.removeprefix("/")


def _why(name: str, plugins: PluginSet) -> str:
    try:
        plugins.skill(name)
    except UnresolvedError as error:
        return str(error)
    return f"{name} is the name of several skills"  # all else has its place in the table of names
