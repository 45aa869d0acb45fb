"""Names of tests that come from a list of queries."""

from __future__ import annotations

from pathlib import Path

import pytest
from roots import plugin, write

from skillwalker.checks import check
from skillwalker.evals import trial_id
from skillwalker.queries import is_cut, is_made_of, short_name, unique_names
from skillwalker.select import Selection


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("tidy this", "tidy this"),
        ("one two three four five six seven", "one two three four five six seven"),
        ("one two three four five six seven eight", "one two three four five six seven…"),
        (" \n tidy\tthis \n", "tidy this"),
        ("x" * 48, "x" * 48),
        ("x" * 49, "x" * 47 + "…"),
        ("a " + "x" * 60, "a…"),
        ("\x1b[31m red", "red"),
        ("\x00", "query"),
    ],
)
def test_a_name_is_made_of_the_first_words(query: str, name: str) -> None:
    assert short_name(query) == name


def test_names_stay_when_queries_are_added() -> None:
    before = unique_names(["a", "b", "a"], ["taken"])
    after = unique_names(["a", "b", "a", "taken", "a", "c"], ["taken"])

    assert before == ("a", "b", "a (2)")
    assert after == (*before, "taken (2)", "a (3)", "c")


def test_a_number_never_meets_a_name_that_is_there() -> None:
    assert unique_names(["a", "a", "a (2)"], ["a (3)"]) == ("a", "a (2)", "a (2) (2)")
    assert unique_names(["a", "a"], ["a (2)"]) == ("a", "a (3)")


def test_queries_become_tests_that_can_be_selected_by_name_and_tag(tmp_path: Path) -> None:
    plugin(tmp_path)
    write(
        tmp_path / "evals/csv/tests.json",
        """{"plugins": ["acme"], "tests": [{"type": "skill-call", "skillFile": "acme:tidy", "queries": [
        {"query": "tidy this", "should_trigger": true, "tags": ["smoke"]},
        {"query": "tidy this", "should_trigger": true},
        {"query": "smoke a fish", "should_trigger": false}]}]}""",
    )

    def names(**wanted: str | tuple[str, ...]) -> list[str]:
        checked, _ = check(Selection(tmp_path, **wanted), tmp_path)  # type: ignore[arg-type]
        assert checked.problems == ()
        return [one.test.name for one in checked.tests]

    assert names() == ["tidy this", "tidy this (2)", "smoke a fish"]
    assert names(keyword="smoke") == ["tidy this", "smoke a fish"]
    assert names(keyword="tidy and smoke") == ["tidy this"]
    assert names(keyword="not smoke") == ["tidy this (2)"]
    assert names(select=("csv::tidy this (2)",)) == ["tidy this (2)"]
    assert len({trial_id("csv", name, "main", 1) for name in names()}) == 3


def test_a_problem_that_all_queries_share_is_told_once(tmp_path: Path) -> None:
    plugin(tmp_path)
    write(
        tmp_path / "evals/csv/tests.json",
        """{"plugins": ["acme"], "tests": [{"type": "skill-call", "skillFile": "acme:tidie", "queries": [
        {"query": "tidy this", "should_trigger": true}, {"query": "tidy that", "should_trigger": true}]}]}""",
    )
    checked, _ = check(Selection(tmp_path), tmp_path)

    assert [problem.path for problem in checked.problems] == ["tests[0].skillFile"]
    assert "did you mean tidy?" in checked.problems[0].message


LONG = "make a table of all the sales, and then tell me what the best month was"


@pytest.mark.parametrize(
    ("name", "query", "cut", "made"),
    [
        ("make a table of all the sales,…", LONG, True, True),
        ("Call: make a table of all the sales,…", LONG, True, True),
        ("Call: make a table of all the sales,… (2)", LONG, True, True),
        ("make a table…", LONG, True, False),
        ("Sales", LONG, False, False),
        ("short", "short", False, True),
        ("short (2)", "short", False, True),
    ],
)
def test_a_name_can_be_seen_to_be_made_of_a_query(name: str, query: str, cut: bool, made: bool) -> None:
    assert (is_cut(name), is_made_of(name, query)) == (cut, made)
