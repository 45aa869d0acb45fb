"""What a trial tells an expectation, and the one place that asks an expectation."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

from skillwalker.errors import JudgeError, JudgeOverBudgetError, JudgeUnscriptedError, Problem, SandboxError
from skillwalker.evals import ExpectationSpec
from skillwalker.expectations.base import Detail, NotObservedError, Trial, Verdict
from skillwalker.expectations.bound import DETAIL_LIMIT, MESSAGE_LIMIT, Bound, judge_trial, until
from skillwalker.names import Names
from skillwalker.outcomes import Observation, Outcome, Reason
from skillwalker.testing import TranscriptBuilder, trial

NAMES = Names(skills={"tidy": "acme:tidy"}, agents={"acme:auditor": "acme:aud"})
SPEC = ExpectationSpec("custom", {}, "tests[0].expect[0].custom")


@frozen
class Custom:
    """Does what a test wants."""

    do: Callable[[Trial], Any]

    def check(self, trial: Trial) -> Verdict:
        return self.do(trial)  # type: ignore[no-any-return]


def ask(on: Trial, do: Callable[[Trial], Any]) -> Verdict:
    return judge_trial(Bound(SPEC, Custom(do), origin="acme-checks 1.2"), on)


def raises(error: BaseException) -> Callable[[Trial], Any]:
    def do(_: Trial) -> None:
        raise error

    return do


@pytest.fixture
def healthy(tmp_path: Path) -> Trial:
    events = TranscriptBuilder().init().skill("tidy").agent("acme:aud").text("Done.").result()
    return trial(tmp_path, events, names=NAMES)


@pytest.fixture
def timed_out(tmp_path: Path) -> Trial:
    events = TranscriptBuilder().init().skill("tidy").text("Half of")
    return trial(tmp_path, events, names=NAMES, reason=Reason.TIMEOUT)


def test_names_are_those_of_the_plugins(healthy: Trial) -> None:
    assert healthy.skill_called("acme:tidy") is Observation.YES
    assert healthy.skill_called("tidy") is Observation.YES
    assert healthy.agent_called("acme:auditor") is Observation.YES


def test_only_a_healthy_trial_says_no(healthy: Trial, timed_out: Trial) -> None:
    assert healthy.skill_called("acme:other") is Observation.NO
    assert timed_out.skill_called("acme:tidy") is Observation.YES
    assert timed_out.skill_called("acme:other") is Observation.NOT_OBSERVED
    assert timed_out.agent_called("acme:aud") is Observation.NOT_OBSERVED


def test_a_skill_that_the_stream_hides_is_not_taken_for_none(healthy: Trial) -> None:
    hidden = evolve(healthy, transcript=evolve(healthy.transcript, skills_hidden=True))
    assert hidden.skill_called("acme:tidy") is Observation.YES
    assert hidden.skill_called("acme:other") is Observation.NOT_OBSERVED


def test_a_name_with_two_owners_is_neither_yes_nor_no(tmp_path: Path) -> None:
    names = Names(ambiguous={"tidy": ("acme:tidy", "other:tidy")})
    on = trial(tmp_path, TranscriptBuilder().init().skill("tidy").result("x"), names=names)
    assert on.skill_called("acme:tidy") is Observation.NOT_OBSERVED
    assert on.skill_called("acme:third") is Observation.NO


@pytest.mark.parametrize("read", [lambda trial: trial.final_text, lambda trial: trial.workspace])
def test_what_could_be_an_absence_raises_in_an_unhealthy_trial(
    timed_out: Trial, read: Callable[[Trial], Any]
) -> None:
    with pytest.raises(NotObservedError, match="was not observed \\(timeout"):
        read(timed_out)


def test_a_work_directory_that_was_not_saved_is_not_an_empty_one(healthy: Trial) -> None:
    with pytest.raises(NotObservedError, match="the final work directory was not observed"):
        evolve(healthy, workspace=None).workspace  # noqa: B018


@pytest.mark.parametrize(
    ("observed", "expected", "outcome"),
    [
        (Observation.YES, True, Outcome.PASSED),
        (Observation.YES, False, Outcome.FAILED),
        (Observation.NO, True, Outcome.FAILED),
        (Observation.NO, False, Outcome.PASSED),
        (Observation.NOT_OBSERVED, True, Outcome.UNMEASURED),
        (Observation.NOT_OBSERVED, False, Outcome.UNMEASURED),
        (True, True, Outcome.PASSED),
        (False, True, Outcome.FAILED),
    ],
)
def test_a_verdict_of_an_observation(observed: Observation | bool, expected: bool, outcome: Outcome) -> None:
    assert Verdict.of(observed, "", expected=expected).outcome is outcome


def test_a_verdict_is_passed_on(healthy: Trial) -> None:
    verdict = Verdict(Outcome.FAILED, "no", (Detail("c1", Outcome.FAILED, "why"),))
    assert ask(healthy, lambda _: verdict) == verdict


def test_what_an_unhealthy_trial_cannot_tell_is_unmeasured_with_its_reason(timed_out: Trial) -> None:
    verdict = ask(timed_out, lambda trial: Verdict.of(not trial.final_text, "nothing said"))
    assert verdict.outcome is Outcome.UNMEASURED
    assert verdict.message == "the final text was not observed (timeout: for the test: timeout)"
    assert verdict.reason is None  # it is the trial's own


@pytest.mark.parametrize(
    ("do", "said"),
    [
        (raises(ZeroDivisionError("by zero")), "ZeroDivisionError: by zero"),
        (raises(SystemExit(1)), "SystemExit: 1"),
        (raises(KeyboardInterrupt()), "`check` raised KeyboardInterrupt"),
        (raises(AssertionError()), "AssertionError"),
        (raises(pytest.fail.Exception("not an Exception")), "Failed: not an Exception"),
        (lambda _: None, "returned NoneType instead of a Verdict"),
        (lambda _: True, "returned bool instead of a Verdict"),
        (lambda _: Verdict(True, "x"), "no Outcome"),  # type: ignore[arg-type]
        (lambda _: Verdict("passed", "x"), "no Outcome"),  # type: ignore[arg-type]
        (lambda _: Verdict(Outcome.PASSED, None), "no text"),  # type: ignore[arg-type]
        (lambda _: Verdict(Outcome.PASSED, "x", ("y",)), "no Detail"),  # type: ignore[arg-type]
        (lambda _: Verdict(Outcome.PASSED, "x", None), "TypeError"),  # type: ignore[arg-type]
        (lambda _: Verdict(Outcome.PASSED, "x", reason="since"), "no Reason"),  # type: ignore[arg-type]
        (lambda trial: trial.does_not_exist, "AttributeError"),
    ],
)
def test_an_expectation_that_breaks_has_measured_nothing(
    healthy: Trial, do: Callable[[Trial], Any], said: str
) -> None:
    verdict = ask(healthy, do)
    assert verdict.outcome is Outcome.UNMEASURED
    assert verdict.reason is Reason.EXPECTATION_ERROR
    assert verdict.message.startswith("the expectation custom of acme-checks 1.2 broke: ")
    assert said in verdict.message


def test_an_error_that_cannot_even_be_printed_is_caught(healthy: Trial) -> None:
    class SilentError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert "SilentError" in ask(healthy, raises(SilentError())).message


def test_a_judge_that_cannot_be_read_is_unmeasured(healthy: Trial) -> None:
    verdict = ask(healthy, raises(JudgeError("no JSON")))
    assert (verdict.outcome, verdict.message, verdict.reason) == (
        Outcome.UNMEASURED,
        "no JSON",
        Reason.JUDGE_ERROR,
    )
    missed = ask(healthy, raises(JudgeUnscriptedError("r.json: judge has 1 turn")))
    assert (missed.outcome, missed.reason) == (Outcome.UNMEASURED, Reason.CASSETTE_MISS)
    refused = ask(healthy, raises(JudgeOverBudgetError("the judge was not asked")))
    assert (refused.outcome, refused.reason) == (Outcome.UNMEASURED, Reason.BUDGET)


def test_an_interrupt_of_the_user_passes_through(healthy: Trial) -> None:
    asking, caught = threading.get_ident(), threading.Event()

    def interrupted(_: Trial) -> Verdict:
        signal.pthread_kill(asking, signal.SIGINT)
        caught.wait(60)
        return Verdict(Outcome.PASSED, "not reached in time")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a job of a shell script
    try:
        with pytest.raises(KeyboardInterrupt):
            ask(healthy, interrupted)
    finally:
        signal.signal(signal.SIGINT, before)
        caught.set()


def test_a_broken_type_is_unmeasured_with_its_reason(healthy: Trial) -> None:
    verdict = judge_trial(Bound(SPEC, broken="acme-checks 1.2 cannot be imported"), healthy)
    assert (verdict.outcome, verdict.message, verdict.reason) == (
        Outcome.UNMEASURED,
        "acme-checks 1.2 cannot be imported",
        Reason.EXPECTATION_ERROR,
    )


def test_a_test_with_problems_cannot_be_judged(healthy: Trial) -> None:
    with pytest.raises(ValueError, match="has problems"):
        judge_trial(Bound(SPEC, problems=(Problem("wrong"),)), healthy)


@pytest.mark.parametrize("kind", [iter, list])
def test_details_may_come_in_any_way(healthy: Trial, kind: Any) -> None:
    details = kind([Detail("a", Outcome.FAILED), Detail("b", Outcome.PASSED)])
    verdict = ask(healthy, lambda _: Verdict(Outcome.FAILED, "no", details))
    assert [detail.name for detail in verdict.details] == ["a", "b"]


def test_texts_of_a_verdict_are_short_and_safe(healthy: Trial) -> None:
    noise = "\x1b[31m\u202e" + "x" * 10_000
    verdict = ask(healthy, lambda _: Verdict.of(True, noise, details=[Detail(noise, Outcome.PASSED, noise)]))
    (detail,) = verdict.details
    for text, limit in (
        (verdict.message, MESSAGE_LIMIT),
        (detail.name, MESSAGE_LIMIT),
        (detail.message, DETAIL_LIMIT),
    ):
        assert len(text) <= limit
        assert text.startswith("\\x1b[31m\\u202e")


@frozen
class Hangs:
    """Answers only when it is let go."""

    let_go: threading.Event

    def check(self, trial: Trial) -> Verdict:
        self.let_go.wait()
        raise AssertionError


def test_an_expectation_that_hangs_is_given_up(healthy: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillwalker.expectations.bound.CHECK_SECONDS", 0.05)
    let_go = threading.Event()
    bound = Bound(ExpectationSpec("hangs", True, "x"), Hangs(let_go), origin="slow 1.0")

    verdict = judge_trial(bound, healthy)
    let_go.set()

    assert (verdict.outcome, verdict.reason) == (Outcome.UNMEASURED, Reason.EXPECTATION_ERROR)
    assert "slow 1.0 broke" in verdict.message
    assert "did not end within" in verdict.message


def test_an_expectation_that_hangs_does_not_hold_up_the_end_of_a_run(healthy: Trial) -> None:
    let_go, run_ended = threading.Event(), threading.Event()
    bound = Bound(ExpectationSpec("hangs", True, "x"), Hangs(let_go))

    threading.Timer(0.1, run_ended.set).start()
    with until(run_ended):
        verdict = judge_trial(bound, healthy)
    let_go.set()

    assert (verdict.outcome, verdict.reason) == (Outcome.UNMEASURED, Reason.INTERRUPTED)


def test_an_expectation_says_how_long_it_may_take(healthy: Trial) -> None:
    class Patient(Hangs):
        check_seconds = 0.25

    let_go = threading.Event()
    verdict = judge_trial(Bound(ExpectationSpec("hangs", True, "x"), Patient(let_go)), healthy)
    let_go.set()

    assert "did not end within 0.25 s" in verdict.message


def test_a_sandbox_that_breaks_is_no_fault_of_the_type(healthy: Trial) -> None:
    class Breaks(Hangs):
        def check(self, trial: Trial) -> Verdict:
            raise SandboxError("the engine went away")

    verdict = judge_trial(Bound(ExpectationSpec("breaks", True, "x"), Breaks(threading.Event())), healthy)

    assert (verdict.outcome, verdict.reason) == (Outcome.UNMEASURED, Reason.SANDBOX_ERROR)
    assert verdict.message == "the engine went away"


def test_the_cost_of_a_trial_is_what_its_runner_says(tmp_path: Path) -> None:
    events = TranscriptBuilder().init().text("Done.").result(cost_usd=0.5)

    assert trial(tmp_path, events, duration_ms=1200).cost_usd == 0.5
    assert trial(tmp_path, events, real_model=False).cost_usd is None
