"""One prompt against plugins as a run of a single test that no file holds, and what came of it."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from skillwalker.checks import CheckedTest
from skillwalker.cli.tried import no_directory
from skillwalker.errors import ConfigurationError, Problem
from skillwalker.evals import Eval, Test, TestType, slug
from skillwalker.models import DEFAULT_MODEL, is_model
from skillwalker.plan import plan, tree_notices
from skillwalker.plugins import PluginSet, load_plugins
from skillwalker.records import trial_object
from skillwalker.reports.console import Paint, plain
from skillwalker.request import Prepared, RunRequest
from skillwalker.results import RunResult, TrialResult
from skillwalker.store import RunDirectory, Store
from skillwalker.text import count, is_blank, listed, safe
from skillwalker.transcript import Transcript

EVAL = "try"


@frozen
class Attempt:
    """What a trial of an ad hoc prompt showed.

    Attributes:
        listed: Ids of skills and agents that the model was told of; None where no request told any.
        tools: Calls by the tool's name, those of skills and agents left out.
        answer: None where there was none.
    """

    run: RunResult
    trial: TrialResult
    plugins: PluginSet
    listed: Mapping[str, Sequence[str]] | None
    tools: Mapping[str, int]
    answer: str | None
    transcript: Path = field(repr=False)

    @property
    def measured(self) -> bool:
        return self.trial.healthy


def prepare_attempt(
    directories: Sequence[Path], prompt: str, request: RunRequest, project: Path | None
) -> Prepared:
    """Ready to run; `request` says all but the test, and its root is where the run is written.

    Args:
        directories: Plugins, wherever they are.
        project: The root that they may belong to; links in them are followed below it, else below themselves.

    Raises:
        ConfigurationError: with all that is wrong with them, the prompt and the model.
    """
    problems = [Problem(no_directory(one, project)) for one in directories if not os.path.isdir(one)]
    if is_blank(prompt):
        problems.append(Problem("the prompt is empty; it is the last argument, or - for standard input"))
    if request.model is not None and not is_model(request.model):
        problems.append(
            Problem(f"--model must be opus, sonnet, haiku or a full claude-... name, not {request.model}")
        )
    plugins = PluginSet()
    root = Path()
    if not problems:
        places = [Path(os.path.abspath(directory)) for directory in directories]
        root = common_root(places, project)
        plugins = load_plugins(root, [relative(place, root) for place in places])
        problems += [Problem(safe(_named(message, directories[0]))) for _, message in plugins.problems]
    if problems:
        raise ConfigurationError(problems)
    test = Test(
        name=slug(prompt) or "prompt",
        type=TestType.SKILL_PROMPT,
        prompt_file=root / "prompt",
        prompt=prompt,
        expect=(),
        path="tests[0]",
        model=request.model or DEFAULT_MODEL,
    )
    written = tuple(plugin.written for plugin in plugins.plugins)
    evaluation = Eval(EVAL, root, root / EVAL, written, (test,))
    planned = plan([CheckedTest(evaluation, test, plugins, ())], trials=1)
    notices = (_named(notice, directories[0]) for notice in (*plugins.notices, *tree_notices(planned)))
    return Prepared(request, planned, tuple(notices))


def _named(message: str, directory: Path) -> str:
    """A plugin that is the root itself is `.` in messages, which here says nothing."""
    return f"{directory}{message[1:]}" if message.startswith(".: ") else message


def common_root(places: Sequence[Path], project: Path | None) -> Path:
    """What the plugins are relative to."""
    if project and all(place.is_relative_to(project) for place in places):
        return project
    return Path(os.path.commonpath(places))


def relative(place: Path, root: Path) -> str:
    """As `plugins` of a tests.json has it."""
    return place.relative_to(root).as_posix()


def read_attempt(prepared: Prepared, run: RunResult) -> Attempt | None:
    """What is to be told of it; None where it did not run to its end."""
    trials = run.tests[0].trials
    if not trials:
        return None
    [planned] = prepared.tests
    plugins = planned.checked.plugins
    directory = Store(prepared.request.root).find(run.run_id)
    folder = directory.path / "trials" / trials[0].id
    transcript = Transcript.read(folder / "events.jsonl", plugins.names, planned.checked.test.prompt)
    tools = Counter(one.name for one in transcript.tool_calls() if one.name not in ("Skill", "Task", "Agent"))
    return Attempt(
        run=run,
        trial=trials[0],
        plugins=plugins,
        listed=_listed(directory, trials[0].id),
        tools=dict(tools),
        answer=transcript.final_text,
        transcript=folder / "events.jsonl",
    )


def _listed(directory: RunDirectory, trial: str) -> Mapping[str, Sequence[str]] | None:
    """By the gateway's log: the last that it tells, all that was listed once where that changed."""
    found: dict[str, dict[str, None]] = {}
    try:
        lines = (directory.path / "trials" / trial / "gateway.jsonl").read_text("utf-8").splitlines()
    except OSError:
        return None
    for line in lines:
        for kind, names in json.loads(line).get("listed", {}).items():
            found.setdefault(kind, {}).update(dict.fromkeys(names))
    return {kind: list(names) for kind, names in found.items()} or None


