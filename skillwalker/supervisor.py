"""Watches the clocks of all running trials from one thread, and ends a trial that may not go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from attrs import define, field

from skillwalker.health import Stopped
from skillwalker.outcomes import Reason
from skillwalker.sandbox.base import Limits, SandboxProcess

STALL_SECONDS = 120.0
"""Without an event, a byte through the gateway or an open tool call, a trial counts as stalled."""

LINGER_SECONDS = 15.0
"""After its result Claude Code ends within a second; one that lingers waits for a command in the background,
for up to ten minutes."""

GRACE_SECONDS = 5.0
"""From SIGINT, after which Claude Code still writes its result, to SIGKILL."""

WORKSPACE_EVERY_SECONDS = 5.0


class Moving(Protocol):
    """What the gateway tells of one trial's connections."""

    @property
    def last_activity(self) -> float:
        """`time.monotonic()` of the last byte in either direction."""

    @property
    def held_seconds(self) -> float:
        """How long the gateway itself held requests back so far."""


@define
class Watched:
    """A running trial as the supervisor sees it.

    Attributes:
        started: `time.monotonic()` of the start of its process.
        last_event: `time.monotonic()` of the last byte of output.
        last_network: Tells `time.monotonic()` of the last byte from or to a host that the trial may reach.
        open_tools: How many tool calls have no result yet; while one is open, silence is work.
        ended_at: `time.monotonic()` of a result after which nothing more is to come; None before that.
        lingered: Set where the process was killed because it went on after that.
        stopped: Set once, by whoever stops the trial first.
    """

    process: SandboxProcess
    moving: Callable[[], Moving]
    timeout_seconds: float
    limits: Limits
    started: float
    last_event: float
    last_network: Callable[[], float] = lambda: 0.0
    open_tools: int = 0
    ended_at: float | None = None
    lingered: bool = False
    stopped: Stopped | None = None
    _kill_at: float | None = None
    _look_at_workspace: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._look_at_workspace = self.started + WORKSPACE_EVERY_SECONDS

    def stop(self, why: Stopped, now: float, grace: float = GRACE_SECONDS) -> None:
        """Asks the process to end and has it killed after `grace` seconds; the first reason is kept."""
        if self.stopped is None:
            self.stopped = why
            self._kill_at = now + grace
            if grace > 0:
                self.process.interrupt()
        else:
            self._kill_at = min(self._kill_at or now, now + grace)

    def look(self, now: float) -> None:
        """One look at all clocks."""
        if self._kill_at is not None:
            if now >= self._kill_at:
                self.process.kill()
                self._kill_at = now + GRACE_SECONDS  # again, should the engine have missed it
            return
        if self.ended_at is not None:
            if now - max(self.ended_at, self.last_event) >= LINGER_SECONDS:
                self.lingered = True
                self.process.kill()
            return
        moving = self.moving()
        if now - self.started - moving.held_seconds >= self.timeout_seconds:
            text = f"still running after {self.timeout_seconds:g} s"
            self.stop(Stopped(Reason.TIMEOUT, text), now)
            return
        quiet = now - max(self.started, self.last_event, moving.last_activity, self.last_network())
        if quiet >= STALL_SECONDS and not self.open_tools:
            self.stop(Stopped(Reason.STALLED, f"nothing moved for {quiet:.0f} s"), now)
            return
        if now >= self._look_at_workspace:
            self._look_at_workspace = now + WORKSPACE_EVERY_SECONDS
            size = self.process.workspace_size()
            if size and (beyond := size.beyond(self.limits)):
                self.stop(Stopped(Reason.DISK_LIMIT, beyond), now, grace=0)


class Supervisor:
    """Owns the thread; trials are watched inside `watch`."""

    def __init__(self, tick_seconds: float = 0.25) -> None:
        self._tick = tick_seconds
        self._trials: dict[int, Watched] = {}
        self._lock = threading.Lock()  # guards _trials
        self._interrupted: Stopped | None = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="supervisor", daemon=True)

    def __enter__(self) -> Supervisor:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    @contextmanager
    def watch(self, trial: Watched) -> Iterator[None]:
        """Watches `trial` until the block is left."""
        with self._lock:
            self._trials[id(trial)] = trial
            interrupted = self._interrupted
        if interrupted:
            trial.stop(interrupted, time.monotonic())
        try:
            yield
        finally:
            with self._lock:
                del self._trials[id(trial)]

    def stop_all(self, why: Stopped, grace: float = GRACE_SECONDS) -> None:
        """Ends every trial, also those that only start now; `grace` 0 kills at once."""
        with self._lock:
            self._interrupted = why
            trials = list(self._trials.values())
        for trial in trials:
            trial.stop(why, time.monotonic(), grace)

    def _run(self) -> None:
        while not self._end.wait(self._tick):
            with self._lock:
                trials = list(self._trials.values())
            for trial in trials:
                trial.look(time.monotonic())
