"""`init --rehearsal`: what was drafted follows `tests.json`, what somebody wrote stays."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from roots import plugin, skill, write

from skillwalker.checks import check_evals
from skillwalker.expectations.registry import Registry

Cli = Callable[..., Any]
SKILL_CALL = [
    {"content": [{"type": "tool_use", "name": "Skill", "input": {"skill": "acme:tidy"}}]},
    {"content": "Done, as asked."},
]
ANSWER = [{"content": "Done, as asked."}]
WRITTEN = [{"content": "I would rather not."}]


@pytest.fixture
def root(tmp_path: Path, run_cli: Cli) -> Path:
    plugin(tmp_path)
    (tmp_path / ".git").mkdir()
    assert run_cli("--root", tmp_path, "init", "acme:tidy").code == 0
    return tmp_path


def edit(root: Path, change: Callable[[Any], None], name: str = "tests.json") -> None:
    file = root / "evals/tidy" / name
    value = json.loads(file.read_text("utf-8"))
    change(value["tests"])
    file.write_text(json.dumps(value), "utf-8")


def scripts(root: Path) -> dict[str, Any]:
    return json.loads((root / "evals/tidy/rehearsal.json").read_text("utf-8"))["tests"]


def queries(tests: Any, number: int) -> Any:
    return tests[number]["queries"]


def test_edited_queries_get_entries_and_those_of_old_ones_go(root: Path, run_cli: Cli) -> None:
    queries_of = {0: "clean up my table", 1: "what is clean here?"}

    def change(tests: Any) -> None:
        for number, text in queries_of.items():
            queries(tests, number)[:] = [{"query": text, "should_trigger": number == 0}]

    edit(root, change)
    before = scripts(root)
    called = run_cli("--root", root, "init", "--rehearsal", "tidy")

    assert (called.code, called.err) == (0, "")
    assert scripts(root) == {
        "Task: tidy": before["Task: tidy"],
        "Call: clean up my table": SKILL_CALL,
        "Near miss: what is clean here?": ANSWER,
    }
    assert "2 entries added" in called.out
    assert f"{len(before) - 1} entries drafted for what is no test any more, and removed" in called.out
    checked = check_evals([root / "evals/tidy"], root, Registry.scan())
    assert (checked.problems, checked.script_notes) == ((), ())
    text = (root / "evals/tidy/rehearsal.json").read_bytes()
    again = run_cli("--root", root, "init", "--rehearsal", "evals/tidy")
    assert "is up to date, nothing was changed" in again.out
    assert (root / "evals/tidy/rehearsal.json").read_bytes() == text


def test_what_somebody_wrote_stays(root: Path, run_cli: Cli) -> None:
    first = next(name for name in scripts(root) if name.startswith("Call: "))
    edit(root, lambda tests: tests.update({first: WRITTEN, "of no test": WRITTEN}), "rehearsal.json")
    called = run_cli("--root", root, "init", "--rehearsal", "tidy")

    assert called.code == 0
    assert (scripts(root)[first], scripts(root)["of no test"]) == (WRITTEN, WRITTEN)
    assert 'no test is named "of no test"; these entries are not as init drafts them' in called.err


def test_a_drafted_entry_turns_with_what_is_expected(root: Path, run_cli: Cli) -> None:
    edit(root, lambda tests: queries(tests, 0)[0].update(should_trigger=False))
    first = next(name for name in scripts(root) if name.startswith("Call: "))
    assert scripts(root)[first] == SKILL_CALL
    assert "1 entry drafted the other way" in run_cli("--root", root, "init", "--rehearsal", "tidy").out
    assert scripts(root)[first] == ANSWER


def test_without_a_file_there_is_one_for_tests_of_activation(root: Path, run_cli: Cli) -> None:
    before = scripts(root)
    (root / "evals/tidy/rehearsal.json").unlink()
    called = run_cli("--root", root, "init", "--rehearsal", "tidy")
    task = before.pop("Task: tidy")
    assert task
    assert scripts(root) == before
    assert 'only you know what is to be answered: "Task: tidy"' in called.err


def test_tests_of_agents_and_of_named_files_get_calls_of_theirs(root: Path, run_cli: Cli) -> None:
    tests = [
        {
            "name": "a",
            "type": "agent-call",
            "agentFile": "acme:auditor",
            "prompt": "x",
            "expect": [{"agent-call": True}],
        },
        {
            "name": "b",
            "type": "skill-call",
            "skillFile": "acme:tidy",
            "prompt": "x",
            "expect": [{"skill-call": {"skill": "acme:tidy", "expected": True}}],
        },
    ]
    write(root / "evals/mine/tests.json", json.dumps({"plugins": ["acme"], "tests": tests}))
    called = run_cli("--root", root, "init", "--rehearsal", "mine")
    assert called.code == 0, called.err
    made = json.loads((root / "evals/mine/rehearsal.json").read_text("utf-8"))["tests"]

    assert list(made) == ["a", "b"]
    assert made["a"][0]["content"][0]["input"]["subagent_type"] == "acme:auditor"
    assert made["b"] == SKILL_CALL


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--rehearsal", "tidi"], 5, "matches no eval"),
        (["--rehearsal", "tidy", "acme:tidy"], 4, "is about an eval that exists; leave out acme:tidy"),
    ],
)
def test_it_is_about_one_eval_that_exists(
    root: Path, run_cli: Cli, words: list[str], code: int, said: str
) -> None:
    called = run_cli("--root", root, "init", *words)
    assert called.code == code
    assert said in called.err


def test_an_eval_with_problems_is_left_as_it_is(root: Path, run_cli: Cli) -> None:
    skill(root / "acme", "hello", "Greets")
    edit(root, lambda tests: tests[0].update(skillFile="acme:none"))
    before = scripts(root)
    called = run_cli("--root", root, "init", "--rehearsal", "tidy")
    assert (called.code, scripts(root)) == (4, before)
    assert "the plugin acme has no skill none" in called.err


@pytest.mark.parametrize(
    ("here", "named"),
    [
        (".", "evals/tidy"),
        ("evals", "tidy"),
        ("evals/tidy", "."),
        ("evals/tidy", "tests.json"),
        ("acme", "../evals/tidy/rehearsal.json"),
        ("..", "{root}/evals/tidy"),
    ],
)
def test_the_eval_may_be_named_by_a_path_from_where_one_is(
    root: Path, run_cli: Cli, monkeypatch: pytest.MonkeyPatch, here: str, named: str
) -> None:
    assert run_cli("--root", root, "init", "acme:tidy", "--eval", "another").code == 0
    monkeypatch.chdir(root / here)

    called = run_cli("init", "--rehearsal", named.format(root=root))

    assert (called.code, called.err) == (0, "")
    assert "rehearsal.json: is up to date, nothing was changed" in called.out
