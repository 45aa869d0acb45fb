"""Skills and agents whose files Claude Code cannot read: told before anything is measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from roots import an_eval, plugin, write

from skillwalker.plugins import load_plugins

SAYS = {"result-contains": "done"}
BROKEN = '---\nname: broken\ndescription: "Tidies" and more\n---\nDo it.\n'
WHY = "acme/skills/broken/SKILL.md:3: the frontmatter is not valid YAML: "
NOT_LISTED = "; Claude Code does not list acme:broken, so the model does not know of it"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    plugin(tmp_path)
    write(tmp_path / "acme/skills/broken/SKILL.md", BROKEN)
    an_eval(tmp_path, [{"name": "x", "expect": [SAYS]}])
    return tmp_path


@pytest.mark.parametrize(
    ("path", "text", "told"),
    [
        ("skills/s/SKILL.md", "---\ndescription: [a, b]\n---\n", "2: its description is a list, not a text"),
        (
            "skills/s/SKILL.md",
            "---\nname: s\ndescription: {a: b}\n---\n",
            "3: its description is a mapping, not a text",
        ),
        ("skills/s/SKILL.md", "---\nname: s\n'description': ''\n---\n", "3: its description is empty"),
        (
            "skills/s/SKILL.md",
            "---\nname: s\nDescription: x\n---\n",
            "3: it has no description (is Description meant to be it?)",
        ),
        ("skills/s/SKILL.md", "---\nname: s\n---\n", "1: it has no description"),
        (
            "commands/s.md",
            "name: c\ndescription: Does things\n---\n\nDo it.\n",
            "1: the file does not begin with a line `---`",
        ),
        ("skills/s/SKILL.md", "# S\n", "1: the file does not begin with a line `---`"),
        ("skills/s/SKILL.md", "---\nname: s\n", "1: the frontmatter has no closing `---`"),
        (
            "skills/s/SKILL.md",
            "---\nname: 'a\nb'\n---\n",
            "3: the frontmatter is not valid YAML: quoted text goes on in a line that is not indented",
        ),
        ("agents/s.md", "Work.\n", "1: the file does not begin with a line `---`"),
        (
            "skills/s/SKILL.md",
            '---\ndisable-model-invocation: true\nname: "\n---\n',
            "3: the frontmatter is not valid YAML",
        ),
        (
            "commands/s.md",
            "---\nname: '\n---\n",
            "2: the frontmatter is not valid YAML",
        ),
    ],
)
def test_a_file_is_told_with_line_and_reason(tmp_path: Path, path: str, text: str, told: str) -> None:
    write(tmp_path / "acme" / path, text)
    [(part, flaw)] = load_plugins(tmp_path, ["acme"]).undescribed
    assert part.id == "acme:s"
    assert str(flaw).startswith(f"acme/{path}:{told}")
    assert load_plugins(tmp_path, ["acme"]).notices == (str(flaw),)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("commands/s.md", "Just do it.\n"),
        ("commands/s.md", "---\nallowed-tools: Bash\n---\nDo it.\n"),
        ("skills/s/SKILL.md", "---\ndisable-model-invocation: true\n---\nFor users.\n"),
        ("skills/s/SKILL.md", "---\nwhen_to_use: always\n---\nFor all.\n"),
        ("skills/s/SKILL.md", "---\ndescription: a: b\n---\n"),
    ],
)
def test_what_is_left_out_on_purpose_is_not_told(tmp_path: Path, path: str, text: str) -> None:
    write(tmp_path / "acme" / path, text)
    assert load_plugins(tmp_path, ["acme"]).undescribed == ()


def test_many_files_are_told_in_a_few_lines(tmp_path: Path) -> None:
    for number in range(14):
        write(tmp_path / f"acme/skills/s{number:02}/SKILL.md", "Nothing.\n")
    notices = load_plugins(tmp_path, ["acme"]).notices
    assert len(notices) == 11
    assert notices[-1] == "4 files more without a description that Claude Code can read"


@pytest.mark.parametrize("command", [("validate",), ("run", "--dry-run"), ("lint",)])
def test_a_part_that_no_test_names_is_a_note(run_cli: Any, root: Path, command: tuple[str, ...]) -> None:
    called = run_cli("--root", root, *command)
    told = called.out + called.err
    assert told.count(f"note: {WHY}") == 1
    assert NOT_LISTED in told
    assert called.code == (1 if "finding" in called.out else 0)


def test_lint_finds_a_part_that_is_tested(run_cli: Any, root: Path) -> None:
    write(root / "acme/agents/lost.md", "---\nname: lost\n---\nWork.\n")
    tests = [
        {"name": "x", "expect": [{"skill-call": {"skill": "acme:broken", "expected": True}}]},
        {"name": "y", "type": "agent-call", "agentFile": "acme:lost", "expect": [{"agent-call": True}]},
    ]
    an_eval(root, tests)
    called = run_cli("--root", root, "lint", "--format", "json")

    found = [one for one in json.loads(called.out)["findings"] if one["rule"] == "no-description"]
    assert [(one["file"], one["line"]) for one in found] == [
        ("acme/agents/lost.md", 1),
        ("acme/skills/broken/SKILL.md", 3),
    ]
    assert "lists acme:lost as 'Agent from acme plugin', which says nothing of it" in found[0]["message"]
    assert "note: acme" not in called.err


def test_a_test_of_its_activation_is_refused_with_the_place(run_cli: Any, root: Path) -> None:
    test = {"name": "x", "type": "skill-call", "skillFile": "acme:broken", "expect": [{"skill-call": True}]}
    an_eval(root, [test])
    called = run_cli("--root", root, "validate")
    assert called.code == 4
    assert f"acme:broken has no description that Claude Code lists ({WHY}" in called.err


def test_init_and_try_tell_it_too(run_cli: Any, root: Path, claude: Path) -> None:
    made = run_cli("--root", root, "init", "acme:tidy")
    assert (made.code, made.err.count(WHY)) == (0, 1)
    options = ("--rehearse", "--no-isolated", "--yes", "--claude", claude)
    tried = run_cli("--root", root, "try", root / "acme", "Hello", *options)
    assert tried.err.count(f"note: {WHY}") == 1
