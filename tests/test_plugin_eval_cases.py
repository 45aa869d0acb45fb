"""Cases of `claude plugin eval` become tests as far as built-in expectations say what their graders say."""

from __future__ import annotations

from pathlib import Path

import pytest
from roots import write

from skillwalker.errors import ConfigurationError
from skillwalker.importing.reading import read_source
from skillwalker.importing.values import Found

CASE = """
schema_version: "1.0"
name: tidies
tags: [smoke, csv]
runs: 5
expected_outcome: A clean file.
execution:
  prompt: |
    Tidy this:
    a;b
  model: opus
  max_turns: 20
  allowed_tools: [Bash]
context:
  scaffold_script: scaffold.sh
  add_dirs: []
graders:
  - {type: regex, name: heading, pattern: "## Tidied"}
  - {type: regex, name: dot, pattern: 'v1\\.0', match: not_contains}
  - {type: regex, name: real, pattern: "a.c"}
  - {type: regex, name: file, pattern: x, target: {source: file, path: out.csv}}
  - {type: tool_used, name: fired, tool: Skill, input_match: '"skill": ?"(acme:)?tidy"'}
  - {type: tool_used, name: quiet, tool: Skill, input_match: greet, max: 0, min: 0}
  - {type: tool_used, name: twice, tool: Skill, min: 2}
  - {type: tool_used, name: other, tool: Bash}
  - {type: file_exists, name: made, path: out.csv, weight: 2}
  - {type: llm, name: judged, criteria: "It says\\n what it changed."}
"""


def cases(root: Path) -> Found:
    return read_source(root).found


def test_a_case_is_read(tmp_path: Path) -> None:
    write(tmp_path / "evals/tidies/case.yaml", CASE)
    [case] = cases(tmp_path).cases

    assert (case.name, case.prompt, case.model, case.trials) == ("tidies", "Tidy this:\na;b\n", "opus", 5)
    assert (case.tags, case.expected, case.criteria) == (
        ("smoke", "csv"),
        "A clean file.",
        ("It says\n what it changed.",),
    )
    assert case.expect == (
        {"result-contains": "## Tidied"},
        {"result-does-not-contain": "v1.0"},
        {"skill-call": {"skill": '"skill": ?"(acme:)?tidy"', "expected": True}},
        {"skill-call": {"skill": "greet", "expected": False}},
    )


def test_what_has_no_expectation_is_told(tmp_path: Path) -> None:
    write(tmp_path / "evals/tidies/case.yaml", CASE)
    told = "\n".join(cases(tmp_path).left)

    for name in (
        "regex grader real",
        "regex grader file",
        "tool_used grader twice",
        "tool_used grader other",
    ):
        assert name in told
    for field in ("context.scaffold_script", "execution.max_turns", "execution.allowed_tools", "the weight"):
        assert field in told
    assert "add_dirs" not in told


def test_a_prompt_with_graders_beside_it_is_a_case(tmp_path: Path) -> None:
    folder = tmp_path / "evals/deep/greets"
    write(folder / "prompt.md", "---\ntags: [a]\nmodel: haiku\nruns: 1\n---\n\nGreet Ada\n")
    write(folder / "graders/polite.md", "---\ntype: llm\n---\nThe greeting is polite.\n")
    write(folder / "graders/name.md", "---\ntype: regex\n---\nAda\n")
    write(folder / "graders/notes.md", "no grader, just notes\n")
    write(tmp_path / "evals/results/2026/greets/prompt.md", "old")
    write(tmp_path / "evals/results/2026/greets/graders/x.md", "---\ntype: llm\n---\nx\n")
    [case] = cases(tmp_path).cases

    assert (case.name, case.prompt, case.model, case.trials) == ("greets", "Greet Ada", "haiku", 1)
    assert (case.criteria, case.expect) == (("The greeting is polite.",), ({"result-contains": "Ada"},))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: [", "case.yaml is not YAML"),
        ("- a", "case.yaml holds no fields"),
        ("name: x", "has no prompt"),
        ("execution: {prompt: '  '}", "has no prompt"),
    ],
)
def test_a_case_that_is_none_is_refused_with_its_place(tmp_path: Path, text: str, why: str) -> None:
    write(tmp_path / "evals/bad/case.yaml", text)
    with pytest.raises(ConfigurationError) as caught:
        read_source(tmp_path)
    assert any(why in problem.message and "bad" in problem.message for problem in caught.value.problems)


def test_a_bad_case_does_not_stop_a_good_one(tmp_path: Path) -> None:
    write(tmp_path / "evals/bad/case.yaml", "a: [")
    write(tmp_path / "evals/good/case.yaml", CASE)
    imported = read_source(tmp_path)

    assert ([case.name for case in imported.found.cases], len(imported.refused)) == (["tidies"], 1)


def test_a_link_to_a_file_elsewhere_is_not_read(tmp_path: Path) -> None:
    secret = write(tmp_path / "outside", "execution: {prompt: secret}")
    (tmp_path / "plugin/evals/a").mkdir(parents=True)
    (tmp_path / "plugin/evals/a/case.yaml").symlink_to(secret)
    with pytest.raises(ConfigurationError) as caught:
        read_source(tmp_path / "plugin")
    assert "case.yaml is no regular file" in str(caught.value)
