"""A comparison as text: what differs first, what does not in one line."""

from __future__ import annotations

from collections.abc import Iterator

from skillwalker.comparison.compare import Comparison, Difference
from skillwalker.comparison.noise import LEVEL, TEST
from skillwalker.reports.console import Paint, plain
from skillwalker.text import count, safe

_COLOURS = {"+": "green", "-": "red", "@": "dim", " ": "dim"}
_PILLS = {"passed": "green", "failed": "red", "unmeasured": "yellow", "absent": "yellow"}
_NAMED = 5  # of the tests that only one run has


def comparison_report(it: Comparison, paint: Paint = plain) -> str:
    """The whole report, lines separated by newlines, none at the end."""
    return "\n".join(_lines(it, paint))


def _lines(it: Comparison, paint: Paint) -> Iterator[str]:
    for warning in it.warnings:
        yield paint(warning, "bold")
    yield f"{safe(it.before.run_id)} → {safe(it.after.run_id)}"
    for change in it.changed:
        yield f"  {change.label}: {change.before} → {change.after}"
    yield from _controls(it, paint)
    yield ""
    same = [one for one in it.tests if not one.differs and one.only_in is None]
    for one in it.tests:
        if one.differs:
            yield from _test(one, paint)
    if same:
        yield f"no difference in {count(len(same), 'test')}"
    for each in it.apart:
        yield f"{each.told}:"
        yield from (f"    {safe(one.eval)}::{safe(one.name)}" for one in each.tests[:_NAMED])
        if (rest := len(each.tests) - _NAMED) > 0:
            yield f"    and {count(rest, 'more test')}"
    yield it.summary
    if any(one.noise for one in it.tests):
        yield paint(
            f"noise: {TEST}, a test at a time; beyond noise where p < {LEVEL}, "
            "which happens by chance in at most one of twenty tests",
            "dim",
        )
    for warning in it.warnings:
        yield paint(warning, "bold")


def _controls(it: Comparison, paint: Paint) -> Iterator[str]:
    if it.controls_note:
        yield f"  {it.controls_note}"
    for one in it.controls:
        yield f"  {one.before} → {paint(one.after, _PILLS[one.after])}  {safe(one.eval)}::{safe(one.name)}"


def _test(one: Difference, paint: Paint) -> Iterator[str]:
    before, after = one.outcomes
    words = paint(after, _PILLS[after]) if one.same_outcome else f"{before} → {paint(after, _PILLS[after])}"
    yield f"{words}  {safe(one.eval)}::{safe(one.name)}"
    if one.rate:
        yield f"    {one.rate}"
    for line in one.lines():
        yield f"    {line}"
    for each in one.text_diff:  # marked: an indented `::error::` of a model is a command to GitHub's runner
        yield paint(f"    | {each.mark} {each.text}", _COLOURS[each.mark])
