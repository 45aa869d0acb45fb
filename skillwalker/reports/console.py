"""A run's result as text that a person reads in ten seconds: failures first, each with what to do."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from skillwalker.claude_code import CALL_TYPES
from skillwalker.expectations.base import Detail
from skillwalker.outcomes import Outcome
from skillwalker.reports.figures import activation_tables, controls, passed_of, run_judges_cost, saved
from skillwalker.results import Judged, RunResult, TestResult, TrialResult
from skillwalker.text import count, safe

if TYPE_CHECKING:
    from skillwalker.reports.moments import Moments

Paint = Callable[[str, str], str]
"""Takes a text and one of `red`, `green`, `yellow`, `bold`, `dim`; returns it coloured, or as it is."""

_COLOURS = {Outcome.PASSED: "green", Outcome.FAILED: "red", Outcome.UNMEASURED: "yellow"}
_ORDER = (Outcome.FAILED, Outcome.UNMEASURED, Outcome.PASSED)

_MARGIN = " " * 11
_JUDGED_BY = ", judged by "
_PARTLY_SEEN = "; the judge saw only a part: "
_NO_SCRIPT = "answered by the simple rule, which only compares words: script this test in rehearsal.json"

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


def run_report(
    run: RunResult,
    paint: Paint = plain,
    more: str | None = None,
    go_on: str | None = None,
    *,
    begun: bool = False,
    moments: Moments | None = None,
) -> str:
    """The whole report, lines separated by newlines, none at the end.

    Args:
        more: A line about what to do next.
        go_on: The command that goes on with a run that was cut short.
        begun: Whether the reader has seen the banner already, right above.
        moments: Where the lines of transcript that matter are found; without it there are none.
    """
    return "\n".join(_lines(run, paint, more, go_on, begun, moments))


def _lines(
    run: RunResult, paint: Paint, more: str | None, go_on: str | None, begun: bool, moments: Moments | None
) -> Iterator[str]:
    note = banner(run.model_source)
    if note and not begun:
        yield paint(note, "bold")
    for outcome in _ORDER:
        tests = [test for test in run.tests if test.outcome is outcome]
        for test in sorted(tests, key=lambda one: never_ran(run, one)):
            yield from test_lines(run, test, paint, moments)
        if tests and outcome is not Outcome.PASSED:
            yield ""
    for one in run.skipped:
        yield (
            f"{paint('SKIPPED   ', 'dim')} {safe(one.eval)}::{safe(one.name)}"
            + paint(f"  ({safe(one.type)})  {safe(one.reason, 300)}", "dim")
        )
    yield from _controls(run, paint, moments)
    for table in activation_tables(run):
        yield from (paint(line, "yellow") if line.startswith("  !") else line for line in table)
        yield ""
    yield _summary(run, paint)
    if ending := how_it_ended(run):
        yield paint(ending, "yellow")
        if go_on and any(test.left for test in run.all_tests):
            yield f"go on: {go_on}"
    if more:
        yield paint(more, "dim")
    if note:
        yield paint(note, "bold")


def how_it_ended(run: RunResult) -> str | None:
    """What a reader must know of a run that did not come to its end; None where it did."""
    if run.interrupted is None:
        return "not finished: it is still running, or was killed"
    if run.interrupted and run.is_whole:
        return "interrupted, when everything had been measured: nothing is missing"
    return "interrupted: what did not finish is unmeasured" if run.interrupted else None


def never_ran(run: RunResult, test: TestResult) -> bool:
    """Whether no trial began; of a run without an end nobody knows, for a killed trial leaves no result."""
    return run.interrupted is True and not test.trials


def counts(run: RunResult, paint: Paint = plain) -> str:
    """Such as `2 passed, 1 failed, 1 skipped`."""
    told = [
        paint(f"{run.count(outcome)} {outcome}", _COLOURS[outcome])
        for outcome in (Outcome.PASSED, Outcome.FAILED, Outcome.UNMEASURED)
        if run.count(outcome) or outcome is Outcome.PASSED
    ]
    return ", ".join([*told, *([f"{len(run.skipped)} skipped"] if run.skipped else [])])


def _summary(run: RunResult, paint: Paint) -> str:
    took = "" if run.duration_ms is None else f" in {run.duration_ms / 1000:.1f} s"
    known = [
        *([] if run.cost_usd is None else [f"{run.cost_usd:.4f} USD"]),
        *([f"{judges:.4f} USD for judges"] if (judges := run_judges_cost(run)) is not None else []),
    ]
    cost = f", {' and '.join(known)}" if known else ""
    missing = sum(never_ran(run, test) for test in run.tests)
    not_run = f" ({missing} not run)" if missing else ""
    spared = f"; {told}" if (told := saved(run)) else ""
    return f"{count(len(run.tests), 'test')}: {counts(run, paint)}{not_run}{took}{cost}{spared}"


def _controls(run: RunResult, paint: Paint, moments: Moments | None) -> Iterator[str]:
    """How the controls ended, those first that did not pass; they are no tests and not counted as such."""
    if not (told := controls(run)):
        return
    yield told
    for outcome in _ORDER[:2]:
        for control in run.controls:
            if control.test.outcome is outcome:
                yield from test_lines(run, control.test, paint, moments)
    yield ""


def test_lines(
    run: RunResult, test: TestResult, paint: Paint = plain, moments: Moments | None = None
) -> Iterator[str]:
    """What there is to say of one test, the first line naming it."""
    head = f"{safe(test.eval)}::{safe(test.name)}"
    tail = paint(f"  ({safe(test.type)}, {safe(test.model)}{_trials(test)})", "dim")
    word = "not run" if never_ran(run, test) else str(test.outcome)
    yield f"{paint(word.upper().ljust(10), _COLOURS[test.outcome])} {head}{tail}"
    rehearsed = run.model_source == "rehearsal"
    numbered = test.planned > 1
    if test.outcome is Outcome.PASSED:
        for trial in test.trials:
            yield from _aside(trial, paint, numbered=numbered)
        return
    if test.blind:
        yield f"{_MARGIN}{paint(safe(test.blind), 'yellow')}"
        yield f"{_MARGIN}{paint('-> what its trials saw counts for nothing; see the control first', 'dim')}"
        return
    if not test.trials and run.interrupted is not True:
        yield f"{_MARGIN}no trial ran to its end"
    for trial in test.trials:
        yield from _trial_lines(trial, paint, numbered=numbered, rehearsed=rehearsed)
        margin = _MARGIN + ("  " if numbered else "")
        for moment in moments.of(test, trial) if moments else ():
            yield f"{margin}{paint(f'{moment.label}: {moment.text}', 'dim')}"
    if test.trials and run.interrupted and (rest := test.planned - len(test.trials) - test.not_needed):
        yield f"{_MARGIN}{count(rest, 'trial')} not run"
    if hint := script_hint(run, test):
        yield f"{_MARGIN}{paint(hint, 'dim')}"


test_lines.__test__ = False  # type: ignore[attr-defined]


def script_hint(run: RunResult, test: TestResult) -> str | None:
    """What to do about a failure that tells only how a rehearsal's rule is; None for other tests."""
    if run.model_source != "rehearsal" or test.outcome is not Outcome.FAILED or test.scripted is not False:
        return None
    if test.type not in CALL_TYPES:
        return _NO_SCRIPT
    return f"{_NO_SCRIPT}, or let skillwalker init --rehearsal {safe(shlex.quote(test.eval))} do it"


