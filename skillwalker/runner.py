"""Runs jobs: one thread per trial on an executor, and an orderly end on an interrupt."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager, suppress
from types import FrameType

from attrs import frozen

from skillwalker.health import Stopped
from skillwalker.jobs import TrialJob
from skillwalker.outcomes import Outcome, Reason
from skillwalker.results import TrialResult
from skillwalker.settling import Queue
from skillwalker.supervisor import Supervisor
from skillwalker.worker import execute

ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)  # SIGHUP: the terminal was closed


@frozen
class Ran:
    """How the execution of jobs went; what came of them is in the run's directory.

    Attributes:
        interrupted: Whether it was ended early; trials that did not run are then missing.
    """

    duration_ms: int
    interrupted: bool


def run_jobs(
    queue: Queue,
    executor: Executor,
    supervisor: Supervisor,
    stop_too: Callable[[], None] | None = None,
    tell: Callable[[str], object] | None = None,
) -> Ran:
    """Executes the queue's jobs. A worker for their run must be installed where the executor works.

    The first SIGINT, SIGTERM or SIGHUP stops the trials and keeps what was measured; the second kills them at
    once.

    Args:
        stop_too: Ends whatever else a trial may wait for.
        tell: Is told at once, in words, that such a signal has come.
    """
    started = time.monotonic()
    faults: list[BaseException] = []
    futures: list[Future[TrialResult]] = []
    with _interruptible(supervisor, futures, stop_too, tell) as interrupted:
        running: dict[Future[TrialResult], TrialJob] = {}

        def submit(jobs: Iterable[TrialJob]) -> None:
            for job in jobs:
                future = executor.submit(execute, job)
                running[future] = job
                futures.append(future)
                if interrupted.is_set():  # after those that were cancelled, maybe
                    future.cancel()

        submit(queue.first())
        while running:
            # Woken regularly, since a signal handler runs only between two steps of the main thread.
            done, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in done:
                job = running.pop(future)
                if future.cancelled():
                    continue
                if error := future.exception():
                    faults.append(error)
                outcome = Outcome.UNMEASURED if error else future.result().outcome
                if not interrupted.is_set():
                    submit(queue.ended(job, outcome))
    if faults:  # ours; the other trials were not to suffer for it
        raise faults[0]
    return Ran(round((time.monotonic() - started) * 1000), interrupted.is_set())


def _tell(tell: Callable[[str], object], said: str) -> None:
    with suppress(OSError, ValueError):  # the terminal was closed
        tell(said)


@contextmanager
def _interruptible(
    supervisor: Supervisor,
    futures: Sequence[Future[TrialResult]],
    stop_too: Callable[[], None] | None,
    tell: Callable[[str], object] | None,
) -> Iterator[threading.Event]:
    """Sets the event on such a signal and has the supervisor end all trials."""
    event = threading.Event()

    def stop(name: str, again: bool) -> None:
        stopped = Stopped(Reason.INTERRUPTED, f"the run was stopped by {name}")
        for future in list(futures):  # first, or a trial that ends would make room for the next one
            future.cancel()
        if stop_too:
            stop_too()
        if again:
            supervisor.stop_all(stopped, grace=0)
        else:
            supervisor.stop_all(stopped)

    def handle(number: int, _: FrameType | None) -> None:
        name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
        again = event.is_set()
        event.set()
        # In threads of their own: a handler must not wait for locks that the main thread may hold, and what
        # nobody reads must not keep trials going.
        if tell:
            words = f"stopping: what is measured is kept; {name} again kills at once"
            said = "killing what still runs" if again else words
            threading.Thread(target=_tell, args=(tell, said), daemon=True).start()
        threading.Thread(target=stop, args=(name, again), daemon=True).start()

    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = {number: signal.signal(number, handle) for number in ENDING}
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
