"""Runs, trials and verdicts as JSON values and back: what `--format json` prints and the store keeps."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from attrs import asdict, evolve, fields

from skillwalker.activation import activation_object, activations
from skillwalker.errors import ConfigurationError, Problem
from skillwalker.expectations.base import Detail, Verdict
from skillwalker.outcomes import Outcome, Reason
from skillwalker.results import (
    CONTROL,
    MAIN,
    Control,
    Judged,
    RunResult,
    Skipped,
    Target,
    TestResult,
    TrialResult,
    with_blind,
)
from skillwalker.spend_records import judge_object, read_spend, spend_object
from skillwalker.statistics import statistics_object, statistics_of
from skillwalker.store import RunDirectory
from skillwalker.stored import NONE, get
from skillwalker.transcript import AgentUse, SkillUse, Usage

SCHEMA = 1

REAL = ("api", "record")
"""Model sources of which a model was asked: only these enter rates, and only these cost."""

_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")

_Trials = dict[tuple[str, str, bool], list[TrialResult]]  # by eval, test, and whether it is a control


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
            "skipped": len(run.skipped),
            "trials_not_needed": run.not_needed,
            "cost_usd": run.cost_usd,
            "judge_cost_usd": run.judge_cost_usd,
            "duration_ms": run.duration_ms,
        },
        "tests": [test_object(test) for test in run.tests],
        "controls": [test_object(control.test) for control in run.controls],
        "skipped": [asdict(one) for one in run.skipped],
        "activation": [activation_object(one) for one in activations(run.tests)],
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
        "unmeasured": test.unmeasured,
        "not_needed": test.not_needed,
        "need": test.need,
        "flaky": test.flaky,
        "blind": test.blind,
        "target": _target_object(test.target),
        "statistics": statistics_object(statistics_of(test)),
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
        "healthy": trial.healthy,
        "duration_ms": trial.duration_ms,
        "cost_usd": trial.cost_usd,
        "judge_cost_usd": trial.judge_cost_usd,
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
        "judge": judge_object(trial.spent, trial.judge_cost_usd),
        "spent": [spend_object(one) for one in trial.spent],
        "notes": list(trial.notes),
    }


def trial_file(eval_name: str, test_name: str, trial: TrialResult) -> dict[str, Any]:
    """The content of `trial.json`: the trial, and whose it is."""
    named = {"eval": eval_name, "test": test_name, "verdicts": len(trial.judged)}
    return {**named, **trial_object(trial)}


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
        "scripted": test.scripted,
        "tags": list(test.tags),
        "target": _target_object(test.target),
        "arm": test.arm,
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
            judged.setdefault(get(line, "trial", str), {})[get(line, "position", int)] = read_verdict(line)
        trials: _Trials = {}
        ids: set[str] = set()
        for data in run.trials():
            verdicts, own = judged.get(get(data, "id", str), {}), get(data, "verdicts", int)
            # A former attempt may have had some that this one has not.
            found = _trial(data, tuple(verdicts[place] for place in sorted(verdicts) if place < own))
            key = (get(data, "eval", str), get(data, "test", str), found.arm == CONTROL)
            trials.setdefault(key, []).append(found)
            if found.id in ids:
                raise ValueError(f"trial {found.id} is there twice")
            ids.add(found.id)
        tests = [_test(data, trials, manifest) for data in get(manifest, "tests", list)]
        controls = tuple(Control(test) for test in tests if test.arm == CONTROL and test.target)
        result = RunResult(
            run_id=_run_id(manifest),
            sandbox=get(manifest, "sandbox", str),
            model_source=get(manifest, "model_source", str),
            tests=with_blind([test for test in tests if test.arm != CONTROL], controls),
            duration_ms=get({"duration_ms": None, **manifest}, "duration_ms", int, NONE),
            claude_code_version=get(manifest, "claude_code_version", str, NONE),
            image=get(manifest, "image", str, NONE),
            allow_unmeasured=get(get(manifest, "options", dict), "allow_unmeasured", int),
            interrupted=get({"interrupted": None, **manifest}, "interrupted", bool, NONE),
            controls=controls,
            skipped=tuple(
                Skipped(**{key: get(one, key, str) for key in ("eval", "name", "type", "reason")})
                for one in get({"skipped": [], **manifest}, "skipped", list)
            ),
            uncounted=sum(".old-" not in name for name in run.uncounted()),
        )
        # The interruption came when everything had been measured: nothing is missing.
        return evolve(result, interrupted=False) if result.interrupted and result.is_whole else result
    except KeyError as error:
        raise ConfigurationError([f"{run.path} does not hold a whole run: {error} is missing"]) from error
    except (TypeError, ValueError) as error:
        raise ConfigurationError([f"{run.path} does not hold a whole run: {error}"]) from error


def _run_id(manifest: dict[str, Any]) -> str:
    """It is a directory's name and a part of commands to type."""
    found: str = get(manifest, "run_id", str)
    if not _ID.fullmatch(found):
        raise ValueError(f"{found!r} is no run's id")
    return found


