"""Which runs can be gone on with."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from attrs import evolve
from stored_runs import PASSED, a_test, a_trial, keep, verdict

from skillwalker.errors import ConfigurationError
from skillwalker.request import RunRequest
from skillwalker.resume import prepare_resumed
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
