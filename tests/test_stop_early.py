"""Runs that start no trial which cannot change an outcome, also when they are gone on with."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from local_support import run
from rehearsed_model import RehearsedModel
from roots import an_eval, plugin, text
from upstream_support import SECRET

from skillwalker.records import load_run
from skillwalker.reports.console import run_report
from skillwalker.store import Store

EXPECTED = {"passes": "done", "fails": "something else"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    plugin(tmp_path)
    tests = [
        {"name": name, "trials": 3, "expect": [{"result-contains": it}]} for name, it in EXPECTED.items()
    ]
    prompts = dict.fromkeys(EXPECTED, "ends well")
    an_eval(tmp_path, tests, prompts=prompts, script={name: [text("done")] for name in EXPECTED})
    return tmp_path


def trials(root: Path) -> list[str]:
    """What ran in the newest run, such as `passes.1`."""
    directory = Store(root).find("last").path / "trials"
    return sorted(f"{one.name.split('.')[1]}.{one.name.rpartition('.')[2]}" for one in directory.iterdir())


def test_the_third_trial_of_three_does_not_run_where_two_agree(
    run_cli: Callable[..., Any], root: Path, claude: Path, temporary: Path
) -> None:
    called = run(run_cli, root, claude, "--stop-early")

    found = json.loads(called.out)
    assert called.code == 1
    assert [test["outcome"] for test in found["tests"]] == ["passed", "failed"]
    assert [(test["measured"], test["not_needed"], test["unmeasured"]) for test in found["tests"]] == [
        (2, 1, 0)
    ] * 2
    assert found["totals"]["trials_not_needed"] == 2
    assert trials(root) == ["fails.1", "fails.2", "passes.1", "passes.2"]

    run_ = load_run(Store(root).find("last"))
    lines = run_report(run_).splitlines()
    assert any("2 of 6 trials not needed" in line for line in lines)
    assert not any("unmeasured" in line for line in lines)


def test_without_the_option_all_run(
    run_cli: Callable[..., Any], root: Path, claude: Path, temporary: Path
) -> None:
    found = json.loads(run(run_cli, root, claude).out)
    assert [(test["measured"], test["not_needed"]) for test in found["tests"]] == [(3, 0), (3, 0)]


def test_a_settled_run_has_nothing_left_and_one_that_was_cut_short_runs_what_is_needed(
    run_cli: Callable[..., Any], root: Path, claude: Path, temporary: Path
) -> None:
    run(run_cli, root, claude, "--stop-early")
    called = run_cli("--root", root, "run", "--resume", "last", "--yes")
    assert called.code == 4
    assert "no trial left: every one that was needed was measured" in called.err

    stored = Store(root).find("last")
    (gone,) = stored.path.glob("trials/csv.passes.*.main.2")
    shutil.rmtree(gone)  # as after a crash
    kept = stored.results.read_text().splitlines()
    stored.results.write_text("".join(f"{line}\n" for line in kept if gone.name not in line))
    assert load_run(stored).tests[0].not_needed == 0

    called = run_cli("--root", root, "run", "--resume", "last", "--yes", "--format", "json")
    found = json.loads(called.out)
    assert [(test["outcome"], test["not_needed"]) for test in found["tests"]] == [
        ("passed", 1),
        ("failed", 1),
    ]
    assert trials(root) == ["fails.1", "fails.2", "passes.1", "passes.2"]


def test_what_was_recorded_with_an_early_end_is_replayed_with_one(
    run_cli: Callable[..., Any], root: Path, claude: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tapes = root / "cassettes"
    command = ["--root", root, "run", "--yes", "--claude", claude, "--stop-early", "--format", "json"]
    with RehearsedModel(root) as model:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
        recorded = json.loads(run_cli(*command, "--record", tapes).out)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    found = json.loads(run_cli(*command, "--replay", tapes).out)

    for one in (recorded, found):
        assert [test["outcome"] for test in one["tests"]] == ["passed", "failed"]
        assert one["totals"]["trials_not_needed"] == 2
    rates = [one["tests"][0]["statistics"]["rate"] for one in (recorded, found)]
    assert rates == [{"value": 1.0, "hits": 2, "of": 2, "low": None, "high": None}, None]


def test_controls_are_gone_on_with_as_well(
    run_cli: Callable[..., Any], tmp_path: Path, claude: Path, temporary: Path
) -> None:
    plugin(tmp_path)
    test = {"name": "yes", "type": "skill-call", "skillFile": "acme:tidy", "expect": [{"skill-call": True}]}
    an_eval(tmp_path, [test], prompts={"yes": "ends well"}, script={"yes": [text("done")]})

    found = json.loads(run(run_cli, tmp_path, claude, "--control").out)
    assert {one["outcome"] for one in found["controls"]} == {"unmeasured"}  # the fake knows no such prompts

    called = run_cli("--root", tmp_path, "run", "--resume", "last", "--yes", "--format", "json")
    again = json.loads(called.out)
    assert [one["name"] for one in again["controls"]] == [one["name"] for one in found["controls"]]
    kept = sorted(one.name for one in Store(tmp_path).find("last").path.glob("trials/*control*"))
    assert sum(".old-" in name for name in kept) == 2
    assert len(kept) == 4
