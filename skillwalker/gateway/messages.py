"""The vocabulary of the Messages API: events, errors, and the message that events add up to."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field

from skillwalker.errors import SkillwalkerError

Event = Mapping[str, Any]
"""One server-sent event as its JSON object; `type` names it. A whole message (`"type": "message"`), which
answers a request without `stream`, counts as one event that has all in it."""

ERROR_TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""The type that the API gives with a status."""

CASSETTE_MISS = "cassette_miss"
OVER_BUDGET = "over_budget"

_COMPACT = json.JSONEncoder(separators=(",", ":"))  # made once: that costs as much as a small event
_NO_RETRY = {"x-should-retry": "false"}
_POINTLESS_TO_RETRY = frozenset({401, 403, 404})


class ApiError(SkillwalkerError):
    """An error as the API answers it; it is sent to the client, not shown by the command line."""

    def __init__(
        self, status: int, type: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, type, message, headers)
        self.status, self.type, self.message = status, type, message
        retry = _NO_RETRY if status in _POINTLESS_TO_RETRY else {}
        self.headers: Mapping[str, str] = {**retry, **(headers or {})}

    def __str__(self) -> str:
        return f"{self.status} {self.type}: {self.message}"

    @property
    def body(self) -> Event:
        """Also what the API sends as an event when an answer fails in mid-stream."""
        return {"type": "error", "error": {"type": self.type, "message": self.message}}


class LostError(ApiError):
    """The request had gone out, and nothing tells what the model made of it: it may have cost something."""


def cassette_miss(message: str) -> ApiError:
    """Nothing is scripted or recorded for a request.

    409, because Claude Code 2.1.332 gives up on it after one request; it sends a 400 or 422 six times.
    """
    return ApiError(409, CASSETTE_MISS, message, _NO_RETRY)


def over_budget(message: str) -> ApiError:
    """No new turn may start; 409 for the same reason as a `cassette_miss`."""
    return ApiError(409, OVER_BUDGET, message, _NO_RETRY)


def encode_json(value: Any) -> bytes:
    """Compact and pure ASCII, so that a lone surrogate of a model survives."""
    return _COMPACT.encode(value).encode("ascii")


def encode_event(event: Event) -> bytes:
    """The event as it goes over the wire."""
    return b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode("ascii", "replace"), encode_json(event))


def message_events(
    *,
    id: str,
    model: str,
    content: Sequence[Mapping[str, Any]],
    stop_reason: str,
    usage: Mapping[str, int],
) -> Iterator[Event]:
    """The events of a whole answer; a tool_use block without an `id` gets one made from the message's."""
    blocks = []
    for index, block in enumerate(content):
        nameless = block["type"] == "tool_use" and "id" not in block
        made = {"id": f"toolu_{id.removeprefix('msg_')}{index:02d}"} if nameless else {}
        blocks.append({**block, **made})
    message = {"type": "message", "role": "assistant", "id": id, "model": model, "content": blocks}
    return events_of({**message, "stop_reason": stop_reason, "stop_sequence": None, "usage": usage})


def events_of(message: Mapping[str, Any]) -> Iterator[Event]:
    """The events that add up to a message."""
    usage = dict(message.get("usage") or {})
    end = {key: usage[key] for key in ("output_tokens",) if isinstance(usage.get(key), int)}
    start = {key: min(1, number) for key, number in end.items()}
    empty: dict[str, Any] = {
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, **start},
    }
    yield {"type": "message_start", "message": {**message, **empty}}
    for index, block in enumerate(message["content"]):
        opened, deltas = _opened(block)
        yield {"type": "content_block_start", "index": index, "content_block": opened}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stopped = {key: message.get(key) for key in ("stop_reason", "stop_sequence")}
    yield {"type": "message_delta", "delta": stopped, "usage": end}
    yield {"type": "message_stop"}


