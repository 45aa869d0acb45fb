"""What one trial, or the judge of one trial, asked for and was answered."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from attrs import field, frozen

from skillwalker.errors import SkillwalkerError
from skillwalker.gateway.cassettes.normalise import Normal

Purpose = Literal["trial", "judge"]


class CassetteError(SkillwalkerError):
    """A file that cannot be replayed; `reason` says why, `line` where."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason, line)
        self.reason, self.line = reason, line


@frozen
class Answer:
    """What was answered to one request.

    Attributes:
        message: As the API has it, placeholders in it; of an answer that broke off, what came of it.
        error: `status`, `type`, `message`, and `should_retry` where the API told it.
        dropped: Whether the connection broke off.
        open: Whether the last block of the message had not come to its end.
    """

    message: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None
    dropped: bool = False
    open: bool = False


@frozen
class Recorded:
    """One request with its answer.

    Attributes:
        turn: Which conversation and turn it is, in words; for readers alone.
    """

    request: Normal
    answer: Answer
    turn: str = ""


@frozen
class Cassette:
    """Everything in one file.

    Attributes:
        skillwalker: Version that recorded it.
        claude_code: Version that asked; None of a judge that was no Claude Code.
        rehearsed: Whether the answers were a rehearsal's, and no model's.
        cut: Whether the trial ended while an answer was still being given.
    """

    trial_id: str
    purpose: Purpose
    skillwalker: str
    claude_code: str | None = None
    exchanges: tuple[Recorded, ...] = field(default=(), repr=False)
    rehearsed: bool = False
    cut: bool = False


def cassette_file(directory: Path, trial_id: str, purpose: Purpose) -> Path:
    """Where the cassette of a trial or of its judge lies."""
    return directory / f"{trial_id}{'.judge' if purpose == 'judge' else ''}.jsonl"
