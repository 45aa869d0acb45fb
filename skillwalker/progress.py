"""What a trial is doing right now, in a few words, from the lines of its stream as they come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import define, field

from skillwalker.agent_uses import AGENT_TOOLS
from skillwalker.events import Event, as_dict, as_str, parse_line
from skillwalker.names import Names
from skillwalker.text import safe
from skillwalker.tool_calls import ToolCall, ToolCallReader, blocks

_LIMIT = 80  # characters
_WAITING = "waiting for the model"
# What says most of a tool's input, in this order.
_TELLING = ("command", "file_path", "path", "pattern", "query", "url", "skill", "description")
_NO_NAMES = Names()


@define
class Progress:
    """The live view of one stream. Lines that say nothing new are answered with None."""

    names: Names = _NO_NAMES
    _tools: ToolCallReader = field(factory=ToolCallReader, init=False)
    _open: dict[str, str] = field(factory=dict, init=False)  # tool call -> its text
    _agents: dict[str, str] = field(factory=dict, init=False)  # call of an agent or fork -> its name
    _shown: str | None = field(default=None, init=False)
    _tasks: set[str] = field(factory=set, init=False)  # agents and forks at work
    _result: bool = field(default=False, init=False)

    @property
    def ended(self) -> bool:
        """Whether a result has come and nothing goes on that could bring another one."""
        return self._result and not self._tasks

    @property
    def open_tools(self) -> int:
        """Tool calls that have no result yet; while there are any, silence is no stall."""
        return len(self._open)

    def feed(self, line: bytes) -> str | None:
        """Takes the next line; what is happening now if that has changed."""
        event = parse_line(line, brief=True)
        text = self._text(event)
        if text is None or text == self._shown:
            return None
        self._shown = text
        return text

    def _text(self, event: Event) -> str | None:
        self._follow(event)
        match event.kind:
            case "assistant":
                return self._assistant(event)
            case "user":
                for result in self._tools.results(event):
                    self._open.pop(result.id, None)
                return self._last_open() or _WAITING
            case "system/init":
                return self._last_open() or _WAITING
            case "system/api_retry":
                data = event.data
                attempt, of, why = (data.get(key) for key in ("attempt", "max_retries", "error_status"))
                return _short(f"retry {attempt} of {of} ({why})")
            case "result":
                self._open.clear()
                return "done"
        return None

    def _follow(self, event: Event) -> None:
        """Keeps account of what still works."""
        match event.kind:
            case "result":
                self._result = True
            case "assistant" | "system/init":
                self._result = False
            case "system/task_started" if event.data.get("subagent_type"):
                self._tasks.add(str(event.data.get("task_id")))
            case "system/task_notification":
                self._tasks.discard(str(event.data.get("task_id")))

    def _last_open(self) -> str | None:
        return next(reversed(self._open.values()), None)

    def _assistant(self, event: Event) -> str | None:
        where = self._agents.get(event.parent or "")
        text = None
        for call in self._tools.calls(event):
            text = self._open[call.id] = _short(
                f"{where} > {self._call(call)}" if where else self._call(call)
            )
        if text is None and any(block.get("type") in ("text", "thinking") for block in blocks(event)):
            text = f"{where} > writing" if where else "writing"
        return text

    def _call(self, call: ToolCall) -> str:
        if call.name == "Skill":
            name = self.names.skill(as_str(call.input.get("skill")) or "?")
            self._agents[call.id] = name
            return f"Skill {name}"
        if call.name in AGENT_TOOLS:
            name = self.names.agent(as_str(call.input.get("subagent_type")) or "?")
            self._agents[call.id] = name
            return f"Agent {name}"
        return f"{call.name}: {told}" if (told := _told(call.input)) else call.name


def _told(tool_input: Mapping[str, Any]) -> str:
    given = as_dict(tool_input)
    return next((text for key in _TELLING if (text := as_str(given.get(key)))), "")


def _short(text: str) -> str:
    return safe(" ".join(text[: 4 * _LIMIT].split()), _LIMIT)