def _opened(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The block as it starts, and the deltas that fill it; one of an unknown type starts whole."""
    match block:
        case {"type": "text", "text": text}:
            told = block.get("citations") or []
            citations = [{"type": "citations_delta", "citation": one} for one in told]
            rest = {key: value for key, value in block.items() if key != "citations" or not told}
            return {**rest, "text": ""}, [{"type": "text_delta", "text": text}, *citations]
        case {"type": "thinking", "thinking": text}:
            signature = block.get("signature", "cmVoZWFyc2Vk")
            return {**block, "thinking": "", "signature": ""}, [
                {"type": "thinking_delta", "thinking": text},
                {"type": "signature_delta", "signature": signature},
            ]
        case {"type": "tool_use" | "server_tool_use" | "mcp_tool_use", "input": given}:
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(given)}]
    return dict(block), []


@define
class Aggregate:
    """The message that events add up to, at any time of the stream.

    Attributes:
        complete: Whether the last event has come.
    """

    complete: bool = False
    _message: dict[str, Any] = field(factory=dict)
    _blocks: dict[int, dict[str, Any]] = field(factory=dict)
    _parts: dict[int, dict[str, list[str]]] = field(factory=dict)  # of each block, by the key in its deltas

    def add(self, event: Event) -> None:
        """Takes one event; kinds that are not known (such as `ping`) change nothing."""
        index = event.get("index")
        match event.get("type"):
            case "message_start":
                self._message = dict(_object(event, "message"))
                self._message["usage"] = dict(_object(self._message, "usage"))
            case "content_block_start" if isinstance(index, int):
                self._blocks[index] = dict(_object(event, "content_block"))
                self._parts[index] = {}
            case "content_block_delta" if index in self._blocks:
                self._add_delta(self._blocks[index], self._parts[index], _object(event, "delta"))
            case "message_delta":
                self._message.update(_object(event, "delta"))
                self._add_usage(_object(event, "usage"))
            case "message_stop":
                self.complete = True
            case "message":
                self._message = dict(event)
                blocks = event.get("content")
                self._blocks = dict(enumerate(blocks if isinstance(blocks, list) else ()))
                self._parts = {index: {} for index in self._blocks}
                self.complete = True

    def _add_usage(self, told: Mapping[str, Any]) -> None:
        """Its counts are of the whole answer; null, or 0 where there was a number, tells nothing new."""
        usage = self._message.setdefault("usage", {})
        usage.update({key: value for key, value in told.items() if value or usage.get(key) is None})

    @staticmethod
    def _add_delta(block: dict[str, Any], parts: dict[str, list[str]], delta: Mapping[str, Any]) -> None:
        match delta:
            case {"signature": signature}:
                block["signature"] = signature
            case {"citation": citation}:
                block["citations"] = [*(block.get("citations") or ()), citation]
            case _:  # text, thinking, partial_json, and what is not known yet
                for key, value in delta.items():
                    if key != "type" and isinstance(value, str):
                        parts.setdefault(key, []).append(value)

    @property
    def id(self) -> str | None:
        return self._message.get("id")

    @property
    def model(self) -> str | None:
        return self._message.get("model")

    @property
    def stop_reason(self) -> str | None:
        return self._message.get("stop_reason")

    @property
    def usage(self) -> Mapping[str, Any]:
        return self._message.get("usage") or {}

    @property
    def tool_uses(self) -> list[Mapping[str, Any]]:
        """The tool_use blocks so far, each with `id`, `name` and as much of `input` as can be read."""
        return [block for block in self._content() if block.get("type") == "tool_use"]

    @property
    def texts(self) -> list[str]:
        """The text blocks so far, and all of them as one."""
        found = [str(block.get("text", "")) for block in self._content() if block.get("type") == "text"]
        return found if len(found) < 2 else [*found, "".join(found), "\n".join(found), "\n\n".join(found)]

    def block(self, index: int) -> Mapping[str, Any]:
        """One content block so far; {} where it has not begun."""
        if index not in self._blocks:
            return {}
        parts = {key: "".join(found) for key, found in self._parts[index].items()}
        return _closed(self._blocks[index], parts)

    @property
    def message(self) -> Mapping[str, Any]:
        """What a request without `stream` is answered with."""
        return {**self._message, "content": self._content()}

    def _content(self) -> list[dict[str, Any]]:
        return [dict(self.block(index)) for index in sorted(self._blocks)]


def _object(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = holder.get(key)
    return value if isinstance(value, Mapping) else {}


def _closed(block: dict[str, Any], parts: Mapping[str, str]) -> dict[str, Any]:
    closed = dict(block)
    for key, text in parts.items():
        if key != "partial_json":
            before = block.get(key)
            closed[key] = (before if isinstance(before, str) else "") + text
        elif text:
            with contextlib.suppress(ValueError):  # cut off in mid-stream
                closed["input"] = json.loads(text)
    return closed
