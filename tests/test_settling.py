"""Which trials need not run: checked against every course that the trials could take."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve, frozen

from skillwalker.outcomes import Outcome
from skillwalker.results import TestResult, TrialResult, is_settled, test_outcome
from skillwalker.settling import AllAtOnce, AsNeeded

P, F, U = Outcome.PASSED, Outcome.FAILED, Outcome.UNMEASURED


def verdict(planned: int, need: int, course: tuple[Outcome, ...]) -> Outcome:
    return test_outcome(planned, course.count(P), course.count(U), need)


def courses(number: int) -> Iterator[tuple[Outcome, ...]]:
    return itertools.product((P, F, U), repeat=number)


SIZES = [(planned, need) for planned in range(1, 7) for need in range(1, planned + 1)]


@pytest.mark.parametrize(("planned", "need"), SIZES)
def test_settled_means_that_every_course_ends_alike(planned: int, need: int) -> None:
    for done in range(planned + 1):
        for before in itertools.combinations_with_replacement((P, F, U), done):
            ends = {verdict(planned, need, (*before, *rest)) for rest in courses(planned - done)}
            counts = (before.count(P), before.count(F), before.count(U))
            assert is_settled(planned, *counts, need) is (len(ends) == 1)


@pytest.mark.parametrize(("planned", "need"), SIZES)
def test_more_trials_could_settle_it_exactly_where_some_course_of_them_does(planned: int, need: int) -> None:
    for done in range(planned + 1):
        for before in itertools.combinations_with_replacement((P, F, U), done):
            counts = (before.count(P), before.count(F), before.count(U))
            for more in range(planned - done + 1):
                settles = any(
                    is_settled(
                        planned, *(counts[n] + rest.count(one) for n, one in enumerate((P, F, U))), need
                    )
                    for rest in courses(more)
                )
                assert is_settled(planned, *counts, need, more=more) is settles


@frozen
class Job:
    """As much of a job as a queue looks at."""

    test: tuple[str, str, str]
    index: int


def jobs(names: str, trials: int) -> list[Any]:
    return [Job(("csv", name, "main"), index) for index in range(1, trials + 1) for name in names]


def run(queue: AsNeeded, shows: Any) -> list[Job]:
    """Every job that was started; what is started ends in the order of its start."""
    started = list(queue.first())
    for job in started:
        started += queue.ended(job, shows(job))
    return started


@pytest.mark.parametrize(("planned", "need"), SIZES)
def test_the_outcome_is_that_of_all_trials_and_none_ran_in_vain(planned: int, need: int) -> None:
    for course in courses(planned):
        queue = AsNeeded.of(jobs("a", planned), {("csv", "a", "main"): (planned, need)})
        started = run(queue, lambda job: course[job.index - 1])  # noqa: B023 - called at once
        seen = course[: len(started)]
        counts = (seen.count(P), seen.count(F), seen.count(U))
        assert is_settled(planned, *counts, need)
        missing = planned - len(started)
        assert test_outcome(planned, counts[0], counts[2] + missing, need) is verdict(planned, need, course)
        # Whichever of them ends last, the others had not settled it.
        last = seen[-1]
        fewer = [n - (one is last) for n, one in zip(counts, (P, F, U), strict=True)]
        assert not is_settled(planned, *fewer, need)


def test_first_answers_come_early_and_the_third_trial_only_where_two_disagree() -> None:
    tests = {("csv", name, "main"): (3, 2) for name in "abc"}
    queue = AsNeeded.of(jobs("abc", 3), tests)

    first = list(queue.first())
    assert [(job.test[1], job.index) for job in first] == [
        ("a", 1), ("b", 1), ("c", 1), ("a", 2), ("b", 2), ("c", 2),
    ]  # fmt: skip
    assert list(queue.ended(first[0], P)) == list(queue.ended(first[3], P)) == []
    assert list(queue.ended(first[1], P)) == []
    assert [job.index for job in queue.ended(first[4], F)] == [3]
    assert list(queue.ended(first[2], U)) == []
    assert [job.index for job in queue.ended(first[5], P)] == [3]


def test_what_was_measured_before_counts() -> None:
    trials = (TrialResult("1", 1, P), TrialResult("2", 2, U, healthy=False))
    before = TestResult("csv", "a", "skill-call", "opus", 3, 2, trials)
    left = [job for job in jobs("a", 3) if job.index > 1]
    queue = AsNeeded.of(left, {("csv", "a", "main"): (3, 2)}, [before])

    first = list(queue.first())
    assert [job.index for job in first] == [2]
    assert list(queue.ended(first[0], P)) == []


def test_of_one_arm_nothing_follows_for_another() -> None:
    control = evolve(jobs("a", 1)[0], test=("csv", "a", "control"))
    tests = {("csv", "a", "main"): (3, 2), ("csv", "a", "control"): (1, 1)}
    queue = AsNeeded.of([control, *jobs("a", 3)], tests)

    first = list(queue.first())
    assert len(first) == 3
    assert list(queue.ended(control, P)) == []
    assert list(queue.ended(first[1], P)) == list(queue.ended(first[2], P)) == []


def test_without_the_option_all_jobs_start_in_their_order() -> None:
    job: Any = SimpleNamespace()
    queue = AllAtOnce((job,))
    assert list(queue.first()) == [job]
    assert list(queue.ended(job, P)) == []
