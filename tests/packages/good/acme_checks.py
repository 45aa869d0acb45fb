"""A package of expectation types as somebody else would write it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from attrs import field, frozen, validators

from skillwalker.evals import Eval, Test
from skillwalker.expectations.base import Trial, Verdict


@frozen
class MaxTurns:
    """The trial took at most `turns` model turns.

    Counted in the main conversation.

    Attributes:
        turns: How many are
            still fine.
        not_below: At least so many.
    """

    turns: int = field(validator=validators.ge(1))
    not_below: int = field(default=0, alias="notBelow")

    def check(self, trial: Trial) -> Verdict:
        turns = trial.transcript.turns
        return Verdict.of(turns is not None and turns <= self.turns, f"{turns} turns")


@dataclass(frozen=True)
class Place:
    line: int
    column: int = 1


@dataclass(frozen=True)
class Mentions:
    words: tuple[str, ...]
    share: float = 1.0
    mode: Literal["all", "any"] = "all"
    places: tuple[Place, ...] = ()
    weights: Mapping[str, float] | None = None
    label: str | int | None = None

    @classmethod
    def expand(cls, value: Any, test: Test) -> Any:
        if value == "nothing":
            raise ValueError("nothing cannot be mentioned")
        return {"words": [value]} if isinstance(value, str) else value

    def requires(self, eval: Eval, test: Test) -> Iterable[str]:
        if "missing.txt" in self.words:
            yield "missing.txt does not exist"

    def check(self, trial: Trial) -> Verdict:
        return Verdict.of(all(word in trial.final_text for word in self.words), "looked for words")


@frozen
class FaultyHooks:
    """Its hooks break, each by the value that it is given."""

    way: str = ""

    @classmethod
    def expand(cls, value: Any, test: Test) -> Any:
        return {"way": value.upper()}

    def requires(self, eval: Eval, test: Test) -> Iterable[str]:
        raise SystemExit(self.way)

    def check(self, trial: Trial) -> Verdict:
        return Verdict.of(True, "")


@frozen
class SaysOften:
    """The final text holds `text` often enough.

    Attributes:
        text: What to look for.
        times: How often it must be there.

    Examples:
        {"says-often": "hello"}
        {"says-often": {"text": ["hello", "hi"],
                        "times": 2}}
    """

    shorthand: ClassVar[str] = "text"

    text: str | list[str] = field(validator=validators.min_len(1))
    times: int = field(default=1, validator=validators.ge(1))

    def requires(self, eval: Eval, test: Test) -> Iterable[str]:
        print("looking for", self.text)
        return ()

    def check(self, trial: Trial) -> Verdict:
        return Verdict.of(trial.final_text.count(str(self.text)) >= self.times, "looked for it")
