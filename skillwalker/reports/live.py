"""What is seen while a run goes on: a line per running trial on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import IO, TYPE_CHECKING

from attrs import define, field

from skillwalker.outcomes import Outcome
from skillwalker.text import safe

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

    from skillwalker.checks import CheckedTest
    from skillwalker.results import TrialResult

_MARKS = {Outcome.PASSED: "passed", Outcome.FAILED: "FAILED", Outcome.UNMEASURED: "UNMEASURED"}


@define
class PlainProgress:
    """A line when a trial has ended; nothing moves, so it suits files and CI logs."""

    stream: IO[str]
    total: int
    _done: int = field(default=0, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def __enter__(self) -> PlainProgress:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def say(self, text: str) -> None:
        """Prints a line of its own; whether anybody reads it does not matter to the run."""
        with contextlib.suppress(OSError, ValueError):
            print(safe(text), file=self.stream, flush=True)

    def started(self, trial_id: str, test: CheckedTest, index: int) -> None:
        return None

    def doing(self, trial_id: str, text: str) -> None:
        return None

    def ended(self, test: CheckedTest, result: TrialResult) -> None:
        with self._lock:
            self._done += 1
            self.say(f"[{self._done}/{self.total}] {ended_line(test, result)}")


@define
class _Running:
    name: str
    since: float
    doing: str = "starting"


@define
class LiveProgress:
    """A block at the bottom of the terminal, a line per running trial; what has ended scrolls above it."""

    stream: IO[str]
    total: int
    clock: Callable[[], float] = time.monotonic
    _done: int = field(default=0, init=False)
    _running: dict[str, _Running] = field(factory=dict, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)  # guards _running and _done
    _live: Live | None = field(default=None, init=False)

    def __enter__(self) -> LiveProgress:
        from rich.console import Console
        from rich.live import Live

        console = Console(file=self.stream, highlight=False, markup=False, emoji=False)
        self._live = Live(console=console, get_renderable=self._render, refresh_per_second=4, transient=True)
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def say(self, text: str) -> None:
        """Prints a line above the block."""
        if self._live:
            self._live.console.print(safe(text), soft_wrap=True)

    def started(self, trial_id: str, test: CheckedTest, index: int) -> None:
        name = f"{safe(test.eval.name)}::{safe(test.test.name)}" + (f" #{index}" if index > 1 else "")
        with self._lock:
            self._running[trial_id] = _Running(name, self.clock())

    def doing(self, trial_id: str, text: str) -> None:
        with self._lock:
            if running := self._running.get(trial_id):
                running.doing = safe(text, 80)

    def ended(self, test: CheckedTest, result: TrialResult) -> None:
        with self._lock:
            self._running.pop(result.id, None)
            self._done += 1
            done = self._done
        self.say(f"[{done}/{self.total}] {ended_line(test, result)}")

    def _render(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 1))
        table.add_column(no_wrap=True, ratio=3, overflow="ellipsis")
        table.add_column(no_wrap=True, justify="right", width=7)
        table.add_column(no_wrap=True, ratio=2, overflow="ellipsis")
        table.expand = True
        now = self.clock()
        with self._lock:
            for one in self._running.values():
                table.add_row(one.name, f"{now - one.since:.0f} s", one.doing)
            done = f"{self._done} of {self.total} trials done"
        # The cursor stands behind the last line. Were it as wide as the terminal, the `^C` that a terminal
        # shows for an interrupt would begin a line of its own, and one of the block's would never be erased.
        return Group(table, Text(done)) if table.rows else Text(done)


def ended_line(test: CheckedTest, result: TrialResult) -> str:
    """Such as `passed csv::tidies a file #2 (1.3 s)`."""
    number = f" #{result.index}" if result.index > 1 else ""
    took = f" ({result.duration_ms / 1000:.1f} s)" if result.duration_ms is not None else ""
    reason = f" {result.reason}" if result.reason else ""
    return f"{_MARKS[result.outcome]}{reason} {safe(test.eval.name)}::{safe(test.test.name)}{number}{took}"
