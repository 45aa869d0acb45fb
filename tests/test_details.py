"""What `show RUN TEST` tells of a test's trials."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from roots import an_eval, plugin
from transcripts import answers, calls, init, result, says

from skillwalker.gateway.spending import Spend
from skillwalker.outcomes import Outcome, Reason
from skillwalker.records import planned_object
from skillwalker.reports.details import test_details as details
from skillwalker.results import RunResult, TestResult, TrialResult
from skillwalker.store import RunDirectory, Store
from skillwalker.tokens import Tokens
from skillwalker.tree import Tree

TRIAL = TrialResult("csv.t.main.1", 1, Outcome.PASSED, turns=1, duration_ms=1500)
TEST = TestResult("csv", "t", "skill-prompt", "opus", 1, 1, (TRIAL,))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    plugin(tmp_path)
    test = {"name": "t", "scaffold": "start", "expect": [{"result-contains": "done"}]}
    an_eval(tmp_path, [test], scaffolds={"start/old.txt": "old", "start/gone.txt": "gone"})
    return tmp_path


def lines(
    root: Path, *events: dict[str, Any], test: TestResult = TEST, scaffold: str | None = "same", **run: Any
) -> list[str]:
    directory = stored(root, test, scaffold)
    folder = directory.trial(TRIAL.id)
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    with tarfile.open(folder / "workspace.tar", "w") as tar:
        for name, content in {"old.txt": b"new", "made\x1b.md": b"made"}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    found = RunResult(directory.id, "docker", "api", (test,), 100, **run)
    return list(details(found, directory, root))


def stored(root: Path, test: TestResult, scaffold: str | None) -> RunDirectory:
    start = root / "evals/csv/scaffolds/start"
    digest = Tree.of_directory(start, root=start).digest if scaffold == "same" else scaffold
    return Store(root).create(
        "20261130T101500Z-3f9a1c", {"tests": [{**planned_object(test), "inputs": {"scaffold": digest}}]}
    )


def test_the_work_directory_is_named_with_what_is_new_in_it(root):
    shown = lines(root)

    assert any("work directory (" in line and "workspace.tar)" in line for line in shown)
    assert [line.strip() for line in shown if line.startswith("      ")] == [
        r"created: made\x1b.md",
        "changed: old.txt",
        "deleted: gone.txt",
    ]


def test_without_a_scaffold_everything_is_new(root):
    assert any(r"created: made\x1b.md, old.txt" in line for line in lines(root, scaffold=None))


@pytest.mark.parametrize("there", [True, False])
def test_what_is_new_is_not_guessed_where_the_scaffold_is_another(root, there):
    if not there:
        (root / "evals/csv/tests.json").unlink()
    shown = "\n".join(lines(root, scaffold="0" * 64))

    assert "what is new is not known" in shown
    assert r"files: made\x1b.md, old.txt" in shown
    assert "created" not in shown


def test_calls_are_json_and_results_keep_their_lines(root):
    shown = lines(
        root,
        init(),
        calls("a", "Bash", command="ls\n", timeout=None, fast=True),
        answers("a", "one\r\ntwo\x1b[2J\npassed: not ours\n"),
        result("fine"),
    )

    at = shown.index('      call Bash: {"command": "ls\\n", "timeout": null, "fast": true}')
    assert shown[at + 1 : at + 5] == [
        "      result:",
        "          | one",
        r"          | two\x1b[2J",
        "          | passed: not ours",
    ]
    assert "      result (success): fine" in shown
    assert "  trial 1: passed, 1.5 s, 1 turn" in shown


def test_what_a_model_says_is_no_command_of_a_ci(root):
    hostile = "so:\n::error::owned\n   ::add-mask::x\n  ##[error]owned"
    shown = lines(
        root, says(hostile), calls("a", "Bash", command="ls"), answers("a", hostile), result(hostile)
    )

    assert not [line for line in shown if line.lstrip().startswith("::") or "##[" in line]
    assert shown.count("          | ::error::owned") == 3


def test_a_long_text_is_cut_and_says_how_much_is_missing(root):
    many = "\n".join(f"line {number}" for number in range(30))
    shown = lines(root, says(many), says("x" * 2001))

    assert "          | line 19" in shown
    assert "          | line 20" not in shown
    assert (
        f"          … {len(many) - many.index(chr(10) + 'line 20')} more characters in events.jsonl" in shown
    )
    assert "          … 1 more character in events.jsonl" in shown


def test_nothing_is_to_be_done_about_a_trial_of_a_test_that_passed(root):
    late = evolve(TRIAL, reason=Reason.TIMEOUT, message="late")
    shown = lines(root, test=evolve(TEST, trials=(late,)))

    assert any("timeout: late" in line for line in shown)
    assert not any("->" in line for line in shown)


def test_a_test_of_an_interrupted_run_that_never_began_did_not_run(root):
    shown = lines(root, test=evolve(TEST, trials=()), interrupted=True)

    assert shown == ["csv::t  not run"]


def test_who_asked_which_model_and_what_that_came_to_is_told_of_real_runs(root):
    own = Spend("main", "claude-opus-5-5", "claude-opus-5-5", 4, 0, Tokens(3600, 160, 28, 12), 0.0123)
    other = Spend("agent:acme:auditor", "gpt-9", "gpt-9", 1, 0, Tokens(900, 40, None, 3), None)
    test = evolve(TEST, trials=(evolve(TRIAL, spent=(own, other)),))

    told = [line.strip() for line in lines(root, test=test) if " with " in line]

    assert told == [
        "main with claude-opus-5-5: 4 answers, 3,640 tokens in, 160 out, 0.0123 USD",
        "agent:acme:auditor with gpt-9: 1 answer, 40 out, cost unknown",
    ]
