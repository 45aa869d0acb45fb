"""A model behind a server of the tests' own, which answers by what stands in the prompt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from upstream_support import USAGE, Answer, Asked, Server, refuses, says, sse_bytes, streams

from skillwalker.gateway.conversations import first_texts, messages_of
from skillwalker.gateway.messages import message_events
from skillwalker.judging import answer_text, asked_ids

Turns = Sequence[Any]


class Model(Server):
    """`scripts` are keyed by a word of the prompt; each is a list of turns, a list of blocks or a text each.

    Attributes:
        pending: Errors that the next requests get instead, each `(status, type, headers)`.
    """

    def __init__(self, scripts: Mapping[str, Turns], **more: Any) -> None:
        super().__init__(**more)
        self._scripts = scripts
        self.pending: list[tuple[int, str, dict[str, str]]] = []

    def takes(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            number = len(self.asked)
            if asked.method == "POST" and self.pending:
                status, type_, headers = self.pending.pop(0)
                return refuses(status, type_, "as the test wants it", **headers)
        if asked.method != "POST":
            return says(200, {})
        request = asked.json
        events = list(
            message_events(
                id=f"msg_{number:08d}",
                model=request["model"],
                content=(content := self._content(request)),
                stop_reason="tool_use" if any(one["type"] == "tool_use" for one in content) else "end_turn",
                usage=USAGE,
            )
        )
        if request.get("stream"):
            return streams(sse_bytes(events[:3]), sse_bytes(events[3:]))
        message = {**events[0]["message"], "content": content, "stop_reason": "end_turn", "usage": USAGE}
        return says(200, message)

    def _content(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        if ids := asked_ids(request):
            return [{"type": "text", "text": answer_text([(one, True, "seen") for one in ids])}]
        for tool in request.get("tools", ()):
            if tool.get("name") == "StructuredOutput":
                items = tool["input_schema"]["properties"]["criteria"]["items"]
                answer = answer_text([(one, True, "seen") for one in items["properties"]["id"]["enum"]])
                return [{"type": "tool_use", "name": "StructuredOutput", "input": json.loads(answer)}]
        said = " ".join(first_texts(request))
        turns = next((turns for word, turns in self._scripts.items() if word in said), ["done"])
        turn = sum(message.get("role") == "assistant" for message in messages_of(request))
        content = turns[min(turn, len(turns) - 1)]
        return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def uses(name: str, **given: Any) -> list[dict[str, Any]]:
    """A turn that calls a tool."""
    return [{"type": "tool_use", "name": name, "input": given}]
