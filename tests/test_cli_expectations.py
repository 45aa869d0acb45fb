"""`skillwalker expectations`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from skillwalker.cli.expectations import app
from skillwalker.expectations.registry import BrokenTypeError, UnknownTypeError

PACKAGES = Path(__file__).parent / "packages"


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Other people's packages are installed beside ours."""
    before = set(sys.modules)
    for name in ("good", "broken", "duplicate", "damaged"):
        monkeypatch.syspath_prepend(str(PACKAGES / name))
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("acme", "broken", "rival")):
            del sys.modules[name]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.mark.parametrize("arguments", [(), ("list",)])
def test_every_type_is_listed_with_its_package_and_one_line(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 0
    lines = [line for line in result.stdout.splitlines() if "  skillwalker 0.1.0  " in line]
    assert [line.split()[0] for line in lines] == [
        "agent-call",
        "llm-judge",
        "result-contains",
        "result-does-not-contain",
        "skill-call",
    ]
    assert lines[1].endswith("A model finds enough of a rubric's criteria met.")


def test_broken_and_doubled_types_are_listed_with_the_reason(others: None) -> None:
    result = run("list")
    assert result.exit_code == 0
    (broken,) = [line for line in result.stdout.splitlines() if line.startswith("raises ")]
    assert "broken-checks 0.3" in broken
    assert "BROKEN: " in broken
    assert "no database here" in broken
    (doubled,) = [line for line in result.stdout.splitlines() if line.startswith("max-turns ")]
    assert "acme-checks 1.2 and rival-checks 9.0" in doubled
    assert "headless-1.0.dist-info" in result.stderr


def test_the_list_as_json(others: None) -> None:
    result = run("list", "--format", "json")
    found = json.loads(result.stdout)
    assert found["schema"] == 1
    by_type = {row["type"]: row for row in found["expectations"]}
    assert by_type["mentions"]["distribution"] == "acme-checks"
    assert by_type["mentions"]["problem"] is None
    assert "no database here" in by_type["raises"]["problem"]
    assert by_type["max-turns"]["version"] is None
    assert len(found["problems"]) == 3


def test_a_type_is_shown_with_its_options() -> None:
    result = run("show", "llm-judge")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "llm-judge  (skillwalker 0.1.0)"
    assert "  rubricFile  text, required" in lines
    assert '  model       text, default "opus"' in lines
    assert "  threshold   a number, default 1.0" in lines


def test_a_type_is_shown_as_json(others: None) -> None:
    found = json.loads(run("show", "mentions", "--format", "json").stdout)
    assert (found["distribution"], found["version"]) == ("acme-checks", "1.2")
    assert found["options"][0] == {
        "name": "words",
        "type": "a list of text",
        "required": True,
        "default": None,
        "description": "",
    }
    assert {"name": "share", "required": False, "default": 1.0}.items() <= found["options"][1].items()


def test_short_form_and_examples_are_shown(others: None) -> None:
    lines = run("show", "says-often").stdout.splitlines()
    assert lines[-5:] == [
        "Short form: text or a list of text.",
        "",
        "Examples:",
        '  {"says-often": "hello"}',
        '  {"says-often": {"text": ["hello", "hi"], "times": 2}}',
    ]
    found = json.loads(run("show", "says-often", "--format", "json").stdout)
    assert (found["schema"], found["shorthand"]) == (1, "text or a list of text")
    assert found["examples"][0] == {"says-often": "hello"}


def test_an_example_is_made_up_where_the_type_gives_none(others: None) -> None:
    assert run("show", "mentions").stdout.endswith('\nExample:\n  {"mentions": {"words": ["text"]}}\n')


def test_every_built_in_type_has_an_example_and_says_what_its_options_are() -> None:
    for row in json.loads(run("list", "--format", "json").stdout)["expectations"]:
        if row["distribution"] == "skillwalker":
            shown = json.loads(run("show", row["type"], "--format", "json").stdout)
            assert all(list(example) == [row["type"]] for example in shown["examples"])
            assert shown["examples"]
            assert all(option["description"] for option in shown["options"]), row["type"]


def test_a_type_without_options_says_so(others: None) -> None:
    assert "It takes no options: {}." in run("show", "prints").stdout


def test_a_type_that_cannot_be_shown_says_why(others: None) -> None:
    assert isinstance(run("show", "skill-cal").exception, UnknownTypeError)
    assert isinstance(run("show", "newer").exception, BrokenTypeError)
