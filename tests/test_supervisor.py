"""The clocks of running trials."""

from __future__ import annotations

import threading
import time

import pytest
from attrs import define, field, frozen
from waiting import PATIENCE, wait_until

from skillwalker.health import Stopped
from skillwalker.outcomes import Reason
from skillwalker.sandbox.base import Limits, WorkspaceSize
from skillwalker.supervisor import (
    GRACE_SECONDS,
    LINGER_SECONDS,
    STALL_SECONDS,
    WORKSPACE_EVERY_SECONDS,
    Supervisor,
    Watched,
)


@frozen
class Moving:
    last_activity: float = 0.0
    held_seconds: float = 0.0


@define
class Process:
    """Remembers what was done to it."""

    size: float | None = None
    done: list[str] = field(factory=list)

    def interrupt(self) -> None:
        self.done.append("interrupt")

    def kill(self) -> None:
        self.done.append("kill")

    def workspace_size(self) -> WorkspaceSize | None:
        return None if self.size is None else WorkspaceSize(self.size, 1)


def watched(
    process: Process, *, timeout: float = 60.0, moving: Moving | None = None, start: float = 100.0
) -> Watched:
    return Watched(process, lambda: moving or Moving(), timeout, Limits(), start, start)


def test_within_its_limits_a_trial_is_left_alone():
    process = Process(size=1.0)
    trial = watched(process)

    trial.look(159.0)

    assert (process.done, trial.stopped) == ([], None)


def test_at_the_limit_it_is_asked_to_end_and_then_made_to():
    process = Process()
    trial = watched(process)

    trial.look(160.0)
    assert process.done == ["interrupt"]
    assert trial.stopped is not None
    assert trial.stopped.reason is Reason.TIMEOUT
    assert "60 s" in trial.stopped.message
    trial.look(160.0 + GRACE_SECONDS - 0.1)
    assert process.done == ["interrupt"]
    trial.look(160.0 + GRACE_SECONDS)
    assert process.done == ["interrupt", "kill"]


def test_the_clock_stands_still_while_the_gateway_holds_a_request_back():
    process = Process()
    trial = watched(process, moving=Moving(held_seconds=30.0, last_activity=185.0))

    trial.look(189.0)
    assert trial.stopped is None
    trial.look(190.0)
    assert trial.stopped is not None


def test_silence_everywhere_is_a_stall():
    trial = watched(Process(), timeout=10_000)

    trial.look(100.0 + STALL_SECONDS - 1)
    assert trial.stopped is None
    trial.look(100.0 + STALL_SECONDS)
    assert trial.stopped is not None
    assert trial.stopped.reason is Reason.STALLED


def test_a_byte_an_event_or_an_open_tool_call_is_no_silence():
    late = 100.0 + STALL_SECONDS + 50
    talking = watched(Process(), timeout=10_000, moving=Moving(last_activity=late - 1))
    printing = watched(Process(), timeout=10_000)
    printing.last_event = late - 1
    working = watched(Process(), timeout=10_000)
    working.open_tools = 1
    fetching = watched(Process(), timeout=10_000)
    fetching.last_network = lambda: late - 1

    for trial in (talking, printing, working, fetching):
        trial.look(late)
        assert trial.stopped is None


def test_a_work_directory_over_its_limit_ends_the_trial_at_once():
    process = Process(size=3000.0)
    trial = watched(process, timeout=10_000, start=time.monotonic())

    trial.measure(trial.started + WORKSPACE_EVERY_SECONDS - 0.1)
    assert trial.stopped is None
    trial.measure(trial.started + WORKSPACE_EVERY_SECONDS)
    assert trial.stopped is not None
    assert trial.stopped.reason is Reason.DISK_LIMIT
    trial.look(time.monotonic())
    assert process.done == ["kill"]


def test_an_unknown_size_is_no_reason():
    trial = watched(Process(size=None), timeout=10_000)

    trial.measure(106.0)

    assert trial.stopped is None


