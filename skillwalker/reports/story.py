"""A trial's transcript as a person reads it: calls with their results, sub-agents nested in their calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from attrs import define, field

from skillwalker.events import Event, as_dict, as_str, iter_events
from skillwalker.reports.excerpt import Budget, Excerpt, Harmless
from skillwalker.text import safe
from skillwalker.tool_calls import blocks, text_of

_TEXT = 6_000  # characters of one text
_RESULT = 3_000  # of one tool result
_FINAL = 2_000  # of the final text, however long the rest was
_STEPS = 400
_DEPTH = 6
_TITLE = 160

NOTHING = Excerpt(Harmless(""))
Kind = Literal["start", "given", "model", "thinking", "call", "end", "stray"]


@define
class Step:
    """One thing that happened.

    Attributes:
        result: What came back from a call; None where that was not seen.
        failed: Whether the call failed; None where its result was not seen.
        steps: What happened inside, for a call that started a sub-agent or a fork.
    """

    kind: Kind
    title: str
    text: Excerpt = NOTHING
    result: Excerpt | None = None
    failed: bool | None = None
    steps: list[Step] = field(factory=list)


@define
class Story:
    """The steps of the main conversation.

    Attributes:
        left_out: Steps that are only in the file.
        problem: Why it could not be read to its end.
    """

    steps: list[Step] = field(factory=list)
    left_out: int = 0
    problem: str | None = None


def read_story(events: Path, budget: Budget) -> Story:
    """Reads a file of events once; of its texts only what `budget` has room for is held."""
    reader = _Reader(budget)
    try:
        with events.open("rb") as file:
            for event in iter_events(file, brief=True):
                reader.feed(event)
    except OSError as error:
        reader.story.problem = f"cannot be read: {error.strerror}"
    return reader.story


class _Reader:
    def __init__(self, budget: Budget) -> None:
        self.story = Story()
        self._budget = budget
        self._calls: dict[str, tuple[Step, int]] = {}
        self._count = 0
        self._last_said = ""

    def feed(self, event: Event) -> None:
        if event.problem:
            self._add(None, Step("stray", event.problem, self._excerpt(event.line)))
        elif event.kind == "system/init":
            version, model = (as_str(event.data.get(key)) for key in ("claude_code_version", "model"))
            title = f"Claude Code {version or '(unknown version)'} with {model or '(unknown model)'}"
            self._add(event.parent, Step("start", safe(title, _TITLE)))
        elif event.kind == "result":
            self._end(event)
        elif event.kind in ("assistant", "user"):
            for block in blocks(event):
                self._block(event, block)

    def _end(self, event: Event) -> None:
        text = as_str(event.data.get("result")) or ""
        subtype = as_str(event.data.get("subtype")) or "no subtype"
        same = text.strip() == self._last_said.strip()
        shown = NOTHING if same else self._budget.excerpt(text, _TEXT, at_least=_FINAL)
        self.story.steps.append(
            Step("end", safe(subtype, _TITLE), shown, failed=event.data.get("is_error") is True)
        )

    def _block(self, event: Event, block: Mapping[str, Any]) -> None:
        match block.get("type"):
            case "text":
                self._text(event, as_str(block.get("text")) or "")
            case "thinking":
                self._add(event.parent, Step("thinking", "", self._excerpt(as_str(block.get("thinking")))))
            case "tool_use":
                self._call(event, block)
            case "tool_result":
                self._result(block)

    def _text(self, event: Event, text: str) -> None:
        if event.kind == "assistant":
            if event.parent is None:
                self._last_said = text
            self._add(event.parent, Step("model", "", self._excerpt(text)))
        else:
            title = "prompt" if event.data.get("isReplay") is True else "given"
            self._add(event.parent, Step("given", title, self._excerpt(text)))

    def _call(self, event: Event, block: Mapping[str, Any]) -> None:
        identity = as_str(block.get("id")) or ""
        if identity in self._calls:
            return
        given = as_dict(block.get("input"))
        step = Step("call", call_title(as_str(block.get("name")) or "", given), self._excerpt(_shown(given)))
        depth = self._add(event.parent, step)
        self._calls[identity] = (step, depth)

    def _result(self, block: Mapping[str, Any]) -> None:
        known = self._calls.get(as_str(block.get("tool_use_id")) or "")
        if known is None:
            return
        step, _ = known
        step.failed = block.get("is_error") is True
        step.result = self._budget.excerpt(text_of(block.get("content")), _RESULT)

    def _add(self, parent: str | None, step: Step) -> int:
        """Puts a step where it belongs; returns how deep that is."""
        self._count += 1
        if self._count > _STEPS:
            self.story.left_out += 1
            return 0
        inside = self._calls.get(parent) if parent is not None else None
        if inside is None or inside[1] >= _DEPTH:
            self.story.steps.append(step)
            return 1
        inside[0].steps.append(step)
        return inside[1] + 1

    def _excerpt(self, text: str | None) -> Excerpt:
        return self._budget.excerpt(text or "", _TEXT)


def call_title(name: str, given: Mapping[str, Any]) -> str:
    """A call in a few words: `Bash ls -l`, `Skill acme:tidy-csv`; harmless to show."""
    for key in ("skill", "subagent_type", "command", "file_path", "pattern", "path", "url", "query"):
        if value := as_str(given.get(key)):
            return safe(f"{name} {value.strip()}", _TITLE)
    return safe(name, _TITLE)


def call_kind(name: str, given: Mapping[str, Any]) -> str:
    """What is counted as the same call: the tool, for a skill or an agent with its name; harmless to show."""
    whose = as_str(given.get("skill")) or as_str(given.get("subagent_type"))
    return safe(f"{name} {whose.strip()}" if whose else name, _TITLE)


def _shown(given: Mapping[str, Any]) -> str:
    """A call's input, a line per field; texts as they are, for a file's content reads better so."""
    return "\n".join(_fields(given))


def _fields(given: Mapping[str, Any]) -> Iterator[str]:
    for key, value in given.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield f"{key}:\n{text}" if "\n" in text else f"{key}: {text}"
