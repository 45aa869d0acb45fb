"""A run's result as text that a person reads in ten seconds: failures first, each with what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from skillwalker.outcomes import Outcome
from skillwalker.results import Judged, RunResult, TestResult, TrialResult
from skillwalker.text import safe

Paint = Callable[[str, str], str]
"""Takes a text and one of `red`, `green`, `yellow`, `bold`, `dim`; returns it coloured, or as it is."""

_COLOURS = {Outcome.PASSED: "green", Outcome.FAILED: "red", Outcome.UNMEASURED: "yellow"}
_ORDER = (Outcome.FAILED, Outcome.UNMEASURED, Outcome.PASSED)

_BANNERS = {
    "rehearsal": "REHEARSED: the answers come from a script or a simple rule, no model was asked",
    "replay": "REPLAYED: the answers come from a recording, no model was asked",
}


def plain(text: str, _: str) -> str:
    """Paints nothing."""
    return text


def banner(model_source: str) -> str | None:
    """What the first and the last line of every output say of a run without a model."""
    return _BANNERS.get(model_source)


def run_report(run: RunResult, paint: Paint = plain, more: str | None = None) -> str:
    """The whole report, lines separated by newlines, none at the end.

    Args:
        more: The command that shows more.
    """
    return "\n".join(_lines(run, paint, more))


def _lines(run: RunResult, paint: Paint, more: str | None) -> Iterator[str]:
    note = banner(run.model_source)
    if note:
        yield paint(note, "bold")
    for outcome in _ORDER:
        tests = [test for test in run.tests if test.outcome is outcome]
        for test in tests:
            yield from test_lines(test, paint)
        if tests and outcome is not Outcome.PASSED:
            yield ""
    yield _summary(run, paint)
    if run.interrupted:
        yield paint("interrupted: trials that did not finish are unmeasured", "yellow")
    elif run.interrupted is None:
        yield paint("not finished: it goes on, or was killed; --resume goes on with it", "yellow")
    if more:
        yield paint(f"more: {more}", "dim")
    if note:
        yield paint(note, "bold")


def _summary(run: RunResult, paint: Paint) -> str:
    counts = ", ".join(
        paint(f"{run.count(outcome)} {outcome}", _COLOURS[outcome])
        for outcome in (Outcome.PASSED, Outcome.FAILED, Outcome.UNMEASURED)
        if run.count(outcome) or outcome is Outcome.PASSED
    )
    tests = f"{len(run.tests)} test{'' if len(run.tests) == 1 else 's'}"
    took = "" if run.duration_ms is None else f" in {run.duration_ms / 1000:.1f} s"
    cost = "" if run.cost_usd is None else f", {run.cost_usd:.4f} USD"
    return f"{tests}: {counts}{took}{cost}"


def test_lines(test: TestResult, paint: Paint = plain) -> Iterator[str]:
    """A line for a test, and for one that did not pass why, and what to do."""
    head = f"{safe(test.eval)}::{safe(test.name)}"
    tail = paint(f"  ({safe(test.type)}, {safe(test.model)}{_trials(test)})", "dim")
    yield f"{paint(str(test.outcome).upper().ljust(10), _COLOURS[test.outcome])} {head}{tail}"
    if test.outcome is Outcome.PASSED and all(trial.reason is None for trial in test.trials):
        return
    if not test.trials:
        yield "           no trial ran to its end"
    for trial in test.trials:
        yield from _trial_lines(trial, paint, numbered=test.planned > 1)


def _trials(test: TestResult) -> str:
    if test.planned == 1:
        return ""
    unmeasured = test.planned - test.measured
    missing = f", {unmeasured} unmeasured" if unmeasured else ""
    return f"; {test.passed} of {test.measured} measured passed{missing}, {test.need} needed"


def _trial_lines(trial: TrialResult, paint: Paint, *, numbered: bool) -> Iterator[str]:
    margin = " " * 11
    if numbered:
        yield f"{margin}trial {trial.index}: {paint(str(trial.outcome), _COLOURS[trial.outcome])}"
        margin += "  "
    unseen = []
    for one in trial.judged:
        if one.verdict.outcome is Outcome.UNMEASURED and trial.message:
            unseen.append(safe(one.type))  # for the trial's own reason, which follows
        elif one.verdict.outcome is not Outcome.PASSED:
            yield from _verdict_lines(one, margin, paint)
    if unseen:
        yield f"{margin}unmeasured: {', '.join(unseen)}"
    if trial.reason:
        said = f"{trial.reason}: {safe(trial.message, 500)}" if trial.message else str(trial.reason)
        yield f"{margin}{paint(said, 'yellow')}"
        yield f"{margin}{paint('-> ' + trial.reason.advice, 'dim')}"


def _verdict_lines(one: Judged, margin: str, paint: Paint) -> Iterator[str]:
    verdict = one.verdict
    yield f"{margin}{paint(safe(one.type), _COLOURS[verdict.outcome])}: {safe(verdict.message, 500)}"
    for detail in verdict.details:
        if detail.outcome is not Outcome.PASSED:
            yield f"{margin}  - {safe(detail.name, 200)}: {detail.outcome}; {safe(detail.message, 300)}"


test_lines.__test__ = False  # type: ignore[attr-defined]
