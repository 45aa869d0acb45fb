"""The report that a person reads."""

from __future__ import annotations

from skillwalker.expectations.base import Detail, Verdict
from skillwalker.outcomes import Outcome, Reason
from skillwalker.reports.console import run_report
from skillwalker.results import Judged, RunResult, TestResult, TrialResult


def a_test(name: str, *trials: TrialResult, planned: int = 1) -> TestResult:
    return TestResult("csv", name, "skill-call", "opus", planned, planned // 2 + 1, trials)


def a_trial(outcome: Outcome, *, message: str = "", reason: Reason | None = None, index: int = 1, details=()):
    judged = (Judged(0, "skill-call", Verdict(outcome, message, details)),)
    return TrialResult(
        id=f"t{index}",
        index=index,
        outcome=outcome,
        reason=reason,
        message="late" if reason else "",
        judged=judged,
    )


def report(*tests: TestResult, source: str = "api", **more: object) -> list[str]:
    return run_report(RunResult("RUN", "docker", source, tests, 5120, **more)).splitlines()


def test_failures_come_first_then_what_was_not_measured():
    lines = report(
        a_test("good", a_trial(Outcome.PASSED)),
        a_test("late", a_trial(Outcome.UNMEASURED, reason=Reason.TIMEOUT)),
        a_test("bad", a_trial(Outcome.FAILED, message="expected acme:tidy to be called; called: none")),
    )

    heads = [line.split()[0] for line in lines if "csv::" in line]
    assert heads == ["FAILED", "UNMEASURED", "PASSED"]
    assert any("called: none" in line for line in lines)
    assert "3 tests: 1 passed, 1 failed, 1 unmeasured in 5.1 s" in lines


def test_a_reason_comes_with_what_to_do():
    lines = report(a_test("late", a_trial(Outcome.UNMEASURED, reason=Reason.TIMEOUT)))

    at = next(n for n, line in enumerate(lines) if "timeout: late" in line)
    assert "-> raise --timeout" in lines[at + 1]


def test_a_passed_test_still_tells_its_reason():
    lines = report(a_test("early", a_trial(Outcome.PASSED, reason=Reason.TIMEOUT)))

    assert any("timeout: late" in line for line in lines)


def test_counts_stand_beside_every_rate():
    trials = [a_trial(Outcome.PASSED, index=1), a_trial(Outcome.UNMEASURED, reason=Reason.STALLED, index=2)]
    lines = report(a_test("some", *trials, planned=3))

    assert any("1 of 1 measured passed, 2 unmeasured, 2 needed" in line for line in lines)


def test_failed_criteria_are_shown():
    details = (Detail("c1 is short", Outcome.FAILED, "it is long"), Detail("c2 is kind", Outcome.PASSED))
    lines = report(a_test("judged", a_trial(Outcome.FAILED, message="1 of 2", details=details)))

    assert any("c1 is short: failed; it is long" in line for line in lines)
    assert not any("c2" in line for line in lines)


def test_a_run_without_a_model_says_so_first_and_last():
    for source, word in (("rehearsal", "REHEARSED"), ("replay", "REPLAYED")):
        lines = report(a_test("good", a_trial(Outcome.PASSED)), source=source)
        assert lines[0].startswith(word)
        assert lines[-1].startswith(word)
    assert not any("REHEARSED" in line for line in report(a_test("good", a_trial(Outcome.PASSED))))


def test_what_a_model_wrote_cannot_steer_the_terminal():
    lines = report(
        a_test("bad\x1b[2J", a_trial(Outcome.FAILED, message="said \x1b[31m\u202e red\nPASSED all"))
    )

    text = "\n".join(lines)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert not any(line.startswith("PASSED all") for line in lines)


def test_an_interrupted_run_says_what_is_missing():
    lines = report(a_test("never"), interrupted=True)

    assert any("no trial ran to its end" in line for line in lines)
    assert any("interrupted" in line for line in lines)
