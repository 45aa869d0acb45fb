"""Says what differs between a request and the recorded one that comes nearest, in one line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from skillwalker.gateway.cassettes.normalise import Normal, Part, canonical
from skillwalker.gateway.listing import Listed, read_listing
from skillwalker.text import count, safe

SHOWN_CHARS = 60
"""Of a line that differs, around the first difference."""

_COMPARED_LINES = 5_000
_VERSION = re.compile(r"\bcc_version=(\d+(?:\.\d+)*)")
_COMMIT = re.compile(r"^[0-9a-f]{7,40} Scaffold$", re.MULTILINE)
_BILLING = "x-anthropic-billing-header"


@frozen
class Difference:
    """One part that differs.

    Attributes:
        part: In words.
        text: The differing line, old and new, in words.
    """

    part: str
    text: str

    def __str__(self) -> str:
        return f"{self.part} differs: {self.text}"


def nearest(request: Normal, recorded: Sequence[Normal]) -> Normal | None:
    """The recorded request that has most in common with this one, its conversation above all."""

    def likeness(other: Normal) -> tuple[int, int, int]:
        pairs = list(zip(request.messages, other.messages, strict=False))
        common = next((at for at, (one, two) in enumerate(pairs) if one != two), len(pairs))
        equal = sum(one == two for one, two in pairs)
        around = sum(
            (request.model == other.model, request.system == other.system, request.tools == other.tools)
        )
        return common, equal + around, -abs(len(request.messages) - len(other.messages))

    return max(recorded, key=likeness, default=None)


def differences(request: Normal, recorded: Normal) -> list[Difference]:
    """All of them, what explains the others first."""
    return [*_differences(request, recorded)]


def tell(found: Sequence[Difference]) -> str:
    """The first difference, and which other parts differ."""
    if not found:
        return "nothing recorded comes near it"
    rest = list(dict.fromkeys(one.part for one in found[1:] if one.part != found[0].part))
    if not rest:
        return str(found[0])
    return f"{found[0]} (also: {', '.join(rest[:2])}{f' and {len(rest) - 2} more' if len(rest) > 2 else ''})"


def _differences(request: Normal, recorded: Normal) -> Iterator[Difference]:
    now, old = _version(request), _version(recorded)
    if now != old:
        yield Difference("the version of Claude Code", _changed(str(old), str(now)))
    if request.model != recorded.model:
        yield Difference("the model", _changed(recorded.model, request.model))
    yield from _of_listings(request, recorded)
    yield from _of_tools(request.tools, recorded.tools)
    yield from _of_system(request.system, recorded.system)
    yield from _of_messages(request.messages, recorded.messages)
    if request.options != recorded.options:
        for key in sorted({*request.options.value, *recorded.options.value}):
            before, after = recorded.options.value.get(key), request.options.value.get(key)
            if before != after:
                yield Difference(f"the field {safe(key, 40)}", _lines(_text(before), _text(after)))


def _version(request: Normal) -> str | None:
    for part in request.system:
        text = part.value.get("text") if isinstance(part.value, dict) else None
        if isinstance(text, str) and (match := _VERSION.search(text)):
            return match[1]
    return None


def _of_listings(request: Normal, recorded: Normal) -> Iterator[Difference]:
    """What the model is told of skills and agents; everybody's first change is to a description."""
    now, old = (read_listing(_request(one)) for one in (request, recorded))
    for what, listed, before in (("skill", now.skills, old.skills), ("agent", now.agents, old.agents)):
        new = {one.id: one for one in listed}
        known = {one.id: one for one in before}
        for name in [*known, *(name for name in new if name not in known)]:
            if new.get(name) != known.get(name):
                part = f"the description of {what} {safe(name, 60)}"
                yield Difference(part, _of_entry(known.get(name), new.get(name)))


def _of_entry(old: Listed | None, new: Listed | None) -> str:
    if old is None or new is None:
        return "it was not listed when recorded" if old is None else "it is not listed any more"
    return _lines(old.description or "(none)", new.description or "(none)")


def _of_tools(now: Sequence[Part], old: Sequence[Part]) -> Iterator[Difference]:
    tools, known = ({_name(part.value): part for part in parts} for parts in (now, old))
    for name in [*known, *(name for name in tools if name not in known)]:
        if name not in tools or name not in known:
            yield Difference(f"tool {safe(name, 60)}", "it is new" if name in tools else "it is gone")
        elif tools[name] != known[name]:
            before, after = known[name].value, tools[name].value
            if before.get("description") != after.get("description"):
                texts = (str(one.get("description")) for one in (before, after))
                yield Difference(f"the description of tool {safe(name, 60)}", _lines(*texts))
            else:
                yield Difference(f"tool {safe(name, 60)}", _lines(_text(before), _text(after)))
    if list(tools) != list(known) and tools.keys() == known.keys():
        yield Difference("the order of the tools", _changed(", ".join(known), ", ".join(tools)))


def _of_system(now: Sequence[Part], old: Sequence[Part]) -> Iterator[Difference]:
    for at, (after, before) in enumerate(_pairs(now, old)):
        texts = _text(before), _text(after)
        # Its hash depends on the prompt, which is told of by itself.
        if texts[0] != texts[1] and not all(_BILLING in text for text in texts):
            yield Difference(f"block {at + 1} of the system prompt", _lines(*texts))


