"""Runs on disk for tests of reports: made from results, streams and files, without running anything."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen
from transcripts import as_line

from skillwalker.expectations.base import Detail, Verdict
from skillwalker.outcomes import Outcome, Reason
from skillwalker.records import planned_object, trial_file, verdict_object
from skillwalker.reports.source import Source
from skillwalker.results import Judged, TestResult, TrialResult, trial_outcome
from skillwalker.store import RunDirectory, Store
from skillwalker.transcript import Usage

RUN_ID = "20261130T101500Z-3f9a1c"
EARLIER = "20261129T090000Z-0b1c2d"

PASSED, FAILED, UNMEASURED = Outcome.PASSED, Outcome.FAILED, Outcome.UNMEASURED


@frozen
class Left:
    """What a trial left: its events, the files of its work directory, its stderr."""

    events: Sequence[dict[str, Any] | bytes] = ()
    files: Mapping[str, bytes] | None = None
    stderr: bytes = b""


def verdict(
    outcome: Outcome,
    message: str = "",
    type_: str = "skill-call",
    details: tuple[Detail, ...] = (),
    at: int = 0,
) -> Judged:
    return Judged(at, type_, Verdict(outcome, message, details))


def a_trial(test: str, index: int, *judged: Judged, reason: Reason | None = None, **more: Any) -> TrialResult:
    given: dict[str, Any] = {
        "duration_ms": 1500,
        "cost_usd": 0.25,
        "turns": 2,
        "usage": Usage(2000, 40, None, 0),
        "message": "late" if reason else "",
        "healthy": reason is None,
        "outcome": trial_outcome(one.verdict for one in judged),
    }
    return TrialResult(
        id=f"csv.{test}.main.{index}", index=index, judged=judged, reason=reason, **{**given, **more}
    )


def a_test(name: str, *trials: TrialResult, planned: int | None = None, eval_name: str = "csv") -> TestResult:
    number = planned or max(len(trials), 1)
    return TestResult(eval_name, name, "skill-prompt", "opus", number, number // 2 + 1, trials)


def keep(
    root: Path,
    *tests: TestResult,
    left: Mapping[str, Left] | None = None,
    inputs: Mapping[str, Mapping[str, Any]] | None = None,
    run_id: str = RUN_ID,
    source: str = "api",
    **more: Any,
) -> RunDirectory:
    """Writes a run of `tests`; `left` is by trial id, `inputs` by test."""
    nothing = {"prompt": "0" * 64, "expect": "0" * 64, "plugins": {"acme": "0" * 64}, "scaffold": None}
    manifest = {
        "schema": 1,
        "run_id": run_id,
        "skillwalker": "0.1.0",
        "python": "3.11.2",
        "sandbox": "docker",
        "model_source": source,
        "claude_code_version": "2.1.332",
        "image": "sha256:ab12",
        "duration_ms": 5120,
        "interrupted": False,
        "options": {"allow_unmeasured": 0, "timeout_seconds": 600.0, "jobs": 4, "isolated": True},
        "tests": [
            {**planned_object(test), "inputs": {**nothing, **(inputs or {}).get(test.name, {})}}
            for test in tests
        ],
        **more,
    }
    directory = Store(root).create(run_id, manifest)
    for test in tests:
        for trial in test.trials:
            _keep_trial(directory, test, trial, (left or {}).get(trial.id, Left()))
    return directory


def stored(root: Path, *tests: TestResult, **more: Any) -> Source:
    """As `keep`, opened for reports."""
    return Source.of(keep(root, *tests, **more))


def _keep_trial(directory: RunDirectory, test: TestResult, trial: TrialResult, left: Left) -> None:
    folder = directory.trial(trial.id)
    if left.events:
        (folder / "events.jsonl").write_bytes(b"".join(map(as_line, left.events)))
    if left.stderr:
        (folder / "stderr.txt").write_bytes(left.stderr)
    if left.files is not None:
        with tarfile.open(folder / "workspace.tar", "w") as tar:
            for name, content in left.files.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    directory.add_verdicts(
        [{"trial": trial.id, "position": one.position, **verdict_object(one)} for one in trial.judged]
    )
    directory.finish_trial(trial.id, trial_file(test.eval, test.name, trial))
