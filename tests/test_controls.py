"""Prompts that show whether a measurement sees anything, and what follows where it does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attrs import evolve
from roots import AUDITOR, TIDY, agent, an_eval, plugin, skill
from stored_runs import keep

from skillwalker.checks import check
from skillwalker.controls import with_controls
from skillwalker.expectations.base import Verdict
from skillwalker.gateway.rule import stems
from skillwalker.outcomes import Outcome
from skillwalker.plan import PlannedTest, plan, target_of
from skillwalker.records import load_run, run_object
from skillwalker.reports.console import run_report
from skillwalker.results import Control, Judged, Target, TestResult, TrialResult, with_blind
from skillwalker.select import Selection

P, F, U = Outcome.PASSED, Outcome.FAILED, Outcome.UNMEASURED
TIDY_CALL = {"type": "skill-call", "skillFile": "acme:tidy", "model": "opus"}
AUDITOR_CALL = {"type": "agent-call", "agentFile": "acme:auditor", "model": "opus"}


def planned(root: Path) -> tuple[PlannedTest, ...]:
    checked, _ = check(Selection(root), root)
    assert checked.problems == ()
    return plan(checked.tests)


def controls(root: Path) -> list[PlannedTest]:
    return [one for one in with_controls(planned(root)) if one.arm == "control"]


def test_a_pair_for_each_skill_or_agent_and_model(tmp_path: Path) -> None:
    plugin(tmp_path)
    tests = [
        {"name": "yes", **TIDY_CALL, "trials": 3, "expect": [{"skill-call": True}]},
        {"name": "no", **TIDY_CALL, "expect": [{"skill-call": False}]},
        {"name": "other model", **TIDY_CALL, "model": "haiku", "expect": [{"skill-call": True}]},
        {"name": "agent", **AUDITOR_CALL, "expect": [{"agent-call": True}]},
        {"name": "prompt", "expect": [{"skill-call": {"skill": "acme:tidy", "expected": True}}]},
    ]
    an_eval(tmp_path, tests)
    found = controls(tmp_path)

    assert [one.checked.test.name for one in found] == [
        "control: acme:tidy named, opus",
        "control: acme:tidy unrelated, opus",
        "control: acme:tidy named, haiku",
        "control: acme:tidy unrelated, haiku",
        "control: acme:auditor named, opus",
        "control: acme:auditor unrelated, opus",
    ]
    assert {(one.trials, one.need) for one in found} == {(1, 1)}
    assert [target.should for one in found if (target := target_of(one.checked))] == [True, False] * 3
    assert "acme:tidy" in found[0].checked.test.prompt
    ids = [trial for one in with_controls(planned(tmp_path)) for trial in one.trial_ids()]
    assert len(set(ids)) == len(ids)


def test_a_control_gets_what_the_tests_get(tmp_path: Path) -> None:
    plugin(tmp_path)
    an_eval(tmp_path, [{"name": "yes", **TIDY_CALL, "expect": [{"skill-call": True}]}])
    named, _, test = with_controls(planned(tmp_path))
    assert named.plugins == test.plugins
    assert named.inputs()["prompt"] != test.inputs()["prompt"]


@pytest.mark.parametrize(
    "description", [TIDY, AUDITOR, "Capitals of France, sums of numbers, days of the week"]
)
def test_the_unrelated_prompt_shares_no_word_with_the_description(tmp_path: Path, description: str) -> None:
    skill(plugin(tmp_path), "tidy", description)
    agent(tmp_path / "acme", "auditor", description)
    tests = [
        {"name": "skill", **TIDY_CALL, "expect": [{"skill-call": True}]},
        {"name": "agent", **AUDITOR_CALL, "expect": [{"agent-call": True}]},
    ]
    an_eval(tmp_path, tests)
    for one in controls(tmp_path):
        if "unrelated" in one.checked.test.name:
            assert not stems(one.checked.test.prompt) & stems(description)


def test_a_skill_that_the_model_may_not_call_has_no_control_that_names_it(tmp_path: Path) -> None:
    skill(plugin(tmp_path), "tidy", TIDY, more="disable-model-invocation: true\n")
    an_eval(tmp_path, [{"name": "no", **TIDY_CALL, "expect": [{"skill-call": False}]}])
    assert [one.checked.test.name for one in controls(tmp_path)] == ["control: acme:tidy unrelated, opus"]


def result(
    name: str, outcome: Outcome, *, should: bool, arm: str = "main", id_: str = "acme:tidy"
) -> TestResult:
    judged = (Judged(0, "skill-call", Verdict(outcome, f"said of {name}")),)
    trial = TrialResult(f"csv.{name}.{arm}.1", 1, outcome, arm=arm, judged=judged, healthy=outcome is not U)
    return TestResult(
        "csv", name, "skill-call", "opus", 1, 1, (trial,), target=Target("skill", id_, should, 0), arm=arm
    )


def control(outcome: Outcome, *, should: bool = True) -> Control:
    return Control(result("control", outcome, should=should, arm="control"))


def test_where_a_control_failed_the_tests_of_its_target_are_unmeasured() -> None:
    tests = [
        result("never", F, should=True),
        result("rightly not", P, should=False),
        result("another", P, should=True, id_="acme:hello"),
        evolve(result("other model", P, should=True), model="haiku"),
        TestResult("csv", "prompt", "skill-prompt", "opus", 1, 1, (TrialResult("p", 1, P),)),
    ]
    found = with_blind(tests, [control(F)])

    assert [one.outcome for one in found] == [U, U, P, P, P]
    never = found[0]
    assert never.blind == "the measurement is blind: acme:tidy was not called by a prompt that names it"
    assert (never.passed, never.measured, never.unmeasured) == (0, 0, 1)


def test_a_skill_that_is_called_whatever_the_prompt_is_not_measured_either() -> None:
    (found,) = with_blind([result("yes", P, should=True)], [control(P), control(F, should=False)])
    assert found.outcome is U
    assert found.blind == "the measurement is blind: acme:tidy was called by an unrelated prompt"


@pytest.mark.parametrize("outcome", [P, U])
def test_a_control_that_passed_or_was_not_measured_changes_nothing(outcome: Outcome) -> None:
    (found,) = with_blind([result("never", F, should=True)], [control(outcome)])
    assert (found.outcome, found.blind) == (F, None)


def test_a_stored_run_tells_controls_apart_and_counts_them_apart(tmp_path: Path) -> None:
    named = result("control: acme:tidy named, opus", F, should=True, arm="control")
    same_name = result(named.name, F, should=True)
    directory = keep(tmp_path, named, result("never", F, should=True), same_name, source="api")
    run = load_run(directory)

    assert [test.name for test in run.tests] == ["never", named.name]
    assert [len(test.trials) for test in run.all_tests] == [1, 1, 1]
    assert (run.outcome, run.exit_code) == (U, 6)
    found = run_object(run)
    assert found["totals"]["tests"] == 2
    assert found["totals"]["unmeasured"] == 2
    assert [one["outcome"] for one in found["controls"]] == ["failed"]
    assert found["tests"][0]["blind"].startswith("the measurement is blind")
    assert found["tests"][0]["statistics"]["rate"] is None
    assert found["activation"][0]["should"] == {"did": 0, "did_not": 0}
    json.dumps(found)


def test_the_console_never_calls_a_blind_measurement_a_failure(tmp_path: Path) -> None:
    named = result("control: acme:tidy named, opus", F, should=True, arm="control")
    lines = run_report(
        load_run(keep(tmp_path, named, result("never", F, should=True), source="api"))
    ).splitlines()

    at = next(n for n, line in enumerate(lines) if line.startswith("UNMEASURED csv::never"))
    assert "the measurement is blind" in lines[at + 1]
    assert not any("said of never" in line for line in lines)
    assert "1 control: 1 failed" in lines
    assert any(line.startswith("FAILED     csv::control: acme:tidy named") for line in lines)
    assert any("1 test: 0 passed, 1 unmeasured" in line for line in lines)
