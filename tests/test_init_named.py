"""`init` for what has the name of something else: its type, or the path of its file, says which is meant."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from roots import agent, skill, write

from skillwalker.manifest import MANIFEST

Cli = Callable[..., Any]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path / "orchard" / MANIFEST, json.dumps({"name": "orchard"}))
    (tmp_path / ".git").mkdir()
    skill(tmp_path / "orchard", "graft", "Grafts apple trees in spring.")
    agent(tmp_path / "orchard", "graft", "Prunes cherry trees in autumn.")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def type_of(root: Path, name: str = "graft") -> str:
    tests = json.loads((root / "evals" / name / "tests.json").read_text("utf-8"))["tests"]
    return str(tests[0]["type"])


def test_the_kinds_and_files_of_a_name_are_told(root: Path, run_cli: Cli) -> None:
    for name in ("graft", "orchard:graft"):
        called = run_cli("init", name)
        assert called.code == 4
        assert called.err.splitlines() == [
            f"{name} may be the skill orchard:graft (orchard/skills/graft/SKILL.md), the agent orchard:graft "
            "(orchard/agents/graft.md); say which with --type agent or --type skill"
        ]


@pytest.mark.parametrize(
    ("words", "type_"),
    [
        (["orchard:graft", "--type", "skill"], "skill-call"),
        (["graft", "--type", "agent"], "agent-call"),
        (["--type", "agent"], "agent-call"),
        (["orchard/agents/graft.md"], "agent-call"),
        (["./orchard/skills/graft/SKILL.md"], "skill-call"),
        (["orchard/skills/graft"], "skill-call"),
    ],
)
def test_a_type_or_a_path_says_which_is_meant(root: Path, run_cli: Cli, words: list[str], type_: str) -> None:
    called = run_cli("init", *words)
    assert (called.code, type_of(root)) == (0, type_)
    assert run_cli("validate").code == 0


def test_every_line_of_the_list_is_another_one_that_works(root: Path, run_cli: Cli) -> None:
    for number in range(60):
        skill(root / "orchard", f"tree-{number}", "Fells trees.")
    called = run_cli("init")
    head, *lines = called.err.splitlines()
    assert head == "there are 62 skills and agents; name one:"
    assert len(set(lines)) == len(lines) == 62
    for line in [line for line in lines if "graft" in line]:
        words = shlex.split(line)
        made = "as-agent" if "agent" in words else "as-skill"
        assert run_cli(*words[1:], "--eval", made).code == 0
    assert (type_of(root, "as-agent"), type_of(root, "as-skill")) == ("agent-call", "skill-call")


def test_two_plugins_of_one_name_are_told_apart_by_the_path(root: Path, run_cli: Cli) -> None:
    write(root / "copy" / MANIFEST, json.dumps({"name": "orchard"}))
    skill(root / "copy", "graft", "Grafts plum trees.")
    (root / "orchard/agents/graft.md").unlink()
    said = run_cli("init", "graft").err
    assert "(copy/skills/graft/SKILL.md)" in said
    assert "(orchard/skills/graft/SKILL.md); give the path of its file in place of its name" in said
    lines = run_cli("init").err.splitlines()[1:]
    for number, line in enumerate(lines):
        assert run_cli(*shlex.split(line)[1:], "--eval", f"e{number}").code == 0
    assert [json.loads((root / f"evals/e{n}/tests.json").read_text())["plugins"] for n in (0, 1)] == [
        ["copy"],
        ["orchard"],
    ]


def test_two_that_no_test_can_tell_apart_have_to_be_renamed(root: Path, run_cli: Cli) -> None:
    write(root / "orchard/commands/graft.md", "---\ndescription: Grafts plums.\n---\nGraft.\n")
    said = run_cli("init", "graft", "--type", "skill").err
    assert "(orchard/commands/graft.md)" in said
    assert said.endswith("; rename one\n")
    lines = run_cli("init").err.splitlines()[1:]
    assert len(set(lines)) == len(lines) == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["graft", "--type", "command"], "--type must be skill or agent, got command"),
        (["pear", "--type", "agent"], "there is no agent pear, but the skill orchard:pear"),
        (["plum"], "there is no skill or agent plum"),
    ],
)
def test_what_is_not_there_is_told(root: Path, run_cli: Cli, words: list[str], said: str) -> None:
    skill(root / "orchard", "pear", "Peels pears.")
    called = run_cli("init", *words)
    assert (called.code, (root / "evals").exists()) == (4, False)
    assert said in called.err


@pytest.mark.parametrize(
    ("name", "directory"),
    [
        ("../../../escaped", "escaped"),
        ("trees/apple", "trees-apple"),
        ("trees\\\\apple", "trees-apple"),
        (".hidden", "hidden"),
        ("-rf", "rf"),
        ("two words", "two words"),
        ("..", "draft"),
        ("o" * 300, "o" * 64),
    ],
)
def test_an_agent_may_be_called_anything_and_what_is_written_stays_in_its_eval(
    root: Path, run_cli: Cli, name: str, directory: str
) -> None:
    write(root / "orchard/agents/odd.md", f'---\nname: "{name}"\ndescription: Waters trees.\n---\nx\n')
    before = {path for path in root.rglob("*") if path.is_file()}

    called = run_cli("init", "orchard/agents/odd.md")

    assert called.code == 0, called.err
    made = {path for path in root.rglob("*") if path.is_file()} - before
    inside = {path.relative_to(root / "evals" / directory).as_posix() for path in made}
    assert inside == {"tests.json", "rehearsal.json", f"rubrics/{directory}.md"}


def test_a_rubric_is_not_written_where_the_name_of_an_agent_leads(root: Path, run_cli: Cli) -> None:
    write(root / "orchard/agents/odd.md", "---\nname: ../../../../escaped\ndescription: Waters.\n---\nx\n")

    called = run_cli("init", "orchard/agents/odd.md", "--eval", "odd")

    assert called.code == 0, called.err
    assert sorted(path.name for path in (root / "evals/odd").rglob("*.md")) == ["escaped.md"]
    assert not (root.parent / "escaped.md").exists()
