"""What judging again has changed, as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from skillwalker.outcomes import Outcome
from skillwalker.rejudged import Changed, Rejudged, TestChange
from skillwalker.reports.console import Paint, banner, plain
from skillwalker.reports.source import Source
from skillwalker.text import count, safe

_HASH = 12  # hexadecimal digits; --format json has all
_COLOURS = {Outcome.PASSED: "green", Outcome.FAILED: "red", Outcome.UNMEASURED: "yellow"}

_BANNERS = {
    "rehearsal": "REHEARSED: the judge's answers come from a script or a simple rule",
    "replay": "REPLAYED: the judge's answers come from a recording",
}


def judges_banner(found: Rejudged) -> str | None:
    """What the first and the last line say where a run that asked a model was judged by none."""
    return _BANNERS.get(found.judged_from or "")


def banner_of(source: Source) -> str | None:
    """The first and the last line of a report where a model was not asked for all of it."""
    return banner(source.run.model_source) or (judges_banner(source.again) if source.again else None)


def framed(found: Rejudged, body: Iterable[str], paint: Paint = plain) -> Iterator[str]:
    """What has changed, and below it `body`, a report of the run with its new verdicts."""
    note = banner(found.run.model_source)  # a report ends with it
    judges = None if note else judges_banner(found)
    if first := note or judges:
        yield paint(first, "bold")
    yield from judged_again(found, paint)
    yield ""
    yield from body
    if judges:
        yield paint(judges, "bold")


def judged_again(found: Rejudged, paint: Paint = plain) -> Iterator[str]:
    """Line by line: first a summary, then each test, those last where all is as it was."""
    trials = sum(test.trials for test in found.tests)
    moved = sum(one.verdict.before is not one.verdict.after for test in found.tests for one in test.verdicts)
    changed = f"{count(moved, 'verdict')} changed" if moved else "every verdict is the same"
    yield f"judged again: {count(trials, 'trial')}, no agent was run; {changed}"
    same = [test for test in found.tests if test.same_inputs and not test.verdicts]
    for test in found.tests:
        if test not in same:
            yield from _test(test, paint)
    for test in same:
        files = "".join(f" ({safe(path)} {_short(after)})" for path, _, after in test.files)
        yield f"{_name(test)}: unchanged{files}"


def _test(test: TestChange, paint: Paint) -> Iterator[str]:
    yield paint(_name(test), "bold")
    for path, before, after in test.files:
        if before == after:
            yield f"  {safe(path)}: unchanged ({_short(after)})"
        else:
            yield f"  {safe(path)}: {_short(before)} -> {_short(after)}"
    if test.expect_changed:
        yield "  its `expect` has changed"
    if not test.verdicts:
        yield "  same verdicts"
    for one in test.verdicts:
        which = f"trial {one.index} " if test.trials > 1 else ""
        yield f"  {which}{_moved(one.verdict, paint)}"
        for detail in one.details:
            yield f"    - {_moved(detail, paint)}"


def _name(test: TestChange) -> str:
    return f"{safe(test.eval)}::{safe(test.name)}"


def _short(sha256: str | None) -> str:
    return safe(sha256[:_HASH]) if sha256 else "not known"


def _moved(changed: Changed, paint: Paint) -> str:
    name = safe(changed.name, 200)
    if changed.before is changed.after:
        return f"{name}: still {changed.after}"
    if changed.before is None and changed.after:
        return f"{name}: new, {_word(changed.after, paint)}"
    if changed.after is None:
        return f"{name}: gone, was {changed.before}"
    return f"{name}: {changed.before} -> {_word(changed.after, paint)}"


def _word(outcome: Outcome, paint: Paint) -> str:
    return paint(str(outcome), _COLOURS[outcome])
