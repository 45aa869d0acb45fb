"""SELECT, `-k`, `--failed` and `last` mean the same wherever a command takes them."""

from __future__ import annotations

import json

import pytest
from roots import an_eval, plugin
from stored_runs import EARLIER, FAILED, PASSED, a_test, a_trial, keep, verdict
from transcripts import init, result

SAYS = {"result-contains": "done"}


@pytest.fixture
def root(tmp_path):
    plugin(tmp_path)
    an_eval(tmp_path, [{"name": "first", "expect": [SAYS]}, {"name": "second one", "expect": [SAYS]}])
    an_eval(tmp_path, [{"name": "other", "expect": [SAYS]}], name="more")
    events = {"events": (init(), result("all done"))}
    keep(tmp_path, a_test("other", a_trial("a", 1, verdict(PASSED)), eval_name="more"), run_id=EARLIER)
    directory = keep(
        tmp_path,
        a_test("first", a_trial("a", 1, verdict(FAILED, type_="result-contains"))),
        a_test("second one", a_trial("b", 1, verdict(PASSED, type_="result-contains"))),
    )
    for trial in ("csv.a.main.1", "csv.b.main.1"):
        with (directory.path / "trials" / trial / "events.jsonl").open("w") as file:
            file.writelines(json.dumps(event) + "\n" for event in events["events"])
    return tmp_path


CASES = [
    (("csv",), ["csv::first", "csv::second one"]),
    (("csv::sec*",), ["csv::second one"]),
    (("evals/csv/tests.json",), ["csv::first", "csv::second one"]),
    (("-k", "one"), ["csv::second one"]),
    (("--failed",), ["csv::first"]),
    (("csv", "--failed", "-k", "first"), ["csv::first"]),
]


def dry_run(run_cli, root, *given):
    called = run_cli("--root", root, "run", "--rehearse", "--dry-run", *given)
    return [line.partition("  (")[0] for line in called.out.splitlines() if "::" in line], called.code


def listed_evals(run_cli, root, *given):
    called = run_cli("--root", root, "list", "evals", "--format", "json", *given)
    data = json.loads(called.out) if called.code == 0 else {"evals": []}
    return [f"{one['name']}::{test['name']}" for one in data["evals"] for test in one["tests"]], called.code


def shown(run_cli, root, *given):
    called = run_cli("--root", root, "show", "last", "--format", "json", *given)
    return named(called)


def rejudged(run_cli, root, *given):
    called = run_cli("--root", root, "rejudge", "last", "--rehearse", "--format", "json", *given)
    return named(called)


def named(called):
    tests = json.loads(called.out).get("tests", []) if called.out.startswith("{") else []
    return [f"{test['eval']}::{test['name']}" for test in tests], called.code


@pytest.mark.parametrize("command", [dry_run, listed_evals, shown, rejudged])
@pytest.mark.parametrize(("given", "expected"), CASES)
def test_every_command_takes_the_same_tests(run_cli, root, monkeypatch, command, given, expected):
    monkeypatch.chdir(root)

    assert command(run_cli, root, *given)[0] == expected


@pytest.mark.parametrize("command", [dry_run, listed_evals, shown, rejudged])
@pytest.mark.parametrize("given", [("nothing",), ("-k", "nothing"), ("more::other", "--failed")])
def test_a_selection_of_nothing_is_exit_code_5_everywhere(run_cli, root, command, given):
    assert command(run_cli, root, *given) == ([], 5)


@pytest.mark.parametrize(("given", "expected"), CASES)
def test_validate_takes_them(run_cli, root, monkeypatch, given, expected):
    monkeypatch.chdir(root)
    called = run_cli("--root", root, "validate", "--format", "json", *given)

    assert json.loads(called.out)["tests"] == len(expected)


@pytest.mark.parametrize(("given", "expected"), CASES)
def test_lint_takes_them(run_cli, root, monkeypatch, given, expected):
    monkeypatch.chdir(root)
    called = run_cli("--root", root, "lint", "--format", "json", *given)

    assert json.loads(called.out)["tests"] == len(expected)


def test_a_broken_eval_elsewhere_is_none_of_a_selections_business(run_cli, root):
    (root / "evals/more/tests.json").write_text("{")

    assert run_cli("--root", root, "validate", "csv", "--failed").code == 0
    assert listed_evals(run_cli, root, "csv")[1] == 0
    assert run_cli("--root", root, "list").code == 4


def test_runs_are_listed_by_what_is_in_them(run_cli, root):
    def runs(*given):
        called = run_cli("--root", root, "list", "runs", "--format", "json", *given)
        return [one["evals"] for one in json.loads(called.out)["runs"]] if called.code == 0 else called.code

    assert runs() == [["more"], ["csv"]]
    assert runs("more") == [["more"]]
    assert runs("--failed") == [["csv"]]
    assert runs("absent") == 5


def test_only_the_chosen_tests_are_judged_again(run_cli, root):
    called = run_cli("--root", root, "rejudge", "last", "csv::first", "--rehearse")

    assert called.code == 0, called.err
    [judged] = root.glob(".skillwalker/runs/*/judgements/1.jsonl")
    verdicts = [json.loads(line) for line in judged.read_text().splitlines()]
    assert {one["trial"] for one in verdicts if "trial" in one} == {"csv.a.main.1"}


def test_without_a_run_failed_is_a_problem(run_cli, tmp_path):
    plugin(tmp_path)
    an_eval(tmp_path, [{"name": "first", "expect": [SAYS]}])

    for command in ("validate", "list", "lint"):
        called = run_cli("--root", tmp_path, command, "--failed")
        assert (called.code, "there is no run yet" in called.err) == (4, True)
