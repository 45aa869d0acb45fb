"""Results as JSON values and back."""

from __future__ import annotations

import json
import shutil

import pytest
from attrs import evolve

from skillwalker.errors import ConfigurationError, Problem
from skillwalker.expectations.base import Detail, Verdict
from skillwalker.gateway.spending import Spend
from skillwalker.outcomes import Outcome, Reason
from skillwalker.records import (
    load_run,
    planned_object,
    problems_object,
    run_object,
    trial_file,
    trial_object,
    verdict_object,
)
from skillwalker.results import Judged, RunResult, TestResult, TrialResult
from skillwalker.store import Store
from skillwalker.tokens import Tokens
from skillwalker.transcript import AgentUse, SkillUse, Usage

RUN_ID = "20261130T101500Z-3f9a1c"


def a_run() -> RunResult:
    details = (Detail("c1 names a file", Outcome.PASSED, "it does"),)
    judged = (
        Judged(0, "skill-call", Verdict(Outcome.PASSED, "called")),
        Judged(1, "llm-judge", Verdict(Outcome.FAILED, "0 of 1", details)),
    )
    whole = TrialResult(
        id="csv.tidies.0a1b2c3d.main.1",
        index=1,
        outcome=Outcome.FAILED,
        duration_ms=1200,
        turns=2,
        usage=Usage(20, 40, 0, None),
        skills=(SkillUse("acme:tidy", 1, True),),
        agents=(AgentUse("acme:auditor", 1, True, None),),
        judged=judged,
        notes=("said twice",),
        cost_usd=0.25,
        judge_cost_usd=0,
        spent=(
            Spend(
                "agent:acme:auditor",
                "claude-sonnet-5-5",
                "claude-sonnet-5-5-20260929",
                2,
                1,
                Tokens(1, None, 3, 4, cache_write_1h_tokens=None, extras=frozenset({"web_search"})),
                None,
            ),
        ),
    )
    broken = TrialResult(
        id="csv.tidies.0a1b2c3d.main.2",
        index=2,
        outcome=Outcome.UNMEASURED,
        reason=Reason.TIMEOUT,
        message="late",
    )
    test = TestResult("csv", "tidies", "skill-prompt", "opus", 3, 2, (whole, broken), real=False)
    return RunResult(RUN_ID, "docker", "rehearsal", (test,), 5120, "2.1.332", "sha256:ab")


def stored(run: RunResult, store: Store, *, finished: bool = True):
    manifest = {
        "schema": 1,
        "run_id": run.run_id,
        "sandbox": run.sandbox,
        "model_source": run.model_source,
        "claude_code_version": run.claude_code_version,
        "image": run.image,
        "duration_ms": run.duration_ms,
        **({"interrupted": run.interrupted} if finished else {}),
        "options": {"allow_unmeasured": 0},
        "tests": [planned_object(test) for test in run.tests],
    }
    directory = store.create(run.run_id, manifest)
    for test in run.tests:
        for trial in test.trials:
            lines = [{"trial": trial.id, "position": j.position, **verdict_object(j)} for j in trial.judged]
            directory.add_verdicts(lines)
            directory.finish_trial(trial.id, trial_file(test.eval, test.name, trial))
    return directory


def test_the_object_has_the_documented_shape():
    found = run_object(a_run())

    assert {"schema", "run_id", "outcome", "sandbox", "model_source", "claude_code_version", "image"} <= set(
        found
    )
    assert found["totals"] == {
        "tests": 1,
        "passed": 0,
        "failed": 0,
        "unmeasured": 1,  # one of three trials failed, two need to pass, and two are not measured
        "skipped": 0,
        "trials_not_needed": 0,
        "cost_usd": None,
        "judge_cost_usd": None,
        "duration_ms": 5120,
    }
    first, second = found["tests"][0]["trials"]
    assert first["skills"] == [{"name": "acme:tidy", "calls": 1, "loaded": True, "errors": []}]
    agent = {"name": "acme:auditor", "calls": 1, "started": True, "completed": None, "errors": []}
    assert first["agents"] == [agent]
    assert first["expectations"][1]["details"] == [
        {"name": "c1 names a file", "outcome": "passed", "message": "it does"}
    ]
    assert first["reason"] is None
    assert second["reason"] == "timeout"
    assert json.loads(json.dumps(found)) == found


