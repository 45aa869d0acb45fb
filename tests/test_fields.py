"""Rules of `tests.json` that its files in `data/evals` do not show."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillwalker.fields import MAX_PROMPT_BYTES, FieldReader, reference_fault
from skillwalker.models import is_model


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "evals" / "greet" / "prompts").mkdir(parents=True)
    return tmp_path / "evals" / "greet"


def read(directory: Path, *prompts: str) -> tuple[list[str], list[str]]:
    """The problems, and the prompts of the tests."""
    reader = FieldReader(directory, directory.parent.parent)
    tests = [
        {"name": f"t{index}", "type": "skill-prompt", "promptFile": name, "expect": [{"x": 1}]}
        for index, name in enumerate(prompts)
    ]
    _, read = reader.read({"plugins": ["acme"], "tests": tests})
    return [str(problem) for problem in reader.problems], [test.prompt for test in read]


def test_a_prompt_may_be_as_long_as_claude_code_takes(directory: Path) -> None:
    (directory / "prompts/long.md").write_bytes(b"a" * MAX_PROMPT_BYTES)
    problems, [prompt] = read(directory, "long.md")
    assert (problems, len(prompt)) == ([], MAX_PROMPT_BYTES)


def test_a_longer_prompt_is_a_problem(directory: Path) -> None:
    (directory / "prompts/long.md").write_bytes(b"a" * (MAX_PROMPT_BYTES + 1))
    assert read(directory, "long.md")[0] == [
        "tests[0].promptFile: prompts/long.md has 10,000,001 bytes; Claude Code takes 10,000,000 at most"
    ]


def test_a_prompt_is_read_exactly_but_for_its_mark(directory: Path) -> None:
    text = "\r\n--help `x` $(id) \0\x1b /slash\u2028 ü 😀 \ufeff\n\n"
    (directory / "prompts/odd.md").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read(directory, "odd.md") == ([], [text])


@pytest.mark.parametrize("text", ["\u200b", " \u200b\ufeff\n", "\u3164\u2800"])
def test_a_prompt_of_which_nothing_can_be_seen_is_blank(directory: Path, text: str) -> None:
    (directory / "prompts/odd.md").write_text(text, "utf-8")
    assert read(directory, "odd.md")[0] == [
        "tests[0].promptFile: prompts/odd.md is blank; write what the user would say"
    ]


def test_a_name_of_which_nothing_can_be_seen_is_blank(directory: Path) -> None:
    (directory / "prompts/a.md").write_text("Hello")
    reader = FieldReader(directory, directory.parent.parent)
    test = {"name": "\u200b", "type": "skill-prompt", "promptFile": "a.md", "expect": [{"x": 1}]}
    reader.read({"plugins": ["acme"], "tests": [test]})
    assert [str(problem) for problem in reader.problems] == ["tests[0].name: is blank"]


@pytest.mark.parametrize(
    ("trials", "problems"), [(1, 0), (1_000, 0), (1_001, 1), (10**30, 1), (0, 1), (True, 1)]
)
def test_trials_have_a_limit(directory: Path, trials: int, problems: int) -> None:
    (directory / "prompts/a.md").write_text("Hello")
    reader = FieldReader(directory, directory.parent.parent)
    test = {"name": "a", "type": "skill-prompt", "promptFile": "a.md", "expect": [{"x": 1}], "trials": trials}
    reader.read({"plugins": ["acme"], "tests": [test]})
    assert len(reader.problems) == problems
    assert all("must be a whole number from 1 to 1,000" in str(problem) for problem in reader.problems)


def test_tests_may_share_a_prompt_and_each_is_told_its_problem(directory: Path) -> None:
    (directory / "prompts/good.md").write_text("Hello")
    (directory / "prompts/blank.md").write_text(" ")
    problems, prompts = read(directory, "good.md", "blank.md", "good.md", "blank.md")
    assert prompts == ["Hello", "", "Hello", ""]
    assert [problem.partition(":")[0] for problem in problems] == [
        "tests[1].promptFile",
        "tests[3].promptFile",
    ]


def test_a_link_out_of_the_prompts_is_refused(directory: Path) -> None:
    (directory / "tests.json").write_text("{}")
    (directory / "prompts/out.md").symlink_to("../tests.json")
    assert read(directory, "out.md")[0] == [
        "tests[0].promptFile: prompts/out.md is a link that leads out of its folder"
    ]


@pytest.mark.parametrize(
    "name", ["opus", "claude-opus-4-5", "claude-sonnet-4-5[1m]", "claude-3-5-haiku@20241022"]
)
def test_aliases_and_full_names_are_models(name: str) -> None:
    assert is_model(name)


@pytest.mark.parametrize(
    "name", ["", "Opus", "claude", "claude-", "claude- x", "claude-x\n", "claude--x", "gpt-4"]
)
def test_nothing_else_is_a_model(name: str) -> None:
    assert not is_model(name)


@pytest.mark.parametrize("reference", ["acme:csv", "a:b:c", "my plugin:my skill", ".claude:x", "ü:😀"])
def test_a_reference_has_a_plugin_and_a_name(reference: str) -> None:
    assert reference_fault(reference, "skill") is None


@pytest.mark.parametrize("reference", ["csv", ":csv", "acme:", ":", "/acme:csv", "acme :csv", "acme:csv\n"])
def test_nothing_else_is_a_reference(reference: str) -> None:
    assert (reference_fault(reference, "agent") or "").startswith('must be plugin:agent, such as "acme:')