def _name(data: dict[str, Any], key: str) -> str:
    """A name with which lines of reports begin; in a log of GitHub's, one with `::` would be a command."""
    found: str = get(data, key, str)
    if not found.strip() or found.lstrip().startswith("::"):
        raise ValueError(f"{found!r} is no name, and {key} must be one")
    return found


def _test(data: dict[str, Any], trials: _Trials, manifest: dict[str, Any]) -> TestResult:
    """A planned test with its trials."""
    arm = get({"arm": MAIN, **data}, "arm", str)
    key = (_name(data, "eval"), get(data, "name", str), arm == CONTROL)
    return TestResult(
        eval=key[0],
        name=key[1],
        type=get(data, "type", str),
        model=get(data, "model", str),
        planned=get(data, "planned", int, at_least=1),
        need=get(data, "need", int, at_least=1),  # nothing passes over nothing
        trials=tuple(sorted(trials.get(key, ()), key=lambda one: one.index)),
        scripted=get({"scripted": None, **data}, "scripted", bool, NONE),
        tags=_texts({"tags": [], **data}, "tags"),
        target=_target(get({"target": None, **data}, "target", dict, NONE)),
        arm=arm,
        stop_early=get({"stop_early": False, **get(manifest, "options", dict)}, "stop_early", bool),
        real=get(manifest, "model_source", str) in REAL,
    )


def _target(data: dict[str, Any] | None) -> Target | None:
    if data is None:
        return None
    return Target(
        get(data, "kind", str),
        _name(data, "id"),
        get(data, "should", bool),
        get(data, "position", int, at_least=0),
    )


def _target_object(target: Target | None) -> dict[str, Any] | None:
    return asdict(target) if target else None


def read_verdict(line: dict[str, Any]) -> Judged:
    """One line of `results.jsonl`, or of a later judgement.

    Raises:
        KeyError, TypeError, ValueError: it is none.
    """
    details = tuple(
        Detail(get(part, "name", str), Outcome(get(part, "outcome", str)), get(part, "message", str))
        for part in get(line, "details", list)
    )
    verdict = Verdict(Outcome(get(line, "outcome", str)), get(line, "message", str), details)
    return Judged(get(line, "position", int), _name(line, "type"), verdict)


def _trial(data: dict[str, Any], judged: tuple[Judged, ...]) -> TrialResult:
    identity, reason = get(data, "id", str), get(data, "reason", str, NONE)
    if identity in ("", ".", "..") or "/" in identity or "\0" in identity:  # it names a directory
        raise ValueError(f"{identity!r} is no trial's id")
    return TrialResult(
        id=identity,
        index=get(data, "index", int),
        outcome=_outcome(data, judged),
        arm=get(data, "arm", str),
        reason=Reason(reason) if reason else None,
        message=get(data, "message", str),
        healthy=get(data, "healthy", bool),
        duration_ms=get(data, "duration_ms", int, NONE),
        cost_usd=get(data, "cost_usd", int, float, NONE),
        judge_cost_usd=get({"judge_cost_usd": None, **data}, "judge_cost_usd", int, float, NONE),
        turns=get(data, "turns", int, NONE),
        usage=_usage(get(data, "usage", dict, NONE)),
        skills=tuple(
            SkillUse(
                get(use, "name", str),
                get(use, "calls", int),
                get(use, "loaded", bool, NONE),
                errors=_texts(use, "errors"),
            )
            for use in get(data, "skills", list)
        ),
        agents=tuple(
            AgentUse(
                get(use, "name", str),
                get(use, "calls", int),
                get(use, "started", bool, NONE),
                get(use, "completed", bool, NONE),
                _texts(use, "errors"),
            )
            for use in get(data, "agents", list)
        ),
        judged=judged,
        notes=_texts(data, "notes"),
        spent=tuple(read_spend(one) for one in get({"spent": [], **data}, "spent", list)),
    )


def _outcome(data: dict[str, Any], judged: tuple[Judged, ...]) -> Outcome:
    """As it was told, unless verdicts on which it rests are missing."""
    told = Outcome(get(data, "outcome", str))
    if len(judged) < get(data, "verdicts", int):
        return Outcome.FAILED if told is Outcome.FAILED and _has_failed(judged) else Outcome.UNMEASURED
    return told


def _has_failed(judged: tuple[Judged, ...]) -> bool:
    return any(one.verdict.outcome is Outcome.FAILED for one in judged)


def _usage(data: dict[str, Any] | None) -> Usage | None:
    if data is None:
        return None
    return Usage(*(get(data, field.name, int, NONE) for field in fields(Usage)))


def _texts(data: Any, key: str) -> tuple[str, ...]:
    return tuple(get({key: text}, key, str) for text in get(data, key, list))
