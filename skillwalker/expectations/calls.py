"""Whether a skill or an agent was called: one rule for both, with the varying part passed in.

A call that was seen is a fact in any trial. That there was none is a fact only in a healthy one. A call that
was made but refused (denied, disabled, wrong input, its name without the plugin, which Claude Code does not
take) is neither: it fails an expected call, since nothing ran, and it fails an unexpected one, since the
description did lead the model to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

from attrs import field, frozen

from skillwalker.evals import Eval, Test, TestType
from skillwalker.expectations.base import NotObservedError, Trial, Verdict
from skillwalker.expectations.options import shown
from skillwalker.names import Names
from skillwalker.outcomes import Outcome
from skillwalker.plugins import PluginSet, load_plugins
from skillwalker.text import listed, safe

_CALL_TESTS = {TestType.SKILL_CALL, TestType.AGENT_CALL}
_ERROR_LIMIT = 200


class _Use(NamedTuple):
    """One skill or agent as it was seen.

    Attributes:
        ran: False where every attempt was refused, None where that was not seen.
        candidates: The ids that `name` may stand for where it has several owners.
    """

    name: str
    ran: bool | None
    calls: int
    position: int
    errors: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()


@frozen
class _Kind:
    """What differs between skills and agents."""

    word: str
    file_field: str
    file_of: Callable[[Test], str | None]
    uses: Callable[[Trial], Sequence[_Use]]
    hidden: Callable[[Trial], bool]
    canonical: Callable[[Names, str], str]
    find: Callable[[PluginSet, str], Any]

    def expand(self, value: Any, test: Test) -> Any:
        """The shorthand: true or false is about the test's own skill or agent."""
        if isinstance(value, dict):
            return value
        if not isinstance(value, bool):
            options = f"an object with the options {self.word}, expected"
            raise ValueError(f"expected true or false, or {options}, got {shown(value)}")
        own = self.file_of(test)
        if own is None:
            said = str(value).lower()
            long_form = f'{{"{self.word}": "plugin:{self.word}", "expected": {said}}}'
            raise ValueError(
                f"{said} is about the {self.word} of {self.file_field}, and this test has none; "
                f"add {self.file_field}, or write {long_form}"
            )
        return {self.word: own, "expected": value}

    def missing(self, reference: str, evaluation: Eval, test: Test) -> Iterator[str]:
        own = self.file_of(test)
        if reference == own:
            return  # the test's own field is checked with the test
        plugins = load_plugins(evaluation.root, evaluation.plugins)
        if plugins.problems:
            return  # they are told with the eval, and what is missing here is missing because of them
        try:
            target = self.find(plugins, reference)
        except LookupError as error:
            yield f"{self.word}: {error.args[0] if error.args else error}"
            return
        only = test.skill_file if test.type is TestType.SKILL_CALL else test.agent_file
        if only is None:
            return  # that it is missing, or that the type is another one, is told with the test
        if test.type in _CALL_TESTS and (own is None or _id_of(self, plugins, own) != target.id):
            yield f"{self.word}: a {test.type} test holds nothing but {only}, so {reference} cannot be called"

    def check(self, trial: Trial, reference: str, expected: bool) -> Verdict:
        target = self._target(trial, reference)
        trial.require_own(f"whether {target} was called")
        uses = self.uses(trial)
        own = next((use for use in uses if use.name == target), None)
        if own is not None and own.ran is not False:
            return self._called(target, own, uses, expected)
        if own is not None and not expected:
            how = f"the model did call it ({_place(own)}) and was refused: {_why(own)}"
            return Verdict(Outcome.FAILED, f"expected {target} not to be called; {how}")
        self._require_seen_all(trial, target, uses)
        if own is not None:
            message = f"expected {target} to be called; it was, and was refused: {_why(own)}"
            return Verdict(Outcome.FAILED, message)
        called = listed([use.name for use in uses]) or "none"
        if expected:
            return Verdict(Outcome.FAILED, f"expected {target} to be called; called: {called}")
        return Verdict(Outcome.PASSED, f"{target} was not called; called: {called}")

    def _require_seen_all(self, trial: Trial, target: str, uses: Sequence[_Use]) -> None:
        """Raises NotObservedError where `target` may have been called although no such call was seen."""
        what = f"whether {target} was called"
        trial.require_healthy(what)
        for use in uses:
            if target in use.candidates:
                owners = " and ".join(use.candidates)
                raise NotObservedError(f"{use.name} was called, a name of {owners}; {what}", None)
        if self.hidden(trial):
            raise NotObservedError(f"the stream may hide the use of a {self.word}; {what}", None)

    def _target(self, trial: Trial, reference: str) -> str:
        """The id; a test may name a plugin by its directory, which the names in a stream never do."""
        try:
            plugins = load_plugins(trial.eval.root, trial.eval.plugins)
            return str(self.find(plugins, reference).id)
        except LookupError:
            return self.canonical(trial.names, reference)

    def _called(self, target: str, use: _Use, uses: Sequence[_Use], expected: bool) -> Verdict:
        how = f"{_place(use)}{_before(use, uses)}"
        if use.ran is None:
            how += f", it broke: {_why(use)}" if use.errors else ", its result was not seen"
        if expected:
            return Verdict(Outcome.PASSED, f"{target} was called ({how})")
        return Verdict(Outcome.FAILED, f"expected {target} not to be called; it was ({how})")


