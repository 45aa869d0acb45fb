"""Later judgements of a stored run, as `rejudge` left them: lines of `judgements/{n}.jsonl`, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from skillwalker.errors import ConfigurationError
from skillwalker.events import as_dict, as_str
from skillwalker.outcomes import Reason
from skillwalker.records import REAL, read_verdict, verdict_object
from skillwalker.rejudged import Files, Rejudged, inputs_of, rejudged
from skillwalker.results import Judged, RunResult, TrialResult, trial_outcome
from skillwalker.spend_records import JUDGE
from skillwalker.store import RunDirectory


def lines(
    run: RunResult,
    now: Mapping[tuple[str, str], tuple[Files, str]],
    sources: Mapping[tuple[str, str], str | None],
    directory: RunDirectory,
) -> Iterator[dict[str, object]]:
    """A line per verdict of a run that was judged again.

    Args:
        now: By eval and test: the files that it is judged by, and the hash of its `expect`.
        sources: By eval and test: where its judges' answers came from; None where it asks none.
    """
    for test in run.tests:
        files, expect = now[test.eval, test.name]
        for trial in test.trials:
            attempt = directory.attempt(trial.id)
            for one in trial.judged:
                yield {
                    "trial": trial.id,
                    "attempt": attempt,
                    "verdicts": len(trial.judged),
                    "position": one.position,
                    **verdict_object(one),
                    "reason": str(trial.reason) if trial.reason else None,
                    "files": files,
                    "expect": expect,
                    "judged_from": sources[test.eval, test.name],
                }


def how_many(directory: RunDirectory) -> int:
    """How often the run was judged again."""
    return len(_files(directory))


@frozen
class _Trial:
    """The newest judgement of one trial."""

    judged: tuple[Judged, ...]
    reason: str | None
    files: Files
    expect: str | None
    judged_from: str | None


def judged_latest(directory: RunDirectory, run: RunResult) -> Rejudged:
    """The run with the newest verdict of each trial; those that were never judged again are as they were.

    Raises:
        ConfigurationError: it was never judged again, or the judgements cannot be read.
    """
    files = _files(directory)
    if not files:
        raise ConfigurationError([f"run {run.run_id} was never judged again: `skillwalker rejudge` does it"])
    newest: dict[str, _Trial] = {}
    for file in files:
        newest |= _read(file, directory)
    manifest = directory.manifest()
    now, tests = {}, []
    for test in run.tests:
        found = [newest[trial.id] for trial in test.trials if trial.id in newest]
        real = test.real and all(one.judged_from in (None, *REAL) for one in found)
        trials = tuple(_with(trial, newest.get(trial.id)) for trial in test.trials)
        tests.append(evolve(test, trials=trials, real=real))
        if found:
            was = inputs_of(manifest, test.eval, test.name)
            expect = found[-1].expect or as_str(was.get("expect"))
            now[test.eval, test.name] = (found[-1].files, expect or "")
    again = evolve(run, tests=tuple(tests))
    before, after = (
        evolve(one, tests=tuple(test for test in one.tests if (test.eval, test.name) in now))
        for one in (run, again)
    )
    sources = [one.judged_from for one in newest.values() if one.judged_from]
    return evolve(rejudged(before, after, manifest, now, sources[-1] if sources else None), run=again)


def _with(trial: TrialResult, found: _Trial | None) -> TrialResult:
    """What this judgement cost is not in it, so it is not known."""
    if found is None:
        return trial
    reason = trial.reason if not trial.healthy else Reason(found.reason) if found.reason else None
    return evolve(
        trial,
        judged=found.judged,
        outcome=trial_outcome(one.verdict for one in found.judged),
        reason=reason,
        judge_cost_usd=None,
        spent=tuple(one for one in trial.spent if one.conversation != JUDGE),
    )


def _files(directory: RunDirectory) -> list[Path]:
    """The oldest first."""
    found = [one for one in (directory.path / "judgements").glob("*.jsonl") if one.stem.isdecimal()]
    return sorted(found, key=lambda one: int(one.stem))


def _read(file: Path, directory: RunDirectory) -> dict[str, _Trial]:
    """By trial; what is about an attempt that `--resume` has set aside is passed over."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    try:
        for text in file.read_text("utf-8").splitlines():
            line = as_dict(json.loads(text))
            identity = str(line["trial"])
            if line.get("attempt", 1) == directory.attempt(identity):
                found.setdefault(identity, []).append(line)
        return {identity: _trial(own) for identity, own in found.items()}
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ConfigurationError([f"{file} cannot be read: {error}"]) from error


def _trial(own: list[Mapping[str, Any]]) -> _Trial:
    last = own[-1]
    if len(own) < last.get("verdicts", 0):
        raise ValueError(f"verdicts of {last['trial']} are missing")
    files = {key: value for key, value in as_dict(last.get("files")).items() if isinstance(value, str)}
    judged = sorted((read_verdict(dict(line)) for line in own), key=lambda one: one.position)
    reason, expect, source = (as_str(last.get(key)) for key in ("reason", "expect", "judged_from"))
    if reason:
        Reason(reason)  # ValueError: it is none
    return _Trial(tuple(judged), reason, files, expect, source)
