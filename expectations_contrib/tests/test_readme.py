"""The page shows every type, and what it shows works."""

from __future__ import annotations

import ast
import importlib
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import attrs
import pytest

from skillwalker.expectations import CommandResult, Outcome
from skillwalker.testing import FakeCommands, TranscriptBuilder

TOP = Path(__file__).parent.parent
PAGE = (TOP / "README.md").read_text("utf-8")
TYPES = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"][
    "skillwalker.expectations"
]
EXAMPLES: list[dict[str, Any]] = [
    json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
]
SCAFFOLD = {
    "tests/test_a.py": "def test(): ...",
    "pyproject.toml": "",
    "README.md": "# A\n",
    "package.json": "{}",
}
CHECKS = {"checks/columns.py": "", "golden.md": "yes"}


def good(entry: dict[str, Any]) -> dict[str, Any]:
    events = (
        TranscriptBuilder().init().tool("Edit", {"file_path": "a"}).tool("Bash", {"command": "pytest -q"})
    )
    changed = {
        "README.md": "# A\n\n## Installation\n",
        "src/a.py": "literal_eval()",
        "package.json": '{"version": "2.0.0"}',
    }
    return {
        "events": events,
        "scaffold": SCAFFOLD,
        "files": {**SCAFFOLD, "reports/a.csv": "a", **({} if "exclude" in json.dumps(entry) else changed)},
        "commands": FakeCommands([CommandResult(0, '{"passed": true}')]),
        "duration_ms": 1000,
    }


def bad() -> dict[str, Any]:
    events = TranscriptBuilder().init()
    for number in range(20):
        events.tool("WebFetch", {"url": str(number)}).tool("Bash", {"command": "git push"})
    return {
        "events": events,
        "scaffold": SCAFFOLD,
        "files": {"src/a.py": "eval(x)", "a.tmp": ""},
        "commands": FakeCommands([CommandResult(1, '{"passed": false}')]),
        "duration_ms": 1_000_000,
    }


def finals(entry: dict[str, Any]) -> tuple[str, str]:
    """A final text that passes and one that fails."""
    text = json.dumps(entry)
    if "result-matches" in entry:
        return (
            ("# Code Review: fine", "a todo is left: # Review")
            if "Review" in text
            else ("done", "a todo is left")
        )
    if "result-equals" in entry:
        return "YES\n", "no"
    return 'Here:\n```json\n{"issues": []}\n```', '{"issue": []}'


USAGE = {"inputTokens": 9, "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0}


@pytest.mark.parametrize("entry", EXAMPLES, ids=json.dumps)
def test_every_example_passes_where_it_should_and_fails_where_it_should(judge, entry) -> None:
    yes, no = finals(entry)
    for made, final, cost, tokens, outcome in (
        (good(entry), yes, 0.1, 10, Outcome.PASSED),
        (bad(), no, 9.0, 9_000, Outcome.FAILED),
    ):
        events = made.pop("events").text(final).result(cost_usd=cost)
        events.events[-1]["modelUsage"] = {"claude-sonnet-5-5": {**USAGE, "outputTokens": tokens}}
        found = judge(entry, events, eval_files=CHECKS, **made)
        assert found.outcome is outcome, found.message
        assert 0 < len(found.message) < 500


def test_every_type_has_a_heading_and_an_example() -> None:
    assert sorted(re.findall(r"^### (\S+)$", PAGE, re.MULTILINE)) == sorted(TYPES)
    assert {name for entry in EXAMPLES for name in entry} == set(TYPES)
    sections = dict(re.findall(r"^### (\S+)$\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
    for name, section in sections.items():
        assert f'```json\n{{"{name}":' in section, name


def test_every_option_is_described_where_the_command_line_shows_it() -> None:
    for name, reference in TYPES.items():
        module, _, cls_name = reference.partition(":")
        cls = getattr(importlib.import_module(module), cls_name)
        described = re.findall(r"^        (\w+): ", cls.__doc__, re.MULTILINE)
        assert described == [field.alias for field in attrs.fields(cls)], name


def test_only_what_is_public_is_built_on() -> None:
    for path in [*TOP.glob("skillwalker_expectations_contrib/*.py"), *TOP.glob("tests/*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [module or ""]
            for name in names:
                public = name in ("skillwalker.expectations", "skillwalker.testing")
                assert public or name.partition(".")[0] != "skillwalker", (path.name, name)
