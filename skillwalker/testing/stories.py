"""Streams of trials for a type about which nothing is known but values that it takes.

What a type looks for is in its options, so the texts in them are said, called, written and named in the
streams: a type that counts, searches or compares them finds something to say yes and no to.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from skillwalker.testing.transcripts import TranscriptBuilder

MOST_WORDS = 8
_HOSTILE = (
    "",
    "\x1b[2J\x1b]0;title\x07",
    "\u202egnp.exe\u2066",
    "a\nb\r\tc",
    "\x00",
    "\ud800",
    "z" * 5000,
    "%s {0} [bold] \\",
    "../../etc/passwd",
    "acme:tidy",
)
_VALUES: tuple[Any, ...] = (*_HOSTILE, None, True, -1, 10**30, 1e308, [], {}, [[[]]], {"type": "result"})


@frozen
class Stream:
    """A trial's events, as bytes that need not be events, and what it left in its work directory."""

    data: bytes
    files: Mapping[str, bytes]

    def write(self, path: Path) -> Path:
        """As `TranscriptBuilder.write`."""
        path.write_bytes(self.data)
        return path


def words_in(*values: Any) -> tuple[str, ...]:
    """The texts in JSON values, each once."""
    found: dict[str, None] = {}
    waiting = list(values)
    while waiting:
        value = waiting.pop(0)
        if isinstance(value, str) and value:
            found[value] = None
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return tuple(found)[:MOST_WORDS]


def plain() -> TranscriptBuilder:
    """Work in which nothing comes up that an option names."""
    builder = TranscriptBuilder().init().text("I look around.").tool("Bash", {"command": "ls"}, "notes.txt")
    return builder.text("Nothing to see.").result(cost_usd=0.01)


def busy(words: Iterable[str]) -> TranscriptBuilder:
    """Work in which all of it comes up, again and again, and that costs much."""
    words = tuple(words)
    builder = TranscriptBuilder().init()
    for word in words:
        builder.text(f"About {word}.")
        builder.tool(word, {"command": word, "file_path": word, "pattern": word}, word)
        builder.tool("Bash", {"command": word}, word, error=None)
        builder.tool("Write", {"file_path": f"/workspace/{word}", "content": word}, "written")
        if ":" in word:
            builder.skill(word).agent(word, report=word)
    builder.turns(40).text(" ".join(words) or "Done.")
    return builder.result(
        cost_usd=250.0, input_tokens=90_000_000, output_tokens=9_000_000, duration_ms=86_400_000
    )


def hostile(words: Iterable[str]) -> tuple[TranscriptBuilder, dict[str, bytes]]:
    """Everything that a type may quote is long, of several lines and full of control characters."""
    builder = TranscriptBuilder().init()
    words = tuple(words)
    for word, odd in zip((*words, *[""] * len(_HOSTILE)), itertools.cycle(_HOSTILE), strict=False):
        said = f"{odd}{word}{odd}"
        given = {"command": said, "file_path": said, "content": said}
        builder.text(said).tool(word or odd, given, said).tool("Bash", given, error=said)
    said = "".join(_HOSTILE).join(("", *words, "")) * 3
    return builder.text(said).result(said), _odd_files(random.Random(0), most=8)  # noqa: S311 (no secret)


def files_of(words: Iterable[str]) -> dict[str, str]:
    """Files whose names and contents are the words; no two in each other's way."""
    files: dict[str, str] = {"notes.txt": "notes\n"}
    for word in words:
        parts = [part for part in word.split("/") if part not in ("", ".", "..")]
        name = "/".join(parts)
        taken = any(f"{name}/".startswith(f"{each}/") or f"{each}/".startswith(f"{name}/") for each in files)
        if name and not taken and "\0" not in name and all(len(part.encode()) < 200 for part in parts):
            files[name] = f"{word}\n"
    return files


def beginnings(events: Sequence[Mapping[str, Any]], most: int = 12) -> Iterator[int]:
    """Lengths of the beginnings that are worth a look, the shortest first."""
    step = max(1, len(events) // most)
    yield from sorted({*range(0, len(events), step), len(events)})


def of_events(events: Iterable[Mapping[str, Any]]) -> TranscriptBuilder:
    builder = TranscriptBuilder()
    for event in events:
        builder.event(event)
    return builder


def fuzzed(events: Sequence[Mapping[str, Any]], number: int) -> Iterator[Stream]:
    """Streams like `events` with damage of every kind; the same ones each time."""
    for seed in range(number):
        chance = random.Random(seed)  # noqa: S311 (damage, no secret)
        damaged = [json.loads(json.dumps(event)) for event in events]
        for _ in range(chance.randint(1, 6)):
            _damage(damaged, chance)
        data = b"".join(json.dumps(event).encode() + b"\n" for event in damaged)
        for _ in range(chance.randint(0, 3)):
            at = chance.randrange(len(data) + 1)
            noise = chance.choice(
                (b"\xff\xfe", b"\0", b"\n", b"{", b'"', b"[" * 3000, b"\n{}\n", b"\ntext\n")
            )
            data = data[:at] + noise + data[at + chance.randint(0, 30) :]
        if chance.random() < 0.3:
            data = data[: chance.randrange(len(data) + 1)]
        yield Stream(data, _odd_files(chance))


def _damage(events: list[Any], chance: random.Random) -> None:
    if not events:
        return
    at = chance.randrange(len(events))
    match chance.choice(("drop", "repeat", "move", "value", "value", "value")):
        case "drop":
            del events[at]
        case "repeat":
            events.insert(at, events[at])
        case "move":
            events.insert(chance.randrange(len(events)), events.pop(at))
        case _:
            holder, key = chance.choice(list(_members([events[at]])))
            holder[key] = chance.choice(_VALUES)


def _members(value: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Every (holder, key) in JSON values."""
    waiting: list[Any] = [value[0]]
    yield value, 0
    while waiting:
        holder = waiting.pop()
        pairs: Iterable[tuple[Any, Any]] = ()
        if isinstance(holder, dict):
            pairs = list(holder.items())
        elif isinstance(holder, list):
            pairs = list(enumerate(holder))
        for key, member in pairs:
            yield holder, key
            waiting.append(member)


def _odd_files(chance: random.Random, most: int = 4) -> dict[str, bytes]:
    names = ("\x1b[1mred", "new\nline", "\u202egnp.exe", "a" * 200, "[bold]", " ", "deep/" * 20 + "er", "ok")
    contents = (b"", b"\xff\xfe\x00", b"x" * 100_000, "café\n".encode(), b"\x1b[2J", b"{", b"null")
    return {name: chance.choice(contents) for name in chance.sample(names, chance.randint(most // 2, most))}
