"""Which runs can be gone on with."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from attrs import evolve
from roots import an_eval, plugin
from stored_runs import PASSED, RUN_ID, a_test, a_trial, keep, verdict

from skillwalker.errors import ConfigurationError
from skillwalker.request import RunRequest
from skillwalker.resume import _faults, prepare_resumed
from skillwalker.sandbox.owner import Owner, _started


def refused(root: Path, owner: Owner, interrupted: bool | None) -> str:
    """Why a run of which every trial was measured is not gone on with."""
    keep(root, a_test("a", a_trial("a", 1, verdict(PASSED))), owner=str(owner), interrupted=interrupted)
    with pytest.raises(ConfigurationError) as caught:
        prepare_resumed(RunRequest(root=root, cwd=root), "last")
    return str(caught.value)


def test_a_run_that_another_process_works_at_is_left_to_it(tmp_path: Path) -> None:
    parent = evolve(Owner.current(), pid=os.getppid(), started=_started(os.getppid()))
    assert f"still goes on, in process {parent.pid}" in refused(tmp_path / "live", parent, None)
    assert "no trial left" in refused(tmp_path / "over", parent, True)
    assert "no trial left" in refused(tmp_path / "killed", evolve(parent, started="long ago"), None)
    assert "no trial left" in refused(tmp_path / "elsewhere", evolve(parent, host="other"), None)
    assert "no trial left" in refused(tmp_path / "own", Owner.current(), None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limits": {"later": 1}}, 'limits: unknown option "later"'),
        ({"limits": None}, "limits: expected an object"),
        ({"select": 5}, "select: it is of another type"),
        ({"sandbox_env": [1]}, "sandbox_env: something in it is no text"),
        ({"jobs": "many"}, 'jobs: expected a whole number, got "many"'),
        ({"timeout_seconds": -1}, "timeout_seconds: must be at least 1"),
        ({"record": 5, "prices": []}, "record: expected text, got 5; prices: it is of another type"),
    ],
)
def test_options_that_another_version_or_hand_has_written_are_told(
    tmp_path: Path, options: dict[str, object], said: str
) -> None:
    written = {"allow_unmeasured": 0, **options}
    keep(tmp_path, a_test("a", a_trial("a", 1, verdict(PASSED)), planned=3), options=written)
    with pytest.raises(ConfigurationError) as caught:
        prepare_resumed(RunRequest(root=tmp_path, cwd=tmp_path), "last")
    assert f"the options of run {RUN_ID} cannot be read, start a new run: {said}" in str(caught.value)


def test_options_as_they_are_written_are_read(tmp_path: Path) -> None:
    assert list(_faults(json.loads(json.dumps(RunRequest(root=tmp_path, cwd=tmp_path).options())))) == []


def test_a_run_that_does_not_say_what_its_trials_had_is_not_gone_on_with(tmp_path: Path) -> None:
    plugin(tmp_path)
    an_eval(tmp_path, [{"name": "a", "trials": 3, "expect": [{"result-contains": "x"}]}])
    directory = keep(tmp_path, a_test("a", a_trial("a", 1, verdict(PASSED)), planned=3))
    (test,) = directory.manifest()["tests"]
    directory.update({"tests": [{key: value for key, value in test.items() if key != "inputs"}]})
    with pytest.raises(
        ConfigurationError, match=r"has changed since the run began \(prompt, expect, plugins"
    ):
        prepare_resumed(RunRequest(root=tmp_path, cwd=tmp_path), "last")
