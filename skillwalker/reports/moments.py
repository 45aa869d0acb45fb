"""The lines of a transcript that tell why a trial came out as it did: what was called, and said last."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from skillwalker.events import as_str, iter_events
from skillwalker.outcomes import Outcome
from skillwalker.reports.story import call_title
from skillwalker.results import TestResult, TrialResult
from skillwalker.store import RunDirectory
from skillwalker.text import safe
from skillwalker.tool_calls import ToolCall, ToolCallReader

_CALLS = 5
_TITLE = 60
_TEXT = 200  # characters from the end of the final text
_TRIALS = 3  # of one test; the others mostly repeat them


@frozen
class Moment:
    """One line; `text` is harmless to show."""

    label: str
    text: str


@frozen
class Moments:
    """Finds them in a stored run."""

    directory: RunDirectory

    def of(self, test: TestResult, trial: TrialResult) -> tuple[Moment, ...]:
        """Those of a trial that did not pass; none for a trial that did, or where there is no transcript."""
        telling = [one for one in test.trials if one.outcome is not Outcome.PASSED]
        if test.outcome is Outcome.PASSED or trial not in telling[:_TRIALS]:
            return ()
        return tuple(read_moments(self.directory.path / "trials" / trial.id / "events.jsonl"))


def read_moments(events: Path) -> Iterator[Moment]:
    """At most two: the calls of the main conversation, and the end of the final text."""
    reader = ToolCallReader()
    calls: list[ToolCall] = []
    ended: dict[str, bool] = {}
    final: str | None = None
    made = 0
    try:
        with events.open("rb") as file:
            for event in iter_events(file, brief=True):
                if event.kind == "assistant":
                    found = [call for call in reader.calls(event) if call.parent is None]
                    made += len(found)
                    calls += found[: _CALLS - len(calls)]
                elif event.kind == "user":
                    ended.update((result.id, result.is_error) for result in reader.results(event))
                elif event.kind == "result":
                    final = as_str(event.data.get("result"))
    except OSError:
        return
    if made:
        more = f"; and {made - len(calls)} more" if made > len(calls) else ""
        yield Moment("did", "; ".join(_told(call, ended.get(call.id)) for call in calls) + more)
    else:
        yield Moment("did", "no tool call was seen")
    if final is not None and (said := final.strip()):
        cut = len(said) > _TEXT
        yield Moment(
            "said last" if cut else "said", ("…" if cut else "") + safe(" ".join(said[-_TEXT:].split()))
        )


def _told(call: ToolCall, failed: bool | None) -> str:
    state = {True: " (error)", False: "", None: " (no result)"}[failed]
    title = safe(call_title(call.name, call.input), _TITLE)
    return f"{title}{state}"