def _of_messages(now: Sequence[Part], old: Sequence[Part]) -> Iterator[Difference]:
    calls = _calls(now)
    user = 0
    for at, (after, before) in enumerate(_pairs(now, old)):
        role = (after or before or {}).get("role")
        user += role == "user"
        if after == before:
            continue
        if after is None or before is None:
            yield Difference("the conversation", _length(at, now, old))
            return
        if after.get("role") != before.get("role"):
            yield Difference(f"message {at + 1}", _changed(f"role {before.get('role')}", f"role {role}"))
            continue
        for place, (new, known) in enumerate(_pairs_of(after.get("content"), before.get("content"))):
            if new != known:
                yield Difference(
                    _part(at, role, user, place, new, known, calls), _lines(_text(known), _text(new))
                )


def _part(at: int, role: Any, user: int, place: int, new: Any, known: Any, calls: Mapping[str, str]) -> str:
    block = new if isinstance(new, dict) else known if isinstance(known, dict) else {}
    if block.get("type") == "tool_result":
        return f"the result of {calls.get(str(block.get('tool_use_id')), 'a tool call')}"
    text = _text(block)
    if role == "user" and user == 1:
        if not text.lstrip().startswith("<system-reminder>"):
            return "the prompt"
        if told := _reminded(_text(known), _text(new)):
            return told
    who = {"user": "user", "assistant": "model", "system": "Claude Code"}.get(str(role), "unknown role")
    return f"message {at + 1} ({who}), block {place + 1}"


def _reminded(old: str, new: str) -> str:
    """What of the work directory Claude Code tells at the beginning; empty where it is something else."""
    if _COMMIT.findall(old) != _COMMIT.findall(new):
        return "the scaffold (its files make its commit)"
    return "what CLAUDE.md says" if "/CLAUDE.md " in old or "/CLAUDE.md " in new else ""


def _length(at: int, now: Sequence[Part], old: Sequence[Part]) -> str:
    longer, ending = (now, " more") if len(now) > len(old) else (old, "")
    text = " ".join(_text(longer[at].value).split())
    what = f"{count(abs(len(now) - len(old)), 'message')}{ending}, from {_quoted(text[:SHOWN_CHARS])} on"
    return f"it has {what}" if ending else f"it lacks {what}"


def _calls(messages: Sequence[Part]) -> dict[str, str]:
    """What a tool_use is called, by its id: `Bash (call 3)`."""
    found: dict[str, str] = {}
    for part in messages:
        content = part.value.get("content") if isinstance(part.value, dict) else None
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_use":
                found[str(block.get("id"))] = f"{safe(str(block.get('name')), 40)} (call {len(found) + 1})"
    return found


def _lines(old: str, new: str) -> str:
    """The first line that differs, old and new."""
    before, after = old.splitlines()[:_COMPARED_LINES], new.splitlines()[:_COMPARED_LINES]
    start = next(
        (at for at, (one, two) in enumerate(zip(before, after, strict=False)) if one != two),
        min(len(before), len(after)),
    )
    # Whether lines came in or went is told by what follows; more than a screenful does not help to see it.
    matcher = difflib.SequenceMatcher(
        None, before[start : start + 200], after[start : start + 200], autojunk=False
    )
    for kind, one, _, two, _ in matcher.get_opcodes():
        line = f"line {start + two + 1}, " if len(after) > 1 or len(before) > 1 else ""
        if kind == "replace":
            return line + _changed(before[start + one], after[start + two])
        if kind == "insert":
            return f"{line}new {_quoted(_window(after[start + two], 0))}"
        if kind == "delete":
            return f"{line}gone {_quoted(_window(before[start + one], 0))}"
    return _changed(repr(old[-20:]), repr(new[-20:])) if old != new else "it is the same"


def _changed(old: str, new: str) -> str:
    at = next(
        (at for at, (one, two) in enumerate(zip(old, new, strict=False)) if one != two),
        min(len(old), len(new)),
    )
    return f"recorded {_quoted(_window(old, at))}, now {_quoted(_window(new, at))}"


def _window(line: str, at: int) -> str:
    """The part of a line around a difference."""
    if len(line) <= SHOWN_CHARS:
        return line
    start = max(0, min(at - SHOWN_CHARS // 3, len(line) - SHOWN_CHARS))
    return (
        ("…" if start else "")
        + line[start : start + SHOWN_CHARS]
        + ("…" if start + SHOWN_CHARS < len(line) else "")
    )


def _quoted(text: str) -> str:
    return f'"{safe(text, SHOWN_CHARS + 20)}"'


def _text(value: Any) -> str:
    """What a part says, as text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        if isinstance(value.get("text"), str):
            return str(value["text"])
        if "content" in value:
            return _text(value["content"])
        if value.get("type") == "tool_use":
            return f"{value.get('name')} {canonical(value.get('input')).decode()}"
    if isinstance(value, list) and all(isinstance(inner, dict) for inner in value):
        return "\n".join(map(_text, value))
    return canonical(value).decode("ascii")


def _name(tool: Any) -> str:
    return str(tool.get("name")) if isinstance(tool, dict) else ""


def _pairs(now: Sequence[Part], old: Sequence[Part]) -> Iterator[tuple[Any, Any]]:
    yield from _pairs_of([part.value for part in now], [part.value for part in old])


def _pairs_of(now: Any, old: Any) -> Iterator[tuple[Any, Any]]:
    after, before = (one if isinstance(one, list) else [] for one in (now, old))
    for at in range(max(len(after), len(before))):
        yield (after[at] if at < len(after) else None), (before[at] if at < len(before) else None)


def _request(normal: Normal) -> dict[str, Any]:
    return {
        "messages": [part.value for part in normal.messages],
        "tools": [part.value for part in normal.tools],
    }