def test_what_judges_took_stands_apart_from_the_trial():
    trial = a_run().tests[0].trials[0]
    of_judges = [
        Spend("judge", "claude-opus-5-5", "claude-opus-5-5", 2, 0, Tokens(100, 20, 7, 3), 0.5),
        Spend("judge", "claude-opus-5-5", "claude-opus-5-5-a", 1, 0, Tokens(10, None, 0, 0), 0.25),
    ]
    judged = trial_object(evolve(trial, spent=(*trial.spent, *of_judges), judge_cost_usd=0.75))

    assert judged["judge"] == {
        "calls": 3,
        "input_tokens": 110,
        "output_tokens": None,  # one did not tell
        "cache_read_input_tokens": 7,
        "cache_creation_input_tokens": 3,
        "cost_usd": 0.75,
    }
    assert judged["cost_usd"] == 0.25
    assert judged["usage"] == trial_object(trial)["usage"]
    assert trial_object(trial)["judge"] is None


def test_what_was_not_observed_is_null_and_never_0():
    trial = run_object(a_run())["tests"][0]["trials"][1]

    assert [trial[key] for key in ("duration_ms", "cost_usd", "turns", "usage")] == [None] * 4


def test_a_stored_run_is_read_back_as_it_was(tmp_path):
    run = a_run()

    found = load_run(stored(run, Store(tmp_path)))
    assert run_object(found) == run_object(run)
    assert found.tests[0].trials[0].spent == run.tests[0].trials[0].spent


def test_a_trial_that_did_not_finish_is_unmeasured_when_read_back(tmp_path):
    directory = stored(a_run(), Store(tmp_path))
    (directory.path / "trials" / "csv.tidies.0a1b2c3d.main.1" / "trial.json").unlink()

    test = load_run(directory).tests[0]

    assert (len(test.trials), test.outcome) == (1, Outcome.UNMEASURED)


def test_a_run_with_a_trial_that_was_cut_does_not_say_what_it_cost(tmp_path):
    whole = a_run().tests[0].trials[0]
    run = evolve(a_run(), model_source="api", tests=(evolve(a_run().tests[0], trials=(whole,)),))
    directory = stored(run, Store(tmp_path))
    cut = directory.trial("csv.tidies.0a1b2c3d.main.2")
    for asked, cost in (("", 0.25), ("{}\n", None)):
        (cut / "gateway.jsonl").write_text(asked)
        assert load_run(directory).cost_usd == cost
    cut.rename(cut.with_name(f"{cut.name}.old-1"))  # set aside, and told by itself
    assert load_run(directory).cost_usd == 0.25


def test_a_later_verdict_replaces_the_former(tmp_path):
    directory = stored(a_run(), Store(tmp_path))
    again = Judged(1, "llm-judge", Verdict(Outcome.PASSED, "1 of 1"))
    directory.add_verdicts([{"trial": "csv.tidies.0a1b2c3d.main.1", "position": 1, **verdict_object(again)}])

    assert load_run(directory).tests[0].trials[0].judged[1].verdict.message == "1 of 1"


def test_verdicts_of_an_attempt_that_was_set_aside_are_none_of_the_next(tmp_path):
    directory = stored(a_run(), Store(tmp_path))
    first = a_run().tests[0].trials[0]
    directory.set_aside(first.id)
    broken = evolve(first, outcome=Outcome.UNMEASURED, judged=())
    directory.finish_trial(first.id, trial_file("csv", "tidies", broken))

    assert load_run(directory).tests[0].trials[0].judged == ()


def test_a_newer_format_is_refused_by_name(tmp_path):
    directory = Store(tmp_path).create(RUN_ID, {"schema": 2})

    with pytest.raises(ConfigurationError, match="format 2; this version reads 1"):
        load_run(directory)


def test_a_damaged_trial_is_told_and_not_guessed(tmp_path):
    directory = stored(a_run(), Store(tmp_path))
    (directory.path / "trials" / "csv.tidies.0a1b2c3d.main.2" / "trial.json").write_text('{"id": "x"}')

    with pytest.raises(ConfigurationError, match="does not hold a whole run"):
        load_run(directory)


def test_a_trial_that_is_there_twice_is_not_counted_twice(tmp_path):
    directory = stored(a_run(), Store(tmp_path))
    trial = directory.path / "trials" / "csv.tidies.0a1b2c3d.main.1"
    shutil.copytree(trial, trial.with_name("a copy of mine"))

    with pytest.raises(ConfigurationError, match=r"trial csv\.tidies\.0a1b2c3d\.main\.1 is there twice"):
        load_run(directory)


