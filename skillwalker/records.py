"""Runs, trials and verdicts as JSON values and back: what `--format json` prints and the store keeps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from skillwalker.errors import ConfigurationError, Problem
from skillwalker.expectations.base import Detail, Verdict
from skillwalker.outcomes import Outcome, Reason
from skillwalker.results import Judged, RunResult, TestResult, TrialResult
from skillwalker.store import RunDirectory
from skillwalker.transcript import AgentUse, SkillUse, Usage

SCHEMA = 1


def run_object(run: RunResult) -> dict[str, Any]:
    """The whole run. Numbers that were not observed are None, never 0."""
    return {
        "schema": SCHEMA,
        "run_id": run.run_id,
        "outcome": str(run.outcome),
        "sandbox": run.sandbox,
        "model_source": run.model_source,
        "claude_code_version": run.claude_code_version,
        "image": run.image,
        "interrupted": run.interrupted,
        "totals": {
            "tests": len(run.tests),
            **{str(outcome): run.count(outcome) for outcome in Outcome},
            "cost_usd": run.cost_usd,
            "duration_ms": run.duration_ms,
        },
        "tests": [test_object(test) for test in run.tests],
    }


def test_object(test: TestResult) -> dict[str, Any]:
    """One test with its trials."""
    return {
        "eval": test.eval,
        "name": test.name,
        "type": test.type,
        "model": test.model,
        "outcome": str(test.outcome),
        "planned": test.planned,
        "measured": test.measured,
        "need": test.need,
        "trials": [
            {**trial_object(trial), "expectations": [verdict_object(one) for one in trial.judged]}
            for trial in test.trials
        ],
    }


test_object.__test__ = False  # type: ignore[attr-defined]


def trial_object(trial: TrialResult) -> dict[str, Any]:
    """One trial without its verdicts."""
    usage = trial.usage
    return {
        "id": trial.id,
        "arm": trial.arm,
        "index": trial.index,
        "outcome": str(trial.outcome),
        "reason": str(trial.reason) if trial.reason else None,
        "message": trial.message,
        "duration_ms": trial.duration_ms,
        "cost_usd": trial.cost_usd,
        "turns": trial.turns,
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_input_tokens": usage.cache_read_input_tokens,
            "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        }
        if usage
        else None,
        "skills": [
            {"name": use.name, "calls": use.calls, "loaded": use.loaded, "errors": list(use.errors)}
            for use in trial.skills
        ],
        "agents": [
            {
                "name": use.name,
                "calls": use.calls,
                "started": use.started,
                "completed": use.completed,
                "errors": list(use.errors),
            }
            for use in trial.agents
        ],
        "notes": list(trial.notes),
    }


def trial_file(eval_name: str, test_name: str, trial: TrialResult) -> dict[str, Any]:
    """The content of `trial.json`: the trial, and whose it is."""
    return {"eval": eval_name, "test": test_name, **trial_object(trial)}


def verdict_object(one: Judged) -> dict[str, Any]:
    """One verdict with its details."""
    verdict = one.verdict
    return {
        "type": one.type,
        "outcome": str(verdict.outcome),
        "message": verdict.message,
        "details": [
            {"name": detail.name, "outcome": str(detail.outcome), "message": detail.message}
            for detail in verdict.details
        ],
    }


def problems_object(problems: Iterable[Problem]) -> dict[str, Any]:
    """What is printed in place of a result where nothing was started."""
    return {
        "problems": [
            {"file": one.file, "line": one.line, "path": one.path, "message": one.message} for one in problems
        ]
    }


def planned_object(test: TestResult) -> dict[str, Any]:
    """What `run.json` says of a test: enough to read its trials back."""
    return {
        "eval": test.eval,
        "name": test.name,
        "type": test.type,
        "model": test.model,
        "planned": test.planned,
        "need": test.need,
    }


def load_run(run: RunDirectory) -> RunResult:
    """A stored run as it stands, finished or not; trials without `trial.json` did not run.

    Raises:
        ConfigurationError: the directory is not one of a run, or of a newer format.
    """
    manifest = run.manifest()
    if manifest.get("schema") != SCHEMA:
        raise ConfigurationError(
            [f"{run.path} has format {manifest.get('schema')!r}; this version reads {SCHEMA}"]
        )
    try:
        judged: dict[str, dict[int, Judged]] = {}
        for line in run.verdicts():
            judged.setdefault(line["trial"], {})[line["position"]] = _judged(line)
        trials: dict[tuple[str, str], list[TrialResult]] = {}
        for data in run.trials():
            verdicts = judged.get(data["id"], {})
            found = _trial(data, tuple(verdicts[position] for position in sorted(verdicts)))
            trials.setdefault((data["eval"], data["test"]), []).append(found)
        tests = tuple(
            TestResult(
                eval=data["eval"],
                name=data["name"],
                type=data["type"],
                model=data["model"],
                planned=data["planned"],
                need=data["need"],
                trials=tuple(sorted(trials.get((data["eval"], data["name"]), ()), key=lambda one: one.index)),
            )
            for data in manifest["tests"]
        )
        return RunResult(
            run_id=run.id,
            sandbox=manifest["sandbox"],
            model_source=manifest["model_source"],
            tests=tests,
            duration_ms=manifest.get("duration_ms"),
            claude_code_version=manifest["claude_code_version"],
            image=manifest["image"],
            allow_unmeasured=manifest["options"]["allow_unmeasured"],
            interrupted=manifest.get("interrupted", False),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigurationError([f"{run.path} does not hold a whole run: {error!r}"]) from error


def _judged(line: dict[str, Any]) -> Judged:
    details = tuple(
        Detail(part["name"], Outcome(part["outcome"]), part["message"]) for part in line["details"]
    )
    verdict = Verdict(Outcome(line["outcome"]), line["message"], details)
    return Judged(line["position"], line["type"], verdict)


def _trial(data: dict[str, Any], judged: tuple[Judged, ...]) -> TrialResult:
    return TrialResult(
        id=data["id"],
        index=data["index"],
        outcome=Outcome(data["outcome"]),
        arm=data["arm"],
        reason=Reason(data["reason"]) if data["reason"] else None,
        message=data["message"],
        duration_ms=data["duration_ms"],
        cost_usd=data["cost_usd"],
        turns=data["turns"],
        usage=Usage(**data["usage"]) if data["usage"] else None,
        skills=tuple(
            SkillUse(use["name"], use["calls"], use["loaded"], errors=tuple(use["errors"]))
            for use in data["skills"]
        ),
        agents=tuple(
            AgentUse(use["name"], use["calls"], use["started"], use["completed"], tuple(use["errors"]))
            for use in data["agents"]
        ),
        judged=judged,
        notes=tuple(data["notes"]),
    )