class Slow(Process):
    """Its work directory takes very long to measure."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.over = threading.Event(), threading.Event()

    def workspace_size(self) -> WorkspaceSize | None:
        self.asked.set()
        self.over.wait(PATIENCE)
        return None


def test_a_measurement_that_takes_long_holds_up_no_clock():
    slow, other = Slow(), Process()
    now = time.monotonic()
    with Supervisor(tick_seconds=0.01) as supervisor:
        first = watched(slow, timeout=10_000, start=now - WORKSPACE_EVERY_SECONDS)
        with supervisor.watch(first):
            assert slow.asked.wait(PATIENCE)
            late = watched(other, timeout=0.01, start=time.monotonic())
            with supervisor.watch(late):
                wait_until(lambda: late.stopped is not None)
                assert late.stopped is not None
                assert late.stopped.reason is Reason.TIMEOUT
                assert not slow.over.is_set()
            slow.over.set()


def test_a_trial_that_cannot_be_watched_is_ended_and_the_others_are_watched():
    def broken() -> Moving:
        raise KeyError("what nobody thought of")

    process, other = Process(), Process()
    with Supervisor(tick_seconds=0.01) as supervisor:
        now = time.monotonic()
        trial = Watched(process, broken, 60.0, Limits(), now, now)
        late = watched(other, timeout=0.01, start=now)
        with supervisor.watch(trial), supervisor.watch(late):
            wait_until(lambda: late.stopped is not None and "kill" in process.done)
    assert trial.stopped is not None
    assert trial.stopped.reason is Reason.SANDBOX_ERROR
    assert "what nobody thought of" in trial.stopped.message
    assert late.stopped is not None


def test_the_first_reason_is_kept():
    process = Process()
    trial = watched(process)
    trial.stop(Stopped(Reason.TIMEOUT, "first"), 160.0)

    trial.stop(Stopped(Reason.INTERRUPTED, "second"), 161.0, grace=0)
    trial.look(161.0)

    assert trial.stopped == Stopped(Reason.TIMEOUT, "first")
    assert process.done == ["interrupt", "kill"]


def test_stopping_all_reaches_running_trials_and_those_that_start_later():
    with Supervisor(tick_seconds=0.01) as supervisor:
        now = time.monotonic()
        running, later = Process(), Process()
        with supervisor.watch(watched(running, start=now)):
            supervisor.stop_all(Stopped(Reason.INTERRUPTED, "the run got SIGINT"))
            assert running.done == ["interrupt"]
        with supervisor.watch(watched(later, start=now)):
            assert later.done == ["interrupt"]


@pytest.mark.parametrize("grace", [0.0, 0.1])
def test_who_waits_for_something_else_is_broken_off_too_and_whoever_comes_later(grace):
    broken_off: list[str] = []
    with Supervisor(tick_seconds=0.01) as supervisor:
        with supervisor.breaking_off(lambda: broken_off.append("before")) as before:
            pass
        with supervisor.breaking_off(lambda: broken_off.append("now")) as now:
            supervisor.stop_all(Stopped(Reason.INTERRUPTED, "the run got SIGINT"), grace)
            assert now.wait(PATIENCE)
        with supervisor.breaking_off(lambda: broken_off.append("later")) as later:
            assert later.wait(PATIENCE)
    assert broken_off == ["now", "later"]
    assert not before.is_set()


def test_the_thread_looks_by_itself():
    process = Process()
    with Supervisor(tick_seconds=0.01) as supervisor:
        trial = watched(process, timeout=0.01, start=time.monotonic())
        with supervisor.watch(trial):
            wait_until(lambda: process.done)
    assert process.done[0] == "interrupt"


def test_what_goes_on_after_its_result_is_killed_without_a_reason():
    process = Process()
    trial = watched(process, timeout=10_000)
    trial.ended_at = trial.last_event = 110.0

    trial.look(110.0 + LINGER_SECONDS - 0.1)
    assert process.done == []
    trial.look(110.0 + LINGER_SECONDS)
    assert (process.done, trial.lingered, trial.stopped) == (["kill"], True, None)
