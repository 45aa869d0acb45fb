"""What a test asked for, where its name tells only the beginning."""

from __future__ import annotations

from pathlib import Path

from skillwalker.events import as_str, iter_events
from skillwalker.queries import is_cut, is_made_of
from skillwalker.reports.source import Source
from skillwalker.results import TestResult
from skillwalker.tool_calls import blocks


def whole_query(source: Source, test: TestResult) -> str | None:
    """The query of which the test's name was made and cut, as a trial was asked it; None for other tests,
    and where no trial came so far."""
    if not is_cut(test.name):
        return None
    for trial in test.trials:
        asked = _first_prompt(source.folder(trial) / "events.jsonl")
        if asked is not None:
            return asked if is_made_of(test.name, asked) else None
    return None


def _first_prompt(events: Path) -> str | None:
    """The first thing that a user said; None where an answer comes before it, or nothing at all."""
    try:
        with events.open("rb") as file:
            for event in iter_events(file, brief=True):
                if event.kind == "assistant":
                    return None
                if event.kind == "user" and event.data.get("isReplay") is True:
                    return "\n".join(as_str(one.get("text")) or "" for one in blocks(event))
    except OSError:
        pass
    return None
