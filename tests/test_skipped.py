"""A test with `skip` is not run: it is told with its reason everywhere, and counts as nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from roots import an_eval, plugin
from stored_runs import PASSED, a_test, a_trial, keep, stored, verdict

from skillwalker.errors import NothingSelectedError
from skillwalker.preparing import prepare
from skillwalker.records import load_run, run_object
from skillwalker.reports.console import run_report
from skillwalker.reports.facts import run_facts
from skillwalker.reports.junit import junit
from skillwalker.reports.markdown import markdown
from skillwalker.request import Prepared, RunRequest
from skillwalker.results import Skipped

SAYS = {"result-contains": "done"}
WHY = "waits for \x1b[31mthe <new> parser"
LATER = {"eval": "later", "name": "not yet", "type": "skill-prompt", "reason": WHY}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    plugin(tmp_path)
    an_eval(
        tmp_path,
        [
            {"name": "now", "expect": [SAYS]},
            {"name": "not yet", "skip": "waits for the parser", "tags": ["slow"], "expect": [SAYS]},
        ],
    )
    return tmp_path


def prepared(root: Path, **given: Any) -> Prepared:
    return prepare(RunRequest(root=root, cwd=root, isolated=True, rehearse=True, **given))


def test_it_is_not_planned(root: Path) -> None:
    found = prepared(root)

    assert [one.checked.test.name for one in found.tests] == ["now"]
    assert found.skipped == (Skipped("csv", "not yet", "skill-prompt", "waits for the parser"),)


def test_one_that_is_not_selected_is_not_told(root: Path) -> None:
    assert prepared(root, keyword="now").skipped == ()


def test_a_selection_of_skipped_tests_alone_runs_nothing_and_says_so(root: Path, run_cli: Any) -> None:
    with pytest.raises(
        NothingSelectedError, match=r"every selected test is skipped: csv::not yet \(waits for"
    ):
        prepared(root, keyword="slow")

    called = run_cli("--root", root, "run", "--isolated", "--rehearse", "csv::not yet")
    assert (called.code, called.out) == (5, "")


def test_its_mistakes_are_told_all_the_same(root: Path, run_cli: Any) -> None:
    an_eval(root, [{"name": "x", "skip": "later", "expect": [{"result-contain": "a"}]}], name="third")

    called = run_cli("--root", root, "validate")

    assert called.code == 4
    assert "did you mean result-contains?" in called.err


def test_the_plan_and_the_list_tell_it(root: Path, run_cli: Any) -> None:
    plan = ("--root", root, "run", "--isolated", "--rehearse", "--dry-run")
    reason = "waits for the parser"

    assert f"csv::not yet  (skipped: {reason})" in run_cli(*plan).out
    assert [one["reason"] for one in json.loads(run_cli(*plan, "--format", "json").out)["skipped"]] == [
        reason
    ]
    assert f"not yet  (skill-prompt, sonnet, slow)  skipped: {reason}" in run_cli("--root", root, "list").out
    listed = json.loads(run_cli("--root", root, "list", "--format", "json").out)
    assert [(one["skip"], one["tags"]) for one in listed["evals"][0]["tests"]] == [
        (None, []),
        (reason, ["slow"]),
    ]


def test_a_stored_run_keeps_it_and_counts_it_apart(tmp_path: Path) -> None:
    run = load_run(keep(tmp_path, a_test("good", a_trial("good", 1, verdict(PASSED))), skipped=[LATER]))
    found = run_object(run)

    assert run.skipped == (Skipped("later", "not yet", "skill-prompt", WHY),)
    assert (run.exit_code, found["outcome"]) == (0, "passed")
    assert {key: found["totals"][key] for key in ("tests", "passed", "skipped")} == {
        "tests": 1,
        "passed": 1,
        "skipped": 1,
    }
    assert found["skipped"] == [LATER]


def test_a_run_from_before_has_none(tmp_path: Path) -> None:
    assert load_run(keep(tmp_path, a_test("good", a_trial("good", 1, verdict(PASSED))))).skipped == ()


def test_every_report_shows_it_with_its_reason(tmp_path: Path) -> None:
    source = stored(tmp_path, a_test("good", a_trial("good", 1, verdict(PASSED))), skipped=[LATER])
    console = run_report(source.run)

    assert r"SKIPPED    later::not yet  (skill-prompt)  waits for \x1b[31mthe <new> parser" in console
    assert "1 test: 1 passed, 1 skipped in" in console
    assert "1 passed, 1 skipped" in "".join(markdown(source))
    assert any(fact.label == "skipped" and "not yet" in fact.value for fact in run_facts(source))


def test_junit_has_a_skipped_case_for_it(tmp_path: Path) -> None:
    source = stored(tmp_path, a_test("good", a_trial("good", 1, verdict(PASSED))), skipped=[LATER])
    root = ElementTree.fromstring("".join(junit(source)))
    good, later = root.findall("testsuite")

    assert (root.get("tests"), good.get("skipped"), later.get("tests"), later.get("skipped")) == (
        "2",
        "0",
        "1",
        "1",
    )
    [case] = later.findall("testcase")
    [skipped] = case
    assert (case.get("name"), skipped.tag) == ("not yet", "skipped")
    assert skipped.get("message") == r"waits for \x1b[31mthe <new> parser"
