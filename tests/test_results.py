"""The rules from verdicts to trials, tests, runs and exit codes."""

from __future__ import annotations

import pytest
from attrs import evolve

from skillwalker.expectations.base import Verdict
from skillwalker.outcomes import Outcome, Reason
from skillwalker.results import RunResult, TestResult, TrialResult, test_outcome, trial_outcome, trials_needed

PASSED, FAILED, UNMEASURED = Outcome.PASSED, Outcome.FAILED, Outcome.UNMEASURED


def a_test(*outcomes: Outcome, planned: int | None = None, cost: float | None = None) -> TestResult:
    trials = tuple(
        TrialResult(id=f"t{n}", index=n + 1, outcome=outcome, cost_usd=cost)
        for n, outcome in enumerate(outcomes)
    )
    planned = planned or len(outcomes)
    return TestResult("csv", "tidies", "skill-call", "opus", planned, trials_needed(planned, None), trials)


def a_run(*tests: TestResult, **more: object) -> RunResult:
    return RunResult("20261130T101500Z-3f9a1c", "docker", "rehearsal", tests, 100, **more)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([PASSED, PASSED], PASSED),
        ([PASSED, UNMEASURED], UNMEASURED),
        ([UNMEASURED, FAILED], FAILED),
        ([], UNMEASURED),
    ],
)
def test_one_failed_verdict_decides_and_no_verdict_is_no_pass(verdicts, expected):
    assert trial_outcome(Verdict(outcome, "") for outcome in verdicts) is expected


@pytest.mark.parametrize(
    ("planned", "rate", "need"),
    [
        (1, None, 1),
        (2, None, 2),
        (3, None, 2),
        (4, None, 3),
        (3, 1.0, 3),
        (4, 0.5, 2),
        (30, 0.1, 3),
        (5, 0, 1),
    ],
)
def test_more_than_half_or_the_rate_but_never_nothing(planned, rate, need):
    assert trials_needed(planned, rate) == need


@pytest.mark.parametrize(
    ("outcomes", "planned", "left"),
    [
        ([PASSED, UNMEASURED, PASSED], 3, 0),
        ([FAILED, UNMEASURED, FAILED], 3, 0),
        ([PASSED, PASSED], 3, 0),
        ([PASSED, UNMEASURED, FAILED], 3, 1),
        ([PASSED, UNMEASURED], 3, 2),
    ],
)
def test_where_trials_stop_early_none_is_left_once_the_outcome_is_certain(outcomes, planned, left):
    test = evolve(a_test(*outcomes, planned=planned), stop_early=True)
    assert test.left == left
    assert evolve(test, stop_early=False).left == planned - outcomes.count(PASSED) - outcomes.count(FAILED)


@pytest.mark.parametrize(
    ("planned", "passed", "unmeasured", "need", "expected"),
    [
        (1, 1, 0, 1, PASSED),
        (1, 0, 0, 1, FAILED),
        (1, 0, 1, 1, UNMEASURED),
        (3, 2, 1, 2, PASSED),  # the unmeasured one could not change it
        (3, 1, 1, 2, UNMEASURED),
        (3, 0, 1, 2, FAILED),  # nor here
        (2, 1, 0, 2, FAILED),  # an even split is not a pass
        (0, 0, 0, 0, UNMEASURED),
    ],
)
def test_a_test_is_decided_only_by_what_could_not_come_out_otherwise(
    planned, passed, unmeasured, need, expected
):
    assert test_outcome(planned, passed, unmeasured, need) is expected


def test_a_trial_that_never_ran_is_unmeasured():
    result = a_test(PASSED, planned=3)

    assert (result.passed, result.measured) == (1, 1)
    assert result.outcome is UNMEASURED


@pytest.mark.parametrize(
    ("tests", "allowed", "outcome", "code"),
    [
        ([a_test(PASSED)], 0, PASSED, 0),
        ([a_test(PASSED), a_test(FAILED), a_test(UNMEASURED)], 0, FAILED, 1),
        ([a_test(PASSED), a_test(UNMEASURED)], 0, UNMEASURED, 6),
        ([a_test(PASSED), a_test(UNMEASURED)], 1, PASSED, 0),
        ([a_test(UNMEASURED)], 5, UNMEASURED, 6),  # a result over nothing is never a pass
        ([], 0, UNMEASURED, 6),
    ],
)
def test_the_exit_code_follows_the_outcome(tests, allowed, outcome, code):
    run = a_run(*tests, allow_unmeasured=allowed)

    assert (run.outcome, run.exit_code) == (outcome, code)


def test_an_interrupt_comes_before_a_failure():
    assert a_run(a_test(FAILED), interrupted=True).exit_code == 2


def test_a_cost_is_a_sum_only_where_every_part_is_known():
    assert a_run(a_test(PASSED, cost=0.5), a_test(PASSED, cost=0.25)).cost_usd == 0.75
    assert a_run(a_test(PASSED, cost=0.5), a_test(PASSED)).cost_usd is None
    assert a_run().cost_usd is None


def test_every_reason_says_what_to_do():
    assert all(reason.advice for reason in Reason)


def test_an_api_that_did_not_answer_is_no_api_with_an_error():
    silent = TrialResult("t", 1, Outcome.UNMEASURED, reason=Reason.API_ERROR, message="no answer of h: gone")
    refused = evolve(silent, message="HTTP 500 api_error: broken")

    assert "did not answer; check network, proxy and ANTHROPIC_BASE_URL" in silent.advice
    assert refused.advice == Reason.API_ERROR.advice
