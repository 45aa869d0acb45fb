"""A run as Markdown, for a step summary or a comment.

Every text that is not ours stands in a code span or a fenced block, in which GitHub sees no HTML, no link, no
mention and no formatting. There is no table, for a table's cells end at a `|` even inside a code span.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillwalker.giveaways import REPORT_MARK
from skillwalker.outcomes import Outcome
from skillwalker.reports.asked import whole_query
from skillwalker.reports.console import (
    counts,
    how_it_ended,
    never_ran,
    not_passed,
    script_hint,
    verdict_headline,
)
from skillwalker.reports.facts import passed_of, run_facts, test_facts, trial_facts
from skillwalker.reports.figures import activation_tables, controls
from skillwalker.reports.judged_again import banner_of, judged_again
from skillwalker.reports.moments import Moments
from skillwalker.reports.source import Source
from skillwalker.results import Judged, TestResult, TrialResult
from skillwalker.text import count, safe

SUMMARY_BYTES = 1_000_000
"""GitHub refuses a step summary of more than 1 MiB as a whole."""

_LONG = 2_000  # characters of one text
_CHANGES = 20_000  # characters of what judging again has changed
_MARKS = {Outcome.PASSED: "✅", Outcome.FAILED: "❌", Outcome.UNMEASURED: "⚠️"}


def markdown(source: Source, *, limit: int = SUMMARY_BYTES) -> Iterator[str]:
    """The document, piece by piece.

    Args:
        limit: Bytes; what is beyond is left out with a note.
    """
    run = source.run
    note = banner_of(source)
    last = f"{REPORT_MARK}\n" + (f"\n**{note}**\n" if note else "")
    if note:
        yield f"**{note}**\n\n"
    yield f"# Skillwalker: {run.outcome}\n\n{count(len(run.tests), 'test')}: {counts(run)}\n\n"
    if ending := how_it_ended(run):
        yield f"**{ending}**\n\n"
    changes = _changes(source)
    yield changes
    together = "".join(_together(source))
    if len(together.encode()) > limit // 4:
        together = "… tables of activation: there is no room for them\n\n"
    # What has been said above, and what will be of the rest.
    room = limit - len((changes + last + together).encode()) - 4_096
    for number, test in enumerate(source.tests()):
        text = "".join(_test(source, test))
        room -= len(text.encode())
        if room < 0:
            left_out = len(run.tests) - number
            yield f"… {count(left_out, 'more test')}: this is all that there is room for\n\n"
            break
        yield text
    yield together
    facts = "".join(f"- {fact.label}: {code(fact.value, 500)}\n" for fact in run_facts(source))
    yield f"\n<details><summary>About this run</summary>\n\n{facts}\n</details>\n\n{last}"


def _changes(source: Source) -> str:
    """What judging again has changed; empty where the verdicts are the run's own."""
    if source.again is None:
        return ""
    first, *lines = judged_again(source.again)
    return f"**{first}**\n\n" + (block("\n".join(lines), _CHANGES) + "\n" if lines else "")


def code(text: str, limit: int = _LONG) -> str:
    """A code span, on one line, that shows `text` and nothing else."""
    shown = safe(text, limit)
    if not shown.strip(" "):
        return "(empty)" if not shown else "(spaces)"
    fence = "`" * (_longest_run(shown) + 1)
    gap = " " if shown[0] in " `" or shown[-1] in " `" else ""
    return f"{fence}{gap}{shown}{gap}{fence}"


def block(text: str, limit: int = _LONG) -> str:
    """A fenced block that shows `text` and nothing else."""
    shown = safe(text, limit, lines=True)
    fence = "`" * max(3, _longest_run(shown) + 1)
    return f"{fence}text\n{shown}\n{fence}\n"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _test(source: Source, test: TestResult) -> Iterator[str]:
    run = source.run
    word = "not run" if never_ran(run, test) else str(test.outcome)
    name = f"{test.eval}::{test.name}"
    of = f"; {passed_of(test)}" if test.planned > 1 else ""
    if test.outcome is Outcome.PASSED:
        yield f"- {_MARKS[test.outcome]} {word} {code(name)}{of}\n"
        return
    yield f"## {_MARKS[test.outcome]} {word} {code(name)}\n\n"
    if place := source.place(test):
        where = place.file.relative_to(source.root) if source.root else place.file
        yield f"{code(f'{where}:{place.line}' if place.line else str(where))}, "
    yield ", ".join(f"{fact.label} {code(fact.value, 200)}" for fact in test_facts(test)) + f"{of}\n\n"
    if query := whole_query(source, test):
        yield f"- query: {code(query)}\n"
    if test.blind:
        yield f"- {code(test.blind)}\n\n"
        return
    if not test.trials and not never_ran(run, test):
        yield "- no trial ran to its end\n"
    for trial in test.trials:
        yield from _trial(source, test, trial)
    if hint := script_hint(run, test):
        yield f"- {code(hint)}\n"
    yield "\n"


def _together(source: Source) -> Iterator[str]:
    """What tests of activation say together, and whether they can be believed."""
    if told := controls(source.run):
        yield f"{told}\n\n"
        for control in source.run.controls:
            if control.test.outcome is not Outcome.PASSED:
                yield from _test(source, control.test)
    for table in activation_tables(source.run):
        yield block("\n".join(table)) + "\n"


def _trial(source: Source, test: TestResult, trial: TrialResult) -> Iterator[str]:
    facts = ", ".join(f"{fact.label} {code(fact.value, 200)}" for fact in trial_facts(trial))
    yield f"- trial {trial.index}: **{trial.outcome}**{f' ({facts})' if facts else ''}\n"
    rehearsed = source.run.model_source == "rehearsal"
    for one in trial.judged:
        if one.verdict.outcome is not Outcome.PASSED:
            yield from _verdict(one, rehearsed=rehearsed)
    if trial.reason:
        said = f": {code(trial.message)}" if trial.message else ""
        yield f"  - **{trial.reason}**{said}; {(trial.advice or '').replace('<', '&lt;')}\n"
    for moment in Moments(source.directory).of(test, trial):
        yield f"  - {moment.label}: {code(moment.text)}\n"
    for text in trial.notes:
        yield f"  - note: {code(text)}\n"


def _verdict(one: Judged, *, rehearsed: bool) -> Iterator[str]:
    yield f"  - {code(one.type)} {one.verdict.outcome}: {code(verdict_headline(one, rehearsed=rehearsed))}\n"
    for detail in not_passed(one):
        yield f"    - {detail.outcome}: {code(detail.name)}: {code(detail.message)}\n"
