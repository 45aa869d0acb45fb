"""Notes can be left out, everywhere and by every way of saying so; nothing else is left out with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from local_support import a_root
from roots import write

from skillwalker.cli.main import COMMANDS

NOTE = "note: evals/evals.json belongs to another tool: not read"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    a_root(tmp_path / "root", ["ends well"])
    write(tmp_path / "root/evals/evals.json", "[]")
    return tmp_path / "root"


def notes(called: Any) -> int:
    return (called.out + called.err).count("note: ")


@pytest.mark.parametrize(
    "command", [("validate",), ("lint",), ("list",), ("run", "--dry-run", "--rehearse")], ids=" ".join
)
def test_notes_are_told_unless_they_are_not_wanted(
    run_cli: Any, root: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = run_cli("--root", root, *command)
    assert NOTE in told.out + told.err
    assert notes(run_cli("--root", root, "-q", *command)) == 0
    assert notes(run_cli("--root", root, "--quiet", *command)) == 0
    assert notes(run_cli("--root", root, *command, "-q")) == 0
    assert notes(run_cli("--root", root, command[0], "--quiet", *command[1:])) == 0
    assert notes(run_cli("--root", root, "-q", *command, "--no-quiet")) > 0
    monkeypatch.setenv("SKILLWALKER_QUIET", "true")
    silent = run_cli("--root", root, *command)
    assert notes(silent) == 0
    assert silent.code == told.code
    assert notes(run_cli("--root", root, "--no-quiet", *command)) > 0
    monkeypatch.delenv("SKILLWALKER_QUIET")
    write(root / "skillwalker.toml", "[run]\nquiet = true\n")
    assert notes(run_cli("--root", root, *command)) == 0
    assert notes(run_cli("--root", root, "--no-quiet", *command)) > 0


def test_a_quiet_run_tells_its_result_and_that_it_was_rehearsed(
    run_cli: Any, root: Path, claude: Path
) -> None:
    options = ("run", "--rehearse", "--yes", "--claude", claude)
    loud, quiet = (run_cli("--root", root, *more, *options) for more in ((), ("-q",)))
    assert (notes(loud), notes(quiet)) == (1, 0)
    for called in (loud, quiet):
        assert (called.code, "1 passed" in called.out) == (0, True)
        assert called.out.splitlines()[0].startswith("REHEARSED")
        assert called.err.splitlines()[-1].startswith("REHEARSED")


def test_errors_are_never_left_out(run_cli: Any, root: Path) -> None:
    write(root / "evals/broken/tests.json", "{")
    called = run_cli("--root", root, "-q", "validate")
    assert (called.code, "evals/broken/tests.json:1: is not JSON" in called.err) == (4, True)


def test_the_help_of_every_command_has_it(run_cli: Any) -> None:
    for words in (*((name,) for name in COMMANDS), ("image", "build"), ("expectations", "list")):
        lines = run_cli(*words, "--help").out.splitlines()
        assert sum("-q, --quiet / --no-quiet" in line for line in lines) == 1, words


def test_what_looks_like_it_and_is_not_stays_what_it_is(run_cli: Any, root: Path) -> None:
    assert "-k -q" in run_cli("--root", root, "validate", "-k", "-q").err
    assert "-q matches no eval" in run_cli("--root", root, "validate", "--", "-q").err


def test_the_plan_as_json_has_its_notes_and_says_who_wants_quiet(run_cli: Any, root: Path) -> None:
    plan = json.loads(run_cli("--root", root, "-q", "run", "--dry-run", "--format", "json").out)
    assert plan["options"]["quiet"] == {"value": True, "source": "command line", "place": None}
    assert len(plan["notes"]) == 1
