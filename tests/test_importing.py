"""Trigger lists and output evals of other tools, in the shapes they come in; look-alikes are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from roots import write

from skillwalker.errors import ConfigurationError
from skillwalker.importing.reading import read_source
from skillwalker.importing.values import Found, InputFile


def read(tmp_path: Path, value: Any, skill: str = "", name: str = "evals.json") -> Found:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return read_source(write(tmp_path / name, text), skill).found


def refusal(tmp_path: Path, value: Any, name: str = "evals.json") -> str:
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, value, name=name)
    return caught.value.problems[0].message


YES, NO = {"query": "tidy it", "should_trigger": True}, {"query": "sum it up", "should_trigger": False}


@pytest.mark.parametrize(
    "value",
    [
        [YES, NO],
        {"evals": [YES, NO]},
        {"skill_name": "tidy", "notes": "old", "queries": [YES, NO]},
        {"cases": [YES, NO], "description": "x"},
        {"evaluations": [YES, NO], "benchmark": {"baseline_score": 1}},
        {"own_key": [YES, NO]},
        [{"prompt": "tidy it", "should_trigger": True}, {"input": "sum it up", "should_trigger": False}],
        [
            {"question": "tidy it", "expected_trigger": True},
            {"user_prompt": "sum it up", "should_activate": False},
        ],
        [{"query": "tidy it", "shouldTrigger": "true"}, {"query": "sum it up", "should_invoke": "No"}],
        [{"trigger": "tidy it", "expected": "positive"}, {"trigger": "sum it up", "expected": "negative"}],
        {"should_trigger": ["tidy it"], "should_not_trigger": ["sum it up"]},
        {"should_activate": [{"input": "tidy it"}], "should_not_activate": [{"prompt": "sum it up"}]},
    ],
    ids=str,
)
def test_a_list_with_yes_and_no_is_read_whatever_its_keys_are_called(tmp_path: Path, value: Any) -> None:
    found = read(tmp_path, value)
    assert [(query.text, query.wanted) for query in found.queries] == [
        ("tidy it", True),
        ("sum it up", False),
    ]
    assert found.cases == []


def test_json_lines_are_read(tmp_path: Path) -> None:
    found = read(tmp_path, f"{json.dumps(YES)}\r\n\n{json.dumps(NO)}", name="triggers.jsonl")
    assert [query.wanted for query in found.queries] == [True, False]


def test_a_byte_order_mark_and_other_scripts_do_no_harm(tmp_path: Path) -> None:
    found = read(tmp_path, "\ufeff" + json.dumps([{"query": "整理表格\r\n谢谢", "should_trigger": True}]))
    assert [query.text for query in found.queries] == ["整理表格\r\n谢谢"]


def test_the_name_of_a_skill_is_not_true(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            {"query": "a", "should_trigger": "tidy"},
            {"query": "b", "should_trigger": "acme:greet"},
            {"query": "c", "should_trigger": None},
        ],
    )
    assert [query.wanted for query in found.queries] == [None, None, None]
    assert [query.wants("tidy") for query in found.queries] == [True, False, False]
    assert [query.wants("greet") for query in found.queries] == [False, True, False]
    assert found.named == ("tidy", "acme:greet")


def test_null_among_booleans_says_nothing(tmp_path: Path) -> None:
    found = read(tmp_path, [YES, {"query": "c", "should_trigger": None}])
    assert [query.text for query in found.queries] == ["tidy it"]
    assert "a should_trigger that is neither true, false nor a skill's name" in found.left


def test_skills_that_should_not_and_that_may_be_called(tmp_path: Path) -> None:
    [first, second, third] = read(
        tmp_path,
        [
            {"query": "a", "should_trigger": "tidy", "should_not_trigger": ["greet"]},
            {"query": "b", "expected_skills": ["greet"], "acceptable_skills": ["tidy"]},
            {"query": "c", "expected_skill": ""},
        ],
    ).queries
    assert [first.wants(name) for name in ("tidy", "greet", "sum")] == [True, False, None]
    assert [second.wants(name) for name in ("greet", "tidy", "sum")] == [True, None, False]
    assert [third.wants(name) for name in ("greet", "tidy")] == [False, False]


def test_equal_queries_stay_distinct(tmp_path: Path) -> None:
    assert len(read(tmp_path, [YES, YES, NO]).queries) == 3


def test_a_file_for_several_skills_needs_to_know_which(tmp_path: Path) -> None:
    value = {"acme-tidy": {"evals": [YES]}, "greet": {"current_description": "x", "evals": [NO]}}
    told = "holds a list for each of 2 skills (acme-tidy, greet); say which one is meant: add PLUGIN:SKILL"

    assert refusal(tmp_path, value) == told
    assert [query.wanted for query in read(tmp_path, value, "greet").queries] == [False]
    assert [query.wanted for query in read(tmp_path, value, "tidy").queries] == [True]


def test_categories_are_tags_and_the_rest_is_told(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [{**YES, "id": 3, "category": "casual", "tags": ["de"], "reason": "x"}, {**NO, "reason": "y"}],
    )
    assert found.queries[0].tags == ("de", "casual")
    assert found.told() == ("the field reason of an entry (2 times)",)


CASE = {"id": 1, "prompt": "Tidy a.csv", "expected_output": "A clean file", "files": ["a.csv"]}


@pytest.mark.parametrize(
    "criteria",
    [
        {"expectations": ["It is clean"]},
        {"assertions": ["It is clean", ""]},
        {"assertions": [{"text": "It is clean"}]},
        {"assertions": [{"id": "a", "description": "It is clean", "name": "clean"}]},
        {"assertions": [{"name": "It is clean"}]},
        {"expected_behavior": "It is clean"},
        {"expected_behaviors": ["It is clean"]},
    ],
    ids=str,
)
@pytest.mark.parametrize("wrap", [lambda item: [item], lambda item: {"skill_name": "t", "evals": [item]}])
def test_an_output_eval_is_read_whatever_its_criteria_are_called(
    tmp_path: Path, criteria: dict[str, Any], wrap: Any
) -> None:
    [case] = read(tmp_path, wrap({**CASE, **criteria})).cases
    assert (case.prompt, case.expected, case.criteria) == ("Tidy a.csv", "A clean file", ("It is clean",))
    assert case.files == (InputFile("a.csv"),)


def test_what_a_machine_would_check_is_taken_over_or_told_with_its_eval(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            {
                **CASE,
                "id": 7,
                "files": [{"path": "b.csv", "content": "a,b\n"}, 7],
                "assertions": [
                    {
                        "text": "Has a header",
                        "type": "regex",
                        "pattern": "^a",
                        "weight": 2,
                        "expected": "a;b",
                    },
                    {"description": "Says so", "type": "contains", "target": "output", "value": "tidied"},
                    {"type": "file-exists", "path": "out.csv"},
                    {"type": "regex-match", "pattern": "a+", "target": {"file": "out.csv"}, "flags": "ig"},
                    {"check": "not_contains", "values": ["oops", "sorry"]},
                    {"type": "script", "command": "check.py"},
                    {"type": "file-exists", "path": "../out.csv"},
                    9,
                ],
                "must_contain": ["v1.2"],
                "must_have": ["clean", "a\\s+b", "(|["],
                "must_not_have": ["rm"],
            }
        ],
    )
    [case] = found.cases
    assert (case.name, case.lost) == ("Case 7", True)
    assert (case.criteria, case.files) == (("Has a header", "Says so"), (InputFile("b.csv", "a,b\n"),))
    assert case.expect == (
        {"result-contains": "tidied"},
        {"file-exists": "out.csv"},
        {"file-matches": {"path": "out.csv", "pattern": "a+", "flags": "i"}},
        {"result-does-not-contain": "oops"},
        {"result-does-not-contain": "sorry"},
        {"result-contains": "clean"},
        {"result-matches": "a\\s+b"},
        {"result-contains": "v1.2"},
        {"result-does-not-contain": "rm"},
    )
    assert found.told() == (
        "the machine's part (pattern) of a regex: the judge has its words; where it must be exact, write "
        "result-matches, or another type of skillwalker-expectations-contrib (1 time: Case 7)",
        "the weight of an expectation: a test passes when all its expectations do (1 time: Case 7)",
        "the expected of an expectation (1 time: Case 7)",
        "a script without words (type script, command check.py) (1 time: Case 7)",
        "a file-exists without words (type file-exists, path ../out.csv) (1 time: Case 7)",
        "an entry of assertions that is neither text nor object (1 time: Case 7)",
        "an entry of must_have that is neither text nor pattern (1 time: Case 7)",
        "an entry of files that names no file (1 time)",
    )
    assert "must_have is looked for in the final answer, not in files: Case 7" in found.noted()


def test_entries_keep_their_numbers_and_what_is_left_out_is_named(tmp_path: Path) -> None:
    items = [
        {**CASE, "id": 0},
        {**CASE, "id": "b"},
        {**CASE, "id": 5, "name": "named"},
        {"id": 3, "expectations": ["x"]},
        {"expectations": ["x"]},
        {"prompt": "and?", "id": "lone"},
        {key: value for key, value in CASE.items() if key != "id"},
    ]
    found = read(tmp_path, items)
    assert [case.name for case in found.cases] == ["Case 0", "b", "named", "Case 7"]
    assert [case.tags for case in found.cases] == [(), ("id b",), (), ()]
    assert found.told() == (
        "an entry without a prompt (2 times: id 3, entry 5)",
        "an entry that says neither what to call nor what to expect (1 time: lone)",
    )


def test_an_entry_may_be_a_query_and_a_case(tmp_path: Path) -> None:
    found = read(tmp_path, [{**CASE, "should_trigger": True, "assertions": ["x"]}, {**NO, "assertions": []}])
    assert ([query.wanted for query in found.queries], len(found.cases)) == ([True, False], 1)


def test_a_class_of_outcomes_is_no_outcome(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [{"input": "a", "expected_outcome": "positive"}, {"input": "b", "expected_outcome": "edge_case"}],
    )
    assert ([query.wanted for query in found.queries], found.cases) == ([True], [])
    assert "expected_outcome: edge_case" in found.left


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (
            {"skill_name": "t", "query_results": [{"query": "a", "should_trigger": True}]},
            "holds results of a run",
        ),
        ({"runs": [], "run_summary": {}, "skill_name": "t"}, "holds results of a run"),
        ([{**YES, "trigger_rate": 1.0, "passed": True}], "holds results of a run (passed, trigger_rate)"),
        ({"evals": [{**YES, "triggered": False}]}, "holds results of a run"),
        ({"best_description": "x", "history": [{"query": "a"}]}, "holds results of a run"),
        ({"iteration": 1, "verdict": "KEEP", "score": 0.5}, "holds results of a run"),
        ({"expectations": [{"text": "a", "passed": True}], "summary": {}}, "holds the grading of a run"),
        ({"eval_id": 1, "prompt": "a", "assertions": []}, "describes one run of an eval"),
        ({"$schema": "x", "properties": {"evals": {}}}, "is a JSON Schema"),
        ({"name": "package", "version": "1"}, "is no list of queries or evals: its fields are name, version"),
        ({}, "is no list of queries or evals: it is an empty object"),
        ({"evals": []}, "evals is an empty list"),
        ([], "is an empty list"),
        ("7", "is no list of queries or evals"),
        ([{"text": "no prompt"}], "no entry has a prompt"),
        ([{"query": "nothing said"}], "no entry says what is expected of it"),
        ("[1,", "is not JSON"),
    ],
)
def test_what_only_looks_like_it_is_refused(tmp_path: Path, value: Any, why: str) -> None:
    assert why in refusal(tmp_path, value)


def test_a_line_that_is_no_object_is_named(tmp_path: Path) -> None:
    assert refusal(tmp_path, json.dumps(YES) + "\n{", name="a.jsonl") == "line 2 is not JSON"
    assert refusal(tmp_path, json.dumps(YES) + "\n[]", name="a.jsonl") == "line 2 is no JSON object"


def test_a_directory_gives_all_that_lies_in_its_evals(tmp_path: Path) -> None:
    write(tmp_path / "evals/trigger-eval.json", json.dumps([YES, NO]))
    write(tmp_path / "evals/evals.json", json.dumps({"skill_name": "t", "evals": [CASE]}))
    write(tmp_path / "evals/benchmark.json", json.dumps({"runs": []}))
    write(tmp_path / "evals/broken.json", "{")

    imported = read_source(tmp_path)

    assert (len(imported.found.queries), len(imported.found.cases)) == (2, 1)
    assert [file.name for file in imported.files] == ["evals.json", "trigger-eval.json"]
    assert [why.partition(":")[0] for why in imported.refused] == ["benchmark.json", "broken.json"]


def test_a_directory_without_anything_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="holds no list of queries, no evals.json and no case"):
        read_source(tmp_path)
    with pytest.raises(ConfigurationError, match="does not exist"):
        read_source(tmp_path / "nowhere")
