"""What a process can do wrong, each with its one right outcome: whole runs with a scripted Claude Code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from local_support import a_root, run

from skillwalker.supervisor import GRACE_SECONDS
from skillwalker.worker import LINGERED, ODD_END

# The prompt says how the process behaves. Outcome, reason, and words that note or message must have.
CASES: dict[str, tuple[str, str | None, str]] = {
    "ends well": ("passed", None, ""),
    "exits 1 in silence": ("unmeasured", "claude-error", "exit code 1"),
    "exits 0 in silence": ("unmeasured", "incomplete-stream", "exit code 0"),
    "ends without a result": ("unmeasured", "incomplete-stream", "without a result"),
    "has a result that is an error": ("unmeasured", "claude-error", "it broke"),
    "exits 1 after a good result": ("passed", None, ODD_END.format(1)),
    "runs out of turns": ("unmeasured", "claude-error", "error_max_turns"),
    "is killed": ("unmeasured", "claude-error", "exit code 137"),
    "leaves a child that holds the pipe": ("passed", None, ""),
    "chatters between events": ("passed", None, "lines"),
    "has events nobody knows": ("passed", None, ""),
    "has a line of 30 megabytes": ("passed", None, ""),
    "writes byte by byte": ("passed", None, ""),
    "ends without a newline": ("passed", None, ""),
    "goes on after its result": ("passed", None, LINGERED),
    "claims a call that nobody made": ("unmeasured", "contaminated", "did not make"),
    "loads no plugin": ("unmeasured", "plugin-not-loaded", "acme"),
    "never asks the model": ("unmeasured", "claude-error", "without a single answer"),
}


def outcomes(called: Any, root: Path) -> dict[str, tuple[str, str | None, str, float]]:
    """Of each test's one trial: outcome, reason, all that is said of it, seconds."""
    found = {}
    for test in json.loads(called.out)["tests"]:
        (trial,) = test["trials"]
        (file,) = root.glob(f".skillwalker/runs/*/trials/{trial['id']}/trial.json")
        stored = json.loads(file.read_text())
        said = " ".join([str(stored.get("message")), *stored.get("notes", [])])
        found[test["name"]] = (trial["outcome"], trial["reason"], said, trial["duration_ms"] / 1000)
    return found


def test_what_a_process_can_do_has_one_right_outcome(run_cli, tmp_path, claude, temporary, monkeypatch):
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    for name in (".claude.json", ".claude/settings.json", ".claude/CLAUDE.md"):
        (home / name).write_text(f"mine: {name}")
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    monkeypatch.setenv("HOME", str(home))
    root = a_root(tmp_path / "root", list(CASES))

    called = run(run_cli, root, claude, "--jobs", "4")

    found = outcomes(called, root)
    assert {name: one[:2] for name, one in found.items()} == {name: one[:2] for name, one in CASES.items()}
    assert [name for name, one in CASES.items() if one[2] not in found[name][2]] == []
    assert found["leaves a child that holds the pipe"][3] < 500
    assert called.code == 6
    run_object = json.loads(called.out)
    assert (run_object["sandbox"], run_object["image"]) == ("local", None)
    assert run_object["claude_code_version"] == "2.1.332"
    assert list(temporary.iterdir()) == []
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


def test_what_does_not_end_is_ended(run_cli, tmp_path, claude, temporary):
    root = a_root(tmp_path / "root", ["ignores every signal", "ends at an interrupt"])

    called = run(run_cli, root, claude, "--timeout", "8")

    found = outcomes(called, root)
    assert {one[:2] for one in found.values()} == {("unmeasured", "timeout")}
    assert 8 + GRACE_SECONDS <= found["ignores every signal"][3] < 500
    (events,) = root.glob(".skillwalker/runs/*/trials/csv.ends-at*/events.jsonl")
    assert "error_during_execution" in events.read_text()  # what ends by itself is not killed
    assert list(temporary.iterdir()) == []
