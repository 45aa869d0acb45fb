"""`skillwalker report` and `skillwalker compare`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from stored_runs import EARLIER, FAILED, PASSED, RUN_ID, a_test, a_trial, keep, verdict


@pytest.fixture
def root(tmp_path: Path) -> Path:
    keep(tmp_path, a_test("a", a_trial("a", 1, verdict(FAILED, "called: none"))), run_id=EARLIER)
    keep(tmp_path, a_test("a", a_trial("a", 1, verdict(PASSED, "called"))))
    return tmp_path


def test_reports_of_the_last_run(root: Path, run_cli) -> None:
    found = run_cli("--root", root, "report", "--report", f"html={root}/r.html", "--report", "json=-")

    assert found.code == 0
    assert json.loads(found.out)["run_id"] == RUN_ID
    assert found.err == f"wrote {root}/r.html\n"
    assert (root / "r.html").read_text("utf-8").startswith("<!doctype html>")


def test_a_report_of_a_failed_run_is_no_failure(root: Path, run_cli) -> None:
    found = run_cli("--root", root, "report", "last~1", "--report", "markdown=-")

    assert found.code == 0
    assert found.out.startswith("# Skillwalker: failed\n")


def test_the_page_can_tell_what_differs_from_another_run(root: Path, run_cli) -> None:
    assert (
        run_cli("--root", root, "report", "--report", f"html={root}/r.html", "--compare", "last~1").code == 0
    )
    assert f"Compared with {EARLIER}" in (root / "r.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing to write: add --report FORMAT=FILE"),
        (("--report", "pdf=x"), "is no format"),
        (("--report", "json=-", "--compare", "last~1"), "--compare goes into the HTML"),
        (("nothing", "--report", "json=-"), "no run nothing"),
    ],
)
def test_what_cannot_be_is_told(root: Path, run_cli, arguments, said: str) -> None:
    found = run_cli("--root", root, "report", *arguments)
    assert found.code == 4
    assert said in found.err


def test_github_adds_its_summary(root: Path, run_cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(root / "summary.md"))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(root))
    found = run_cli("--root", root, "report", "last~1", "--report", "github=-")

    assert found.out.startswith("::error title=csv%3A%3Aa failed::skill-call: called: none")
    assert "called: none" in (root / "summary.md").read_text("utf-8")


def test_a_rehearsal_says_so_around_everything(root: Path, run_cli) -> None:
    keep(
        root,
        a_test("a", a_trial("a", 1, verdict(PASSED))),
        run_id="20261201T101500Z-3f9a1c",
        source="rehearsal",
    )
    found = run_cli("--root", root, "report", "--report", "json=-")

    lines = found.err.splitlines()
    assert lines[0].startswith("REHEARSED")
    assert lines[-1].startswith("REHEARSED")


def test_the_last_two_runs_are_compared(root: Path, run_cli) -> None:
    found = run_cli("--root", root, "compare")

    assert found.code == 0
    assert found.out.startswith(f"{EARLIER} → {RUN_ID}\n")
    assert "failed → passed  csv::a" in found.out
    assert "Fisher's exact test" in found.out


def test_a_comparison_as_json(root: Path, run_cli) -> None:
    found = run_cli("--root", root, "compare", EARLIER, RUN_ID, "--format", "json")
    assert json.loads(found.out)["tests"][0]["noise"] == "too few trials to tell from noise"


def test_every_wrong_run_is_told(root: Path, run_cli) -> None:
    found = run_cli("--root", root, "compare", "one", "two")

    assert found.code == 4
    assert "no run one" in found.err
    assert "no run two" in found.err
