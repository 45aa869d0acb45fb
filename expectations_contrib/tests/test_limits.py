"""max-cost, max-turns, max-seconds and max-tokens."""

from __future__ import annotations

import pytest

from skillwalker.expectations import Outcome, Reason
from skillwalker.testing import TranscriptBuilder

USAGE = {
    "inputTokens": 1000,
    "outputTokens": 50,
    "cacheReadInputTokens": 20_000,
    "cacheCreationInputTokens": 300,
    "costUSD": 0.125,
}


def events(**usage: object) -> TranscriptBuilder:
    said = TranscriptBuilder().init().text("one").text("two").result(cost_usd=0.125)
    said.events[-1]["modelUsage"] = {"claude-sonnet-5-5": {**USAGE, **usage}}
    return said


@pytest.mark.parametrize(
    ("entry", "outcome", "message"),
    [
        ({"max-cost": 0.2}, "passed", "the cost in US dollars: 0.1250, at most 0.2000 expected"),
        ({"max-cost": 0.125}, "passed", "the cost in US dollars: 0.1250, at most 0.1250 expected"),
        ({"max-cost": 0.1}, "failed", "the cost in US dollars: 0.1250, at most 0.1000 expected"),
        ({"max-cost": {"usd": 1}}, "passed", "the cost in US dollars: 0.1250, at most 1.0000 expected"),
        ({"max-turns": 2}, "passed", "turns: 2, at most 2 expected"),
        ({"max-turns": 1}, "failed", "turns: 2, at most 1 expected"),
        ({"max-seconds": 12.5}, "passed", "seconds: 12.3, at most 12.5 expected"),
        ({"max-seconds": 12}, "failed", "seconds: 12.3, at most 12.0 expected"),
        ({"max-tokens": 21_350}, "passed", "tokens: 21,350, at most 21,350 expected"),
        ({"max-tokens": 21_349}, "failed", "tokens: 21,350, at most 21,349 expected"),
        (
            {"max-tokens": {"tokens": 50, "count": "output"}},
            "passed",
            "output tokens: 50, at most 50 expected",
        ),
        (
            {"max-tokens": {"tokens": 9_999, "count": "input"}},
            "failed",
            "input tokens: 21,300, at most 9,999",
        ),
    ],
)
def test_a_number_is_held_against_its_limit(judge, entry, outcome, message) -> None:
    found = judge(entry, events(), duration_ms=12_340)
    assert (found.outcome, found.message[: len(message)]) == (outcome, message)


BELOW = [{"max-cost": 1}, {"max-turns": 9}, {"max-tokens": 99_999}, {"max-seconds": 99}]
OVER = [{"max-cost": 0.1}, {"max-tokens": 10}, {"max-seconds": 1}]


def test_turns_that_were_seen_are_a_fact_in_an_unhealthy_trial_too(judge) -> None:
    found = judge({"max-turns": 1}, events(), reason=Reason.TIMEOUT)
    assert (found.outcome, found.message) == (Outcome.FAILED, "turns: 2 or more, at most 1 expected")
    assert judge({"max-turns": 1}, events(), reason=Reason.CONTAMINATED).outcome is Outcome.UNMEASURED


@pytest.mark.parametrize("entry", [*BELOW, *OVER])
def test_all_else_is_none(judge, entry) -> None:
    found = judge(entry, events(), reason=Reason.RATE_LIMITED, duration_ms=12_340)
    assert found.outcome is Outcome.UNMEASURED
    assert "rate-limited" in found.message


@pytest.mark.parametrize("entry", [*BELOW, *OVER])
def test_what_was_not_told_is_unmeasured(judge, entry) -> None:
    said = TranscriptBuilder().init().event({"type": "result", "subtype": "success", "is_error": False})
    if "max-turns" in entry:
        said.events.clear()
    found = judge(entry, said)
    assert found.outcome is Outcome.UNMEASURED
    assert "was not observed" in found.message


def test_the_cost_of_a_rehearsed_trial_is_unmeasured(judge) -> None:
    for limit in (0.1, 1):
        found = judge({"max-cost": limit}, events(), real_model=False)
        assert found.outcome is Outcome.UNMEASURED
        assert found.message.endswith(
            "(where a model is rehearsed or replayed, there is none) was not observed"
        )


def test_a_part_that_was_not_told_may_not_matter(judge) -> None:
    said = events(cacheReadInputTokens=None)
    assert judge({"max-tokens": 1_000}, said).outcome is Outcome.FAILED
    assert judge({"max-tokens": 99_999}, said).outcome is Outcome.UNMEASURED
    assert judge({"max-tokens": {"tokens": 50, "count": "output"}}, said).outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"max-cost": 0}, "max-cost: must be more than 0, not 0.0"),
        ({"max-cost": "1"}, "max-cost: expected a number, or an object"),
        ({"max-cost": True}, "max-cost: expected a number, or an object"),
        ({"max-turns": 1.5}, "max-turns: expected a whole number, or an object"),
        ({"max-turns": 0}, "max-turns: must be at least 1, not 0"),
        ({"max-seconds": -1}, "max-seconds: must be more than 0, not -1.0"),
        (
            {"max-tokens": {"tokens": 1, "count": "cached"}},
            'max-tokens.count: expected one of "total", "input"',
        ),
    ],
)
def test_wrong_limits_are_told_before_the_run(problems, entry, problem) -> None:
    assert [one[: len(problem)] for one in problems(entry)] == [problem]
