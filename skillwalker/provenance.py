"""Which models stood behind the names of a run: for `run.json`, and what has to be said aloud of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from skillwalker.gateway.spending import Spend, model_notes
from skillwalker.models import MODEL_IDS
from skillwalker.results import TestResult
from skillwalker.text import count, listed, safe


def models_object(tests: Iterable[TestResult]) -> dict[str, Any]:
    """`models` of `run.json`.

    `asked`: for each name that tests use, the ids that Claude Code took it for in the first request of a main
    conversation, each with its number of trials. `resolved`: likewise, the ids that answered there.
    `answered`: for each id that was asked for, by anyone, the ids that answered, each with its number of
    answers.
    """
    tests = tuple(tests)
    answered: dict[str, Counter[str]] = {}
    for one in _spent(tests):
        answered.setdefault(one.asked, Counter())[one.model] += one.answers
    return {
        "asked": {
            name: dict(Counter(one.asked for one in firsts)) for name, firsts in _firsts(tests).items()
        },
        "resolved": {
            name: dict(Counter(one.model for one in firsts)) for name, firsts in _firsts(tests).items()
        },
        "answered": {asked: dict(models) for asked, models in answered.items()},
    }


def run_notes(tests: Iterable[TestResult]) -> tuple[str, ...]:
    """What changes how the trials of a run can be compared."""
    tests = tuple(tests)
    notes = []
    for name, firsts in _firsts(tests).items():
        asked, models = (Counter(getattr(one, what) for one in firsts) for what in ("asked", "model"))
        if len(models) > 1:
            notes.append(
                f"{safe(name, 80)} was {_each(models)}: these trials are of different models and do not "
                "compare"
            )
        elif len(asked) > 1:
            notes.append(f"{safe(name, 80)} was asked for as {_each(asked)}")
        known = MODEL_IDS.get(name)
        if known and (other := [one for one in asked if one.removesuffix("[1m]") != known]):
            notes.append(
                f"{name} was taken for {listed(other)} by this Claude Code, and not for {known}, which "
                "Skillwalker itself asks for, as for a judge"
            )
    return (*notes, *model_notes(_spent(tests)))


def _each(ids: Counter[str]) -> str:
    return ", ".join(f"{safe(id_, 80)} in {count(times, 'trial')}" for id_, times in ids.items())


def _spent(tests: Iterable[TestResult]) -> list[Spend]:
    return [one for test in tests for trial in test.trials for one in trial.spent]


def _firsts(tests: Iterable[TestResult]) -> dict[str, list[Spend]]:
    """By the model a test names: what was asked and answered first in its trials' main conversations."""
    found: dict[str, list[Spend]] = {}
    for test in tests:
        for trial in test.trials:
            first = next((one for one in trial.spent if one.conversation == "main"), None)
            if first is not None:
                found.setdefault(test.model, []).append(first)
    return found
