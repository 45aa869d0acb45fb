"""When the outcome of a test can no longer change, and which trials therefore need not run.

Trials are held back until those that run cannot settle their test alone. So none is ever started that turns
out not to be needed, at the price of a later end where trials disagree.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from attrs import define, field, frozen

from skillwalker.jobs import TrialJob
from skillwalker.outcomes import Outcome
from skillwalker.results import TestResult, is_settled

Key = tuple[str, str, str]
"""Eval, name of a test, arm."""


class Queue(Protocol):
    """Says which jobs may start."""

    def first(self) -> Iterator[TrialJob]:
        """Those that may start at once."""

    def ended(self, job: TrialJob, outcome: Outcome) -> Iterator[TrialJob]:
        """Those that may start since `job` has ended."""


@frozen
class AllAtOnce:
    """Every job may start."""

    jobs: tuple[TrialJob, ...]

    def first(self) -> Iterator[TrialJob]:
        yield from self.jobs

    def ended(self, job: TrialJob, outcome: Outcome) -> Iterator[TrialJob]:
        return iter(())


@define
class _Test:
    planned: int
    need: int
    passed: int = 0
    failed: int = 0
    unmeasured: int = 0
    running: int = 0
    waiting: deque[TrialJob] = field(factory=deque)

    def may_start(self) -> bool:
        """Whether the trials that run cannot settle it, whatever they show."""
        return not is_settled(
            self.planned, self.passed, self.failed, self.unmeasured, self.need, more=self.running
        )

    def start(self) -> Iterator[TrialJob]:
        while self.waiting and self.may_start():
            self.running += 1
            yield self.waiting.popleft()

    def end(self, outcome: Outcome) -> None:
        self.running -= 1
        self.passed += outcome is Outcome.PASSED
        self.failed += outcome is Outcome.FAILED
        self.unmeasured += outcome is Outcome.UNMEASURED


@define
class AsNeeded:
    """Holds jobs back until it is known that they are needed, and for good where they are not."""

    _tests: dict[Key, _Test] = field(factory=dict, init=False)

    @classmethod
    def of(
        cls,
        jobs: Iterable[TrialJob],
        planned: Mapping[Key, tuple[int, int]],
        before: Iterable[TestResult] = (),
    ) -> AsNeeded:
        """A queue of `jobs`, in their order.

        Args:
            planned: For each test how many trials are planned, and how many must pass.
            before: What a run that is gone on with has measured.
        """
        queue = cls()
        for key, (number, need) in planned.items():
            queue._tests[key] = _Test(number, need)
        for test in before:
            found = queue._tests.get((test.eval, test.name, test.arm))
            if found:
                found.passed = sum(trial.outcome is Outcome.PASSED for trial in test.trials)
                found.failed = sum(trial.outcome is Outcome.FAILED for trial in test.trials)
        for job in jobs:
            queue._tests[job.test].waiting.append(job)
        return queue

    def first(self) -> Iterator[TrialJob]:
        """The first trial of every test before the second of any."""
        started = [list(test.start()) for test in self._tests.values()]
        for index in range(max(map(len, started), default=0)):
            yield from (jobs[index] for jobs in started if index < len(jobs))

    def ended(self, job: TrialJob, outcome: Outcome) -> Iterator[TrialJob]:
        test = self._tests[job.test]
        test.end(outcome)
        yield from test.start()
