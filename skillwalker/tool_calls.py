"""Tool calls and their results, as they lie in the messages of a stream."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import evolve, field, frozen

from skillwalker.events import Event, as_dict, as_list, as_str
from skillwalker.text import count, listed

RESULT_LIMIT = 4000
"""Characters that are kept of a tool's result."""

_SHOWN_FAILURES = 5
_MISSING_KEPT = 50

_NOT_FOUND_BY_BASH = re.compile(
    r"^/(?:usr/)?bin/(?:ba|z|da)?sh: (?:eval: )?line \d+: ([^\s:]{1,100}): command not found$", re.MULTILINE
)
_NOT_FOUND = re.compile(
    r"^[^\n:]{1,300}: (?:eval: )?(?:line )?\d+: ([^\s:]{1,100}): (?:command )?not found$", re.MULTILINE
)
_NOT_FOUND_BY_ENV = re.compile(
    r"^[^\n:]{0,300}env: ['\u2018]([^\s:'\u2019]{1,100})['\u2019]: No such file or directory$", re.MULTILINE
)


@frozen
class ToolCall:
    """One call of a tool, with what came back.

    Attributes:
        input: What the model passed; `{"__unparsedToolInput": ...}` where that was no JSON.
        parent: Id of the call in whose sub-agent or fork it happened; None: in the main conversation.
        position: n-th call of the stream, from 1, at any depth.
        is_error: None where no result was seen.
        result: The text that came back, cut at 4,000 characters; None where no result was seen.
    """

    id: str
    name: str
    input: Mapping[str, Any] = field(repr=False)
    parent: str | None
    position: int
    is_error: bool | None = None
    result: str | None = field(default=None, repr=False)


@frozen
class ToolResult:
    """What came back from a call.

    Attributes:
        extra: What Claude Code tells beside it, its `tool_use_result`: an object, a text or nothing.
    """

    id: str
    parent: str | None
    is_error: bool
    text: str
    extra: Mapping[str, Any] | str | None


def blocks(event: Event) -> Iterator[Mapping[str, Any]]:
    """The content blocks of a message; a plain text counts as one."""
    content = as_dict(event.data.get("message")).get("content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    for block in as_list(content):
        if isinstance(block, dict):
            yield block


def text_of(content: object, limit: int | None = None) -> str:
    """The text of a message's or result's content; other blocks as `[image]` and the like."""
    if isinstance(content, str):
        return content[:limit]
    parts = []
    for block in as_list(content):
        kind = as_dict(block).get("type")
        parts.append(as_str(block.get("text")) or "" if kind == "text" else f"[{kind}]" if kind else "")
    return "\n".join(parts)[:limit]


def any_known(values: Iterable[bool | None]) -> bool | None:
    """True if one is; else None, not known, if one is; else False."""
    seen = set(values)
    return True if True in seen else None if None in seen else False


class ToolCallReader:
    """Numbers the calls of a stream and tells results apart."""

    def __init__(self) -> None:
        self.ids: set[str] = set()

    def calls(self, event: Event) -> Iterator[ToolCall]:
        """The calls in an assistant event that were not there before."""
        for block in blocks(event):
            identity = as_str(block.get("id"))
            if block.get("type") != "tool_use" or identity is None or identity in self.ids:
                continue
            self.ids.add(identity)
            yield ToolCall(
                id=identity,
                name=as_str(block.get("name")) or "",
                input=as_dict(block.get("input")),
                parent=event.parent,
                position=len(self.ids),
            )

    def results(self, event: Event) -> Iterator[ToolResult]:
        """The results in a user event."""
        found = [block for block in blocks(event) if block.get("type") == "tool_result"]
        extra = event.data.get("tool_use_result") if len(found) == 1 else None  # it does not say whose it is
        told_error = isinstance(extra, str) and extra.startswith("Error:")
        for block in found:
            if (identity := as_str(block.get("tool_use_id"))) is not None:
                yield ToolResult(
                    id=identity,
                    parent=event.parent,
                    is_error=told_error or block.get("is_error") is True,
                    text=text_of(block.get("content"), RESULT_LIMIT),
                    extra=extra if isinstance(extra, dict | str) else None,
                )


def read_tool_calls(events: Iterable[Event]) -> Iterator[ToolCall]:
    """Every call in the order of the calls, as soon as its result and those of all before it are known."""
    reader = ToolCallReader()
    waiting: dict[str, ToolCall] = {}
    for event in events:
        if event.kind == "assistant":
            waiting.update((call.id, call) for call in reader.calls(event))
        elif event.kind == "user":
            for result in reader.results(event):
                if result.id in waiting:
                    waiting[result.id] = evolve(
                        waiting[result.id], is_error=result.is_error, result=result.text
                    )
            while waiting and (first := next(iter(waiting.values()))).is_error is not None:
                yield waiting.pop(first.id)
    yield from waiting.values()


def call_notes(calls: Iterable[ToolCall]) -> tuple[str, ...]:
    """Which calls failed, and which programs a shell did not find, for people; none where all went well."""
    made = 0
    failed: list[str] = []
    missing: dict[str, None] = {}
    for call in calls:
        made += 1
        if call.is_error:
            failed.append(f"call {call.position}, {call.name}")
        if call.name == "Bash" and len(missing) < _MISSING_KEPT:
            missing.update(dict.fromkeys(missing_programs(call)))
    notes = []
    if failed:
        shown = "; ".join(failed[:_SHOWN_FAILURES]) + ("; ..." if len(failed) > _SHOWN_FAILURES else "")
        notes.append(f"{len(failed)} of {count(made, 'tool call')} failed ({shown})")
    if missing:
        notes.append(f"programs that were called and are not there: {listed(missing)}")
    return tuple(notes)


def missing_programs(call: ToolCall) -> Iterator[str]:
    """Names that a shell did not find, as far as the kept part of the result tells.

    Where the call ended with 127, any shell's complaint counts; elsewhere only that of the shell which Claude
    Code itself started, for a text that merely quotes one proves nothing.
    """
    text = call.result or ""
    ended = call.is_error is True and text.startswith("Exit code 127")
    for pattern in (_NOT_FOUND, _NOT_FOUND_BY_ENV) if ended else (_NOT_FOUND_BY_BASH,):
        for match in pattern.finditer(text):
            if "/" not in match[1]:
                yield match[1]
