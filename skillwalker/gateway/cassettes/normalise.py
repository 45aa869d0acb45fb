"""Brings requests of equal runs to one form, and answers back to the present run.

Dropped are what says who asks (`metadata`) or how to deliver and bill (`stream`, `cache_control`); what may
vary inside texts becomes a placeholder such as `[[uuid 1]]`, numbered within the request. Everything else
stays as it is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from skillwalker.gateway.cassettes.varying import BLANK, Source, Spot, Window, spots
from skillwalker.redaction import SHORTEST

_DROPPED = frozenset({"metadata", "stream"})
_PARTS = frozenset({"model", "system", "tools", "messages"})

# A secret is overwritten with as many stars as it is long, and elsewhere there may be another in its place.
_WORD = re.compile(r"[0-9A-Za-z]+")
# In what JSON has written out, a word may begin after the letter of a line break.
_START = r"\\[nrt](?=[0-9A-Za-z])|(?:(?<![0-9A-Za-z])|(?<=\\[nrt]))"
_PLACEHOLDER = re.compile(r"\[\[[a-z]+ \d+\]\]")
_SECRET = re.compile(rf"\*{{{SHORTEST},}}")


@frozen
class Part:
    """A piece that requests share: a block of the system prompt, a tool, or a message.

    Attributes:
        digest: Of the value alone; equal parts have equal ones.
    """

    digest: str
    value: Any = field(eq=False, repr=False)

    @classmethod
    def of(cls, value: Any) -> Part:
        return cls(hashlib.sha256(canonical(value)).hexdigest()[:16], value)


@frozen
class Normal:
    """A request in its normal form; equal if their parts are.

    Attributes:
        options: All other fields, such as `max_tokens`.
    """

    model: str
    system: tuple[Part, ...] = ()
    tools: tuple[Part, ...] = ()
    messages: tuple[Part, ...] = ()
    options: Part = field(factory=lambda: Part.of({}))


@define
class _Words:
    """Texts that stand for others wherever they are words of their own; thousands cost no more than one.

    Attributes:
        odd: Those that are not of letters and digits alone.
    """

    _start: str = r"(?<![0-9A-Za-z])"
    known: dict[str, str] = field(factory=dict)
    odd: set[str] = field(factory=set)
    _pattern: re.Pattern[str] | None = None

    def add(self, text: str, meant: str) -> None:
        self.known[text] = meant
        if not _WORD.fullmatch(text):
            self.odd.add(text)
            self._pattern = None

    def replace(self, text: str) -> str:
        if not self.known:
            return text
        if self._pattern is None:
            longest_first = sorted(self.odd, key=len, reverse=True)
            odd = "".join(f"{re.escape(one)}(?![0-9A-Za-z])|" for one in longest_first)
            self._pattern = re.compile(f"{self._start}(?:{odd}[0-9A-Za-z]+)")
        return self._pattern.sub(lambda match: self.known.get(match[0], match[0]), text)


@define
class Names:
    """What the placeholders of one request stand for."""

    _placeholders: dict[str, str] = field(factory=dict)
    _numbers: Counter[str] = field(factory=Counter)
    _hidden: _Words = field(factory=lambda: _Words(_START))
    _spread: _Words = field(factory=_Words)  # what can be told only by having been seen before

    def hide(self, value: Any) -> Any:
        """A JSON value with placeholders for all that they stand for."""
        return _mapped(value, self._hidden.replace) if self._placeholders else value

    def show(self, value: Any) -> Any:
        """A JSON value with what the placeholders stand for; those of nothing stay."""
        meant = {placeholder: text for text, placeholder in self._placeholders.items()}
        return _mapped(
            value, lambda text: _PLACEHOLDER.sub(lambda match: meant.get(match[0], match[0]), text)
        )

    def placeholder(self, spot: Spot) -> str:
        if spot.value not in self._placeholders:
            self._numbers[spot.kind] += 1
            name = f"[[{spot.kind} {self._numbers[spot.kind]}]]"
            self._placeholders[spot.value] = name
            self._hidden.add(spot.value, name)
            if spot.kind in ("file", "task", "temp", "commit"):
                self._spread.add(spot.value, name)
        return self._placeholders[spot.value]

    def spread(self, text: str) -> str:
        """A text without spots, in which something that was seen before may be named."""
        return self._spread.replace(text)


def normalise(
    request: Mapping[str, Any], window: Window, *, judge: bool = False, heard: Iterable[str] = ()
) -> tuple[Normal, Names]:
    """The normal form of a Messages API request.

    Args:
        window: When the trial runs: times in it were told by a clock.
        judge: Whether it is a judge's, whose prompt holds the results of tools.
        heard: What the model said before, beside what the request holds of it.
    """
    walk = _Walk(window, judge, list(heard))
    system = request.get("system")
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else _list(system)
    normal = Normal(
        model=str(request.get("model")),
        system=tuple(Part.of(walk.value(_free(block), "told")) for block in blocks),
        tools=tuple(Part.of(_free(tool)) for tool in _list(request.get("tools"))),
        messages=tuple(Part.of(walk.message(message)) for message in _list(request.get("messages"))),
        options=Part.of({key: request[key] for key in sorted(request.keys() - _PARTS - _DROPPED)}),
    )
    return normal, walk.names


def canonical(value: Any) -> bytes:
    """JSON bytes that are the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def strings(value: Any) -> Iterator[str]:
    """All texts in a JSON value, but for keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner)


@define
class _Walk:
    """Goes through one request from its beginning to its end."""

    _window: Window
    _judge: bool
    _heard: list[str]
    names: Names = field(factory=Names)
    _commands: dict[str, str] = field(factory=dict)  # by id of the tool_use

    def message(self, message: Any) -> Any:
        if not isinstance(message, dict):
            return message
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else _list(content)
        if message.get("role") == "assistant":
            return {**message, "content": [self._said(_free(block)) for block in blocks]}
        return {**message, "content": [self._told(block) for block in _sorted(map(_free, blocks))]}

    def value(self, value: Any, source: Source, command: str = "") -> Any:
        return _mapped(value, lambda text: self._text(text, source, command))

    def _said(self, block: Any) -> Any:
        if isinstance(block, dict) and block.get("type") == "tool_use":
            given = block.get("input")
            if isinstance(given, dict) and isinstance(given.get("command"), str):
                self._commands[str(block.get("id"))] = given["command"]
        self._heard.extend(strings(block))
        return self.value(block, "said")

    def _told(self, block: Any) -> Any:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            command = self._commands.get(str(block.get("tool_use_id")), "")
            return self.value(block, "result", command)
        if self._judge:
            return self.value(block, "result", "git")
        self._heard.extend(strings(block))
        return self.value(block, "told")

    def _text(self, text: str, source: Source, command: str) -> str:
        parts = []
        last = 0
        for spot in spots(text, source, command):
            parts += [self.names.spread(text[last : spot.start]), self._shown(spot)]
            last = spot.end
        parts.append(self.names.spread(text[last:]))
        return _SECRET.sub("*" * SHORTEST, "".join(parts))

    def _shown(self, spot: Spot) -> str:
        if spot.kind not in BLANK:
            return self.names.placeholder(spot)
        if spot.kind in ("time", "day"):
            holds = self._window.holds if spot.kind == "time" else self._window.holds_day
            # A time that the model repeats was told by the clock of the recording, and now by no clock.
            if not holds(spot.value) and not any(spot.value in text for text in self._heard):
                return self.names.spread(spot.value)
            return "[[time]]"
        return f"[[{spot.kind}]]"


def _sorted(blocks: Iterable[Any]) -> list[Any]:
    """Results of parallel tools come in the order in which these end; the rest keeps its place."""
    found = list(blocks)
    places = [at for at, block in enumerate(found) if _is_result(block)]
    results = sorted((found[at] for at in places), key=lambda block: str(block.get("tool_use_id")))
    for at, result in zip(places, results, strict=True):
        found[at] = result
    return found


def _is_result(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _free(value: Any) -> Any:
    """Without `cache_control`, which moves on with every turn, so that no message would equal itself."""
    if not isinstance(value, dict) or "cache_control" not in value:
        return value
    return {key: inner for key, inner in value.items() if key != "cache_control"}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _mapped(value: Any, change: Any) -> Any:
    """A JSON value with every text in it changed, but for keys and encoded files."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return [_mapped(inner, change) for inner in value]
    if isinstance(value, Mapping):
        if value.get("type") == "base64":
            return value
        return {key: _mapped(inner, change) for key, inner in value.items()}
    return value
