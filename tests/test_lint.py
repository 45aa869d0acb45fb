"""Tests that are valid and measure less than they seem to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from roots import TIDY, an_eval, plugin, skill, write

from skillwalker.lint import descriptions
from skillwalker.lint.finding import RULES, Finding
from skillwalker.lint.linting import lint
from skillwalker.select import Selection

YES, NO = [{"skill-call": True}], [{"skill-call": False}]
SAYS = {"result-contains": "done"}
CALL = {"type": "skill-call", "skillFile": "acme:tidy"}
WANTED = "Three lines of this export stand there twice, can you get rid of them?"
NEAR = "Write a unit test for the function that removes duplicate rows of CSV files."
GOOD = [{"name": "yes", **CALL, "expect": YES}, {"name": "no", **CALL, "expect": NO}]
PROMPTS = {"yes": WANTED, "no": NEAR}


def found(root: Path, tests: list[dict[str, Any]], prompts: Mapping[str, str], **more: Any) -> list[Finding]:
    plugin(root)
    an_eval(root, tests, prompts={**PROMPTS, **prompts}, **more)
    return list(lint(Selection(root), root).findings)


def rules(*arguments: Any, **more: Any) -> list[str]:
    return [one.rule for one in found(*arguments, **more)]


def test_a_good_pair_has_no_finding(tmp_path: Path) -> None:
    assert found(tmp_path, GOOD, {}) == []


def test_the_expected_text_stands_in_the_prompt(tmp_path: Path) -> None:
    tests = [{"name": "t", "expect": [{"result-contains": "No duplicates"}, {"result-contains": "A-17"}]}]
    (one,) = found(tmp_path, tests, {"t": "Tidy it and end with the words No duplicates."})

    assert one.rule == "expected-in-prompt"
    assert one.path == "tests[0].expect[0].result-contains"
    assert one.file == "evals/csv/tests.json"
    assert one.line == 12
    assert "'No duplicates' stands in the prompt" in one.message
    assert str(one) == f"evals/csv/tests.json:12: {one.path}: {one.message} [expected-in-prompt]"


def test_a_test_that_passes_where_nothing_is_done(tmp_path: Path) -> None:
    tests = [{"name": "t", "expect": [{"result-does-not-contain": "error"}]}]
    (one,) = found(tmp_path, tests, {})
    assert (one.rule, one.path) == ("do-nothing", "tests[0]")


def test_a_prompt_that_is_still_to_be_written(tmp_path: Path) -> None:
    near = "EDIT ME: what comes near the duplicate rows of CSV files?"
    (one,) = found(tmp_path, GOOD, {"no": near})
    assert (one.rule, one.path) == ("edit-me", "tests[1].promptFile")
    assert "the prompt still says EDIT ME; write what somebody would type" in one.message


@pytest.mark.parametrize(
    "more",
    [
        {"result-contains": "A-17"},
        {"skill-call": {"skill": "acme:tidy", "expected": True}},
        {"skill-call": {"skill": "acme:tidy", "expected": False}},  # a near miss among all plugins
    ],
)
def test_one_expectation_that_needs_work_or_a_near_miss_is_enough(tmp_path: Path, more: Any) -> None:
    tests = [{"name": "t", "expect": [{"result-does-not-contain": "error"}, more]}]
    assert rules(tmp_path, tests, {}) == []


def test_what_only_a_judge_can_tell_is_not_taken_for_passed(tmp_path: Path) -> None:
    judge = {"llm-judge": {"rubricFile": "r.md", "model": "opus"}}
    tests = [{"name": "t", "expect": [judge]}]
    assert rules(tmp_path, tests, {}, rubrics={"r.md": "- It is tidy\n"}) == []


def test_a_judge_that_nothing_can_fail_is_no_expectation(tmp_path: Path) -> None:
    judge = {"llm-judge": {"rubricFile": "r.md", "threshold": 0, "votes": 3}}
    tests = [{"name": "t", "expect": [judge]}]
    assert rules(tmp_path, tests, {}, rubrics={"r.md": "- It is tidy\n- It is short\n"}) == ["do-nothing"]


@pytest.mark.parametrize(
    ("expect", "passes"),
    [
        ([{"result-matches": "tidy|clean"}], ["parrot"]),
        ([{"max-turns": 5}], ["do-nothing"]),
        ([{"max-turns": 5}, {"max-cost": 1}, {"files-unchanged": "**"}], ["do-nothing"]),
        ([{"file-exists": "out.csv"}], []),
    ],
)
def test_types_of_other_distributions_are_put_to_the_same_answers(
    tmp_path: Path, expect: Any, passes: list[str]
) -> None:
    pytest.importorskip("skillwalker_expectations_contrib")
    assert rules(tmp_path, [{"name": "t", "expect": expect}], {"t": "Please clean it."}) == passes


@pytest.mark.parametrize(
    ("prompt", "is_named"),
    [
        ("Use acme:tidy on this export.", True),
        ("/tidy the export", True),
        ("Run the Tidy skill here.", True),
        ("Tidy this export, please.", False),
        ("See docs/tidy for details of the export.", False),
    ],
)
def test_a_prompt_that_names_the_skill(tmp_path: Path, prompt: str, is_named: bool) -> None:
    assert rules(tmp_path, GOOD, {"yes": prompt}) == (["names-target"] if is_named else [])


def test_a_name_of_several_parts_is_no_word_by_chance(tmp_path: Path) -> None:
    skill(plugin(tmp_path), "tidy-csv", TIDY)
    call = {**CALL, "skillFile": "acme:tidy-csv"}
    tests = [{**one, **call, "expect": one["expect"]} for one in GOOD]
    an_eval(tmp_path, tests, prompts={**PROMPTS, "yes": "Do a tidy-csv of this."})
    (one,) = lint(Selection(tmp_path), tmp_path).findings
    assert (one.rule, one.path) == ("names-target", "tests[0].promptFile")


def test_a_set_without_negatives_or_without_positives(tmp_path: Path) -> None:
    assert rules(tmp_path / "a", GOOD[:1], {}) == ["no-negative"]
    assert rules(tmp_path / "b", GOOD[1:], {}) == ["no-positive"]


def test_a_negative_that_is_far_from_the_description(tmp_path: Path) -> None:
    (one,) = found(tmp_path, GOOD, {"no": "Write a function for Fibonacci numbers."})
    assert (one.rule, one.path) == ("far-negative", "tests[1].promptFile")


def test_words_that_are_not_written_apart_cannot_be_compared(tmp_path: Path) -> None:
    assert rules(tmp_path, GOOD, {"no": "フィボナッチ数を計算する関数を書いてください。"}) == []


def test_one_prompt_in_several_tests(tmp_path: Path) -> None:
    again = {**GOOD[0], "name": "again"}
    assert rules(tmp_path / "a", [*GOOD, again], {"again": f"\n{WANTED}\n"}) == ["duplicate-test"]
    opposite = {**GOOD[0], "name": "opposite"}
    assert rules(tmp_path / "b", [*GOOD, opposite], {"opposite": NEAR}) == ["contradiction"]
    other = {**GOOD[0], "name": "other", "model": "haiku"}
    assert rules(tmp_path / "c", [*GOOD, other], {"other": WANTED}) == []
    opposite = {**GOOD[0], "name": "opposite", "model": "haiku"}
    assert rules(tmp_path / "d", [*GOOD, opposite], {"opposite": NEAR}) == ["contradiction"]


def test_an_expectation_that_stands_twice(tmp_path: Path) -> None:
    tests = [{"name": "t", "expect": [{"result-contains": "A-17"}, {"result-contains": "A-17"}]}]
    (one,) = found(tmp_path, tests, {})
    assert (one.rule, one.path) == ("duplicate-expectation", "tests[0].expect[1].result-contains")


def test_a_description_that_is_cut_is_found_in_its_file_once(tmp_path: Path) -> None:
    skill(plugin(tmp_path), "hello", "x" * 1537)
    an_eval(tmp_path, GOOD, prompts=PROMPTS)
    an_eval(tmp_path, GOOD, prompts=PROMPTS, name="more")
    (one,) = lint(Selection(tmp_path), tmp_path).findings
    assert (one.rule, one.file, one.line) == ("long-description", "acme/skills/hello/SKILL.md", 3)
    assert "acme:hello" in one.message


@pytest.mark.parametrize(("number", "expected"), [(19, []), (21, ["listing-budget"])])
def test_more_descriptions_than_there_is_room_for(tmp_path: Path, number: int, expected: list[str]) -> None:
    for index in range(number):
        skill(plugin(tmp_path), f"s{index}", "y" * 1450)
    tests = [{"name": "t", "expect": [{"result-contains": "A-17"}]}]
    an_eval(tmp_path, tests)
    assert [one.rule for one in lint(Selection(tmp_path), tmp_path).findings] == expected
    assert descriptions.BUDGET == 30_000


def test_queries_are_found_at_their_own_place(tmp_path: Path) -> None:
    plugin(tmp_path)
    queries = [
        {"query": WANTED, "should_trigger": True},
        {"query": "Run the tidy skill.", "should_trigger": True},
        {"query": "What is the weather?", "should_trigger": False},
    ]
    document = {"plugins": ["acme"], "tests": [{**CALL, "queries": queries}]}
    write(tmp_path / "evals" / "csv" / "tests.json", json.dumps(document, indent=2))
    assert [(one.rule, one.path) for one in lint(Selection(tmp_path), tmp_path).findings] == [
        ("names-target", "tests[0].queries[1].query"),
        ("far-negative", "tests[0].queries[2].query"),
    ]


def test_only_the_selected_tests_are_told_of_but_their_eval_is_looked_at(tmp_path: Path) -> None:
    plugin(tmp_path)
    bad = {"name": "bad", "expect": [{"result-does-not-contain": "error"}]}
    an_eval(tmp_path, [*GOOD, bad], prompts=PROMPTS)
    assert lint(Selection(tmp_path, ("csv::yes",)), tmp_path).findings == ()
    assert [one.rule for one in lint(Selection(tmp_path, ("csv::bad",)), tmp_path).findings] == ["do-nothing"]


def test_the_command_tells_findings_and_exits_with_1(run_cli, tmp_path: Path) -> None:
    plugin(tmp_path)
    an_eval(tmp_path, GOOD[:1], prompts=PROMPTS)
    called = run_cli("--root", tmp_path, "lint")
    assert called.code == 1
    assert called.out.splitlines()[0].startswith("evals/csv/tests.json:6: tests[0]: 1 test of acme:tidy, and")
    assert called.out.splitlines()[1] == "1 finding in 1 test of 1 eval"

    called = run_cli("--root", tmp_path, "lint", "--format", "json")
    assert called.code == 1
    (one,) = json.loads(called.out)["findings"]
    assert one.keys() == {"rule", "file", "line", "path", "message"}
    assert one["rule"] == "no-negative"


def test_files_of_an_eval_select_it_as_before_a_commit(run_cli, tmp_path: Path, monkeypatch) -> None:
    plugin(tmp_path)
    an_eval(tmp_path, GOOD, prompts=PROMPTS)
    an_eval(tmp_path, GOOD[:1], prompts=PROMPTS, name="other")
    monkeypatch.chdir(tmp_path)
    called = run_cli("lint", "evals/csv/tests.json", "evals/csv/prompts/p0.md")
    assert (called.code, called.out) == (0, "nothing found in 2 tests of 1 eval\n")


def test_what_is_not_valid_is_not_linted(run_cli, tmp_path: Path) -> None:
    plugin(tmp_path)
    an_eval(tmp_path, [{"name": "t", "expect": [{"result-contain": "x"}]}])
    called = run_cli("--root", tmp_path, "lint", "--format", "json")
    assert called.code == 4
    assert "result-contains" in json.loads(called.out)["problems"][0]["message"]
    assert run_cli("--root", tmp_path, "lint", "nothing").code == 5


def test_what_is_tested_needs_a_description(tmp_path: Path) -> None:
    write(tmp_path / "acme/skills/mute/SKILL.md", "---\nname: mute\n---\nDo it.\n")
    tests = [
        {"name": "n", "expect": [SAYS, {"skill-call": {"skill": "acme:mute", "expected": False}}]},
        {"name": "p", "expect": [SAYS, {"skill-call": {"skill": "acme:tidy", "expected": True}}]},
    ]
    plugin(tmp_path)
    an_eval(tmp_path, tests)
    everything, other = (lint(Selection(tmp_path, names), tmp_path) for names in ((), ("csv::p",)))

    assert [(one.rule, one.file) for one in everything.findings if one.rule == "no-description"] == [
        ("no-description", "acme/skills/mute/SKILL.md")
    ]
    assert not any("mute" in note for note in everything.notes)
    assert not any(one.rule == "no-description" for one in other.findings)
    assert [note for note in other.notes if note.startswith("acme/skills/mute/SKILL.md:1: it has no ")]


def test_every_rule_has_been_seen_here() -> None:
    told = Path(__file__).read_text("utf-8")
    assert [rule for rule in RULES if f'"{rule}"' not in told] == []


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Tidy sales.csv and tell me the total.", ["misplaced-file"]),
        ("Read `./sales.csv` and write total.txt with the sum.", ["misplaced-file"]),
        ("Read data/sales.csv and tell me the total.", ["misplaced-file"]),
        ("Compare old/sales.csv with files/sales.csv.", []),
        ("Tidy files/sales.csv and tell me the total.", []),
        ("Tidy sales.csv in the directory files.", []),
        ("Tidy the table and save it as sales.csv.", []),
        ("Tidy notes.md, it is at the top.", []),
    ],
)
def test_a_file_that_the_scaffold_has_elsewhere(tmp_path: Path, prompt: str, expected: list[str]) -> None:
    tests = [{"name": "t", "scaffold": "s", "expect": [{"result-contains": "A-17"}]}]
    scaffold = {"s/files/sales.csv": "a\n1\n", "s/notes.md": "n"}
    (*findings,) = found(tmp_path, tests, {"t": prompt}, scaffolds=scaffold)
    assert [one.rule for one in findings] == expected
    for one in findings:
        assert one.path == "tests[0].promptFile"
        assert "sales.csv, and the scaffold has it as files/sales.csv; write that path" in one.message


def test_a_file_that_is_to_be_read_and_is_nowhere_is_a_note(tmp_path: Path) -> None:
    tests = [
        {"name": name, "scaffold": "s", "expect": [{"result-contains": "A-17"}]}
        for name in ("read", "explain", "write")
    ]
    tests.append({"name": "no scaffold", "expect": [{"result-contains": "A-17"}]})
    prompts = {
        "read": "Open the file data/q3.csv and sum it up.",
        "explain": "What is a pyproject.toml good for?",
        "write": "Write the total into data/q4.csv, then check what is in data/q4.csv.",
        "no scaffold": "Read data/q3.csv.",
    }
    plugin(tmp_path)
    an_eval(tmp_path, tests, prompts=prompts, scaffolds={"s/notes.md": "n"})
    linted = lint(Selection(tmp_path), tmp_path)
    assert linted.findings == ()
    assert linted.notes == (
        "csv::read: the prompt names data/q3.csv, and nothing in the scaffold is called so",
    )
