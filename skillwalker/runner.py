"""Runs a plan: one thread per trial on an executor, results as they come, an orderly end on an interrupt."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from types import FrameType

from attrs import frozen

from skillwalker.health import Stopped
from skillwalker.jobs import Settings, TrialJob
from skillwalker.outcomes import Outcome, Reason
from skillwalker.plan import PlannedTest, jobs
from skillwalker.results import TestResult, TrialResult
from skillwalker.store import RunDirectory
from skillwalker.supervisor import Supervisor
from skillwalker.worker import execute


@frozen
class Ran:
    """What came of a plan's trials.

    Attributes:
        interrupted: Whether it was ended early; trials that did not run are then missing.
    """

    tests: tuple[TestResult, ...]
    duration_ms: int
    interrupted: bool


def run_plan(
    planned: Sequence[PlannedTest],
    run: RunDirectory,
    settings: Settings,
    executor: Executor,
    supervisor: Supervisor,
) -> Ran:
    """Executes every trial of `planned`. A worker for `run` must be installed where the executor works.

    The first SIGINT or SIGTERM stops the trials and keeps what was measured; the second kills them at once.
    """
    started = time.monotonic()
    results: dict[str, TrialResult] = {}
    with _interruptible(supervisor) as interrupted:
        todo = iter(jobs(planned, run, settings))
        for result in _results(todo, executor, interrupted.is_set):
            results[result.id] = result
    tests = tuple(_test_result(one, results) for one in planned)
    return Ran(tests, round((time.monotonic() - started) * 1000), interrupted.is_set())


def _results(todo: Iterable[TrialJob], executor: Executor, stop: Callable[[], bool]) -> Iterator[TrialResult]:
    """Submits all, yields in order of completion; after a stop what has not begun is dropped."""
    pending: set[Future[TrialResult]] = {executor.submit(execute, job) for job in todo}
    while pending:
        # Woken regularly, since a signal handler runs only between two steps of the main thread.
        done, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
        for future in done:
            yield future.result()
        if stop():
            pending -= {future for future in pending if future.cancel()}


def _test_result(planned: PlannedTest, results: dict[str, TrialResult]) -> TestResult:
    if planned.checked.broken:
        return planned.result(
            tuple(_not_run(planned, trial, n + 1) for n, trial in enumerate(planned.trial_ids()))
        )
    return planned.result(tuple(results[trial] for trial in planned.trial_ids() if trial in results))


def _not_run(planned: PlannedTest, trial: str, index: int) -> TrialResult:
    message = "; ".join(planned.checked.broken)
    return TrialResult(
        id=trial, index=index, outcome=Outcome.UNMEASURED, reason=Reason.EXPECTATION_ERROR, message=message
    )


@contextmanager
def _interruptible(supervisor: Supervisor) -> Iterator[threading.Event]:
    """Sets the event on SIGINT or SIGTERM and has the supervisor end all trials."""
    event = threading.Event()

    def handle(number: int, _: FrameType | None) -> None:
        name = signal.Signals(number).name
        again = event.is_set()
        event.set()
        stopped = Stopped(Reason.INTERRUPTED, f"the run got {name}")
        # In a thread of its own: a handler must not wait for locks that the main thread may hold.
        grace = {"grace": 0.0} if again else {}
        threading.Thread(target=supervisor.stop_all, args=(stopped,), kwargs=grace, daemon=True).start()

    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