def test_problems_keep_their_places():
    problem = Problem("unknown field promt", file="evals/csv/tests.json", line=4, path="tests[0]")

    assert problems_object([problem]) == {
        "problems": [
            {"file": "evals/csv/tests.json", "line": 4, "path": "tests[0]", "message": "unknown field promt"}
        ]
    }


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("run.json", {"tests": {}}),
        (
            "run.json",
            {"tests": [{"eval": "csv", "name": "n", "type": "t", "model": "m", "planned": "3", "need": 1}]},
        ),
        ("run.json", {"options": {"allow_unmeasured": None}}),
        ("run.json", {"duration_ms": 10**400}),
        ("run.json", {"sandbox": 1}),
        ("run.json", {"run_id": "20261130T101500Z-3f9a1c\x1b[2J"}),
        ("run.json", {"run_id": "x; rm -r ."}),
        ("run.json", {"tests": [{**planned_object(a_run().tests[0]), "need": 0}]}),
        ("run.json", {"tests": [{**planned_object(a_run().tests[0]), "eval": ""}]}),
        ("run.json", {"tests": [{**planned_object(a_run().tests[0]), "eval": " ::error title=x"}]}),
        (
            "run.json",
            {
                "tests": [
                    {
                        **planned_object(a_run().tests[0]),
                        "target": {"kind": "skill", "id": "::error::x", "should": True, "position": 0},
                    }
                ]
            },
        ),
        ("trial", {"id": "../../../elsewhere"}),
        ("trial", {"id": ".."}),
        ("trial", {"message": None}),
        ("trial", {"cost_usd": float("nan")}),
        ("trial", {"spent": [7]}),
        ("trial", {"spent": [{"conversation": "main", "usage": {}}]}),
        ("trial", {"usage": [1]}),
        ("trial", {"notes": "abc"}),
        ("trial", {"notes": [1]}),
        ("trial", {"turns": True}),
    ],
)
def test_a_run_whose_parts_are_of_another_type_is_refused(tmp_path, file, changes):
    directory = stored(a_run(), Store(tmp_path))
    path = directory.path / (file if file == "run.json" else "trials/csv.tidies.0a1b2c3d.main.1/trial.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    with pytest.raises(ConfigurationError, match="does not hold a whole run"):
        load_run(directory)


@pytest.mark.parametrize("file", ["run.json", "results.jsonl"])
def test_a_file_nested_without_end_is_no_fault_of_ours(tmp_path, file):
    run = a_run()
    directory = stored(run, Store(tmp_path))
    (directory.path / file).write_text("[" * 100_000)

    if file == "run.json":
        with pytest.raises(ConfigurationError, match="not valid JSON"):
            load_run(directory)
    else:  # like any line that is none
        assert load_run(directory).tests[0].trials[0].judged == ()


def test_a_trial_whose_verdicts_are_lost_has_not_passed(tmp_path):
    run = a_run()
    first = evolve(run.tests[0].trials[0], outcome=Outcome.PASSED)
    directory = stored(evolve(run, tests=(evolve(run.tests[0], trials=(first,)),)), Store(tmp_path))
    directory.results.write_text(directory.results.read_text().splitlines()[0] + "\n")

    assert load_run(directory).tests[0].trials[0].outcome is Outcome.UNMEASURED


def test_a_run_that_was_killed_does_not_say_whether_it_was_interrupted(tmp_path):
    assert load_run(stored(a_run(), Store(tmp_path), finished=False)).interrupted is None


@pytest.mark.parametrize("missing", [0, 1])
def test_a_run_that_was_interrupted_when_all_was_measured_is_whole(tmp_path, missing):
    run = a_run()
    whole = run.tests[0].trials[0]
    test = evolve(run.tests[0], trials=(whole,), planned=1 + missing, need=1)
    again = load_run(stored(evolve(run, tests=(test,), interrupted=True), Store(tmp_path)))
    assert (again.interrupted, again.is_whole) == (bool(missing), not missing)


@pytest.mark.parametrize("scripted", [True, False, None])
def test_whether_a_test_had_a_script_is_kept_and_unknown_in_older_runs(tmp_path, scripted):
    run = a_run()
    directory = stored(evolve(run, tests=(evolve(run.tests[0], scripted=scripted),)), Store(tmp_path))
    if scripted is None:
        manifest = directory.manifest()
        del manifest["tests"][0]["scripted"]
        (directory.path / "run.json").write_text(json.dumps(manifest))

    assert load_run(directory).tests[0].scripted is scripted
