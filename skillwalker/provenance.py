"""Which models stood behind the names of a run: for `run.json`, and what has to be said aloud of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from skillwalker.gateway.spending import Spend, model_notes
from skillwalker.results import TestResult
from skillwalker.text import count, safe


def models_object(tests: Iterable[TestResult]) -> dict[str, Any]:
    """`models` of `run.json`.

    `resolved`: for each name that tests use, the ids that answered the first request of a main conversation,
    each with its number of trials. `answered`: for each id that was asked for, by anyone, the ids that
    answered, each with its number of answers.
    """
    tests = tuple(tests)
    answered: dict[str, Counter[str]] = {}
    for one in _spent(tests):
        answered.setdefault(one.asked, Counter())[one.model] += one.answers
    return {
        "resolved": {name: dict(ids) for name, ids in _resolved(tests).items()},
        "answered": {asked: dict(models) for asked, models in answered.items()},
    }


def run_notes(tests: Iterable[TestResult]) -> tuple[str, ...]:
    """What changes how the trials of a run can be compared."""
    tests = tuple(tests)
    notes = [
        f"{safe(name, 80)} was {_each(ids)}: these trials are of different models and do not compare"
        for name, ids in _resolved(tests).items()
        if len(ids) > 1
    ]
    return (*notes, *model_notes(_spent(tests)))


def _each(ids: Counter[str]) -> str:
    return ", ".join(f"{safe(id_, 80)} in {count(times, 'trial')}" for id_, times in ids.items())


def _spent(tests: Iterable[TestResult]) -> list[Spend]:
    return [one for test in tests for trial in test.trials for one in trial.spent]


def _resolved(tests: Iterable[TestResult]) -> dict[str, Counter[str]]:
    """By the model a test names: the ids that answered first, each with its number of trials."""
    found: dict[str, Counter[str]] = {}
    for test in tests:
        for trial in test.trials:
            first = next((one.model for one in trial.spent if one.conversation == "main"), None)
            if first is not None:
                found.setdefault(test.model, Counter())[first] += 1
    return found
