"""The exception tree, shown first.

    SkillwalkerError            exit 3, a fault in Skillwalker itself unless a subclass says otherwise
    ├── ConfigurationError      exit 4, wrong usage or configuration; carries every problem found
    ├── CannotStartError        exit 4, nothing can start (no Docker, no image, no credential)
    ├── NothingSelectedError    exit 5, a selection that matches nothing
    ├── SandboxError            the sandbox broke in mid-trial; the trial is unmeasured, the run goes on
    ├── JudgeError              the judge gave no readable answer; the verdict is unmeasured
    └── NotSavedError           a file's content was left out because of a limit; nothing can be said of it

The command line prints any of these without a traceback and exits with `exit_code`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from attrs import frozen


@frozen
class Problem:
    """One thing that is wrong in a file or an option, in words for its author.

    Attributes:
        message: What is wrong and what to do, one sentence without the place.
        file: Path of the file, as shown to the user (relative to the root where it lies below it).
        line: Line in `file`, counted from 1.
        path: JSON path inside `file`, such as `tests[0].expect[1].llm-judge.threshold`.
    """

    message: str
    file: str | None = None
    line: int | None = None
    path: str | None = None

    @property
    def place(self) -> str:
        """`file:line`, as far as that is known."""
        return ":".join(str(part) for part in (self.file, self.line) if part is not None)

    def __str__(self) -> str:
        return ": ".join(part for part in (self.place, self.path, self.message) if part)


class SkillwalkerError(Exception):
    """Base of all; the command line prints it without a traceback and exits with `exit_code`."""

    exit_code: ClassVar[int] = 3


class ConfigurationError(SkillwalkerError):
    """Wrong usage or configuration; all problems at once."""

    exit_code = 4

    def __init__(self, problems: Iterable[Problem | str]) -> None:
        self.problems: tuple[Problem, ...] = tuple(
            Problem(problem) if isinstance(problem, str) else problem for problem in problems
        )
        super().__init__(self.problems)  # the same arguments, so that it pickles

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


class CannotStartError(SkillwalkerError):
    """Something outside is missing, so that no trial can start: says what and what to do."""

    exit_code = 4


class NothingSelectedError(SkillwalkerError):
    """A selection that matches nothing; the message names what comes near."""

    exit_code = 5


class SandboxError(SkillwalkerError):
    """The sandbox itself broke while a trial was in it."""


class JudgeError(SkillwalkerError):
    """The judge could not be asked or gave no readable answer."""


class JudgeUnreadableError(JudgeError):
    """The judge answered, but not in the form it was asked for: it may be asked once more."""


class JudgeUnscriptedError(JudgeError):
    """No script or cassette has an answer for the judge."""


class JudgeOverBudgetError(JudgeError):
    """The budget lets no more questions through."""


class NotSavedError(SkillwalkerError):
    """The file is there, but its content was left out because of a limit."""
