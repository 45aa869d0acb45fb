"""The file of a cassette: JSON lines made to be kept in git.

The first line is the header. A message has a line of its own before the first request that needs it, and is
referred to by its name; what all cassettes share lies beside them (`shared`). A request that goes on with the
conversation of an earlier one says so (`from`, counted from 1) and names only the messages that are new.
Nothing in it depends on when or where it was recorded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from skillwalker.atomic import replace
from skillwalker.gateway.cassettes.cassette import Answer, Cassette, CassetteError, Recorded, cassette_file
from skillwalker.gateway.cassettes.normalise import Normal, Part, canonical, strings
from skillwalker.gateway.cassettes.shared import SharedParts

FORMAT = 1

SHARED_BYTES = 500
"""A smaller part is no bigger than what it takes to share it."""


def write(path: Path, cassette: Cassette, shared: SharedParts) -> None:
    """Puts the file in its place, whole, after the shared parts that it names.

    Raises:
        OSError
    """
    replace(path, b"".join(map(_line, _lines(cassette, shared))))


def read(path: Path, shared: SharedParts | None = None) -> Cassette:
    """
    Raises:
        CassetteError: it cannot be replayed.
        OSError
    """
    reader = _Reader(shared or SharedParts(path.parent))
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if line.strip():
            try:
                reader.feed(_object(line))
            except CassetteError as error:
                raise CassetteError(error.reason, number) from None
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                raise CassetteError("this line is no part of a cassette", number) from None
    return reader.finished()


def said(directory: Path, trial_id: str) -> tuple[str, ...]:
    """What the model said in a trial, as its cassette has it; nothing where there is none."""
    try:
        cassette = read(cassette_file(directory, trial_id, "trial"))
    except (OSError, CassetteError):
        return ()
    return texts(cassette)


def texts(cassette: Cassette) -> tuple[str, ...]:
    """What the model said in it."""
    return tuple(text for one in cassette.exchanges for text in strings(one.answer.message))


def _lines(cassette: Cassette, shared: SharedParts) -> Iterator[Mapping[str, Any]]:
    header = {
        "cassette": FORMAT,
        "trial": cassette.trial_id,
        "purpose": cassette.purpose,
        "skillwalker": cassette.skillwalker,
        "claude_code": cassette.claude_code,
        "models": sorted({one.request.model for one in cassette.exchanges}),
        "exchanges": len(cassette.exchanges),
    }
    yield header | {key: True for key in ("rehearsed", "cut") if getattr(cassette, key)}
    written: set[str] = set()
    for number, one in enumerate(cassette.exchanges):
        base = _base(cassette.exchanges[:number], one.request)
        for name, part in _parts(one.request):
            if name in written:
                continue
            written.add(name)
            if _is_shared(part):
                shared.keep(name, part)
            else:
                yield {"part": name, "value": part.value}
        request = _request(one.request, base, cassette.exchanges)
        yield {"turn": one.turn, "request": request, "answer": _answer_line(one.answer)}


def _base(earlier: Sequence[Recorded], request: Normal) -> int | None:
    """The last request before, that this one goes on with; from 0."""
    around = (request.model, request.system, request.tools, request.options)
    for number in range(len(earlier) - 1, -1, -1):
        base = earlier[number].request
        same = (base.model, base.system, base.tools, base.options) == around
        if same and base.messages == request.messages[: len(base.messages)]:
            return number
    return None


def _parts(request: Normal) -> Iterator[tuple[str, Part]]:
    for letter, found in (("system", request.system), ("tool", request.tools), ("message", request.messages)):
        yield from ((_name(letter, part), part) for part in found)


def _name(kind: str, part: Part) -> str:
    return f"{kind}-{part.digest}"


def _is_shared(part: Part) -> bool:
    """Tools and blocks of the system prompt have no role; messages of role `system` hold the listings."""
    common = isinstance(part.value, dict) and part.value.get("role", "system") == "system"
    return common and len(canonical(part.value)) >= SHARED_BYTES


def _request(request: Normal, base: int | None, exchanges: Sequence[Recorded]) -> dict[str, Any]:
    if base is not None:
        new = request.messages[len(exchanges[base].request.messages) :]
        return {"from": base + 1, "messages": [_name("message", part) for part in new]}
    return {
        "model": request.model,
        "options": request.options.value,
        "system": [_name("system", part) for part in request.system],
        "tools": [_name("tool", part) for part in request.tools],
        "messages": [_name("message", part) for part in request.messages],
    }


def _answer_line(answer: Answer) -> dict[str, Any]:
    flags = {key: True for key in ("dropped", "open") if getattr(answer, key)}
    found = {"message": answer.message, "error": answer.error, **flags}
    return {key: value for key, value in found.items() if value is not None}


def _line(value: Mapping[str, Any]) -> bytes:
    """Readable beyond ASCII; only a lone surrogate, which no UTF-8 can hold, makes a line of escapes.

    Keys stay in their order, which is the model's own in what it gives to tools.
    """
    try:
        return json.dumps(value, ensure_ascii=False).encode("utf-8") + b"\n"
    except UnicodeEncodeError:
        return json.dumps(value).encode("ascii") + b"\n"


def _object(line: bytes) -> dict[str, Any]:
    value = json.loads(line)
    if not isinstance(value, dict):
        raise TypeError
    return value


class _Reader:
    """Builds a cassette from the lines of its file."""

    def __init__(self, shared: SharedParts) -> None:
        self._shared = shared
        self._header: dict[str, Any] | None = None
        self._parts: dict[str, Part] = {}
        self._exchanges: list[Recorded] = []

    def feed(self, line: dict[str, Any]) -> None:
        if self._header is None:
            self._begin(line)
        elif "part" in line:
            self._parts[line["part"]] = Part.of(line["value"])
        else:
            request = self._request(line["request"])
            self._exchanges.append(Recorded(request, _answer(line["answer"]), str(line.get("turn", ""))))

    def finished(self) -> Cassette:
        header = self._header
        if header is None:
            raise CassetteError("the cassette is empty; record it again")
        if len(self._exchanges) != header.get("exchanges"):
            has = f"has {len(self._exchanges)} of {header.get('exchanges')} answers"
            raise CassetteError(f"the cassette {has}: a part of it is missing; record it again")
        return Cassette(
            trial_id=str(header.get("trial")),
            purpose="judge" if header.get("purpose") == "judge" else "trial",
            skillwalker=str(header.get("skillwalker")),
            claude_code=header.get("claude_code"),
            exchanges=tuple(self._exchanges),
            rehearsed=header.get("rehearsed") is True,
            cut=header.get("cut") is True,
        )

    def _begin(self, line: dict[str, Any]) -> None:
        version = line.get("cassette")
        if not isinstance(version, int):
            raise CassetteError("this is no cassette: its first line is no header")
        if version != FORMAT:
            known = f"this Skillwalker reads format {FORMAT}"
            raise CassetteError(f"the cassette has format {version}, {known}; record it again")
        self._header = line

    def _request(self, line: dict[str, Any]) -> Normal:
        messages = self._named(line["messages"])
        if "from" in line:
            number = line["from"]
            if not 1 <= number <= len(self._exchanges):
                raise CassetteError(f"it goes on from request {number}, which is not before it")
            base = self._exchanges[number - 1].request
            return Normal(base.model, base.system, base.tools, (*base.messages, *messages), base.options)
        return Normal(
            model=line["model"],
            system=self._named(line["system"]),
            tools=self._named(line["tools"]),
            messages=messages,
            options=Part.of(line["options"]),
        )

    def _named(self, names: list[str]) -> tuple[Part, ...]:
        return tuple(self._parts.get(name) or self._shared.get(name) for name in names)


def _answer(line: dict[str, Any]) -> Answer:
    message, error, dropped = line.get("message"), line.get("error"), line.get("dropped") is True
    if message is None and error is None and not dropped:
        raise TypeError
    if message is not None:
        # All else is for Claude Code to read, and may be what no API would say.
        _require(message.get("usage") or {}, dict)
        _require(message["content"], list)
        for block in message["content"]:
            _require(block, dict)
    if error is not None:
        for key, type_ in (("status", int), ("type", str), ("message", str)):
            _require(error[key], type_)
        if not 400 <= error["status"] <= 599:
            raise ValueError
    return Answer(message, error, dropped, line.get("open") is True)


def _require(value: Any, type_: type) -> None:
    if not isinstance(value, type_):
        raise TypeError
