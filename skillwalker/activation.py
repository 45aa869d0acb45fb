"""Whether skills and agents were called when they should have been: what a description is judged by.

Every count is of trials whose verdict was measured; what cannot be told from the counts is said beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from attrs import frozen

from skillwalker.outcomes import Outcome
from skillwalker.results import Target, TestResult, TrialResult
from skillwalker.statistics import Rate, is_fixed, rate, rate_object


@frozen
class Activation:
    """Whether a skill or an agent was called when it should have been, over all tests of it with one model.

    Attributes:
        called, missed: Trials that should have called it, and did or did not.
        surplus, spared: Trials that should not have called it, and did or did not.
        unmeasured: Trials that were needed and do not show whether it was called.
        precision: Of the calls those that should have been; None where one side has no trial, or none called.
        recall: Of the trials that should have called it those that did; None without such trials.
        notes: What makes the table worth less than it looks, a sentence each.
    """

    kind: str
    id: str
    model: str
    called: int
    missed: int
    surplus: int
    spared: int
    unmeasured: int
    precision: Rate | None
    recall: Rate | None
    notes: tuple[str, ...] = ()


def activations(tests: Iterable[TestResult]) -> tuple[Activation, ...]:
    """A table for each skill or agent and model that tests of activation are about, in their order."""
    found: dict[tuple[str, str, str], list[TestResult]] = {}
    for test in tests:
        if test.target:
            found.setdefault((test.target.kind, test.target.id, test.model), []).append(test)
    return tuple(_activation(*key, about) for key, about in found.items())


def _activation(kind: str, id_: str, model: str, tests: list[TestResult]) -> Activation:
    counts = {(should, did): 0 for should in (True, False) for did in (True, False)}
    unmeasured = 0
    for test in tests:
        assert test.target
        seen = (
            []
            if test.blind
            else [did for trial in test.trials if (did := _did(trial, test.target)) is not None]
        )
        for did in seen:
            counts[test.target.should, did] += 1
        unmeasured += test.planned - test.not_needed - len(seen)
    called, missed = counts[True, True], counts[True, False]
    surplus, spared = counts[False, True], counts[False, False]
    real = all(test.real for test in tests)
    fixed = all(map(is_fixed, tests))
    both = called + missed > 0 and surplus + spared > 0
    return Activation(
        kind=kind,
        id=id_,
        model=model,
        called=called,
        missed=missed,
        surplus=surplus,
        spared=spared,
        unmeasured=unmeasured,
        precision=rate(called, called + surplus, fixed=fixed) if real and both else None,
        recall=rate(called, called + missed, fixed=fixed) if real else None,
        notes=tuple(_notes(tests, called, missed, surplus, spared, real=real, fixed=fixed)),
    )


def _notes(
    tests: list[TestResult], called: int, missed: int, surplus: int, spared: int, *, real: bool, fixed: bool
) -> Iterator[str]:
    if blind := dict.fromkeys(test.blind for test in tests if test.blind):
        yield from (why for why in blind if why)
    if not real:
        yield "no model was asked, so there is no precision and no recall"
    if not called + missed + surplus + spared:
        yield "nothing was measured"
        return
    if missed and not called + surplus:
        yield "it was never called: a measurement that cannot see it looks the same; check with --control"
    if surplus and not missed + spared:
        yield "it was called in every trial, whatever the prompt"
    if not surplus + spared:
        yield "no trial that should not call it was measured: that it is left alone is not tested"
    if not called + missed:
        yield "no trial that should call it was measured: that it is found is not tested"
    if not fixed:
        yield "trials stopped early: rates lean towards the outcomes and have no intervals"


def _did(trial: TrialResult, target: Target) -> bool | None:
    """Whether the trial called it; None where its verdict does not say."""
    verdicts = [one.verdict.outcome for one in trial.judged if one.position == target.position]
    if not verdicts or verdicts[0] is Outcome.UNMEASURED:
        return None
    return (verdicts[0] is Outcome.PASSED) is target.should


def activation_object(one: Activation) -> dict[str, Any]:
    """As JSON."""
    return {
        "kind": one.kind,
        "id": one.id,
        "model": one.model,
        "should": {"did": one.called, "did_not": one.missed},
        "should_not": {"did": one.surplus, "did_not": one.spared},
        "unmeasured": one.unmeasured,
        "precision": rate_object(one.precision),
        "recall": rate_object(one.recall),
        "notes": list(one.notes),
    }
