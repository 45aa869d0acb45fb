"""What is wrong with a word, a number or an option is said in our words, whatever the libraries say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from local_support import a_root


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("list evalz", "evalz is not one of evals, runs (did you mean evals?)"),
        ("run --format xml", "--format xml is not one of console, json"),
        ("run --trials 0", "--trials must be at least 1, not 0"),
        ("run --trials 1001", "--trials must be at most 1000, not 1001"),
        ("run -j x", "--jobs must be a whole number, not x"),
        ("run --timeout soon", "--timeout must be a number, not soon"),
        ("validate --fromat json", "skillwalker validate has no option --fromat (did you mean --format?)"),
        ("validate --json", "skillwalker validate has no option --json (did you mean --format json?)"),
        ("validate --version", "skillwalker validate has no option --version; write it before the command"),
        ("--rehearse run", "skillwalker has no option --rehearse; write it after the command"),
        ("--verbos run", "skillwalker has no option --verbos (did you mean --verbose?)"),
        ("list --xyzzy", "skillwalker list has no option --xyzzy"),
    ],
)
def test_wrong_usage_is_explained(run_cli, arguments, message):
    called = run_cli(*arguments.split())
    assert (called.code, called.out, called.err) == (4, "", message + "\n")


def test_wrong_usage_as_json_is_a_problem_too(run_cli):
    called = run_cli("validate", "--format", "json", "--xyzzy")
    (problem,) = json.loads(called.out)["problems"]
    assert problem["message"] == "skillwalker validate has no option --xyzzy"


@pytest.mark.parametrize("command", [("validate",), ("list", "evals"), ("run", "--rehearse", "--dry-run")])
def test_options_of_the_program_may_stand_after_the_command(
    run_cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    a_root(tmp_path / "here", ["of here"])
    a_root(tmp_path / "there", ["of there", "too"])
    monkeypatch.chdir(tmp_path / "here")
    there = run_cli("--root", "../there", *command)
    assert there.code == 0
    assert there != run_cli(*command)
    assert there == run_cli(*command, "--root", "../there")
    assert there == run_cli("--root", "nowhere", "-v", *command, "--root=../there", "--verbose")
    assert run_cli(*command, "--root", "nowhere").code == 4
