"""The report that a person reads."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from attrs import evolve
from rich.console import Console

from skillwalker.expectations.base import Detail, Verdict
from skillwalker.outcomes import Outcome, Reason
from skillwalker.reports.console import run_report
from skillwalker.reports.live import LiveProgress
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


def test_judges_cost_is_told_apart():
    trial = evolve(a_trial(Outcome.PASSED), cost_usd=0.25, judge_cost_usd=0.02)
    assert "0.2500 USD and 0.0200 USD for judges" in report(a_test("judged", trial))[-1]
    trial = evolve(trial, judge_cost_usd=0)
    assert report(a_test("unjudged", trial))[-1].endswith(", 0.2500 USD")


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

    assert any("NOT RUN" in line for line in lines)
    assert any("interrupted" in line for line in lines)


def run_with(*tests: TestResult, **more: object) -> RunResult:
    return RunResult("RUN", "docker", "api", tests, 5120, **more)


def test_a_run_that_was_cut_short_says_how_to_go_on():
    tests = (a_test("good", a_trial(Outcome.PASSED)), a_test("never"))
    for interrupted, told in ((True, True), (None, True), (False, False)):
        text = run_report(run_with(*tests, interrupted=interrupted), go_on="skillwalker run --resume RUN")
        assert ("go on: skillwalker run --resume RUN" in text.splitlines()) is told

    whole = run_with(a_test("good", a_trial(Outcome.PASSED)), interrupted=True)
    told = run_report(whole, go_on="skillwalker run --resume RUN")
    assert "go on" not in told
    assert "interrupted, when everything had been measured: nothing is missing" in told.splitlines()


@pytest.mark.parametrize("outcome", Outcome)
def test_a_trial_that_was_decided_before_the_interruption_need_not_run_again(outcome: Outcome) -> None:
    trial = a_trial(outcome, reason=Reason.INTERRUPTED)
    text = run_report(run_with(a_test("cut", trial)))
    decided = outcome is not Outcome.UNMEASURED
    assert ("what decides it had been seen before, so there is nothing to go on with" in text) is decided
    assert ("go on with --resume" in text) is not decided


def test_only_an_interrupted_run_knows_that_a_test_did_not_run():
    late = a_test("late", a_trial(Outcome.UNMEASURED, reason=Reason.TIMEOUT), planned=3)
    lines = report(a_test("never"), late, interrupted=True)
    assert [line.split("  ")[0] for line in lines if "csv::" in line] == ["UNMEASURED csv::late", "NOT RUN"]
    assert any("2 trials not run" in line for line in lines)
    assert any("2 unmeasured (1 not run)" in line for line in lines)

    lines = report(a_test("never"), interrupted=None)  # it may have been killed in its middle
    assert any(line.startswith("UNMEASURED csv::never") for line in lines)
    assert any("no trial ran to its end" in line for line in lines)


def test_nothing_is_to_be_done_about_a_test_that_passed():
    trials = [a_trial(Outcome.PASSED, index=n) for n in (1, 2)]
    lines = report(
        a_test("some", *trials, a_trial(Outcome.UNMEASURED, reason=Reason.INTERRUPTED, index=3), planned=3)
    )

    assert any(line.strip() == "trial 3: interrupted: late" for line in lines)
    assert not any("->" in line for line in lines)


def test_a_banner_that_was_just_shown_is_not_repeated():
    run = RunResult("RUN", "docker", "rehearsal", (a_test("good", a_trial(Outcome.PASSED)),), 5120)

    lines = run_report(run, begun=True).splitlines()

    assert [line.startswith("REHEARSED") for line in lines] == [False] * (len(lines) - 1) + [True]


def test_a_failed_test_without_a_script_says_that_words_were_compared():
    failed = a_test("bad", a_trial(Outcome.FAILED, message="called: none"))
    for scripted, source, told in (
        (False, "rehearsal", True),
        (True, "rehearsal", False),
        (None, "rehearsal", False),
        (False, "api", False),
    ):
        lines = report(evolve(failed, scripted=scripted), source=source)
        assert any("script this test in rehearsal.json" in line for line in lines) is told
    work = report(evolve(failed, scripted=False, type="skill-prompt"), source="rehearsal")
    assert not any("init --rehearsal" in line for line in work)
    call = report(evolve(failed, scripted=False, type="skill-call", eval="my eval"), source="rehearsal")
    assert any("or let skillwalker init --rehearsal 'my eval' do it" in line for line in call)


def test_what_a_trial_notes_is_shown_whether_it_passed_or_not():
    for outcome in Outcome:
        trial = evolve(a_trial(outcome), notes=("2 of 5 tool calls failed (call 2, Bash)",))
        assert any("note: 2 of 5 tool calls failed" in line for line in report(a_test("t", trial)))


def test_failed_criteria_are_told_once():
    said = "1 of 2 criteria passed, judged by claude-x; failed: c1 is short; the judge saw only a part: a.txt"
    details = (Detail("c1 is short", Outcome.FAILED, "it is long"),)
    judged = (Judged(0, "llm-judge", Verdict(Outcome.FAILED, said, details)),)
    test = a_test("judged", evolve(a_trial(Outcome.FAILED), judged=judged))

    text = "\n".join(report(test))
    assert text.count("c1 is short") == 1
    assert "judged by claude-x; the judge saw only a part: a.txt" in text
    assert "judged by the rehearsed claude-x" in "\n".join(report(test, source="rehearsal"))


def test_the_last_line_of_the_live_block_leaves_room_for_what_a_terminal_echoes():
    stream = io.StringIO()
    live = LiveProgress(stream, 3)
    checked = SimpleNamespace(eval=SimpleNamespace(name="csv"), test=SimpleNamespace(name="tidies"))
    live.started("t1", checked, 1)

    Console(file=stream, width=60, force_terminal=False).print(live._render())

    running, done = stream.getvalue().splitlines()
    assert running.startswith("csv::tidies")
    assert done == "0 of 3 trials done"
