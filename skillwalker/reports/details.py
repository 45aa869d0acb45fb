"""What the trials of a test did, as text: verdicts with details, then the transcript, calls folded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from skillwalker.events import Event, as_dict, as_list, as_str
from skillwalker.reports.console import Paint, banner, plain
from skillwalker.results import RunResult, TrialResult
from skillwalker.store import RunDirectory
from skillwalker.text import safe
from skillwalker.transcript import Transcript

_SHOWN = 300  # characters of one tool input or result


def test_details(run: RunResult, directory: RunDirectory, paint: Paint = plain) -> Iterator[str]:
    """Line by line; reads the stored streams as it goes."""
    note = banner(run.model_source)
    if note:
        yield paint(note, "bold")
    for test in run.tests:
        yield paint(f"{safe(test.eval)}::{safe(test.name)}", "bold") + f"  {test.outcome}"
        if not test.trials:
            yield "  no trial ran to its end"
        for trial in test.trials:
            yield from _trial(trial, directory, paint)
    if note:
        yield paint(note, "bold")


test_details.__test__ = False  # type: ignore[attr-defined]


def _trial(trial: TrialResult, directory: RunDirectory, paint: Paint) -> Iterator[str]:
    took = "" if trial.duration_ms is None else f", {trial.duration_ms / 1000:.1f} s"
    turns = "" if trial.turns is None else f", {trial.turns} turns"
    yield f"  trial {trial.index}: {trial.outcome}{took}{turns}"
    if trial.reason:
        yield paint(f"    {trial.reason}: {safe(trial.message)}", "yellow")
        yield f"    -> {trial.reason.advice}"
    for one in trial.judged:
        yield f"    {one.verdict.outcome}: {safe(one.type)}: {safe(one.verdict.message)}"
        for detail in one.verdict.details:
            yield f"      - {detail.outcome}: {safe(detail.name)}: {safe(detail.message)}"
    for text in trial.notes:
        yield f"    note: {safe(text)}"
    folder = directory.path / "trials" / trial.id
    events = folder / "events.jsonl"
    if not events.exists():
        yield "    no transcript"
        return
    yield paint(f"    transcript ({events})", "dim")
    for event in Transcript.read(events).events():
        for line in _event(event):
            yield f"    {line}"


def _event(event: Event) -> Iterator[str]:
    depth = "  | " if event.parent else "  "
    if event.kind == "system/init":
        version, model = (safe(str(event.data.get(key))) for key in ("claude_code_version", "model"))
        yield f"{depth}[{version} with {model}]"
    elif event.kind == "result":
        text = as_str(event.data.get("result"))
        yield f"{depth}result ({safe(str(event.data.get('subtype')))}): {_short(text or '')}"
    elif event.kind in ("assistant", "user"):
        content = as_dict(event.data.get("message")).get("content")
        blocks = as_list(content) if isinstance(content, list) else [{"type": "text", "text": content}]
        for block in map(as_dict, blocks):
            yield from (f"{depth}{line}" for line in _block(event.kind, block))


def _block(kind: str, block: Mapping[str, Any]) -> Iterator[str]:
    match block.get("type"):
        case "text":
            speaker = "model" if kind == "assistant" else "given"
            yield f"{speaker}: {_short(as_str(block.get('text')) or '')}"
        case "tool_use":
            yield f"call {safe(str(block.get('name')))}: {_short(str(block.get('input')))}"
        case "tool_result":
            failed = " (error)" if block.get("is_error") is True else ""
            yield f"result{failed}: {_short(_text(block.get('content')))}"


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    return " ".join(as_str(as_dict(part).get("text")) or "" for part in as_list(content))


def _short(text: str) -> str:
    return safe(text, _SHOWN)