def _aside(trial: TrialResult, paint: Paint, *, numbered: bool) -> Iterator[str]:
    """What is worth knowing of a trial of a test that passed: nothing is to be done about it."""
    which = f"trial {trial.index}: " if numbered else ""
    if trial.reason:
        more = f"; {trial.advice}" if trial.advice != trial.reason.advice else ""
        yield f"{_MARGIN}{paint(which + _reason(trial) + more, 'dim')}"
    for text in trial.notes:
        yield f"{_MARGIN}{paint(f'{which}note: {safe(text, 300)}', 'dim')}"


def _reason(trial: TrialResult) -> str:
    return f"{trial.reason}: {safe(trial.message, 500)}" if trial.message else str(trial.reason)


def _trials(test: TestResult) -> str:
    return f"; {passed_of(test)}" if test.planned > 1 else ""


def _trial_lines(trial: TrialResult, paint: Paint, *, numbered: bool, rehearsed: bool) -> Iterator[str]:
    margin = _MARGIN
    if numbered:
        yield f"{margin}trial {trial.index}: {paint(str(trial.outcome), _COLOURS[trial.outcome])}"
        margin += "  "
    unseen = []
    for one in trial.judged:
        if one.verdict.outcome is Outcome.UNMEASURED and trial.message:
            unseen.append(safe(one.type))  # for the trial's own reason, which follows
        elif one.verdict.outcome is not Outcome.PASSED:
            yield from _verdict_lines(one, margin, paint, rehearsed=rehearsed)
    if unseen:
        yield f"{margin}unmeasured: {', '.join(unseen)}"
    if trial.reason:
        yield f"{margin}{paint(_reason(trial), 'yellow')}"
        yield f"{margin}{paint(f'-> {trial.advice}', 'dim')}"
    for text in trial.notes:
        yield f"{margin}{paint(f'note: {safe(text, 300)}', 'dim')}"


def _verdict_lines(one: Judged, margin: str, paint: Paint, *, rehearsed: bool) -> Iterator[str]:
    message = verdict_headline(one, rehearsed=rehearsed)
    yield f"{margin}{paint(safe(one.type), _COLOURS[one.verdict.outcome])}: {safe(message, 500)}"
    for detail in not_passed(one):
        yield f"{margin}  - {safe(detail.name, 200)}: {detail.outcome}; {safe(detail.message, 300)}"


def verdict_message(one: Judged, *, rehearsed: bool) -> str:
    """What the verdict says; a judge that was rehearsed is called so."""
    if rehearsed:
        return one.verdict.message.replace(_JUDGED_BY, f"{_JUDGED_BY}the rehearsed ", 1)
    return one.verdict.message


def verdict_headline(one: Judged, *, rehearsed: bool) -> str:
    """As `verdict_message`, without the criteria that follow one by one."""
    message = verdict_message(one, rehearsed=rehearsed)
    return _without_list(message) if not_passed(one) else message


def not_passed(one: Judged) -> list[Detail]:
    """The details that are worth a reader's time."""
    return [detail for detail in one.verdict.details if detail.outcome is not Outcome.PASSED]


def _without_list(message: str) -> str:
    """The judge's message without the failed criteria, which follow one by one."""
    head, _, listed = message.partition("; failed: ")
    _, partly, cuts = listed.rpartition(_PARTLY_SEEN)
    return f"{head}{partly}{cuts}" if partly else head
