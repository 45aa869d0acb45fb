"""Figures over trials; SciPy 1.17.1 computed what is expected (`binomtest`, `hypergeom`, NumPy's `std`)."""

from __future__ import annotations

import pytest
from attrs import evolve

from skillwalker.outcomes import Outcome
from skillwalker.results import TestResult, TrialResult
from skillwalker.statistics import (
    pass_all,
    pass_at,
    percent,
    rate,
    spread,
    statistics_object,
    statistics_of,
    wilson,
)

P, F, U = Outcome.PASSED, Outcome.FAILED, Outcome.UNMEASURED


def a_test(*outcomes: Outcome, planned: int | None = None, **more) -> TestResult:
    trials = tuple(
        TrialResult(f"t{index}", index, outcome, healthy=outcome is not U)
        for index, outcome in enumerate(outcomes, 1)
    )
    number = planned or len(outcomes)
    return TestResult("csv", "t", "skill-call", "opus", number, number // 2 + 1, trials, **more)


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [
        (0, 1, 0.0, 0.7934506856227626),
        (1, 1, 0.20654931437723745, 1.0),
        (0, 3, 0.0, 0.5614970317550454),
        (2, 3, 0.20765960080204782, 0.9385080552796038),
        (3, 3, 0.4385029682449546, 1.0),
        (7, 10, 0.39677814746114526, 0.892208732593699),
        (10, 10, 0.7224672001371109, 1.0),
        (0, 20, 0.0, 0.16112515805281935),
        (57, 60, 0.8629948352365148, 0.9828504978356044),
        (500, 1000, 0.4690696003681042, 0.5309303996318958),
    ],
)
def test_wilsons_interval(hits: int, of: int, low: float, high: float) -> None:
    assert wilson(hits, of) == pytest.approx((low, high), abs=1e-12)


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0, "0%"),
        (1 / 500, "<1%"),
        (0.5, "50%"),
        (0.994, "99%"),
        (199 / 200, ">99%"),
        (0.999, ">99%"),
        (1, "100%"),
    ],
)
def test_what_is_not_all_or_nothing_is_not_shown_as_such(share: float, shown: str) -> None:
    assert percent(share) == shown


def test_an_interval_that_reaches_the_end_ends_there() -> None:
    for of in range(1, 200):
        assert wilson(0, of)[0] == 0.0
        assert wilson(of, of)[1] == 1.0


@pytest.mark.parametrize(("hits", "of"), [(0, 0), (2, 1), (-1, 3)])
def test_no_interval_over_nothing(hits: int, of: int) -> None:
    with pytest.raises(ValueError, match="no rate"):
        wilson(hits, of)


@pytest.mark.parametrize(
    ("passed", "measured", "k", "any_", "all_"),
    [
        (1, 3, 2, 2 / 3, 0.0),
        (2, 3, 2, 1.0, 1 / 3),
        (7, 10, 3, 0.9916666666666667, 0.2916666666666667),
        (3, 10, 5, 0.9166666666666666, 0.0),
        (0, 5, 2, 0.0, 0.0),
        (5, 5, 5, 1.0, 1.0),
    ],
)
def test_chances_of_several_tries(passed: int, measured: int, k: int, any_: float, all_: float) -> None:
    assert pass_at(k, passed, measured) == pytest.approx(any_)
    assert pass_all(k, passed, measured) == pytest.approx(all_)


@pytest.mark.parametrize("arguments", [(4, 1, 3), (0, 1, 3), (1, 4, 3)])
def test_no_estimate_for_more_tries_than_were_measured(arguments: tuple[int, int, int]) -> None:
    for estimate in (pass_at, pass_all):
        with pytest.raises(ValueError, match="no estimate"):
            estimate(*arguments)


def test_mean_and_deviation_of_what_was_observed() -> None:
    found = spread([3, None, 4, 8])
    assert found
    assert (found.number, found.mean) == (3, 5.0)
    assert found.deviation == pytest.approx(2.6457513110645907)


def test_one_trial_has_no_deviation_and_none_has_no_mean() -> None:
    one = spread([None, 4])
    assert one
    assert one.deviation is None
    assert spread([None]) is None


def test_only_measured_trials_enter_a_rate_and_it_carries_their_number() -> None:
    found = statistics_of(a_test(P, U, F, P)).rate
    assert found
    assert (found.hits, found.of) == (2, 3)
    assert str(found) == "67% (21% to 94%)"
    assert rate(0, 0) is None
    assert statistics_of(a_test(U, U)).rate is None


def test_a_rehearsed_run_has_no_rate() -> None:
    found = statistics_of(a_test(P, P, real=False))
    assert (found.rate, found.pass_at, found.pass_all) == (None, None, None)


def test_a_blind_measurement_has_no_rate() -> None:
    assert statistics_of(a_test(F, F, blind="it is blind")).rate is None


def test_trials_that_stopped_early_have_counts_but_no_interval_and_no_estimates() -> None:
    found = statistics_of(a_test(P, P, planned=3, stop_early=True))
    assert found.rate
    assert (found.rate.hits, found.rate.of, found.rate.low, found.rate.high) == (2, 2, None, None)
    assert str(found.rate) == "100%"
    assert found.pass_at is found.pass_all is None


def test_figures_are_of_trials_that_ran_to_their_end() -> None:
    test = a_test(P, P, U)
    one, two, three = test.trials
    trials = (
        evolve(one, turns=2, duration_ms=1000),
        evolve(two, turns=4, duration_ms=600_000, healthy=False),  # a call was seen before its time was over
        evolve(three, turns=9, duration_ms=5),
    )
    found = statistics_of(evolve(test, trials=trials))
    assert found.turns
    assert (found.turns.number, found.turns.mean) == (1, 2.0)
    assert found.duration_ms
    assert found.duration_ms.mean == 1000
    assert found.cost_usd is None


def test_as_json_what_is_not_known_is_null() -> None:
    found = statistics_object(statistics_of(a_test(P, F, P)))
    assert found["rate"] == {
        "value": pytest.approx(2 / 3),
        "hits": 2,
        "of": 3,
        "low": pytest.approx(0.20765960080204782),
        "high": pytest.approx(0.9385080552796038),
    }
    assert found["pass_at"] == {"1": pytest.approx(2 / 3), "2": 1.0, "3": 1.0}
    assert found["pass_all"] == {"1": pytest.approx(2 / 3), "2": pytest.approx(1 / 3), "3": 0.0}
    assert found["cost_usd"] is None
