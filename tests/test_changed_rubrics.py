"""A run whose rubric has changed goes on only where no test is judged by both the old and the new one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from roots import an_eval, plugin
from stored_runs import PASSED, UNMEASURED, a_test, a_trial, keep, verdict

from skillwalker.errors import ConfigurationError
from skillwalker.judged_by import changed_meanwhile, judged_by
from skillwalker.outcomes import Reason
from skillwalker.preparing import prepare
from skillwalker.request import RunRequest
from skillwalker.resume import prepare_resumed
from skillwalker.store import RunDirectory, write_json


def a_run(root: Path) -> RunDirectory:
    """Of two tests, each with a rubric of its own; the second was not measured."""
    plugin(root)
    tests = [
        {"name": name, "model": "opus", "expect": [{"llm-judge": {"rubricFile": f"{name}.md"}}]}
        for name in ("done", "open")
    ]
    an_eval(root, tests, rubrics={"done.md": "- good\n", "open.md": "- good\n"})
    planned = prepare(RunRequest(root=root, cwd=root, rehearse=True)).tests
    return keep(
        root,
        a_test("done", a_trial("done", 1, verdict(PASSED, type_="llm-judge"))),
        a_test("open", a_trial("open", 1, verdict(UNMEASURED, type_="llm-judge"), reason=Reason.TIMEOUT)),
        inputs={test.checked.test.name: test.inputs() for test in planned},
    )


def left(root: Path) -> list[str]:
    prepared = prepare_resumed(RunRequest(root=root, cwd=root), "last")
    return [test.checked.test.name for test in prepared.tests]


def edit(root: Path, name: str) -> None:
    (root / "evals" / "csv" / "rubrics" / name).write_text("- better\n")


def test_a_run_remembers_what_its_verdicts_depend_on(tmp_path: Path) -> None:
    tests = a_run(tmp_path).manifest()["tests"]
    assert [list(test["inputs"]["files"]) for test in tests] == [["rubrics/done.md"], ["rubrics/open.md"]]
    assert len(tests[0]["inputs"]["files"]["rubrics/done.md"]) == 64


def test_the_rubric_of_a_test_that_is_done_may_change(tmp_path: Path) -> None:
    a_run(tmp_path)
    edit(tmp_path, "done.md")
    assert left(tmp_path) == ["open"]


def test_the_rubric_of_a_test_that_is_to_go_on_may_not(tmp_path: Path) -> None:
    a_run(tmp_path)
    edit(tmp_path, "open.md")
    with pytest.raises(ConfigurationError) as refused:
        left(tmp_path)
    assert str(refused.value) == (
        "csv::open has changed since the run began (rubrics/open.md); start a new run; "
        "what ran can be judged again with rejudge"
    )


def test_a_run_of_an_earlier_version_that_remembers_no_rubric_goes_on(tmp_path: Path) -> None:
    directory = a_run(tmp_path)
    manifest = directory.manifest()
    for test in manifest["tests"]:
        del test["inputs"]["files"]
    write_json(directory.path / "run.json", manifest)
    assert "files" not in json.loads((directory.path / "run.json").read_text())["tests"][0]["inputs"]
    edit(tmp_path, "open.md")
    assert left(tmp_path) == ["open"]


def test_a_rubric_that_changes_while_a_run_goes_on_is_told(tmp_path: Path) -> None:
    a_run(tmp_path)
    tests = [one.checked for one in prepare(RunRequest(root=tmp_path, cwd=tmp_path, rehearse=True)).tests]
    before = [(checked, judged_by(checked)) for checked in tests]
    assert changed_meanwhile(before) == ()
    edit(tmp_path, "open.md")
    (tmp_path / "evals" / "csv" / "rubrics" / "done.md").unlink()
    assert [note.partition(" has changed")[0] for note in changed_meanwhile(before)] == [
        "evals/csv/rubrics/done.md",
        "evals/csv/rubrics/open.md",
    ]
