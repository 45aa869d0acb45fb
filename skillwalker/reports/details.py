"""What the trials of a test did, as text: verdicts with details, then the transcript, calls folded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from skillwalker.events import Event, as_str
from skillwalker.gateway.spending import Spend
from skillwalker.outcomes import Outcome
from skillwalker.records import REAL
from skillwalker.reports.console import Paint, banner, never_ran, plain, verdict_message
from skillwalker.reports.saved import Scaffold, scaffold_of, work_directory
from skillwalker.results import RunResult, TestResult, TrialResult
from skillwalker.store import RunDirectory
from skillwalker.text import count, safe
from skillwalker.tool_calls import blocks, text_of
from skillwalker.transcript import Transcript

# Of one text, tool input or result.
_CHARACTERS = 2000
_LINES = 20


def test_details(run: RunResult, directory: RunDirectory, root: Path, paint: Paint = plain) -> Iterator[str]:
    """Line by line; reads the stored streams as it goes.

    Args:
        root: Where the run's evals are; their scaffolds tell what is new in a saved work directory.
    """
    note = banner(run.model_source)
    if note:
        yield paint(note, "bold")
    for test in run.tests:
        not_run = never_ran(run, test)
        said = "not run" if not_run else str(test.outcome)
        yield paint(f"{safe(test.eval)}::{safe(test.name)}", "bold") + f"  {said}"
        if not test.trials and not not_run:
            yield "  no trial ran to its end"
        scaffold = scaffold_of(test, directory, root) if test.trials else None
        for trial in test.trials:
            yield from _trial(run, test, trial, paint)
            yield from _stored(directory.path / "trials" / trial.id, scaffold, paint)
    if note:
        yield paint(note, "bold")


test_details.__test__ = False  # type: ignore[attr-defined]


def _trial(run: RunResult, test: TestResult, trial: TrialResult, paint: Paint) -> Iterator[str]:
    took = "" if trial.duration_ms is None else f", {trial.duration_ms / 1000:.1f} s"
    turns = "" if trial.turns is None else f", {count(trial.turns, 'turn')}"
    yield f"  trial {trial.index}: {trial.outcome}{took}{turns}"
    if run.model_source in REAL:
        yield from map(_spent, trial.spent)
    if trial.reason:
        yield paint(f"    {trial.reason}: {safe(trial.message)}", "yellow")
        if test.outcome is not Outcome.PASSED:
            yield f"    -> {trial.advice}"
    for one in trial.judged:
        message = verdict_message(one, rehearsed=run.model_source == "rehearsal")
        yield f"    {one.verdict.outcome}: {safe(one.type)}: {safe(message)}"
        for detail in one.verdict.details:
            yield f"      - {detail.outcome}: {safe(detail.name)}: {safe(detail.message)}"
    for text in trial.notes:
        yield f"    note: {safe(text)}"


def _spent(one: Spend) -> str:
    """Who asked which model, and what that came to."""
    tokens = one.tokens
    parts = (tokens.input_tokens, tokens.cache_read_input_tokens, tokens.cache_creation_input_tokens)
    read = None if None in parts else sum(part or 0 for part in parts)
    told = [
        count(one.answers, "answer"),
        *([] if read is None else [f"{read:,} tokens in"]),
        *([] if tokens.output_tokens is None else [f"{tokens.output_tokens:,} out"]),
        "cost unknown" if one.cost_usd is None else f"{one.cost_usd:.4f} USD",
    ]
    return f"    {safe(one.conversation)} with {safe(one.model)}: {', '.join(told)}"


def _stored(folder: Path, scaffold: Scaffold | None, paint: Paint) -> Iterator[str]:
    saved = folder / "workspace.tar"
    if saved.exists():
        yield paint(f"    work directory ({safe(str(saved))})", "dim")
        for line in work_directory(saved, scaffold):
            yield f"      {line}"
    events = folder / "events.jsonl"
    if not events.exists():
        yield "    no transcript"
        return
    yield paint(f"    transcript ({safe(str(events))})", "dim")
    for event in Transcript(events).events():
        for line in event_lines(event):
            yield f"    {line}"


def event_lines(event: Event) -> Iterator[str]:
    """What a person should see of an event; no line can be read as a command of a CI's runner."""
    depth = "  | " if event.parent else "  "
    if event.kind == "system/init":
        version, model = (safe(str(event.data.get(key))) for key in ("claude_code_version", "model"))
        yield f"{depth}[{version} with {model}]"
    elif event.kind == "result":
        text = as_str(event.data.get("result"))
        yield from _told(depth, f"result ({safe(str(event.data.get('subtype')))})", text or "")
    elif event.kind in ("assistant", "user"):
        for block in blocks(event):
            yield from _block(depth, event.kind, block)


def _block(depth: str, kind: str, block: Mapping[str, Any]) -> Iterator[str]:
    match block.get("type"):
        case "text":
            speaker = "model" if kind == "assistant" else "given"
            yield from _told(depth, speaker, as_str(block.get("text")) or "")
        case "tool_use":
            given = json.dumps(block.get("input"), ensure_ascii=False)
            yield from _told(depth, f"call {safe(str(block.get('name')))}", given)
        case "tool_result":
            failed = " (error)" if block.get("is_error") is True else ""
            yield from _told(depth, f"result{failed}", text_of(block.get("content")))


def _told(depth: str, what: str, text: str) -> Iterator[str]:
    """A line, or a heading with marked lines; nobody's text stands where only ours does.

    A mark and not only space: GitHub's runner takes an indented `::error::` for a command.
    """
    text = text.replace("\r\n", "\n").strip("\n")
    kept = "\n".join(text[:_CHARACTERS].split("\n")[:_LINES])
    lines = safe(kept, lines=True).split("\n")
    if len(lines) == 1:
        yield f"{depth}{what}: {lines[0]}"
    else:
        yield f"{depth}{what}:"
        yield from (f"{depth}    | {line}" for line in lines)
    if more := len(text) - len(kept):
        yield f"{depth}    … {count(more, 'more character')} in events.jsonl"
