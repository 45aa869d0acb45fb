"""What `init --from` takes over: nothing passes with nothing done, and nothing is lost in silence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from roots import plugin, write

from skillwalker.checks import check_evals
from skillwalker.expectations.registry import Registry
from skillwalker.importing.converting import Converted, convert
from skillwalker.importing.reading import read_source
from skillwalker.targets import choose, find_targets

Cli = Callable[..., Any]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    plugin(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def converted(
    root: Path, monkeypatch: pytest.MonkeyPatch, *items: dict[str, Any], types: tuple[str, ...] = ()
) -> Converted:
    scanned = SimpleNamespace(names=lambda: types)
    monkeypatch.setattr("skillwalker.importing.converting.Registry", SimpleNamespace(scan=lambda: scanned))
    targets = find_targets(root)
    source = write(root / "evals.json", json.dumps(list(items)))
    return convert(read_source(source), choose(targets, "acme:tidy"), targets, "imported")


def kinds(done: Converted) -> list[list[str]]:
    return [[kind for one in test["expect"] for kind in one] for test in done.draft.tests]


FILE = {
    "id": "made",
    "prompt": "Make it",
    "expected_output": "It is made.",
    "assertions": [{"type": "file-exists", "path": "a.txt"}, {"type": "regex", "pattern": "a+"}],
}


def test_checks_of_types_that_are_installed_are_taken_over(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = converted(root, monkeypatch, FILE, types=("file-exists", "result-matches"))
    assert kinds(done) == [["file-exists", "result-matches", "llm-judge"]]
    assert done.left == []
    assert done.notes == [
        "1 test fails when it is rehearsed, for nothing is done there for file-exists, result-matches: made"
    ]


def test_checks_of_other_types_are_told_with_the_package_and_the_outcome_is_judged(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = converted(root, monkeypatch, {**FILE, "expectations": ["It is polite"]})
    assert kinds(done) == [["llm-judge"]]
    assert done.left == [
        "made: 2 checks (file-exists, result-matches) that skillwalker-expectations-contrib can make: "
        "install it with pip, and import again"
    ]
    assert (
        "- The outcome is as follows: It is made.\n- It is polite\n"
        in done.draft.files["rubrics/made.md"].decode()
    )


@pytest.mark.parametrize("lost", [{"type": "script", "command": "x"}, {"type": "contains", "value": "ok"}])
def test_where_a_check_is_lost_or_no_words_are_left_the_outcome_is_judged(
    root: Path, monkeypatch: pytest.MonkeyPatch, lost: dict[str, Any]
) -> None:
    done = converted(root, monkeypatch, {**FILE, "assertions": [lost]})
    assert "- The outcome is as follows: It is made.\n" in done.draft.files["rubrics/made.md"].decode()


def test_where_all_is_judged_the_outcome_is_only_quoted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = converted(root, monkeypatch, {**FILE, "assertions": ["It is polite"]})
    assert done.draft.files["rubrics/made.md"].decode().endswith("> It is made.\n\n- It is polite\n")


def test_a_test_that_passes_with_nothing_done_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = converted(root, monkeypatch, {"id": "idle", "prompt": "Go", "must_not_contain": ["oops"]})
    assert done.warnings == ["idle passes with nothing done: add what the answer should be"]


def test_a_rubric_can_grow_without_an_edit_of_the_rehearsal(root: Path, run_cli: Cli) -> None:
    source = write(root / "in.json", json.dumps([{"id": 1, "prompt": "Go", "expectations": ["It is done"]}]))
    assert run_cli("--root", root, "init", "tidy", "--from", source).code == 0
    assert run_cli("--root", root, "init", "hello").code == 0
    for name in ("tidy", "hello"):
        script = json.loads((root / "evals" / name / "rehearsal.json").read_text("utf-8"))
        assert not any("judge" in test for test in script["tests"].values())
        [rubric] = (root / "evals" / name / "rubrics").iterdir()
        write(rubric, rubric.read_text("utf-8") + "- And one more\n")
    checked = check_evals([root / "evals/tidy", root / "evals/hello"], root, Registry.scan())
    assert checked.problems == ()


@pytest.mark.parametrize("more", [{}, {"should_not_trigger": ["other"]}])
def test_a_list_without_a_query_for_the_skill_gives_near_misses_and_a_warning(
    root: Path, run_cli: Cli, more: dict[str, Any]
) -> None:
    items = [{"query": text, "should_trigger": "hello", **more} for text in ("hi", "hello there")]
    source = write(root / "in.json", json.dumps(items))
    offered = run_cli("--root", root, "init", "tidy", "--from", source).err
    assert "name it in full" in offered
    called = run_cli("--root", root, "init", "acme:tidy", "--from", source)
    assert called.code == 0
    assert (
        "warning: no query of the file is for tidy: all 2 are near misses, so nothing tells whether it is "
        "ever called; add queries that should call it\n" in called.err
    )
    [test] = json.loads((root / "evals/tidy/tests.json").read_text("utf-8"))["tests"]
    assert [query["should_trigger"] for query in test["queries"]] == [False, False]


def test_what_is_written_but_not_valid_is_not_offered_to_be_tried(root: Path, run_cli: Cli) -> None:
    write(root / "acme/skills/tidy/SKILL.md", "---\nname: tidy\n---\n")
    source = write(root / "in.json", json.dumps([{"query": "tidy it", "should_trigger": True}]))
    called = run_cli("--root", root, "init", "acme:tidy", "--from", source)
    assert (called.code, "try it without a model" in called.out) == (4, False)
    told = called.err.partition("the eval was written, but cannot be run yet; mend this, then try it with: ")[
        2
    ]
    first, second = told.splitlines()[:2]
    assert first.endswith("run --isolated --rehearse tidy")
    assert "has no description" in second


def test_what_lies_beside_graders_and_the_number_of_runs_are_told(root: Path, run_cli: Cli) -> None:
    folder = root / "acme/evals/greets"
    write(folder / "prompt.md", "Greet Ada\n")
    write(folder / "graders/polite.md", "---\ntype: llm\nweight: 2\n---\nThe greeting is polite.\n")
    write(folder / "graders/notes.md", "just notes\n")
    write(folder / "graders/check.sh", "exit 0\n")
    called = run_cli("--root", root, "init", "acme:tidy", "--from", root / "acme", "--eval", "cases")
    assert called.code == 0
    for line in (
        "graders/check.sh, which is no grader in words (1 time: greets)",
        "graders/notes.md, which has no type (1 time: greets)",
        "the weight of a grader: a test passes when all its expectations do (1 time: greets)",
        "note: without runs a case is run 3 times, so its test has trials 3: greets",
    ):
        assert line in called.err
    assert json.loads((root / "evals/cases/tests.json").read_text("utf-8"))["tests"][0]["trials"] == 3
