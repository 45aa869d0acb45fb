"""What `init` writes passes at once in a rehearsal: for skills, agents, a bare skill, and imported lists."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from roots import plugin, write

from skillwalker.cli.main import exit_code

BARE = """---
name: sort-photos
description: Sorts photos into folders. Use when the user wants to "sort my photos" or has a mess of pictures.
---
# Sort photos

Look at the dates first.
"""
QUERIES = [
    {"query": "tidy it", "should_trigger": True},
    {"query": "tidy it", "should_trigger": True},
    {"query": "sum it up", "should_trigger": False},
]


def call(root: Path, *words: str) -> int:
    return exit_code(["--root", str(root), *words])


def result(root: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """The outcome of each test, and for one that is skipped the word."""
    capsys.readouterr()
    assert call(root, "run", "--isolated", "--rehearse", "--format", "json") == 0
    run = json.loads(capsys.readouterr().out)
    return {f"{test['eval']}::{test['name']}": test["outcome"] for test in run["tests"]} | {
        f"{test['eval']}::{test['name']}": "skipped" for test in run["skipped"]
    }


@pytest.mark.usefixtures("sandbox_image")
def test_a_plugins_skills_agents_and_lists_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugin(tmp_path)
    source = write(tmp_path / "triggers.json", json.dumps(QUERIES))
    assert call(tmp_path, "init", "acme:tidy") == 0
    assert call(tmp_path, "init", "acme:forked") == 0
    assert call(tmp_path, "init", "acme:auditor") == 0
    assert call(tmp_path, "init", "acme:tidy", "--from", str(source), "--eval", "imported") == 0
    tests = json.loads((tmp_path / "evals/imported/tests.json").read_text())
    tests["tests"][1]["queries"][0]["skip"] = "later"
    write(tmp_path / "evals/imported/tests.json", json.dumps(tests))

    found = result(tmp_path, capsys)

    assert found.pop("imported::Near miss: sum it up") == "skipped"
    assert {"imported::Call: tidy it", "imported::Call: tidy it (2)", "auditor::Task: auditor"} <= set(found)
    assert set(found.values()) == {"passed"}


@pytest.mark.usefixtures("sandbox_image")
def test_a_bare_skill_is_loaded_under_its_own_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "some checkout"
    write(root / "SKILL.md", BARE)
    assert call(root, "init") == 0
    before = sorted(path.name for path in root.iterdir())

    found = result(root, capsys)

    assert set(found.values()) == {"passed"}
    assert "sort-photos::Task: sort-photos" in found
    tests = json.loads((root / "evals/sort-photos/tests.json").read_text())["tests"]
    assert tests[0]["skillFile"] == "sort-photos:sort-photos"
    assert sorted(path.name for path in root.iterdir()) == sorted([*before, ".skillwalker"])
