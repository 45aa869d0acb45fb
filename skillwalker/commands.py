"""What it means to run a command of an eval's author on a trial's final work directory, after the trial."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from attrs import field, frozen, validators

if TYPE_CHECKING:
    from skillwalker.workspace import Workspace

CHECKS = "/checks"
"""Where the command finds the files that its author gave it; it cannot write there."""
FINAL_TEXT = f"{CHECKS}/.skillwalker/final-text.txt"
"""Where it finds the trial's final text; the variable SKILLWALKER_FINAL_TEXT names it."""
STREAM_LIMIT = 1 << 18
"""Bytes that are kept of each of its two streams, the last ones."""


@frozen
class CommandRequest:
    """One command.

    Attributes:
        arguments: The program and its arguments; no shell is added.
        workspace: What it finds in its working directory, in a copy of its own.
        files: A directory of the eval, whose content it finds in `CHECKS`; links must stay in the eval.
        timeout_seconds: From its start; then it is killed.
    """

    arguments: tuple[str, ...]
    workspace: Workspace
    files: Path | None = None
    final_text: str = field(default="", repr=False)
    timeout_seconds: float = field(default=60.0, validator=validators.gt(0))


@frozen
class CommandResult:
    """How it ended.

    Attributes:
        exit_code: None where it could not be read.
        stdout, stderr: The last `STREAM_LIMIT` bytes; what is no UTF-8 is replaced. Hostile text: the command
            may run what the model wrote.
        timed_out: Whether it was killed because its time was over.
        out_of_memory: Whether it, or a process of its own, was killed because its memory was full.
        cut: Whether one of the streams was longer than what is kept.
    """

    exit_code: int | None
    stdout: str = field(default="", repr=False)
    stderr: str = field(default="", repr=False)
    timed_out: bool = False
    out_of_memory: bool = False
    cut: bool = False


class CommandRunner(Protocol):
    """Runs commands in a place of their own, without network, that has the tools of a trial's sandbox."""

    def run(self, request: CommandRequest) -> CommandResult:
        """Blocks until the command has ended; nothing of it is left then.

        Raises:
            SandboxError: it could not be run, or the work directory could not be brought there whole.
        """
