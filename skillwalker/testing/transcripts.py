"""The events of a trial, as Claude Code 2.1.332 writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field

_MODEL = "claude-sonnet-5-5"


@define
class TranscriptBuilder:
    """Collects the events of a trial; every method returns the builder.

    `parent` is the id of the tool call in whose sub-agent something happens (`last_call` after `agent`).
    """

    events: list[dict[str, Any]] = field(factory=list, init=False)
    last_call: str = field(default="", init=False)
    _last_text: str | None = field(default=None, init=False)

    def init(
        self,
        *,
        plugins: Mapping[str, str] | None = None,
        skills: Sequence[str] = (),
        agents: Sequence[str] = (),
    ) -> TranscriptBuilder:
        """The start of the session; `plugins` maps names to paths."""
        loaded = [
            {"name": name, "path": path, "source": f"{name}@inline"} for name, path in (plugins or {}).items()
        ]
        return self.event(
            {
                "type": "system",
                "subtype": "init",
                "cwd": "/workspace",
                "tools": ["Task", "Bash", "Edit", "Read", "Skill", "Write"],
                "mcp_servers": [],
                "model": _MODEL,
                "plugins": loaded,
                "skills": list(skills),
                "agents": list(agents),
                "claude_code_version": "2.1.332",
            }
        )

    def text(self, text: str, *, parent: str | None = None) -> TranscriptBuilder:
        """An answer of the model in text."""
        if parent is None:
            self._last_text = text
        return self._assistant({"type": "text", "text": text}, parent)

    def turns(self, number: int) -> TranscriptBuilder:
        """So many more answers of the model."""
        for count in range(1, number + 1):
            self.text(f"Step {count}.")
        return self

    def tool(
        self,
        name: str,
        input: Mapping[str, Any] | None = None,
        result: str | None = "",
        *,
        error: str | None = None,
        parent: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> TranscriptBuilder:
        """A tool call and what came back.

        Args:
            result: None where nothing comes back, as when the trial is stopped.
            error: What came back where the call failed; replaces `result`.
            extra: What Claude Code tells beside the result (`tool_use_result`).
        """
        self._call(name, input or {}, parent)
        return self._answered(result, error, parent, extra)

    def skill(
        self, name: str, *, refused: str | None = None, body: str = "Do it.", parent: str | None = None
    ) -> TranscriptBuilder:
        """A call of a skill, loaded or refused for the reason given."""
        extra = {"success": True, "commandName": name}
        self.tool(
            "Skill", {"skill": name}, f"Launching skill: {name}", error=refused, parent=parent, extra=extra
        )
        return (
            self
            if refused is not None
            else self._user({"type": "text", "text": body}, parent, isSynthetic=True)
        )

    def slash_command(self, skill: str, arguments: str = "") -> TranscriptBuilder:
        """The prompt `/skill arguments`, understood as a command; give `trial` that prompt."""
        said = f"<command-message>{skill}</command-message>\n<command-name>/{skill}</command-name>"
        if arguments:
            said += f"\n<command-args>{arguments}</command-args>"
        return self.event({"type": "user", "isReplay": True, "message": {"role": "user", "content": said}})

    def agent(
        self,
        name: str,
        *,
        report: str | None = "Done.",
        refused: str | None = None,
        failed: str | None = None,
        parent: str | None = None,
    ) -> TranscriptBuilder:
        """A sub-agent in the foreground.

        Args:
            report: What it answers; None where it never ends.
            refused: Why it was not started at all.
            failed: How it ended where it failed.
        """
        self._call("Agent", {"description": "a task", "prompt": "Do it.", "subagent_type": name}, parent)
        call, task = self.last_call, {"task_id": f"task_{self.last_call}", "tool_use_id": self.last_call}
        if refused is not None:
            return self._answered(None, refused, parent)
        started = {
            "subagent_type": name,
            "description": "a task",
            "spawn_depth": 1,
            "task_type": "local_agent",
        }
        self.event({"type": "system", "subtype": "task_started", **task, **started})
        if report is None:
            return self
        end = {"status": "failed" if failed is not None else "completed", "summary": failed or report}
        self.event({"type": "system", "subtype": "task_notification", **task, **end})
        self.last_call = call
        done = {"status": "completed", "agentType": name, "content": [{"type": "text", "text": report}]}
        return self._answered(report, failed, parent, done)

    def result(
        self,
        text: str | None = None,
        *,
        error: str | None = None,
        cost_usd: float | None = None,
        input_tokens: int = 10,
        output_tokens: int = 5,
        cache_read_tokens: int = 0,
        cache_creation_tokens: int = 0,
        duration_ms: int = 1000,
    ) -> TranscriptBuilder:
        """The end of the session.

        Args:
            text: The final text; that of the last answer if left out.
            error: What went wrong; the result is then an error.
            cost_usd: None where it is not known, as in a rehearsal.
        """
        usage = {
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
            "cache_read_input_tokens": cache_read_tokens,
            "cache_creation_input_tokens": cache_creation_tokens,
        }
        models = {
            _MODEL: {
                "inputTokens": input_tokens,
                "outputTokens": output_tokens,
                "cacheReadInputTokens": cache_read_tokens,
                "cacheCreationInputTokens": cache_creation_tokens,
                "costUSD": cost_usd,
            }
        }
        event: dict[str, Any] = {
            "type": "result",
            "subtype": "success",
            "is_error": error is not None,
            "result": error if error is not None else text if text is not None else self._last_text,
            "num_turns": sum(event["type"] == "assistant" for event in self.events),
            "duration_ms": duration_ms,
            "terminal_reason": "completed" if error is None else "api_error",
            "usage": usage,
            "modelUsage": models,
            "permission_denials": [],
        }
        if cost_usd is not None:
            event["total_cost_usd"] = cost_usd
        return self.event(event)

    def event(self, event: Mapping[str, Any]) -> TranscriptBuilder:
        """Any event, for what the other methods do not offer."""
        self.events.append(dict(event))
        return self

    def write(self, path: Path) -> Path:
        """Writes the events as a trial's `events.jsonl`."""
        path.write_text("".join(json.dumps(event) + "\n" for event in self.events), "utf-8")
        return path

    def _assistant(self, block: Mapping[str, Any], parent: str | None) -> TranscriptBuilder:
        message = {
            "id": f"msg_{len(self.events)}",
            "type": "message",
            "role": "assistant",
            "model": _MODEL,
            "content": [block],
            "stop_reason": None,
            "usage": {"input_tokens": 10, "output_tokens": 1},
        }
        return self.event({"type": "assistant", "message": message, "parent_tool_use_id": parent})

    def _call(self, name: str, input: Mapping[str, Any], parent: str | None) -> None:
        self.last_call = f"toolu_{len(self.events)}"
        block = {"type": "tool_use", "id": self.last_call, "name": name, "input": dict(input)}
        self._assistant(block, parent)

    def _answered(
        self,
        result: str | None,
        error: str | None,
        parent: str | None,
        extra: Mapping[str, Any] | None = None,
    ) -> TranscriptBuilder:
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": self.last_call, "content": result}
        if error is not None:
            block |= {"content": error, "is_error": True}
            return self._user(block, parent, tool_use_result=f"Error: {error}")
        if result is None:
            return self
        return self._user(block, parent, **({"tool_use_result": dict(extra)} if extra else {}))

    def _user(self, block: Mapping[str, Any], parent: str | None, **more: Any) -> TranscriptBuilder:
        message = {"role": "user", "content": [block]}
        return self.event({"type": "user", "message": message, "parent_tool_use_id": parent, **more})
