"""A run as one HTML file that needs nothing else: no server, no network, no script to be read.

Every value goes through `_harmless` and Jinja's escaping on its way into the page; a policy in the page lets
no style and no script run but the two that are written here, and nothing be fetched. A trial is read, written
and forgotten before the next.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from skillwalker.outcomes import Outcome
from skillwalker.reports.asked import whole_query
from skillwalker.reports.changes import Changes, file_changes
from skillwalker.reports.console import how_it_ended, never_ran, script_hint, verdict_headline
from skillwalker.reports.excerpt import Budget, Excerpt
from skillwalker.reports.facts import (
    Fact,
    dollars,
    passed_of,
    run_facts,
    seconds,
    test_facts,
    totals,
    trial_facts,
)
from skillwalker.reports.figures import activation_tables, controls, run_judges_cost
from skillwalker.reports.judged_again import banner_of, judged_again
from skillwalker.reports.moments import Moment, Moments
from skillwalker.reports.pieces import diff, excerpt, steps
from skillwalker.reports.saved import Scaffold
from skillwalker.reports.source import Source
from skillwalker.reports.story import Story, read_story
from skillwalker.results import Judged, RunResult, TestResult, TrialResult
from skillwalker.text import count, listed, safe

if TYPE_CHECKING:
    from jinja2 import Environment

    from skillwalker.comparison.compare import Comparison

_FILES = Path(__file__).parent / "page"

_PAGE = 18_000_000
"""Bytes for the texts of all trials: browsers are slow with much more."""
_LEAST, _MOST = 4_000, 250_000
"""Bytes for the texts of one trial."""
_WORDS = 4_000
"""Characters of what a verdict, a reason or a note says."""


@frozen
class TrialPage:
    """What the page shows of one trial; each part is read when the page comes to it."""

    source: Source
    test: TestResult
    trial: TrialResult
    scaffold: Scaffold | None
    budget: Budget = field(repr=False)

    @property
    def facts(self) -> list[Fact]:
        return trial_facts(self.trial)

    def message(self, one: Judged) -> str:
        return verdict_headline(one, rehearsed=self.source.run.model_source == "rehearsal")

    @property
    def moments(self) -> tuple[Moment, ...]:
        return Moments(self.source.directory).of(self.test, self.trial)

    @cached_property
    def story(self) -> Story | None:
        events = self.source.folder(self.trial) / "events.jsonl"
        return read_story(events, self.budget) if events.exists() else None

    @cached_property
    def changes(self) -> Changes | None:
        saved = self.source.folder(self.trial) / "workspace.tar"
        return file_changes(saved, self.scaffold, self.budget) if saved.exists() else None

    @cached_property
    def stderr(self) -> Excerpt:
        return self.budget.excerpt(self.source.stderr(self.trial), 4_000, at_least=500)


@frozen
class TestPage:
    """What the page shows of one test."""

    __test__ = False

    source: Source
    test: TestResult
    room: int

    @property
    def word(self) -> str:
        return "not run" if never_ran(self.source.run, self.test) else str(self.test.outcome)

    @cached_property
    def query(self) -> str | None:
        return whole_query(self.source, self.test)

    @property
    def hint(self) -> str | None:
        return script_hint(self.source.run, self.test)

    @property
    def facts(self) -> list[Fact]:
        return test_facts(self.test)

    @property
    def place(self) -> str | None:
        place = self.source.place(self.test)
        if place is None or self.source.root is None:
            return None
        file = place.file.relative_to(self.source.root)
        return f"{file}:{place.line}" if place.line else str(file)

    @property
    def missing(self) -> str | None:
        """What is to be said of trials that left no result."""
        if rest := self.test.planned - len(self.test.trials) - self.test.not_needed:
            return f"{count(rest, 'trial')} not run, or without a result"
        return None

    def trials(self) -> Iterator[TrialPage]:
        scaffold = self.source.scaffolds.of(self.test) if self.test.trials else None
        for trial in self.test.trials:
            yield TrialPage(self.source, self.test, trial, scaffold, Budget(self.room))


def html(source: Source, comparison: Comparison | None = None) -> Iterator[str]:
    """The page, piece by piece.

    Args:
        comparison: With an earlier run; the page then tells what differs.
    """
    from markupsafe import Markup

    trials = sum(len(test.trials) for test in source.run.all_tests)
    room = max(_LEAST, min(_MOST, _PAGE // max(trials, 1)))
    style, script = ((_FILES / name).read_text("utf-8") for name in ("page.css", "page.js"))
    run = source.run
    stream = (
        _environment()
        .get_template("page.html")
        .stream(
            style=Markup(style),  # noqa: S704 - a file of ours
            script=Markup(script),  # noqa: S704 - likewise
            style_hash=_hash(style),
            script_hash=_hash(script),
            run=run,
            evals=_evals(run),
            note=banner_of(source),
            ending=how_it_ended(run),
            totals=totals(source),
            took=seconds(run.duration_ms),
            cost=dollars(run.cost_usd),
            judges_cost=dollars(run_judges_cost(run)),
            facts=run_facts(source),
            comparison=comparison,
            again=[*judged_again(source.again)] if source.again else [],
            controls=controls(run),
            tables=[*activation_tables(run)],
            tests=(TestPage(source, test, room) for test in source.all_tests()),
            outcomes=(Outcome.FAILED, Outcome.UNMEASURED, Outcome.PASSED),
        )
    )
    stream.enable_buffering(200)
    yield from stream


def _evals(run: RunResult) -> str:
    """The run's evals, for the title."""
    names = [*(one.eval for one in run.tests), *(one.eval for one in run.skipped)]
    return listed(dict.fromkeys(names), 3) or "no eval"


def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_FILES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["counted"] = count
    environment.filters["cut"] = _cut
    environment.globals.update(passed_of=passed_of, excerpt=excerpt, diff=diff, steps=steps)
    return environment


def _harmless(value: Any) -> Any:
    """Control, bidirectional and invisible format characters as visible escapes.

    What has been through `safe`, our own markup and words of our own enumerations are types of their own.
    """
    return safe(value, lines=True) if type(value) is str else value


def _cut(text: str) -> str:
    """Words of a verdict or a note, which are short unless something is wrong with them."""
    if len(text) <= _WORDS:
        return text
    return f"{text[:_WORDS]} … {count(len(text) - _WORDS, 'more character')}"


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
