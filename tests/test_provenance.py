"""Which models stood behind the names of a run."""

from skillwalker.gateway.spending import Spend
from skillwalker.outcomes import Outcome
from skillwalker.provenance import models_object, run_notes
from skillwalker.results import TestResult, TrialResult
from skillwalker.tokens import Tokens


def spend(asked, model=None, conversation="main", answers=1):
    return Spend(conversation, asked, model or asked, answers, 0, Tokens(), None)


def a_test(*trials, model="sonnet"):
    made = [
        TrialResult(f"t{index}", index, Outcome.PASSED, spent=spent) for index, spent in enumerate(trials, 1)
    ]
    return TestResult("csv", "one", "skill-call", model, len(made), 1, tuple(made))


def test_names_lead_to_ids_and_ids_to_who_answered():
    tests = [
        a_test(
            (
                spend("claude-sonnet-5-5", "claude-sonnet-5-5-20260929", answers=2),
                spend("claude-haiku-5-5", conversation="side"),
            ),
            (spend("claude-sonnet-5-5", "claude-sonnet-5-5-20260929"), spend("claude-haiku-5-5")),
            (),
        )
    ]
    assert models_object(tests) == {
        "asked": {"sonnet": {"claude-sonnet-5-5": 2}},
        "resolved": {"sonnet": {"claude-sonnet-5-5-20260929": 2}},
        "answered": {
            "claude-sonnet-5-5": {"claude-sonnet-5-5-20260929": 3},
            "claude-haiku-5-5": {"claude-haiku-5-5": 2},
        },
    }
    assert run_notes(tests) == ()


def test_a_name_that_led_to_two_models_is_told():
    spent = [(spend("claude-sonnet-5-5"),), (spend("claude-sonnet-5"),), (spend("claude-sonnet-5"),)]
    tests = [a_test(*spent, model="claude-x")]
    assert run_notes(tests) == (
        "claude-x was claude-sonnet-5-5 in 1 trial, claude-sonnet-5 in 2 trials: these trials are of "
        "different models and do not compare",
    )


def test_a_name_that_was_asked_for_as_two_ids_is_told_although_one_answered():
    spent = [(spend("claude-x-1", "claude-x-1"),), (spend("claude-x-2", "claude-x-1"),)]
    first, second = run_notes([a_test(*spent, model="claude-x")])
    assert first == "claude-x was asked for as claude-x-1 in 1 trial, claude-x-2 in 1 trial"
    assert second == "claude-x-1 answered where claude-x-2 was asked for (1 answer)"


def test_an_alias_that_claude_code_takes_for_another_id_than_we_is_told():
    (note,) = run_notes([a_test((spend("claude-sonnet-4-6"),), (spend("claude-sonnet-4-6"),))])
    assert "sonnet was taken for claude-sonnet-4-6 by this Claude Code, and not for claude-sonnet-5-5" in note
    assert run_notes([a_test((spend("claude-sonnet-5-5"),))]) == ()


def test_another_model_than_asked_for_is_told():
    tests = [a_test((spend("claude-sonnet-5-5", "claude-haiku-5-5", answers=2),))]
    assert run_notes(tests) == (
        "claude-haiku-5-5 answered where claude-sonnet-5-5 was asked for (2 answers)",
    )


def test_one_alias_answered_by_two_ids_is_told():
    tests = [
        a_test(
            (spend("claude-sonnet-5-5", "claude-sonnet-5-5-20260929"),),
            (spend("claude-sonnet-5-5", "claude-sonnet-5-5-20261101"),),
        )
    ]
    (note,) = run_notes(tests)
    assert "claude-sonnet-5-5-20260929 in 1 trial, claude-sonnet-5-5-20261101 in 1 trial" in note
