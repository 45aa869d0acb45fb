"""A run for GitHub Actions: an annotation for each test that did not pass, as workflow commands.

Source: "Workflow commands for GitHub Actions" in GitHub's documentation; what has to be escaped is in
`actions/toolkit`, packages/core/src/command.ts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from skillwalker.outcomes import Outcome
from skillwalker.reports.console import counts, test_lines
from skillwalker.reports.figures import passed_of
from skillwalker.reports.judged_again import banner_of, judged_again
from skillwalker.reports.moments import Moments
from skillwalker.reports.source import Source
from skillwalker.results import TestResult
from skillwalker.text import count, safe

_SHOWN = 10
"""GitHub shows no more of one level in one step."""

_MESSAGE = 4_000  # characters


def github(source: Source, base: Path | None = None) -> Iterator[str]:
    """Workflow commands, a line each.

    Args:
        base: The repository's directory; names of files are relative to it, or absolute outside of it.
    """
    note = banner_of(source)
    if note:
        yield command("notice", note)
    for level, outcome in (("error", Outcome.FAILED), ("warning", Outcome.UNMEASURED)):
        tests = [test for test in source.tests() if test.outcome is outcome]
        for test in tests[:_SHOWN]:
            yield _annotation(level, source, test, base)
        if len(tests) > _SHOWN:
            yield command(
                "notice", f"{count(len(tests) - _SHOWN, 'more test')} {outcome}: see the step summary"
            )
    if source.again:
        yield command("notice", "\n".join(judged_again(source.again))[:_MESSAGE])
    yield command("notice", f"{count(len(source.run.tests), 'test')}: {counts(source.run)}")
    if note:
        yield command("notice", note)


def command(name: str, message: str, properties: Mapping[str, str] | None = None) -> str:
    """One workflow command, in which no text can end the line or the command, or begin another."""
    given = ",".join(f"{key}={_property(value)}" for key, value in (properties or {}).items())
    return f"::{name}{' ' if given else ''}{given}::{_data(message)}\n"


def _annotation(level: str, source: Source, test: TestResult, base: Path | None) -> str:
    properties = {}
    if place := source.place(test):
        file = place.file
        inside = base is not None and file.is_relative_to(base)
        properties["file"] = safe(str(file.relative_to(base) if base and inside else file))
        if place.line is not None:
            properties["line"] = str(place.line)
    properties["title"] = f"{safe(test.eval)}::{safe(test.name)} {test.outcome}"
    _, *lines = test_lines(source.run, test, moments=Moments(source.directory))
    together = [passed_of(test)] if test.planned > 1 else []
    message = "\n".join([*together, *(line.strip() for line in lines)]) or str(test.outcome)
    return command(level, message[:_MESSAGE], properties)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
