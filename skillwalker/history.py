"""What earlier real runs of the same tests cost, for what the next one may cost."""

from __future__ import annotations

import json
from collections.abc import Iterable

from attrs import frozen

from skillwalker.errors import ConfigurationError
from skillwalker.records import REAL as REAL
from skillwalker.records import load_run
from skillwalker.results import CONTROL, MAIN, TrialResult
from skillwalker.store import RunDirectory, Store
from skillwalker.stored import NONE, get
from skillwalker.text import count

RUNS_READ = 50
"""The newest real runs that are read."""


@frozen
class Wanted:
    """A test as it would run."""

    eval: str
    name: str
    model: str
    trials: int


@frozen
class TestCost:
    """What earlier trials of one test with one model cost.

    Attributes:
        seen: Costs of single trials, judges included, in US dollars.
    """

    __test__ = False

    wanted: Wanted
    seen: tuple[float, ...] = ()

    @property
    def low(self) -> float | None:
        return min(self.seen) * self.wanted.trials if self.seen else None

    @property
    def high(self) -> float | None:
        return max(self.seen) * self.wanted.trials if self.seen else None


@frozen
class ExpectedCost:
    """What a run may cost, by what such trials cost before: a range of what was seen, no forecast.

    Attributes:
        runs: How many earlier runs it rests on.
    """

    tests: tuple[TestCost, ...]
    runs: int

    @property
    def unseen(self) -> tuple[TestCost, ...]:
        """Tests of which no trial was seen."""
        return tuple(test for test in self.tests if not test.seen)

    @property
    def low(self) -> float | None:
        """None where a test was never seen: a sum of the others would be taken for the whole."""
        return _sum(test.low for test in self.tests)

    @property
    def high(self) -> float | None:
        return _sum(test.high for test in self.tests)

    def __str__(self) -> str:
        known = [test for test in self.tests if test.seen]
        if not known:
            return "unknown: no earlier trial of these tests with these models has a known cost"
        low, high = sum(test.low or 0.0 for test in known), sum(test.high or 0.0 for test in known)
        trials = sum(len(test.seen) for test in known)
        basis = f"{count(trials, 'earlier trial')} in {count(self.runs, 'run')}"
        span = f"${low:.2f} to ${high:.2f}"
        if not self.unseen:
            return f"{span}, by the cheapest and the dearest of {basis}"
        of = f"{len(known)} of {count(len(self.tests), 'test')}"
        return f"unknown; {span} for {of}, by {basis}; none of the others"


def expected_cost(wanted: Iterable[Wanted], store: Store) -> ExpectedCost:
    """Looks at the newest real runs below the store's root; one that cannot be read is passed over."""
    wanted = tuple(wanted)
    seen: dict[tuple[str, str, str], list[float]] = {(one.eval, one.name, one.model): [] for one in wanted}
    looked = used = 0
    for run_id in reversed(store.ids()):
        directory = store.find(run_id)
        try:
            if directory.manifest().get("model_source") not in REAL:
                continue
            run = load_run(directory)
        except ConfigurationError:
            continue
        looked += 1
        before = sum(map(len, seen.values()))
        for test in run.all_tests:
            costs = seen.get((test.eval, test.name, test.model))
            if costs is not None:
                costs += [cost for trial in test.trials if (cost := _whole_cost(trial)) is not None]
        used += sum(map(len, seen.values())) > before
        if looked == RUNS_READ:
            break
    tests = tuple(TestCost(one, tuple(seen[one.eval, one.name, one.model])) for one in wanted)
    return ExpectedCost(tests, used)


def spent_in(run: RunDirectory, trials: str = "*") -> tuple[float, int]:
    """US dollars that a run's trials and judges cost, also the attempts that were set aside, as far as it is
    known; and in how many of them something is not.

    Args:
        trials: A pattern that the names of their directories match.
    """
    total, unknown = 0.0, 0
    for path in run.path.glob(f"trials/{trials}/trial.json"):
        try:
            data = json.loads(path.read_text("utf-8"))
            costs = [get(data, key, int, float, NONE) for key in ("cost_usd", "judge_cost_usd")]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            costs = [None]
        total += sum(cost for cost in costs if cost is not None)
        unknown += None in costs
    return total, unknown + len(run.uncounted(trials))


def set_aside_note(run: RunDirectory) -> str | None:
    """What attempts cost that are no part of a run's figures; None where there were none that cost."""
    usd, unknown = spent_in(run, "*.old-*")
    told = f"attempts that were set aside cost ${usd:.4f} beside the run's figures" if usd else ""
    if not unknown:
        return told or None
    if not told:
        return f"of what was set aside, the cost of {count(unknown, 'attempt')} is not known"
    return f"{told}, and what {unknown:,} of them cost is not known"


def _whole_cost(trial: TrialResult) -> float | None:
    """Of a trial that ran to its end, with its judges; None where it is not known."""
    if not trial.healthy or trial.arm not in (MAIN, CONTROL):
        return None
    return _sum((trial.cost_usd, trial.judge_cost_usd))


def _sum(parts: Iterable[float | None]) -> float | None:
    total = 0.0
    for part in parts:
        if part is None:
            return None
        total += part
    return total
