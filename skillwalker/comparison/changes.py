"""What the trials of one test did that is not the same in two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from attrs import frozen

from skillwalker.comparison.observed import SeenTest, mean
from skillwalker.outcomes import Outcome
from skillwalker.text import safe


@frozen
class Change:
    """A value that is not the same in both runs, in words; `none` where there is none."""

    label: str
    before: str
    after: str


def changes_of(old: SeenTest, new: SeenTest) -> Iterator[Change]:
    """Model, verdicts, calls, files and figures."""
    if old.test.model != new.test.model:
        yield Change("model", safe(old.test.model), safe(new.test.model))
    seen = [] if old.test.blind or new.test.blind else [*old.verdicts, *new.verdicts]
    for key in dict.fromkeys(seen):  # those of a blind measurement say nothing
        one, other = old.verdicts.get(key, {}), new.verdicts.get(key, {})
        if _shares(one) != _shares(other):
            label = f"{safe(key[1])} (expectation {key[0] + 1})"
            yield Change(label, _verdicts(one), _verdicts(other))
    yield from _calls(old, new)
    yield from _files(old, new)
    figures = (
        ("turns", old.turns, new.turns, "{:.4g}"),
        ("cost", old.cost_usd, new.cost_usd, "{:.4f} USD"),
        ("judges' cost", old.judge_cost_usd, new.judge_cost_usd, "{:.4f} USD"),
    )
    for label, left, right, shown in figures:
        if left is not None and right is not None and shown.format(left) != shown.format(right):
            each = " a trial" if max(len(old.trials), len(new.trials)) > 1 else ""
            yield Change(f"{label}{each}", shown.format(left), shown.format(right))


def _shares(counts: Mapping[Outcome, int]) -> dict[Outcome, Fraction]:
    """Of all trials those with each outcome: how many there are is no difference."""
    return {outcome: Fraction(number, sum(counts.values())) for outcome, number in counts.items()}


def _verdicts(counts: Mapping[Outcome, int]) -> str:
    if not counts:
        return "none"
    if len(counts) == 1 and sum(counts.values()) == 1:
        return str(next(iter(counts)))
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts.get(outcome))


def _calls(old: SeenTest, new: SeenTest) -> Iterator[Change]:
    """Calls a trial, for tools whose number is not the same."""
    names = dict.fromkeys(name for one in (*old.trials, *new.trials) for name in one.calls or ())
    for name in names:
        left, right = (
            mean(None if one.calls is None else one.calls.get(name, 0) for one in side.trials)
            for side in (old, new)
        )
        if left is not None and right is not None and left != right:
            yield Change(f"calls of {name}", f"{left:.4g}", f"{right:.4g}")


def _files(old: SeenTest, new: SeenTest) -> Iterator[Change]:
    """Files that are not created, changed or deleted in as many trials, or with other content."""
    sides = [[one.files for one in side.trials if one.files is not None] for side in (old, new)]
    if not all(sides):
        return
    for path in dict.fromkeys(path for side in sides for files in side for path in files):
        left, right = (_touched(path, side) for side in sides)
        label = f"file {safe(path, 200)}"
        if left != right:
            yield Change(label, left, right)
        elif len(sides[0]) == len(sides[1]) and (digests := _digests(path, sides))[0] != digests[1]:
            yield Change(label, left, f"{right}, other content")


def _touched(path: str, side: list[Mapping[str, Any]]) -> str:
    found = [files[path].what for files in side if path in files]
    if not found:
        return "untouched"
    what = " or ".join(dict.fromkeys(found))
    return what if len(found) == len(side) else f"{what} in {len(found)} of {len(side)}"


def _digests(path: str, sides: list[list[Mapping[str, Any]]]) -> list[list[str | None]]:
    return [[files[path].digest if path in files else None for files in side] for side in sides]
