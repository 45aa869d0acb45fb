"""Watches all running trials and ends one that may not go on: their clocks from one thread, their work
directories, which may take long to measure, from another."""

from __future__ import annotations

import math
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

JOIN_SECONDS = 60.0
"""How long a measurement that is still going on may hold up the end."""


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
    _lock: threading.Lock = field(factory=threading.Lock, init=False)  # whoever stops it first is the first
    _measure_at: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._measure_at = self.started + WORKSPACE_EVERY_SECONDS

    def stop(self, why: Stopped, now: float, grace: float = GRACE_SECONDS) -> None:
        """Asks the process to end and has it killed after `grace` seconds; the first reason is kept."""
        with self._lock:
            first = self.stopped is None
            if first:
                self.stopped = why
            self._kill_at = min(self._kill_at or now + grace, now + grace)
        if first and grace > 0:
            self.process.interrupt()

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

    def measure(self, now: float) -> None:
        """One look at the work directory, where it is time for one."""
        if now < self._measure_at or self.stopped is not None:
            return
        size = self.process.workspace_size()
        if size and (beyond := size.beyond(self.limits)):
            self.stop(Stopped(Reason.DISK_LIMIT, beyond), time.monotonic(), grace=0)
        self._measure_at = now + WORKSPACE_EVERY_SECONDS


class Supervisor:
    """Owns the threads; trials are watched inside `watch`."""

    def __init__(self, tick_seconds: float = 0.25) -> None:
        self._tick = tick_seconds
        self._trials: dict[int, Watched] = {}
        self._lock = threading.Lock()  # guards _trials, _waiting and _break_off_at
        self._interrupted: Stopped | None = None
        self._waiting: dict[threading.Event, Callable[[], object]] = {}
        self._break_off_at = math.inf
        self._end = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(step,), name=f"supervisor:{step.__name__}", daemon=True)
            for step in (self._look, self._measure)
        ]

    def __enter__(self) -> Supervisor:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join(JOIN_SECONDS)

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

    @contextmanager
    def breaking_off(self, break_off: Callable[[], object]) -> Iterator[threading.Event]:
        """Has what the block waits for broken off where all trials are stopped; tells whether it was."""
        done = threading.Event()
        with self._lock:
            self._waiting[done] = break_off
        try:
            yield done
        finally:
            with self._lock:
                self._waiting.pop(done, None)

    def stop_all(self, why: Stopped, grace: float = GRACE_SECONDS) -> None:
        """Ends every trial, also those that only start now; `grace` 0 kills at once."""
        now = time.monotonic()
        with self._lock:
            self._interrupted = why
            self._break_off_at = min(self._break_off_at, now + grace)
            trials = list(self._trials.values())
        for trial in trials:
            trial.stop(why, now, grace)

    def _run(self, step: Callable[[], None]) -> None:
        while not self._end.wait(self._tick):
            step()

    def _look(self) -> None:
        self._each(Watched.look)
        with self._lock:
            late = dict(self._waiting) if time.monotonic() >= self._break_off_at else {}
            for done in late:
                del self._waiting[done]
        for done, break_off in late.items():
            done.set()
            break_off()

    def _measure(self) -> None:
        self._each(Watched.measure)

    def _each(self, look: Callable[[Watched, float], None]) -> None:
        with self._lock:
            trials = list(self._trials.values())
        for trial in trials:
            now = time.monotonic()
            try:
                look(trial, now)
            except Exception as error:  # noqa: BLE001 -- whatever it is
                # Whoever cannot be watched may not go on, and the others are watched all the same.
                text = f"the trial could not be watched: {type(error).__name__}: {error}"
                trial.stop(Stopped(Reason.SANDBOX_ERROR, text), now, grace=0)
