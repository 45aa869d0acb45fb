"""Broken evals: `validate` tells what is wrong, where, and nothing else happens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fuzzing import assert_harmless, assert_placed, assert_told, broken, fuzzed, in_time, json_files, run_cli
from hypothesis import given
from hypothesis import strategies as st
from roots import an_eval, bash, call, plugin, text

from skillwalker.expectations.rubric import parse_rubric

RUBRIC = """\
# Report

- [ ] It names the file
- It is short,
  in one line

```sh
- no
```
## More ##
1. Last
"""
TESTS: list[dict[str, Any]] = [
    {
        "name": "activates",
        "type": "skill-call",
        "skillFile": "acme:tidy",
        "model": "opus",
        "trials": 3,
        "passRate": 0.5,
        "expect": [{"skill-call": True}],
    },
    {
        "name": "an agent",
        "type": "agent-prompt",
        "agentFile": "acme:auditor",
        "scaffold": "shop",
        "expect": [
            {"agent-call": {"agent": "acme:auditor", "expected": False}},
            {"result-contains": "total"},
            {"result-does-not-contain": {"text": "ERROR"}},
            {"llm-judge": {"rubricFile": "r.md", "model": "haiku", "threshold": 0.8}},
        ],
    },
]
SCRIPT: dict[str, Any] = {
    "activates": [call("Skill", skill="acme:tidy"), text("Done.")],
    "an agent": {
        "main": [
            {"error": {"status": 529, "headers": {"x-a": "b"}, "retry_after": 1}, "times": 2},
            {**bash("ls"), "usage": {"input_tokens": 3}, "stop_reason": "tool_use", "delay_seconds": 0.1},
            {"content": "half", "fault": "drop", "after_events": 3},
        ],
        "agents": {"acme:auditor": [text("Fine.")]},
        "judge": [{"passed": [True, False, True]}],
        "trials": {"2": [text("Second.")]},
    },
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root whose plugin stays as it is: it is read once for all examples."""
    root = tmp_path_factory.mktemp("root")
    plugin(root)
    return root


@pytest.fixture
def directory(root: Path) -> Path:
    """The eval, whole before every test; examples of one test break the same file of it."""
    rubrics = {"r.md": RUBRIC}
    return an_eval(root, TESTS, rubrics=rubrics, scaffolds={"shop/a.csv": "1,2\n"}, script=SCRIPT)


def validated(root: Path, *, shown: bool = False) -> list[dict[str, Any]]:
    """The problems that `validate` tells; none where it is asked to show them to a person."""
    if shown:
        assert_told(run_cli("--root", root, "validate"), 0, 4)
        return []
    found = run_cli("--root", root, "validate", "--format", "json")
    assert_told(found, 0, 4)
    problems = json.loads(found.out)["problems"]
    if found.code:
        assert_placed(problems, root)
    else:
        assert problems == []
    return problems


def test_the_eval_that_is_broken_below_is_whole(root: Path, directory: Path) -> None:
    assert validated(root) == []


def whole_eval() -> dict[str, Any]:
    tests = [{**test, "promptFile": f"p{index}.md"} for index, test in enumerate(TESTS)]
    return {"plugins": ["acme"], "tests": tests}


@fuzzed(40)
@given(data=json_files(whole_eval()), shown=st.booleans())
def test_a_broken_tests_json_is_explained(root: Path, directory: Path, data: bytes, shown: bool) -> None:
    (directory / "tests.json").write_bytes(data)
    validated(root, shown=shown)


@fuzzed(20)
@given(data=json_files({"tests": SCRIPT}), shown=st.booleans())
def test_a_broken_script_is_explained(root: Path, directory: Path, data: bytes, shown: bool) -> None:
    (directory / "rehearsal.json").write_bytes(data)
    validated(root, shown=shown)


@fuzzed(15)
@given(data=broken(RUBRIC.encode()) | st.binary(max_size=40))
def test_a_broken_rubric_is_explained(root: Path, directory: Path, data: bytes) -> None:
    (directory / "rubrics" / "r.md").write_bytes(data)
    problems = validated(root)
    assert all("rubric" in problem["message"] for problem in problems)


@fuzzed(15)
@given(data=st.binary(max_size=40) | broken("Bitte räume auf.\r\n".encode()))
def test_a_broken_prompt_is_explained(root: Path, directory: Path, data: bytes) -> None:
    (directory / "prompts" / "p0.md").write_bytes(data)
    problems = validated(root)
    assert all("prompts/p0.md" in problem["message"] for problem in problems)


@fuzzed(30)
@given(broken(RUBRIC.encode(), most=6).map(lambda data: data.decode("utf-8", "replace")))
def test_no_text_is_too_much_for_a_rubric(written: str) -> None:
    with in_time():
        try:
            criteria = parse_rubric(written)
        except ValueError as error:
            assert_harmless(str(error))
            return
    assert [criterion.id for criterion in criteria] == [f"c{n + 1}" for n in range(len(criteria))]
    assert all(criterion.text.strip() for criterion in criteria)
