"""The table that a description is judged by."""

from __future__ import annotations

from collections.abc import Sequence

from skillwalker.activation import Activation, activation_object, activations
from skillwalker.expectations.base import Verdict
from skillwalker.outcomes import Outcome
from skillwalker.results import Judged, Target, TestResult, TrialResult

P, F, U = Outcome.PASSED, Outcome.FAILED, Outcome.UNMEASURED


def a_test(should: bool, *verdicts: Outcome, id_: str = "acme:tidy", planned: int = 0, **more) -> TestResult:
    trials = tuple(
        TrialResult(
            f"{should}{index}",
            index,
            one,
            judged=(Judged(0, "other", Verdict(F, "")), Judged(1, "skill-call", Verdict(one, ""))),
        )
        for index, one in enumerate(verdicts, 1)
    )
    number = planned or len(verdicts)
    target = Target("skill", id_, should, 1)
    given = {"model": "opus", **more}
    return TestResult(
        "csv", str(should), "skill-call", planned=number, need=1, trials=trials, target=target, **given
    )


def table(*tests: TestResult) -> Activation:
    found: Sequence[Activation] = activations(tests)
    assert len(found) == 1
    return found[0]


def notes(*tests: TestResult) -> str:
    return "; ".join(table(*tests).notes)


def test_should_and_did() -> None:
    found = table(a_test(True, P, P, P, F), a_test(False, P, P, F, U))

    assert (found.called, found.missed, found.surplus, found.spared, found.unmeasured) == (3, 1, 1, 2, 1)
    assert found.precision
    assert (found.precision.hits, found.precision.of) == (3, 4)
    assert found.recall
    assert str(found.recall) == "75% (30% to 95%)"
    assert found.notes == ()


def test_only_the_expectation_of_the_call_counts() -> None:
    found = table(a_test(True, P))  # the other expectation failed, and so did the trial as a whole
    assert (found.called, found.missed) == (1, 0)


def test_each_skill_and_model_has_its_own_table() -> None:
    found = activations(
        [a_test(True, P), a_test(True, P, id_="acme:hello"), a_test(True, P, model="haiku"), a_test(False, P)]
    )
    assert [(one.id, one.model, one.called, one.spared) for one in found] == [
        ("acme:tidy", "opus", 1, 1),
        ("acme:hello", "opus", 1, 0),
        ("acme:tidy", "haiku", 1, 0),
    ]


def test_tests_of_something_else_are_in_no_table() -> None:
    assert activations([TestResult("csv", "t", "skill-prompt", "opus", 1, 1, ())]) == ()


def test_what_never_fired_is_said_aloud_and_has_no_precision() -> None:
    found = table(a_test(True, F, F), a_test(False, P, P))
    assert found.precision is None
    assert found.recall
    assert found.recall.value == 0
    assert "never called" in notes(a_test(True, F, F), a_test(False, P, P))


def test_what_fires_always_is_said_aloud() -> None:
    assert "in every trial, whatever the prompt" in notes(a_test(True, P), a_test(False, F))


def test_without_negatives_there_is_no_precision_and_without_positives_no_recall() -> None:
    positives, negatives = table(a_test(True, P, P)), table(a_test(False, P, P))
    assert positives.precision is None
    assert "left alone is not tested" in notes(a_test(True, P, P))
    assert negatives.recall is negatives.precision is None
    assert "it is found is not tested" in notes(a_test(False, P, P))
    assert "never called" not in notes(a_test(False, P, P))


def test_nothing_measured_is_no_rate() -> None:
    found = table(a_test(True, U, planned=3))
    assert (found.unmeasured, found.recall, found.precision) == (3, None, None)
    assert found.notes == ("nothing was measured",)


def test_a_blind_measurement_counts_nothing() -> None:
    found = table(a_test(True, F, F, blind="the measurement is blind: x"), a_test(False, P, blind="the same"))
    assert (found.missed, found.unmeasured, found.recall) == (0, 3, None)
    assert found.notes[:2] == ("the measurement is blind: x", "the same")


def test_a_rehearsed_run_has_counts_and_no_rates() -> None:
    found = table(a_test(True, P, P, real=False), a_test(False, P, real=False))
    assert (found.called, found.precision, found.recall) == (2, None, None)
    assert found.notes == ("no model was asked, so there is no precision and no recall",)


def test_trials_that_stopped_early_were_not_needed_and_leave_no_interval() -> None:
    found = table(a_test(True, P, planned=3, stop_early=True), a_test(False, P, P))
    assert found.unmeasured == 0
    assert found.recall
    assert found.recall.low is None
    assert "stopped early" in found.notes[0]


def test_as_json() -> None:
    assert activation_object(table(a_test(True, P), a_test(False, U))) == {
        "kind": "skill",
        "id": "acme:tidy",
        "model": "opus",
        "should": {"did": 1, "did_not": 0},
        "should_not": {"did": 0, "did_not": 0},
        "unmeasured": 1,
        "precision": None,
        "recall": {"value": 1.0, "hits": 1, "of": 1, "low": 0.20654931437723745, "high": 1.0},
        "notes": ["no trial that should not call it was measured: that it is left alone is not tested"],
    }
