"""The interface of expectation types: what a type is, what it gets, what it answers.

A type is a frozen attrs class (or dataclass) whose fields are its options in `tests.json`, with one method:

    @frozen
    class MaxTurns:
        \"\"\"The trial took at most `turns` model turns.\"\"\"
        turns: int

        def check(self, trial: Trial) -> Verdict: ...

and one entry point in the group `skillwalker.expectations`. The first line of its docstring describes it in
lists, its section `Attributes:` the options, and its section `Examples:` holds entries of `expect`, a JSON
object each. An option that has another name in `tests.json` has that one as its field's `alias` (attrs).

Class attributes are optional (annotated as `ClassVar`, since they are no options):

    shorthand = "turns"      the option that a value stands for which is no JSON object: `{"max-turns": 3}`
    interface_version = 1    the version of this interface that the type is written for
    uses_judge = True        it asks the judge model, so that a run can get ready for that
    uses_commands = True     it runs commands, which only isolated runs can
    check_seconds = 90.0     how long `check` may take, where a minute is not enough; may be a property
    expects_call             a property: the skill or agent that it expects to be called or not to be, and
                             which: `("acme:tidy", True)`. Counts of activations rest on its verdicts

Hooks are optional too:

    @classmethod
    def expand(cls, value: Any, test: Test) -> Any:
        Sees the raw JSON value and the test before the options are structured, and returns what the options
        are read from: for short forms that need more than `shorthand`. Raises ValueError where the value
        cannot be understood. With `shorthand` beside it, editors are told that a short form is of that
        option's type; without, that anything goes.

    def requires(self, eval: Eval, test: Test) -> Iterable[str]:
        Says what is missing before the run (a rubric file, a field of the test), a sentence for each.

    def files(self, eval: Eval) -> Iterable[str]:
        Names the files of the eval that a verdict depends on, such as a rubric, relative to its directory. A
        run remembers their hashes, so that `--resume` and `rejudge` can tell what has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from attrs import field, frozen

from skillwalker.commands import CommandRunner
from skillwalker.names import Names
from skillwalker.outcomes import Observation, Outcome, Reason

if TYPE_CHECKING:
    from skillwalker.evals import Eval, Test
    from skillwalker.transcript import Transcript
    from skillwalker.workspace import Workspace

INTERFACE_VERSION = 1
"""Raised when a change here would break a published expectation type."""


@frozen
class Detail:
    """One part of a verdict, such as one criterion of a rubric. The verdict alone decides."""

    name: str
    outcome: Outcome
    message: str = ""


@frozen
class Verdict:
    """What one expectation says of one trial.

    Attributes:
        reason: Why it is unmeasured, where that is not the trial's own reason (a judge, a broken type).
    """

    outcome: Outcome
    message: str
    details: tuple[Detail, ...] = ()
    reason: Reason | None = None

    @classmethod
    def of(
        cls,
        observed: Observation | bool,
        message: str,
        *,
        expected: bool = True,
        details: Iterable[Detail] = (),
    ) -> Verdict:
        """Passed where what was observed is what was expected; unmeasured where it was not observed."""
        if isinstance(observed, bool):
            observed = Observation.YES if observed else Observation.NO
        if observed is Observation.NOT_OBSERVED:
            return cls(Outcome.UNMEASURED, message, tuple(details))
        return cls(Outcome.of((observed is Observation.YES) is expected), message, tuple(details))


class NotObservedError(Exception):
    """Raised by what a trial is asked for when an unhealthy trial cannot answer it.

    Leave it alone in `check`: the verdict becomes unmeasured, with the trial's reason.
    """

    def __init__(self, what: str, reason: Reason | None, message: str = "") -> None:
        super().__init__(what, reason, message)
        self.what, self.reason, self.message = what, reason, message

    def __str__(self) -> str:
        because = f" ({self.reason}{': ' + self.message if self.message else ''})" if self.reason else ""
        return f"{self.what} was not observed{because}"


@frozen
class Health:
    """Whether a trial may say *no*: healthy exactly when `reason` is None."""

    reason: Reason | None = None
    message: str = ""

    @property
    def healthy(self) -> bool:
        return self.reason is None


@frozen
class JudgeAnswer:
    """What the judge model said.

    Attributes:
        data: The structured answer, checked against nothing but being a JSON object.
        model: The model that answered.
    """

    data: Mapping[str, Any]
    model: str
    input_tokens: int | None = None
    output_tokens: int | None = None


class Judge(Protocol):
    """A model that is asked for a structured answer; it has no tools."""

    def ask(self, *, model: str, system: str, prompt: str, schema: Mapping[str, Any]) -> JudgeAnswer:
        """Blocks until the answer is there.

        Args:
            model: `opus`, `sonnet`, `haiku` or a full `claude-...` name.
            schema: JSON Schema (an object) that the answer shall have.

        Raises:
            JudgeError: it could not be asked, refused, or its answer is no such object.
        """


@frozen
class Services:
    """What `check` may use beside the trial.

    Attributes:
        judge: None where nothing that needs it was planned.
        judge_model: Overrides the model in `tests.json` (`--judge-model`).
        commands: Runs commands on the final work directory, each in a container of its own; None where there
            are no containers, as in a run on this machine and in `rejudge`.
    """

    judge: Judge | None = None
    judge_model: str | None = None
    commands: CommandRunner | None = None


@frozen
class Trial:
    """One execution of a test, as an expectation sees it.

    Whatever could be read as an absence raises `NotObservedError` in an unhealthy trial, so an expectation
    cannot take it for a fact; `transcript` gives what was seen, in any trial.

    Attributes:
        names: The names under which the test's plugins know their skills and agents.
        duration_ms: From the start of its process to its end, as seen from outside, but for the time in which
            its requests were held back; None where not observed.
        cost_usd: US dollars, sub-agents included; None where not observed, as in rehearsals and replays.
    """

    eval: Eval = field(repr=False)
    test: Test = field(repr=False)
    transcript: Transcript = field(repr=False)
    health: Health = field(factory=Health)
    services: Services = field(factory=Services, repr=False)
    names: Names = field(factory=Names, repr=False)
    duration_ms: int | None = None
    cost_usd: float | None = None
    _workspace: Workspace | None = field(default=None, repr=False)

    def require_healthy(self, what: str) -> None:
        """Raises NotObservedError in an unhealthy trial; `what` is named in the message."""
        if not self.health.healthy:
            raise NotObservedError(what, self.health.reason, self.health.message)

    def require_own(self, what: str) -> None:
        """Raises NotObservedError where the stream holds what the model did not say: nothing seen counts."""
        if self.health.reason is Reason.CONTAMINATED:
            raise NotObservedError(what, self.health.reason, self.health.message)

    @property
    def final_text(self) -> str:
        """The answer's text; empty where a healthy trial gave none."""
        self.require_healthy("the final text")
        return self.transcript.final_text or ""

    @property
    def workspace(self) -> Workspace:
        """The final work directory, and what was created, changed or deleted in it."""
        self.require_healthy("the final work directory")
        if self._workspace is None:
            raise NotObservedError("the final work directory", None)
        return self._workspace

    def skill_called(self, skill: str) -> Observation:
        """Whether the skill `plugin:skill` was invoked and loaded, at any depth.

        NO only in a healthy trial that shows no attempt; of an attempt that was refused or whose end was not
        seen, `transcript.skills` tells more.
        """
        skill = self.names.skill(skill)
        uses = [use for use in self.transcript.skills if skill in (use.name, *use.candidates)]
        loaded = any(use.loaded for use in uses if use.name == skill)
        return self._seen(loaded, attempted=bool(uses) or self.transcript.skills_hidden)

    def agent_called(self, agent: str) -> Observation:
        """Whether the agent `plugin:agent` was called and began to work, at any depth.

        NO only in a healthy trial that shows no attempt; of one that was refused, `transcript.agents` tells
        more.
        """
        agent = self.names.agent(agent)
        uses = [use for use in self.transcript.agents if use.name == agent]
        started = any(use.started for use in uses)
        return self._seen(started, attempted=bool(uses) or self.transcript.agents_hidden)

    def _seen(self, seen: bool, *, attempted: bool) -> Observation:
        if self.health.reason is Reason.CONTAMINATED:
            return Observation.NOT_OBSERVED
        if seen:
            return Observation.YES
        return Observation.NO if self.health.healthy and not attempted else Observation.NOT_OBSERVED


class Expectation(Protocol):
    """What every expectation type offers."""

    def check(self, trial: Trial) -> Verdict: ...
