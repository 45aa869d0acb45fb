"""Broken run directories, which may come from elsewhere: shown as far as they are whole, or refused."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from fuzzing import assert_told, broken, fuzzed, json_files, mutated, run_cli, written
from hypothesis import given
from hypothesis import strategies as st
from transcripts import as_line, calls, init, loads, result, says

from skillwalker.expectations.base import Detail, Verdict
from skillwalker.outcomes import Outcome, Reason
from skillwalker.records import planned_object, trial_file, verdict_object
from skillwalker.results import Judged, TestResult, TrialResult
from skillwalker.store import RunDirectory, Store
from skillwalker.transcript import AgentUse, SkillUse, Usage

RUN_ID = "20261130T101500Z-3f9a1c"
WHOLE = TrialResult(
    id="csv.tidies.0a1b2c3d.main.1",
    index=1,
    outcome=Outcome.FAILED,
    reason=Reason.TIMEOUT,
    message="late",
    duration_ms=1200,
    cost_usd=0.25,
    turns=2,
    usage=Usage(20, 40, 0, None),
    skills=(SkillUse("acme:tidy", 1, True, errors=("Denied",)),),
    agents=(AgentUse("acme:auditor", 1, True, None),),
    judged=(
        Judged(0, "skill-call", Verdict(Outcome.PASSED, "called")),
        Judged(1, "llm-judge", Verdict(Outcome.FAILED, "0 of 1", (Detail("c1", Outcome.FAILED, "no"),))),
    ),
    notes=("said twice",),
)
TEST = TestResult("csv", "tidies", "skill-prompt", "opus", 2, 2, (WHOLE,))
MANIFEST: dict[str, Any] = {
    "schema": 1,
    "run_id": RUN_ID,
    "sandbox": "docker",
    "model_source": "api",
    "claude_code_version": "2.1.332",
    "image": "sha256:ab",
    "duration_ms": 5120,
    "interrupted": False,
    "options": {"allow_unmeasured": 0},
    "tests": [planned_object(TEST)],
}
TRIAL: dict[str, Any] = trial_file("csv", "tidies", WHOLE)
VERDICTS = [{"trial": WHOLE.id, "position": one.position, **verdict_object(one)} for one in WHOLE.judged]
EVENTS: list[Any] = [
    init(),
    says("I tidy \x1b[1m"),
    calls("toolu_1", "Skill", skill="acme:tidy"),
    loads("toolu_1", "acme:tidy"),
    result("Done."),
]


def stored(root: Path) -> RunDirectory:
    directory = Store(root).create(RUN_ID, MANIFEST)
    directory.add_verdicts(VERDICTS)
    directory.finish_trial(WHOLE.id, TRIAL)
    (directory.trial(WHOLE.id) / "events.jsonl").write_bytes(b"".join(map(as_line, EVENTS)))
    return directory


COMMANDS = st.sampled_from(
    (
        ("show",),
        ("show", "last", "csv"),
        ("show", "last", "*"),
        ("show", "--format", "json"),
        ("list", "runs"),
        ("list", "runs", "--format", "json"),
    )
)
EITHER = (0, 4, 5)


def shown(file: str, data: bytes, command: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = stored(Path(name).resolve())
        (directory.path / file).write_bytes(data)
        found = run_cli("--root", name, *command)
        assert_told(found, *EITHER)
        if found.code == 0 and "json" in command:
            json.loads(found.out)


def test_the_run_that_is_broken_below_is_whole() -> None:
    with tempfile.TemporaryDirectory() as name:
        stored(Path(name))
        found = run_cli("--root", name, "show", "last", "csv")
        assert_told(found, 0)
        assert "timeout: late" in found.out
        assert "call Skill" in found.out


@fuzzed(40)
@given(json_files(MANIFEST), COMMANDS)
def test_a_broken_run_json_is_told(data: bytes, command: tuple[str, ...]) -> None:
    shown("run.json", data, command)


@fuzzed(40)
@given(json_files(TRIAL), COMMANDS)
def test_a_broken_trial_json_is_told(data: bytes, command: tuple[str, ...]) -> None:
    shown(f"trials/{WHOLE.id}/trial.json", data, command)


LINES = st.lists(
    st.sampled_from(VERDICTS).flatmap(lambda verdict: written(mutated(verdict))), min_size=1, max_size=3
).map(lambda lines: b"\n".join(line.replace(b"\n", b" ") for line in lines) + b"\n")


@fuzzed(30)
@given(LINES | broken(b"".join(map(as_line, VERDICTS))), COMMANDS)
def test_broken_verdicts_are_told(data: bytes, command: tuple[str, ...]) -> None:
    shown("results.jsonl", data, command)


STREAMS = mutated(EVENTS).map(
    lambda events: (
        b"".join(json.dumps(event).encode() + b"\n" for event in events)
        if isinstance(events, list)
        else json.dumps(events).encode()
    )
)


@fuzzed(30)
@given(STREAMS | broken(b"".join(map(as_line, EVENTS))))
def test_a_broken_stream_is_shown(data: bytes) -> None:
    shown(f"trials/{WHOLE.id}/events.jsonl", data, ("show", "last", "csv"))