def attempt_object(attempt: Attempt) -> dict[str, Any]:
    """For programs; what was not observed is None."""
    run, trial = attempt.run, trial_object(attempt.trial)
    kept = ("reason", "message", "duration_ms", "cost_usd", "turns", "usage", "skills", "agents", "notes")
    return {
        "schema": 1,
        "measured": attempt.measured,
        "model_source": run.model_source,
        "sandbox": run.sandbox,
        "claude_code_version": run.claude_code_version,
        "image": run.image,
        "model": run.tests[0].model,
        **{key: trial[key] for key in kept},
        "listed": attempt.listed and {kind: list(names) for kind, names in attempt.listed.items()},
        "tools": dict(attempt.tools),
        "answer": attempt.answer,
    }


def attempt_lines(attempt: Attempt, paint: Paint = plain) -> Iterator[str]:
    """For people. What the model said is marked; nobody's text stands where only ours does."""
    run, trial = attempt.run, attempt.trial
    version = f"Claude Code {safe(run.claude_code_version)}" if run.claude_code_version else "Claude Code"
    yield f"ran       {version}, {safe(run.tests[0].model)}, {run.sandbox}{_took(trial)}"
    if trial.reason:
        yield paint(f"broken    {trial.reason}: {safe(trial.message)}", "yellow")
        yield f"          {trial.advice}"
    yield from (f"listed    {line}" for line in _listed_lines(attempt))
    calls = list(_calls(attempt))
    nothing = "nothing" if attempt.measured else "nothing that was seen; it may have been cut off before"
    yield f"called    {', '.join(calls) or nothing}"
    for note in trial.notes:
        yield f"note      {safe(note)}"
    yield f"tokens    {_tokens(trial)}"
    yield f"cost      {_cost(attempt)}"
    if attempt.answer is None or is_blank(attempt.answer):
        yield "answer    none"
        return
    yield "answer"
    for line in safe(attempt.answer.strip("\n"), lines=True).split("\n"):
        yield f"  | {line}"


def _took(trial: TrialResult) -> str:
    took = "" if trial.duration_ms is None else f", {trial.duration_ms / 1000:.1f} s"
    return took + ("" if trial.turns is None else f", {count(trial.turns, 'turn')}")


def _listed_lines(attempt: Attempt) -> Iterator[str]:
    """What of the plugins the model was told of, what not, and how much else."""
    if attempt.listed is None:
        yield "not observed"
        return
    own_skills = {skill.id for plugin in attempt.plugins.plugins for skill in plugin.skills}
    own_agents = {agent.id for plugin in attempt.plugins.plugins for agent in plugin.agents}
    skills = (skill for plugin in attempt.plugins.plugins for skill in plugin.skills)
    closed = {skill.id for skill in skills if not skill.model_may_call}
    told = {kind: set(names) for kind, names in attempt.listed.items()}
    for kind, own in (("skills", own_skills), ("agents", own_agents)):
        seen = told.get(kind, set())
        if own & seen:
            yield f"{kind} {listed(sorted(own & seen), 20)}"
        if kept := (own - seen) & closed:
            yield f"without the {kind} {listed(sorted(kept), 20)}, which only users may call"
        if missing := own - seen - closed:
            yield f"without the {kind} {listed(sorted(missing), 20)}"
    others = sum(len(names) for names in told.values()) - len(
        (own_skills & told.get("skills", set())) | (own_agents & told.get("agents", set()))
    )
    if others:
        yield f"and {count(others, 'skill or agent', 'skills and agents')} of Claude Code's own"


def _calls(attempt: Attempt) -> Iterator[str]:
    for skill in attempt.trial.skills:
        broken = " (did not load)" if skill.loaded is False else ""
        yield f"skill {safe(skill.name)}{_times(skill.calls)}{broken}"
    for agent in attempt.trial.agents:
        broken = " (did not start)" if agent.started is False else ""
        yield f"agent {safe(agent.name)}{_times(agent.calls)}{broken}"
    for name, times in attempt.tools.items():
        yield f"{safe(name, 80)}{_times(times)}"


def _times(number: int) -> str:
    return "" if number == 1 else f" x {number}"


def _tokens(trial: TrialResult) -> str:
    usage = trial.usage
    if usage is None:
        return "not observed"
    parts = (
        ("in", usage.input_tokens),
        ("out", usage.output_tokens),
        ("read from the cache", usage.cache_read_input_tokens),
        ("written to it", usage.cache_creation_input_tokens),
    )
    return ", ".join(f"{number:,} {what}" for what, number in parts if number is not None) or "not observed"


def _cost(attempt: Attempt) -> str:
    if attempt.trial.cost_usd is not None:
        return f"${attempt.trial.cost_usd:.4f}"
    return "none: no model was asked" if attempt.run.model_source in ("rehearsal", "replay") else "not known"
