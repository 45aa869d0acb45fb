"""Expectation types, each of which breaks another promise."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from attrs import field, frozen

from skillwalker.expectations import Test, Trial, Verdict, safe

_seen: list[int] = []


@frozen
class _Text:
    shorthand: ClassVar[str] = "text"

    text: str

    def check(self, trial: Trial) -> Verdict:
        return Verdict.of(self.text in trial.final_text, "looked for it")


class NoDocstring(_Text):
    pass


class LongDocstring(_Text):
    __doc__ = "The final text holds `text`, " + "and so on " * 20


class BrokenExample(_Text):
    """The final text holds `text`.

    Examples:
        {"broken-example": text}
    """


class OthersExample(_Text):
    """The final text holds `text`.

    Examples:
        {"result-contains": "text"}
    """


class RefusedExample(_Text):
    """The final text holds `text`.

    Examples:
        {"refused-example": 5}
    """


class DropsOptions(_Text):
    """Ignores options that it does not know."""

    @classmethod
    def expand(cls, value: Any, test: Test) -> Any:
        return {"text": value["text"]} if isinstance(value, dict) and "text" in value else value


class Coerces(_Text):
    """Takes anything for a text."""

    @classmethod
    def expand(cls, value: Any, test: Test) -> Any:
        return value if isinstance(value, dict) else str(value)


class BreaksOnOddValues(_Text):
    """Expects an object without asking."""

    @classmethod
    def expand(cls, value: Any, test: Test) -> Any:
        return {"text": value["text"]}


class ChangesItsValue(_Text):
    """Changes what stands in the file."""

    @classmethod
    def expand(cls, value: Any, test: Test) -> Any:
        if isinstance(value, dict) and value.pop("old", None):
            raise ValueError("old values are not taken")
        return value


@frozen
class DoesNotPickle(_Text):
    """Holds what cannot be sent."""

    how: Callable[[], None] = field(init=False, factory=lambda: lambda: None, eq=False)


@frozen
class RemembersCalls(_Text):
    """Counts its own calls."""

    def check(self, trial: Trial) -> Verdict:
        trial.require_healthy("anything")
        _seen.append(1)
        return Verdict.of(True, f"call {len(_seen)}")


@frozen
class Writes(_Text):
    """Leaves a file."""

    def check(self, trial: Trial) -> Verdict:
        (Path(trial.transcript.path).parent / "left").write_text("x")
        return super().check(trial)


@frozen
class Starts(_Text):
    """Starts a program."""

    def check(self, trial: Trial) -> Verdict:
        subprocess.run([sys.executable, "-c", ""], check=True)
        return super().check(trial)


@frozen
class Prints(_Text):
    """Prints."""

    def check(self, trial: Trial) -> Verdict:
        print("checking")
        return super().check(trial)


@frozen
class SetsEnvironment(_Text):
    """Sets a variable of the environment."""

    def check(self, trial: Trial) -> Verdict:
        os.environ["CARELESS"] = os.environ.get("CARELESS", "") + "x"
        return super().check(trial)


@frozen
class ChangesTrial(_Text):
    """Takes from the transcript what it has counted."""

    def check(self, trial: Trial) -> Verdict:
        (trial.transcript.usage_by_model or {}).clear()
        return super().check(trial)


@frozen
class HastyNo(_Text):
    """Says no of an answer that may still have come."""

    def check(self, trial: Trial) -> Verdict:
        trial.require_own("the final text")
        return Verdict.of(self.text in (trial.transcript.final_text or ""), "looked for it")


@frozen
class HastyYes:
    """Says yes to a number that may still have grown."""

    shorthand: ClassVar[str] = "most"

    most: int

    def check(self, trial: Trial) -> Verdict:
        trial.require_own("the turns")
        turns = trial.transcript.turns
        if turns is None:
            trial.require_healthy("the turns")
        return Verdict.of((turns or 0) <= self.most, f"{turns} turns")


@frozen
class SaysNoOfNothing(_Text):
    """Says no of a trial of which nothing was seen."""

    def check(self, trial: Trial) -> Verdict:
        return Verdict.of(trial.transcript.turns is not None, "looked whether it did anything")


@frozen
class BelievesForgeries:
    """Counts calls that the model may not have made."""

    shorthand: ClassVar[str] = "tool"

    tool: str

    def check(self, trial: Trial) -> Verdict:
        if any(call.name == self.tool for call in trial.transcript.tool_calls()):
            return Verdict.of(True, "it was called")
        trial.require_healthy("whether it was called")
        return Verdict.of(False, "it was not called")


@frozen
class QuotesRaw(_Text):
    """Quotes the whole answer."""

    def check(self, trial: Trial) -> Verdict:
        return Verdict.of(self.text in trial.final_text, f"looked in {trial.final_text}")


@frozen
class SaysNothing(_Text):
    """Gives no message."""

    def check(self, trial: Trial) -> Verdict:
        return Verdict.of(self.text in trial.final_text, "")


@frozen
class TrustsInput(_Text):
    """Relies on what a tool was passed."""

    def check(self, trial: Trial) -> Verdict:
        trial.require_healthy("the commands")
        found = [call for call in trial.transcript.tool_calls() if self.text in call.input["command"]]
        return Verdict.of(bool(found), f"{len(found)} commands with {safe(self.text, 80)}")


@frozen
class ReturnsBool(_Text):
    """Answers with the wrong type."""

    def check(self, trial: Trial) -> Verdict:
        return self.text in trial.final_text  # type: ignore[return-value]
