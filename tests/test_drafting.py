"""A new eval before it is written: rubrics hold what they were given, files are new, all or nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from roots import plugin

from skillwalker.drafting import Draft, rubric, write_draft
from skillwalker.errors import ConfigurationError
from skillwalker.expectations.rubric import parse_rubric
from skillwalker.targets import choose, find_targets


@pytest.fixture
def draft(tmp_path: Path) -> Draft:
    plugin(tmp_path)
    return Draft("first", choose(find_targets(tmp_path), "acme:tidy"))


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("It is\n clean", "It is clean"),
        ("- -", "This holds: - -"),
        ("[ ] box", "This holds: [ ] box"),
        ("# a <!-- b", "# a <! -- b"),
        ("```python", "```python"),
        ("nul \0 \x1b", "nul"),
    ],
)
def test_a_criterion_is_read_as_one(given: str, read: str) -> None:
    text = rubric("File: a.csv", [given, "Last"], "```\n<!-- about\n- no criterion\nFile: b").decode()
    found = parse_rubric(text)
    assert [one.text for one in found] == [read, "Last"]
    assert [one.file for one in found] == [None, None]


def test_prompts_with_lines_get_a_file_and_names_are_new(tmp_path: Path, draft: Draft) -> None:
    expect = [{"result-contains": "x"}]
    names = [
        draft.add_prompt("Ümlaut: a/b", prompt, expect) for prompt in ("one\ntwo", "three\nfour", "short")
    ]
    draft.add_queries([{"query": "Ümlaut: a/b", "should_trigger": True}])
    draft.rehearse_queries()
    write_draft(draft, tmp_path)

    directory = tmp_path / "evals/first"
    tests = json.loads((directory / "tests.json").read_text("utf-8"))["tests"]
    assert names == ["Ümlaut: a/b", "Ümlaut: a/b (2)", "Ümlaut: a/b (3)"]
    assert [(directory / "prompts" / test["promptFile"]).read_text() for test in tests[:2]] == [
        "one\ntwo",
        "three\nfour",
    ]
    assert tests[2]["prompt"] == "short"
    assert list(draft.script) == ["Ümlaut: a/b (4)"], "the name that loading will give the query"


def test_it_is_written_as_people_write_it(draft: Draft) -> None:
    draft.add_queries([{"query": "a", "should_trigger": True}], title="Call")
    text = draft.contents()["tests.json"].decode()
    assert '  "plugins": ["acme"],\n' in text
    assert '        { "query": "a", "should_trigger": true }\n' in text


def test_all_or_nothing_is_written(tmp_path: Path, draft: Draft) -> None:
    draft.add_prompt("x", "y", [{"result-contains": "x"}])
    draft.files["scaffolds/a"] = b""
    draft.files["scaffolds/a/b"] = b""  # cannot be: a file is no directory
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_draft(draft, tmp_path)
    assert list((tmp_path / "evals").iterdir()) == []
