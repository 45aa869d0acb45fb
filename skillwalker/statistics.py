"""Figures over a test's trials.

Only measured trials enter them, and what was not observed is None, never 0. There is no rate where no model
answered, none where the measurement is known to be blind, and no interval where trials stopped early: how
many there are then depends on what they showed.

The normal quantile, means and deviations are those of Python's `statistics`; the rest is a line of whole
numbers each. SciPy would be 200 MB and a second at every start for that; the tests hold values it computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import comb, sqrt
from statistics import NormalDist, fmean, stdev
from typing import Any

from attrs import asdict, frozen

from skillwalker.outcomes import Outcome
from skillwalker.results import TestResult

CONFIDENCE = 0.95
"""Of all intervals, two-sided."""

TRIES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""The k of pass@k and pass^k, as far as there are so many measured trials."""


@frozen
class Rate:
    """A share of what was counted.

    Attributes:
        hits, of: Counts; `of` is at least 1.
        low, high: Wilson's interval; None where the number of trials depended on their outcomes.
    """

    hits: int
    of: int
    low: float | None = None
    high: float | None = None

    @property
    def value(self) -> float:
        return self.hits / self.of

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return percent(self.value)
        return f"{percent(self.value)} ({percent(self.low)} to {percent(self.high)})"


@frozen
class Spread:
    """One figure over several trials.

    Attributes:
        number: Trials in which it was observed.
        deviation: The sample's standard deviation; None for one trial.
    """

    number: int
    mean: float
    deviation: float | None


@frozen
class Statistics:
    """What a test's trials say together.

    Attributes:
        rate: Passed of measured trials; None where none was measured, or no model answered.
        pass_at: Chance that at least one of k trials passes, by k. None where there can be no such estimate.
        pass_all: Chance that all of k trials pass, by k; likewise.
        turns, duration_ms, cost_usd: Over trials that ran to their end; None where never observed.
    """

    rate: Rate | None
    pass_at: Mapping[int, float] | None
    pass_all: Mapping[int, float] | None
    turns: Spread | None
    duration_ms: Spread | None
    cost_usd: Spread | None


def percent(share: float) -> str:
    """Such as `67%`; what is not all or nothing is never shown as `100%` or `0%`."""
    shown = f"{share:.0%}"
    if shown == "100%" and share < 1:
        return ">99%"
    return "<1%" if shown == "0%" and share > 0 else shown


def wilson(hits: int, of: int) -> tuple[float, float]:
    """Wilson's score interval for a share, at `CONFIDENCE`; never beyond 0 and 1, and of use for few trials.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22
        (1927), 209-212; recommended for small numbers by Brown, Cai and DasGupta, Statistical Science 16
        (2001), 101-133. No continuity correction.

    Raises:
        ValueError: a share of nothing, or more hits than trials.
    """
    if of < 1 or not 0 <= hits <= of:
        raise ValueError(f"{hits} of {of} is no rate")
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    centre = (hits + z * z / 2) / (of + z * z)
    half = z / (of + z * z) * sqrt(hits * (of - hits) / of + z * z / 4)
    # At the ends the exact bounds are 0 and 1, which floating point misses.
    return (0.0 if hits == 0 else centre - half), (1.0 if hits == of else centre + half)


def rate(hits: int, of: int, *, fixed: bool = True) -> Rate | None:
    """None over nothing. `fixed` says that the number of trials did not depend on what they showed."""
    if not of:
        return None
    return Rate(hits, of, *wilson(hits, of)) if fixed else Rate(hits, of)


def pass_at(k: int, passed: int, measured: int) -> float:
    """pass@k: the chance that at least one of k trials passes, without bias.

    Source: M. Chen et al., Evaluating Large Language Models Trained on Code, 2021, arXiv:2107.03374, eq. 1:
        1 - C(n-c, k) / C(n, k).

    Raises:
        ValueError: fewer than k trials were measured.
    """
    _check(k, passed, measured)
    return 1 - comb(measured - passed, k) / comb(measured, k)


def pass_all(k: int, passed: int, measured: int) -> float:
    """pass^k: the chance that all of k trials pass, without bias.

    Source: S. Yao et al., tau-bench: A Benchmark for Tool-Agent-User Interaction in Real-World Domains, 2024,
        arXiv:2406.12045, section 3: C(c, k) / C(n, k).

    Raises:
        ValueError: fewer than k trials were measured.
    """
    _check(k, passed, measured)
    return comb(passed, k) / comb(measured, k)


def spread(values: Iterable[float | None]) -> Spread | None:
    """Mean and deviation of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Spread(len(known), fmean(known), stdev(known) if len(known) > 1 else None)


def statistics_of(test: TestResult) -> Statistics:
    """The figures of one test."""
    passed, measured = test.passed, test.measured
    fixed = is_fixed(test)
    tries = [k for k in TRIES if k <= measured] if test.real and fixed else []
    whole = [trial for trial in test.trials if trial.healthy and trial.outcome is not Outcome.UNMEASURED]
    return Statistics(
        rate=rate(passed, measured, fixed=fixed) if test.real else None,
        pass_at={k: pass_at(k, passed, measured) for k in tries} or None,
        pass_all={k: pass_all(k, passed, measured) for k in tries} or None,
        turns=spread(trial.turns for trial in whole),
        duration_ms=spread(trial.duration_ms for trial in whole),
        cost_usd=spread(trial.cost_usd for trial in whole),
    )


def is_fixed(test: TestResult) -> bool:
    """Whether the number of its trials did not depend on what they showed."""
    return not test.stop_early or test.planned == 1


def _check(k: int, passed: int, measured: int) -> None:
    if not 1 <= k <= measured or not 0 <= passed <= measured:
        raise ValueError(f"no estimate for {k} trials from {passed} of {measured}")


def statistics_object(one: Statistics) -> dict[str, Any]:
    """As JSON; the keys of `pass_at` are texts."""
    return {
        "rate": rate_object(one.rate),
        "pass_at": _by_text(one.pass_at),
        "pass_all": _by_text(one.pass_all),
        **{
            name: asdict(value) if value else None
            for name, value in (
                ("turns", one.turns),
                ("duration_ms", one.duration_ms),
                ("cost_usd", one.cost_usd),
            )
        },
    }


def rate_object(one: Rate | None) -> dict[str, Any] | None:
    """As JSON, with its counts."""
    return {"value": one.value, **asdict(one)} if one else None


def _by_text(values: Mapping[int, float] | None) -> dict[str, float] | None:
    return None if values is None else {str(k): value for k, value in values.items()}
