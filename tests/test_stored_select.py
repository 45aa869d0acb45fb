"""Which tests of a stored run are meant."""

from __future__ import annotations

import pytest
from attrs import evolve
from stored_runs import FAILED, PASSED, a_test, a_trial, keep, verdict

from skillwalker.errors import ConfigurationError, NothingSelectedError
from skillwalker.records import load_run
from skillwalker.reports.stored_select import selected


@pytest.fixture
def run(tmp_path):
    return load_run(
        keep(
            tmp_path,
            a_test("tidy [1]", a_trial("a", 1, verdict(PASSED))),
            a_test("hello", a_trial("b", 1, verdict(FAILED))),
            a_test("hello", a_trial("c", 1, verdict(PASSED)), eval_name="more"),
            a_test("never"),
        )
    )


def names(found):
    return [f"{test.eval}::{test.name}" for test in found.tests]


@pytest.mark.parametrize(
    ("select", "keyword", "failed", "expected"),
    [
        ((), None, False, ["csv::tidy [1]", "csv::hello", "more::hello", "csv::never"]),
        (("csv",), None, False, ["csv::tidy [1]", "csv::hello", "csv::never"]),
        (("csv::tidy [1]",), None, False, ["csv::tidy [1]"]),
        (("*::hello",), None, False, ["csv::hello", "more::hello"]),
        (("more", "csv::hello"), None, False, ["csv::hello", "more::hello"]),
        ((), "hello or tidy", False, ["csv::tidy [1]", "csv::hello", "more::hello"]),
        ((), None, True, ["csv::hello", "csv::never"]),
        (("csv",), "hello", True, ["csv::hello"]),
    ],
)
def test_names_globs_keywords_and_what_did_not_pass(run, select, keyword, failed, expected):
    assert names(selected(run, select, keyword, failed=failed)) == expected


def test_a_path_into_an_eval_means_it(run, tmp_path):
    (tmp_path / "evals/more/prompts").mkdir(parents=True)
    (tmp_path / "evals/more/prompts/a.md").touch()

    for path in ("evals/more", "evals/more/", "evals/more/prompts/a.md"):
        assert names(selected(run, (path,), cwd=tmp_path)) == ["more::hello"]


def test_what_matches_nothing_names_what_comes_near(run):
    with pytest.raises(NothingSelectedError, match=r"csv::helo matches no test.*near: csv::hello") as caught:
        selected(run, ("csv::helo", "wrong\x1b"))
    assert "\x1b" not in str(caught.value)
    assert r"wrong\x1b matches no test of run 20261130T101500Z-3f9a1c; there are: csv::tidy" in str(
        caught.value
    )
    with pytest.raises(NothingSelectedError, match="matches no name and no tag of 3 tests of run .*: tidy"):
        selected(run, ("csv",), "absent")
    with pytest.raises(NothingSelectedError, match="nothing failed"):
        selected(run, ("more",), failed=True)
    with pytest.raises(ConfigurationError):
        selected(run, keyword="and")


def test_tags_are_found_as_before_the_run(tmp_path):
    tests = [evolve(a_test("good", a_trial("good", 1, verdict(PASSED))), tags=("slow",)), a_test("slower")]
    run = load_run(keep(tmp_path, *tests))

    assert [test.name for test in selected(run, keyword="slow and not slower").tests] == ["good"]
    assert [test.name for test in selected(run, keyword="slow").tests] == ["good", "slower"]
