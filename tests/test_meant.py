"""First words that are not quite right: what is told, where, and what to type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from roots import an_eval, plugin, write

from skillwalker.cli.main import COMMANDS, IN_SHORT
from skillwalker.cli.meant import _ELSEWHERE


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    plugin(tmp_path)
    an_eval(tmp_path, [{"name": "x", "expect": [{"result-contains": "a"}]}])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("valdate", "skillwalker has no command valdate (did you mean validate?)"),
        ("runs", "skillwalker has no command runs: type `skillwalker list runs`"),
        ("help", "skillwalker has no command help: type `skillwalker --help`"),
        (
            "csv::x",
            "skillwalker has no command csv::x: to run an eval of that name, or there, type "
            "`skillwalker run csv::x`",
        ),
        (
            "evals/csv/",
            "skillwalker has no command evals/csv/: to run an eval of that name, or there, type "
            "`skillwalker run evals/csv/`",
        ),
        ("frobnicate", "skillwalker has no command frobnicate; `skillwalker --help` tells what each does"),
        ("a\x1bb", r"skillwalker has no command a\x1bb; `skillwalker --help` tells what each does"),
        ("image bild", "skillwalker image has no command bild (did you mean build?)"),
        (
            "image runs",
            "skillwalker image has no command runs; there are build, info; `skillwalker image --help` tells "
            "what each does",
        ),
        ("schema csv", "skillwalker schema has no place for csv; see `skillwalker schema --help`"),
        (
            "compare a b c d",
            "skillwalker compare has no place for c d; see `skillwalker compare --help`",
        ),
        ("run --report", "Option '--report' requires an argument; see `skillwalker run --help`"),
        ("expectations show", "Missing argument 'TYPE'; see `skillwalker expectations show --help`"),
    ],
)
def test_a_word_that_is_not_right_is_told_what_to_type(
    run_cli: Any, root: Path, words: str, said: str
) -> None:
    called = run_cli(*words.split(" "))
    assert (called.code, called.out, called.err) == (4, "", f"{said}\n")
    as_json = run_cli(*words.split(" "), "--format=json")
    assert as_json.code == 4
    if words.partition(" ")[0] not in COMMANDS:
        assert json.loads(as_json.out)["problems"][0]["message"]


def test_what_is_looked_for_under_another_name_is_a_command(run_cli: Any, root: Path) -> None:
    for word, instead in _ELSEWHERE.items():
        assert word not in COMMANDS
        first = instead.split(" ")[0]
        assert run_cli(first, *([] if first.startswith("--") else ["--help"])).code == 0


def test_help_fits_on_lines_and_tells_the_first_steps_and_the_exit_codes(run_cli: Any) -> None:
    for group in ((), ("image",), ("expectations",)):
        assert "..." not in run_cli(*group, "--help").out.partition("Commands:")[2]
    told = run_cli("--help").out
    assert list(IN_SHORT) == list(COMMANDS)
    assert all(short in told for short in IN_SHORT.values())
    assert "First steps: `doctor` checks this machine" in told
    assert "6 tests could not be measured" in " ".join(told.split())


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("run", "run [OPTIONS] [SELECT]..."),
        ("show", "show [OPTIONS] [RUN] [SELECT]..."),
        ("report", "report [OPTIONS] [RUN]"),
        ("compare", "compare [OPTIONS] [EARLIER] [LATER]"),
        ("try", "try [OPTIONS] PLUGIN_DIR... PROMPT"),
        ("init", "init [OPTIONS] [PLUGIN:SKILL]"),
    ],
)
def test_usage_names_arguments_once_and_without_types(run_cli: Any, command: str, usage: str) -> None:
    told = run_cli(command, "--help").out
    assert told.splitlines()[0] == f"Usage: skillwalker {usage}"
    assert "<str>" not in told
    assert "list[str]" not in told


@pytest.mark.parametrize(
    "option", ["--model", "--timeout", "--max-cost", "--background", "--image", "--record"]
)
def test_an_option_of_several_commands_is_described_once(run_cli: Any, option: str) -> None:
    def described(command: str) -> str:
        lines = run_cli(command, "--help").out.partition(f"\n  {option} ")[2].partition("\n  -")[0]
        return " ".join(lines.split())

    run, *others = filter(None, map(described, ("run", "try", "shell", "rejudge")))
    assert others
    assert set(others) == {run}


def test_where_no_eval_is_the_way_to_the_first_one_is_told(
    run_cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    called = run_cli("run")
    assert called.code == 5
    assert "`skillwalker init` writes a first eval for a skill or an agent; or go to a" in called.err
    write(tmp_path / "evals/evals.json", "[]")
    write(tmp_path / "evals/more/evals.json", "[]")
    assert "what is in evals/ here can be taken over with --from evals" in run_cli("validate").err
    write(tmp_path / "evals/minutes/test.json", "{}")
    said = run_cli("validate")
    assert (said.code, ", but evals/minutes/test.json: did you mean tests.json?" in said.err) == (5, True)
    assert "`skillwalker init` writes a first one" in run_cli("--root", tmp_path, "list", "evals", "x").err
    assert (
        f"no runs yet below {tmp_path}/.skillwalker/runs; `skillwalker run` makes"
        in run_cli("list", "runs").err
    )
    assert "there is no run yet below" in run_cli("show", "2026").err