def _unreachable(reference: str, evaluation: Eval) -> Iterator[str]:
    """Why the model can never call a skill by its description, whatever the prompt."""
    try:
        plugins = load_plugins(evaluation.root, evaluation.plugins)
        skill = plugins.skill(reference)
    except LookupError:
        return  # told elsewhere
    if not skill.model_may_call:
        yield f"{reference} has disable-model-invocation: the model may not call it, so this can never pass"
    elif skill.description is None:
        flaws = [flaw for part, flaw in plugins.undescribed if part == skill]
        because = f" ({flaws[0].place}: {skill.problem})" if flaws else ""
        yield f"{reference} has no description that Claude Code lists{safe(because)}, so this can never pass"


def _id_of(kind: _Kind, plugins: PluginSet, reference: str) -> str | None:
    try:
        return str(kind.find(plugins, reference).id)
    except LookupError:
        return None


def _place(use: _Use) -> str:
    where = f"tool call {use.position}" if use.position else "by the prompt itself"
    return where if use.calls == 1 else f"{where} and {use.calls - 1} more"


def _why(use: _Use) -> str:
    return safe(use.errors[0], _ERROR_LIMIT) if use.errors else "no reason was given"


def _before(use: _Use, uses: Sequence[_Use]) -> str:
    earlier = [other.name for other in uses if other is not use and other.position < use.position]
    return f", preceded by {listed(earlier)}" if earlier else ""


def _skill_uses(trial: Trial) -> Sequence[_Use]:
    return [
        _Use(use.name, use.loaded, use.calls, use.first_position, use.errors, use.candidates)
        for use in trial.transcript.skills
    ]


def _agent_uses(trial: Trial) -> Sequence[_Use]:
    """A call of an agent that does not exist is no call of it: nothing of it can have led the model there.

    Only the full id says that: the name without the plugin is refused although the agent is there.
    """
    return [
        _Use(use.name, use.started, use.calls, use.first_position, use.errors)
        for use in trial.transcript.agents
        if use.started is not False or not all(_is_unknown(use.name, error) for error in use.errors)
    ]


def _is_unknown(name: str, error: str) -> bool:
    return f"Agent type '{name}' not found" in error


_SKILL = _Kind(
    word="skill",
    file_field="skillFile",
    file_of=lambda test: test.skill_file,
    uses=_skill_uses,
    hidden=lambda trial: trial.transcript.skills_hidden,
    canonical=Names.skill,
    find=PluginSet.skill,
)
_AGENT = _Kind(
    word="agent",
    file_field="agentFile",
    file_of=lambda test: test.agent_file,
    uses=_agent_uses,
    hidden=lambda trial: trial.transcript.agents_hidden,
    canonical=Names.agent,
    find=PluginSet.agent,
)


def _two_parts(_: Any, attribute: Any, value: str) -> None:
    plugin, colon, name = value.partition(":")
    if not (plugin and colon and name):
        raise ValueError(
            f"'{attribute.name}' must have the form plugin:{attribute.name}, got {safe(value, 60)!r}"
        )


@frozen
class SkillCall:
    """The skill was called, or was not.

    The short form, true or false, is about the skill of the test's `skillFile`.

    Attributes:
        skill: `plugin:skill`.
        expected: true if it should be called, false if it should not.

    Examples:
        {"skill-call": true}
        {"skill-call": {"skill": "acme:code-review", "expected": false}}
    """

    shorthand: ClassVar[str] = "expected"

    skill: str = field(validator=_two_parts)
    expected: bool

    @property
    def expects_call(self) -> tuple[str, bool]:
        return self.skill, self.expected

    @classmethod
    def expand(cls, value: Any, test: Test) -> Any:
        return _SKILL.expand(value, test)

    def requires(self, eval: Eval, test: Test) -> Iterable[str]:
        yield from _SKILL.missing(self.skill, eval, test)
        if self.expected and test.type is TestType.SKILL_CALL:
            yield from _unreachable(self.skill, eval)

    def check(self, trial: Trial) -> Verdict:
        return _SKILL.check(trial, self.skill, self.expected)


@frozen
class AgentCall:
    """The agent was started, or was not; whether it also finished does not matter.

    The short form, true or false, is about the agent of the test's `agentFile`.

    Attributes:
        agent: `plugin:agent`.
        expected: true if it should be started, false if it should not.

    Examples:
        {"agent-call": true}
        {"agent-call": {"agent": "acme:gap-analyzer", "expected": false}}
    """

    shorthand: ClassVar[str] = "expected"

    agent: str = field(validator=_two_parts)
    expected: bool

    @property
    def expects_call(self) -> tuple[str, bool]:
        return self.agent, self.expected

    @classmethod
    def expand(cls, value: Any, test: Test) -> Any:
        return _AGENT.expand(value, test)

    def requires(self, eval: Eval, test: Test) -> Iterable[str]:
        return _AGENT.missing(self.agent, eval, test)

    def check(self, trial: Trial) -> Verdict:
        return _AGENT.check(trial, self.agent, self.expected)
