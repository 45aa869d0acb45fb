"""A type under test: its registry entry, values that it takes, and trials for it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import attrs
from attrs import define, field

from skillwalker.errors import JudgeError, SandboxError
from skillwalker.evals import ExpectationSpec
from skillwalker.expectations.base import Detail, NotObservedError, Services, Trial, Verdict
from skillwalker.expectations.bound import Bound
from skillwalker.expectations.options import shown
from skillwalker.expectations.registry import LoadedType, Registry
from skillwalker.outcomes import Outcome
from skillwalker.testing import stories
from skillwalker.testing.transcripts import TranscriptBuilder
from skillwalker.testing.trials import trial


@define
class Subject:
    """What the rules are held against.

    Attributes:
        given: What `trial` is told for each of its trials.
        services: Makes the services of a trial, fresh ones each time.
        directory: Where trials may be written.
    """

    type: str
    good: Sequence[Any]
    bad: Sequence[Any]
    given: Mapping[str, Any]
    services: Callable[[], Services]
    directory: Path
    registry: Registry
    _numbers: Iterator[int] = field(factory=itertools.count, init=False)

    @property
    def loaded(self) -> LoadedType:
        return self.registry.loaded(self.type)

    def spec(self, value: Any) -> ExpectationSpec:
        return ExpectationSpec(self.type, value, self.type)

    def bound(self, value: Any, on: Trial | None = None) -> Bound:
        on = on or self.trial(stories.plain())
        return self.registry.bind(self.spec(value), on.eval, on.test)

    def expectation(self, value: Any) -> Any:
        """An instance with a good value."""
        bound = self.bound(value)
        told = bound.broken or "; ".join(map(str, bound.problems))
        require(bound.expectation is not None, f"the good value {shown(value)} is refused: {told}")
        return bound.expectation

    def trial(
        self, events: TranscriptBuilder | stories.Stream, files: Mapping[str, str | bytes] | None = None
    ) -> Trial:
        """A healthy one, in whose work directory a file was changed and one deleted."""
        directory = self.directory / str(next(self._numbers))
        directory.mkdir(parents=True)
        made = trial(
            directory,
            events,
            scaffold={"notes.txt": "before\n", "gone.txt": "gone\n"},
            files={"notes.txt": "after\n", **(files or {})},
            # The longer a trial goes on, the longer it has taken; of a damaged stream nobody knows.
            duration_ms=None if isinstance(events, stories.Stream) else 10_000 * len(events.events),
            **self.given,
        )
        return attrs.evolve(made, services=self.services())

    def words(self, value: Any) -> tuple[str, ...]:
        return stories.words_in(self.given.get("skill_file"), self.given.get("agent_file"), value)

    def healthy(self, value: Any) -> Iterator[Trial]:
        """Trials that say little, much and nothing."""
        words = self.words(value)
        yield self.trial(stories.plain())
        yield self.trial(stories.busy(words), stories.files_of(words))
        yield self.trial(TranscriptBuilder().init().result(""))


def require(holds: object, message: str) -> None:
    """An assertion that `python -O` keeps."""
    if not holds:
        raise AssertionError(message)


def verdict_of(expectation: Any, on: Trial) -> Verdict:
    """What `check` itself says, before the core tidies it."""
    try:
        verdict: Any = expectation.check(on)
    except (NotObservedError, JudgeError, SandboxError):
        return Verdict(Outcome.UNMEASURED, "not observed")  # the core words it
    except Exception as error:
        raise AssertionError(
            f"`check` raised {type(error).__name__}: {error}; "
            "it may raise NotObservedError, JudgeError or SandboxError, and leaves them to the core"
        ) from error
    require(isinstance(verdict, Verdict), f"`check` returned {type(verdict).__name__} instead of a Verdict")
    require(isinstance(verdict.outcome, Outcome), f"the outcome {verdict.outcome!r} is no Outcome")
    require(isinstance(verdict.message, str), f"the message {verdict.message!r} is no text")
    require(
        isinstance(verdict.details, tuple) and all(isinstance(each, Detail) for each in verdict.details),
        "the details are no tuple of Detail",
    )
    return cast(Verdict, verdict)
