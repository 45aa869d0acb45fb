"""Bytes to lines to events, as Claude Code prints them with `--output-format stream-json`.

Nothing here raises over what a line holds, and no line is lost: one that is no event comes out as an `Event`
that says so. Strings in events can always be written as UTF-8.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from attrs import field, frozen

_LARGE = 4 * 2**20  # bytes; below it a whole line costs less memory than it is worth to save
_STRING_LIMIT = 64 * 2**10  # bytes; what is kept of a string in a large line
_SHOWN = 200  # characters; what is kept of a line that is no event

_DECODER = json.JSONDecoder(strict=False)
_BACKSLASH = ord("\\")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_WHOLE_ESCAPES = re.compile(rb'"[^"\\]*+(?:\\(?:u[0-9a-fA-F]{4}|[^u])[^"\\]*+)*+', re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?|u[dD][c-fC-F][0-9a-fA-F]{2}|.)",
    re.DOTALL,
)


@frozen
class Event:
    """One line of a stream.

    Attributes:
        kind: Its `type`, with the subtype for system events, such as `assistant` or `system/init`; empty
            where the line is no event.
        data: The JSON object; empty where the line is no event.
        offset: Where the line begins in its file, in bytes.
        problem: Why the line is no event, such as `not JSON`; None where it is one.
        line: The first 200 characters of a line that is no event.
    """

    kind: str
    data: Mapping[str, Any] = field(factory=dict, repr=False)
    offset: int = 0
    problem: str | None = None
    line: str = ""

    @property
    def parent(self) -> str | None:
        """Id of the tool call in whose sub-agent or fork it happened; None: in the main conversation."""
        return as_str(self.data.get("parent_tool_use_id"))


def iter_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines without their `\\n`, however the bytes were cut; also a last one that has none."""
    rest = bytearray()
    for chunk in chunks:
        head, newline, tail = chunk.partition(b"\n")
        rest += head
        if not newline:
            continue
        yield bytes(rest)
        *lines, last = tail.split(b"\n")
        yield from lines
        rest = bytearray(last)
    if rest:
        yield bytes(rest)


def iter_events(file: BinaryIO, *, brief: bool = False) -> Iterator[Event]:
    """All events of a file, and its lines that are none; blank lines are neither.

    Args:
        brief: Cut long strings in lines over 4 MiB, so that memory does not grow with them. Left whole:
            results, replayed prompts and what the model says in the main conversation.
    """
    offset = 0
    for line in file:
        if not line.isspace():
            yield parse_line(line, offset, brief=brief)
        offset += len(line)


def parse_line(line: bytes, offset: int = 0, *, brief: bool = False) -> Event:
    """The event on one line, with or without its `\\n`."""
    try:
        value = _brief(line) if brief and len(line) > _LARGE else _decode(line)
    except (ValueError, RecursionError):  # RecursionError: nested too deep for the decoder
        problem = "not JSON" if line.endswith(b"\n") else "not JSON, and without an end of line"
    else:
        if isinstance(value, dict) and (kind := as_str(value.get("type"))):
            if kind == "system" and isinstance(value.get("subtype"), str):
                kind = f"system/{value['subtype']}"
            return Event(kind, value, offset)
        problem = "an object without a type" if isinstance(value, dict) else "no JSON object"
    return Event("", {}, offset, problem, line[: 4 * _SHOWN].decode("utf-8", "replace").strip()[:_SHOWN])


def _decode(line: bytes) -> Any:
    if b"\\u" in line and _SURROGATE.search(line):  # half a character cannot be written as UTF-8
        line = _ESCAPE.sub(lambda escape: escape[0] if len(escape[0]) in (2, 12) else rb"\ufffd", line)
    return _DECODER.decode(line.decode("utf-8", "replace").removeprefix("\ufeff"))


def _brief(line: bytes) -> Any:
    value = _decode(_shortened(line))
    if not isinstance(value, dict):
        return value
    kind, in_main = value.get("type"), value.get("parent_tool_use_id") is None
    whole = (
        kind == "result" or (kind == "assistant" and in_main) or (kind == "user" and value.get("isReplay"))
    )
    return _decode(line) if whole else value


def _shortened(line: bytes) -> bytes:
    """The same JSON with the ends of its long strings left out."""
    pieces, done, stop = [], 0, 0
    while (start := line.find(b'"', stop)) >= 0 and (stop := _string_end(line, start)) > 0:
        if stop - start > _STRING_LIMIT:
            head = _WHOLE_ESCAPES.match(line, start, start + _STRING_LIMIT)
            assert head is not None  # it begins with a quote
            pieces += [line[done : head.end()], b'"']
            done = stop
    return b"".join([*pieces, line[done:]])


def _string_end(line: bytes, start: int) -> int:
    """Where the string that begins at `start` is over; 0 where it never is."""
    quote = line.find(b'"', start + 1)
    if quote < 0 or line[quote - 1] != _BACKSLASH:  # much faster than the pattern, and mostly enough
        return quote + 1
    string = _STRING.match(line, start)
    return string.end() if string else 0


def as_str(value: object) -> str | None:
    """The text, or None where there is none: an absence never becomes a value."""
    return value if isinstance(value, str) else None


def as_bool(value: object) -> bool | None:
    """True or False, or None where it is neither."""
    return value if isinstance(value, bool) else None


def as_int(value: object) -> int | None:
    """The number, or None where it is no whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_float(value: object) -> float | None:
    """The number, or None where it is none; so are NaN and infinity, which JSON decoders accept."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def as_dict(value: object) -> Mapping[str, Any]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The array, or an empty one."""
    return value if isinstance(value, list) else []
