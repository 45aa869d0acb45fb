"""A trial's output as it comes: into its files without secrets, and to those who watch it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from skillwalker.events import iter_lines
from skillwalker.health import Stopped
from skillwalker.names import Names
from skillwalker.outcomes import Reason
from skillwalker.progress import Progress
from skillwalker.redaction import Redactor
from skillwalker.sandbox.base import Limits, SandboxProcess
from skillwalker.supervisor import Watched

STDERR_KEPT = 1 << 20
"""Bytes of stderr kept per trial; more is a program that repeats itself."""

OVERWRITTEN = "its output held a secret of this environment, overwritten with stars, as expectations see it"


class Recorder:
    """Writes a process's output to its files as it comes and says what is going on.

    Attributes:
        stderr_tail: The last that it said there.
        notes: Complete when `record` has ended.
    """

    def __init__(
        self, directory: Path, watched: Watched, names: Names, limits: Limits, redactor: Redactor
    ) -> None:
        self._directory = directory
        self._watched = watched
        self._names = names
        self._limits = limits
        self._redactor = redactor
        self._bytes = self._line_bytes = 0
        self.stderr_tail = ""
        self.notes: tuple[str, ...] = ()

    def record(self, process: SandboxProcess) -> Iterator[str]:
        """What the trial does, each thing as it begins; ends with the output."""
        progress = Progress(self._names)
        with (
            (self._directory / "events.jsonl").open("wb") as events,
            (self._directory / "stderr.txt").open("wb") as stderr,
        ):
            for line in iter_lines(self._stdout(process, events, stderr)):
                text = progress.feed(line)
                self._watched.open_tools = progress.open_tools
                self._watched.ended_at = self._watched.last_event if progress.ended else None
                if text is not None:
                    yield text

    def _stdout(self, process: SandboxProcess, events: BinaryIO, stderr: BinaryIO) -> Iterator[bytes]:
        """Standard output as it is kept: without secrets, so nothing that is made of it holds one either."""
        out, err = self._redactor.stream(), self._redactor.stream()
        kept = 0
        for chunk in process.output():
            self._watched.last_event = time.monotonic()
            if chunk.stream == "stdout":
                if not self._too_much(chunk.data):
                    yield _written(events, out.feed(chunk.data))
            elif kept < STDERR_KEPT:
                kept += len(chunk.data)
                self._said(_written(stderr, err.feed(chunk.data)))
        yield _written(events, out.finish())
        self._said(_written(stderr, err.finish()))
        if out.found or err.found:
            self.notes = (OVERWRITTEN,)

    def _too_much(self, data: bytes) -> bool:
        """Whether the output is over a limit; the trial is stopped then, and no more of it is kept."""
        self._bytes += len(data)
        newline = data.rfind(b"\n")
        self._line_bytes = self._line_bytes + len(data) if newline < 0 else len(data) - newline - 1
        for size, limit, what in (
            (self._bytes, self._limits.output_mib, "of output"),
            (self._line_bytes, self._limits.line_mib, "in one line of output"),
        ):
            if size > limit << 20:
                stopped = Stopped(Reason.DISK_LIMIT, f"more than {limit} MiB {what}")
                self._watched.stop(stopped, time.monotonic(), grace=0)
                return True
        return False

    def _said(self, data: bytes) -> None:
        self.stderr_tail = (self.stderr_tail + data.decode("utf-8", "replace"))[-2_000:]


def _written(file: BinaryIO, data: bytes) -> bytes:
    """Writes through: what has happened is on disk, whatever comes next."""
    file.write(data)
    file.flush()
    return data
