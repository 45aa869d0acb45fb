"""What reports say of trials taken together: counts, rates, spreads, tables of activation; in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from skillwalker.activation import Activation, activations
from skillwalker.outcomes import Outcome
from skillwalker.results import RunResult, TestResult, TrialResult
from skillwalker.spend_records import JUDGE
from skillwalker.statistics import Rate, Spread, percent, spread, statistics_of
from skillwalker.text import count, safe

_COLUMNS = 34  # of a table's labels


def passed_of(test: TestResult) -> str:
    """Such as `2 of 3 measured passed, 1 unmeasured, 3 needed; flaky`."""
    unmeasured = f", {test.unmeasured} unmeasured" if test.unmeasured else ""
    spared = f", {test.not_needed} spared" if test.not_needed else ""
    flaky = "; flaky" if test.flaky else ""
    passed = f"{test.passed} of {test.measured} measured passed" if test.measured else "none measured"
    return f"{passed}{unmeasured}{spared}, {test.need} needed{flaky}"


def test_figures(test: TestResult) -> Mapping[str, str | None]:
    """Labels and values of what several trials say together; nothing for one trial."""
    if test.measured < 2:
        return {}
    found = statistics_of(test)
    k = max(found.pass_at or {}, default=0)
    return {
        "pass rate": str(found.rate) if found.rate else None,
        f"pass@{k}": _share(found.pass_at, k),
        f"pass^{k}": _share(found.pass_all, k),
        "turns": _spread(found.turns, 1, "{:,.1f}", ""),
        "time": _spread(found.duration_ms, 1000, "{:,.1f}", " s"),
        "cost per trial": _spread(found.cost_usd, 1, "{:.4f}", " USD"),
        "judges' cost per trial": _spread(
            spread(judges_cost([trial]) for trial in test.trials if trial.healthy), 1, "{:.4f}", " USD"
        ),
    }


test_figures.__test__ = False  # type: ignore[attr-defined]


def judges_cost(trials: Iterable[TrialResult]) -> float | None:
    """What their judges cost, in no cost of a trial; None where one is not known, or none was asked."""
    trials = tuple(trials)
    known = [trial.judge_cost_usd for trial in trials if trial.judge_cost_usd is not None]
    if len(known) < len(trials):
        return None
    asked = any(one.conversation == JUDGE for trial in trials for one in trial.spent)
    return sum(known) if any(known) or asked else None


def run_judges_cost(run: RunResult) -> float | None:
    """As `judges_cost`, of all trials and controls; None as well where trials left no result."""
    return None if run.uncounted else judges_cost(trial for test in run.all_tests for trial in test.trials)


def activation_tables(run: RunResult) -> Iterator[tuple[str, ...]]:
    """The lines of each table; none for a single trial, and none where no model answered."""
    for one in activations(run.tests):
        trials = one.called + one.missed + one.surplus + one.spared + one.unmeasured
        if trials > 1 and run.model_source in ("api", "record"):
            yield tuple(_table(one))


def controls(run: RunResult) -> str | None:
    """Such as `2 controls: 1 passed, 1 failed`; None where there are none."""
    if not run.controls:
        return None
    outcomes = [control.test.outcome for control in run.controls]
    told = ", ".join(f"{outcomes.count(one)} {one}" for one in Outcome if one in outcomes)
    return f"{count(len(outcomes), 'control')}: {told}"


def saved(run: RunResult) -> str | None:
    """What --stop-early saved; None where that is nothing."""
    planned = sum(test.planned for test in run.all_tests)
    return f"{run.not_needed} of {count(planned, 'trial')} not needed" if run.not_needed else None


def _table(one: Activation) -> Iterator[str]:
    yield f"{f'{safe(one.id)} ({one.kind}, {safe(one.model)})':{_COLUMNS}}  called  not called"
    yield _row("  should be called", one.called, one.missed, "recall", one.recall)
    yield _row("  should not be called", one.surplus, one.spared, "precision", one.precision)
    if one.unmeasured:
        yield f"  not measured: {count(one.unmeasured, 'trial')}"
    for note in one.notes:
        yield f"  ! {safe(note)}"


def _row(label: str, did: int, did_not: int, word: str, rate: Rate | None) -> str:
    told = f"  {word} {rate}, {rate.hits} of {rate.of}" if rate else ""
    return f"{label:{_COLUMNS}}  {did:6}  {did_not:10}{told}"


def _share(values: Mapping[int, float] | None, k: int) -> str | None:
    return percent(values[k]) if values and k > 1 else None


def _spread(one: Spread | None, unit: float, form: str, name: str) -> str | None:
    """Such as `2.3 ± 0.6 s`: mean and standard deviation."""
    if one is None:
        return None
    deviation = "" if one.deviation is None else f" ± {form.format(one.deviation / unit)}"
    return f"{form.format(one.mean / unit)}{deviation}{name}"
