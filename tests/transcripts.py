"""Builds streams as Claude Code prints them, an event a line."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

from skillwalker.names import Names
from skillwalker.transcript import Transcript

NAMES = Names(
    skills={
        "acme:tidy-csv": "acme:tidy-csv",
        "acme:tidy": "acme:tidy-csv",
        "tidy": "acme:tidy-csv",
        "acme:report": "acme:report",
        "report": "acme:report",
        "other:shared": "other:shared",
        "acme:shared": "acme:shared",
    },
    agents={"acme:auditor": "acme:auditor", "acme:writer": "acme:writer"},
    directories={
        "acme/skills/tidy-csv": "acme:tidy-csv",
        "acme/skills/report": "acme:report",
        "acme/skills/shared": "acme:shared",
        "other/skills/shared": "other:shared",
    },
    ambiguous={"shared": ("acme:shared", "other:shared")},
)

_ids = count(1)


def init(**more: Any) -> dict[str, Any]:
    return {
        "type": "system",
        "subtype": "init",
        "claude_code_version": "2.1.332",
        "model": "claude-sonnet-5-5",
        "tools": ["Task", "Bash", "Skill"],
        "mcp_servers": [],
        "agents": ["acme:auditor"],
        "skills": ["acme:tidy-csv"],
        "plugins": [{"name": "acme", "path": "/plugins/acme", "source": "acme@inline"}],
        **more,
    }


def message(*blocks: dict[str, Any], parent: str | None = None, **more: Any) -> dict[str, Any]:
    """An assistant event; `id` and `model` of the message can be given."""
    return {
        "type": "assistant",
        "message": {
            "id": more.pop("id", f"msg_{next(_ids)}"),
            "model": more.pop("model", "claude-sonnet-5-5"),
            "content": list(blocks),
            "usage": {"input_tokens": 100, "output_tokens": 1},
        },
        "parent_tool_use_id": parent,
        **more,
    }


def says(text: str, parent: str | None = None, **more: Any) -> dict[str, Any]:
    return message({"type": "text", "text": text}, parent=parent, **more)


def calls(call: str, tool: str, parent: str | None = None, **tool_input: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call, "name": tool, "input": tool_input}
    return message(block, parent=parent)


def answers(
    call: str, text: str = "done", extra: Any = None, *, parent: str | None = None, error: bool = False
) -> dict[str, Any]:
    block = {
        "type": "tool_result",
        "tool_use_id": call,
        "content": text,
        **({"is_error": True} if error else {}),
    }
    beside = {} if extra is None else {"tool_use_result": extra}
    return {"type": "user", "message": {"content": [block]}, "parent_tool_use_id": parent, **beside}


def loads(call: str, command: str, parent: str | None = None) -> dict[str, Any]:
    """The result of a Skill call that worked; Claude Code repeats the name that was used."""
    return answers(
        call, f"Launching skill: {command}", {"success": True, "commandName": command}, parent=parent
    )


def body(directory: str, parent: str | None = None, *, synthetic: bool = True) -> dict[str, Any]:
    text = f"Base directory for this skill: {directory}\n\n# The skill"
    return added(text, parent) if synthetic else told(text, parent)


def told(text: str, parent: str | None = None, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"type": "user", "message": {"content": content}, "parent_tool_use_id": parent, **more}


def added(text: str, parent: str | None = None) -> dict[str, Any]:
    return told(text, parent, isSynthetic=True)


def replays(text: str) -> dict[str, Any]:
    return {"type": "user", "message": {"content": text}, "parent_tool_use_id": None, "isReplay": True}


def command(name: str, args: str = "") -> str:
    """A slash command as Claude Code replays it."""
    return (
        f"<command-message>{name}</command-message>\n<command-name>/{name}</command-name>\n"
        f"<command-args>{args}</command-args>"
    )


def system(subtype: str, **data: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": subtype, **data}


def starts(task: str, call: str | None, agent: str, **more: Any) -> dict[str, Any]:
    """A task of an agent, as version 2.1.332 tells it."""
    by = {} if call is None else {"tool_use_id": call}
    return system("task_started", task_id=task, subagent_type=agent, spawn_depth=1, **by, **more)


def ends(task: str, call: str | None, status: str = "completed", summary: str = "report") -> dict[str, Any]:
    by = {} if call is None else {"tool_use_id": call}
    return system("task_notification", task_id=task, status=status, summary=summary, **by)


def result(text: str | None = "fine", **more: Any) -> dict[str, Any]:
    said = {} if text is None else {"result": text}
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "terminal_reason": "completed",
        "num_turns": 1,
        "total_cost_usd": 0.01,
        "usage": {"input_tokens": 100, "output_tokens": 40},
        "modelUsage": {"claude-sonnet-5-5": model_usage(100, 40)},
        **said,
        **more,
    }


def model_usage(input_tokens: int, output_tokens: int) -> dict[str, int]:
    return {
        "inputTokens": input_tokens,
        "outputTokens": output_tokens,
        "cacheReadInputTokens": 7,
        "cacheCreationInputTokens": 3,
    }


def as_line(event: dict[str, Any] | bytes) -> bytes:
    if isinstance(event, bytes):
        return event
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def write(path: Path, *events: dict[str, Any] | bytes) -> Path:
    path.write_bytes(b"".join(map(as_line, events)))
    return path


class Reader:
    """Writes events to a file and reads them as a transcript."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "events.jsonl"

    def __call__(self, *events: dict[str, Any] | bytes, prompt: str | None = None) -> Transcript:
        return Transcript.read(write(self.path, *events), NAMES, prompt)
