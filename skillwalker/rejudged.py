"""What judging again has changed: the files that verdicts depend on, verdicts, and their details."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from skillwalker.events import as_dict, as_list
from skillwalker.outcomes import Outcome
from skillwalker.results import Judged, RunResult, TrialResult

_ID = re.compile(r"c\d+ ")

Files = Mapping[str, str]
"""SHA-256 by path."""


@frozen
class Changed:
    """Something that has an outcome; None where there was, or is, none.

    Attributes:
        name: Of a verdict its type, of a detail its name without the criterion's id.
    """

    name: str
    before: Outcome | None
    after: Outcome | None


@frozen
class VerdictChange:
    """One verdict of a trial, where it or a detail of it is not as it was.

    Attributes:
        index: The trial's number.
        position: Place in `expect`, from 0.
        details: Only those that changed.
    """

    trial: str
    index: int
    position: int
    verdict: Changed
    details: tuple[Changed, ...] = ()


@frozen
class TestChange:
    """One test.

    Attributes:
        trials: How many of its trials were judged.
        files: Path, hash in the run, hash now; None where it did not count, or that was not written down.
        expect_changed: Whether its `expect` is another than in the run.
    """

    __test__ = False

    eval: str
    name: str
    trials: int
    files: tuple[tuple[str, str | None, str | None], ...] = ()
    expect_changed: bool = False
    verdicts: tuple[VerdictChange, ...] = ()

    @property
    def same_inputs(self) -> bool:
        """Whether it is known that nothing has changed that it is judged by."""
        return not self.expect_changed and all(before == after for _, before, after in self.files)


@frozen
class Rejudged:
    """A run that was judged again.

    Attributes:
        run: With its new verdicts.
        judged_from: Where the judge's answers came from, as a run's `model_source`; None where no test asks
            a judge.
    """

    run: RunResult
    tests: tuple[TestChange, ...]
    judged_from: str | None = None

    def only(self, run: RunResult) -> Rejudged:
        """What is about the tests of `run`, which is this one, or a selection of it."""
        names = {(test.eval, test.name) for test in run.tests}
        return evolve(self, run=run, tests=tuple(one for one in self.tests if (one.eval, one.name) in names))


def rejudged(
    before: RunResult,
    after: RunResult,
    manifest: Mapping[str, Any],
    now: Mapping[tuple[str, str], tuple[Files, str]],
    judged_from: str | None,
) -> Rejudged:
    """Compares the stored verdicts of a run with its new ones.

    Args:
        after: The same tests and trials in the same order.
        manifest: The run's `run.json`.
        now: By eval and test: the files that it is judged by, and the hash of its `expect`.
    """
    tests = []
    for old, new in zip(before.tests, after.tests, strict=True):
        inputs = inputs_of(manifest, old.eval, old.name)
        files, expect = now[old.eval, old.name]
        was = as_dict(inputs.get("files"))
        tests.append(
            TestChange(
                old.eval,
                old.name,
                sum(bool(trial.judged) for trial in new.trials),
                tuple(
                    (path, _text(was.get(path)), files.get(path)) for path in dict.fromkeys([*was, *files])
                ),
                inputs.get("expect") not in (None, expect),
                tuple(
                    change
                    for one, other in zip(old.trials, new.trials, strict=True)
                    for change in _verdicts(one, other)
                ),
            )
        )
    return Rejudged(after, tuple(tests), judged_from)


def rejudged_object(found: Rejudged) -> dict[str, Any]:
    """What is added to the run as JSON."""
    return {"judged_from": found.judged_from, "rejudged": [_test_object(test) for test in found.tests]}


def _test_object(test: TestChange) -> dict[str, Any]:
    return {
        "eval": test.eval,
        "name": test.name,
        "trials": test.trials,
        "expect_changed": test.expect_changed,
        "files": [
            {"path": path, "sha256_before": before, "sha256_after": after}
            for path, before, after in test.files
        ],
        "verdicts": [
            {
                "trial": one.trial,
                "position": one.position,
                "type": one.verdict.name,
                **_outcomes(one.verdict),
                "details": [{"name": detail.name, **_outcomes(detail)} for detail in one.details],
            }
            for one in test.verdicts
        ],
    }


def _outcomes(changed: Changed) -> dict[str, str | None]:
    pair = {"before": changed.before, "after": changed.after}
    return {key: None if outcome is None else str(outcome) for key, outcome in pair.items()}


def inputs_of(manifest: Mapping[str, Any], eval_name: str, name: str) -> Mapping[str, Any]:
    """What `run.json` says of what a test's trials depended on."""
    for one in map(as_dict, as_list(manifest.get("tests"))):
        if (one.get("eval"), one.get("name")) == (eval_name, name):
            return as_dict(one.get("inputs"))
    return {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _verdicts(old: TrialResult, new: TrialResult) -> Iterator[VerdictChange]:
    was = {(one.position, one.type): one for one in old.judged}
    now = {(one.position, one.type): one for one in new.judged}
    for position, kind in sorted({*was, *now}):
        one, other = was.get((position, kind)), now.get((position, kind))
        verdict = Changed(kind, _outcome(one), _outcome(other))
        details = tuple(_details(one, other))
        if details or verdict.before is not verdict.after:
            yield VerdictChange(new.id, new.index, position, verdict, details)


def _outcome(judged: Judged | None) -> Outcome | None:
    return judged.verdict.outcome if judged else None


def _details(old: Judged | None, new: Judged | None) -> Iterator[Changed]:
    """By their words: an id moves on where a criterion is put in before it."""
    was, now = (
        {_ID.sub("", one.name, count=1): one.outcome for one in reversed(judged.verdict.details)}
        if judged
        else {}
        for judged in (old, new)
    )
    for name in dict.fromkeys([*reversed(was), *reversed(now)]):
        if was.get(name) is not now.get(name):
            yield Changed(name, was.get(name), now.get(name))
