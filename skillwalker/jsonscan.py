"""A second reading of a JSON text that has a problem: where each value lies, and what is wrong.

Slower than `json`, and never asked for values.
"""

from __future__ import annotations

import functools
import json
import math
import re

from attrs import define, field, frozen

from skillwalker.errors import Problem
from skillwalker.text import did_you_mean, safe

_MAX_DIGITS = 4300  # Python reads no longer integers
_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*')
_WORD = re.compile(r"[\w.+$-]+")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$-]*", re.ASCII)
_STEP = re.compile(r'\[(?P<index>[0-9]+)\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]|\.?(?P<key>[^.\[\]]+)')
_LITERALS = ("true", "false", "null")
_CONSTANTS = ("NaN", "Infinity", "-Infinity")


class NotJsonError(Exception):
    """Where and why a text is not JSON."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(offset, message)
        self.offset, self.message = offset, message


@define
class Node:
    """The place of a value, or of its key where it has one, and of what lies in it."""

    offset: int
    inner: dict[str | int, Node] = field(factory=dict)


@frozen
class Scan:
    """Where everything lies, and the problems of a text that `json` takes nonetheless."""

    root: Node
    problems: tuple[Problem, ...]


@define
class _Frame:
    """An object or list that is still open."""

    node: Node
    offset: int
    closer: str
    key: str | int = 0
    after: str = "["  # what was read last in it: its bracket, a value or a comma


def join(path: str, key: str | int) -> str:
    """The JSON path of the member or element `key` of what `path` names."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    step = _step(key)
    return f"{path}.{step}" if path and step[0] != "[" else f"{path}{step}"


@functools.lru_cache(maxsize=256)  # the same few keys in every test
def _step(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else f"[{safe(json.dumps(key, ensure_ascii=False))}]"


def node_at(root: Node, path: str) -> Node:
    """The node that `path` names, or the last one there is on the way to it."""
    node = root
    for step in _STEP.finditer(path):
        index, quoted, key = step.groups()
        found = node.inner.get(int(index) if index else _unquoted(quoted) if quoted else key)
        if found is None:
            break
        node = found
    return node


def line_at(text: str, offset: int) -> int:
    """Counted from 1; a line ends in LF, CR LF or CR."""
    ends = text.count("\n", 0, offset) + text.count("\r", 0, offset) - text.count("\r\n", 0, offset)
    return ends + 1


@functools.lru_cache(maxsize=1)  # the problems of one file are placed one after the other
def scan(text: str, max_depth: int | None = None) -> Scan:
    """Reads the whole text.

    Raises:
        NotJsonError: it is not JSON, or nested more than `max_depth` levels deep.
    """
    return _Scanner(text, max_depth).run()


class _Scanner:
    def __init__(self, text: str, max_depth: int | None) -> None:
        self.text = text
        self.max_depth = max_depth
        self.position = 0
        self.frames: list[_Frame] = []
        self.problems: list[Problem] = []

    def run(self) -> Scan:
        """Without recursion: the text may be nested more deeply than Python's stack."""
        if not self._next():
            raise NotJsonError(0, "it is empty")
        root = Node(self.position)
        self._value(root)
        while self.frames:
            self._step(self.frames[-1])
        if self._next():
            raise NotJsonError(self.position, f"it has more after its end: {self._here()}")
        return Scan(root, tuple(self.problems))

    def _step(self, frame: _Frame) -> None:
        character = self._next()
        if character == frame.closer and frame.after != ",":
            self.frames.pop()
            self.position += 1
        elif frame.after == "value":
            if character in ('"', "{", "["):
                raise NotJsonError(self.position, f"a comma is missing before {self._here()}")
            if character != ",":
                raise self._unexpected(f"a comma or {frame.closer}")
            self.position += 1
            frame.after = ","
        elif character == frame.closer:
            raise NotJsonError(self.position, f"a comma too many before {character}")
        else:
            frame.after = "value"
            start = self.position
            frame.key = self._key(frame) if frame.closer == "}" else len(frame.node.inner)
            # The later of two equal keys counts, as it does for `json`, with all that lies in it.
            node = frame.node.inner[frame.key] = Node(start)
            self._value(node)

    def _key(self, frame: _Frame) -> str:
        start = self.position
        if self._next() != '"':
            raise self._unexpected("a key in double quotes")
        frame.key = key = self._string()
        self._check_characters(key, start)
        if (first := frame.node.inner.get(key)) is not None:
            line = line_at(self.text, first.offset)
            self._tell(start, f"duplicate key {safe(key, 80)} (first in line {line})")
        if self._next() != ":":
            raise self._unexpected(f"a colon after the key {safe(key, 80)}")
        self.position += 1
        return key

    def _value(self, node: Node) -> None:
        character = self._next()
        if character in ("{", "["):
            if self.max_depth is not None and len(self.frames) >= self.max_depth:
                raise NotJsonError(self.position, f"it is nested more than {self.max_depth} levels deep")
            self.frames.append(_Frame(node, self.position, "}" if character == "{" else "]"))
            self.position += 1
        elif character == '"':
            start = self.position
            self._check_characters(self._string(), start)
        elif match := _WORD.match(self.text, self.position):
            self._word(match[0])
            self.position = match.end()
        else:
            raise self._unexpected("a value")

    def _string(self) -> str:
        match = _STRING.match(self.text, self.position)
        assert match is not None  # the opening quote was seen
        start, self.position = self.position, match.end() + 1
        match self.text[match.end() : self.position]:
            case '"':
                value = str(json.loads(self.text[start : self.position]))
            case "\\":
                escape = safe(self.text[match.end() : self.position + 1])
                raise NotJsonError(
                    match.end(), f"unknown escape {escape} in a string; a backslash is written \\\\"
                )
            case "" | "\n" | "\r":
                raise NotJsonError(
                    start, r"a string is not closed in its line; a line break in it is written \n"
                )
            case control:
                raise NotJsonError(
                    match.end(), f"a control character in a string; write it as {safe(control)}"
                )
        return value

    def _check_characters(self, value: str, start: int) -> None:
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            self._tell(start, "half a surrogate pair, which is no character")

    def _word(self, word: str) -> None:
        if word in _LITERALS:
            return
        if word in _CONSTANTS:
            self._tell(self.position, f"{word} is no JSON number")
        elif not (match := _NUMBER.fullmatch(word)):
            if word[0] in "+-.0123456789":
                raise NotJsonError(self.position, f"{safe(word, 40)} is no JSON number")
            raise NotJsonError(self.position, f"unknown word {safe(word, 40)}{did_you_mean(word, _LITERALS)}")
        elif match[1] is None and match[2] is None:
            if len(word.lstrip("-")) > _MAX_DIGITS:
                self._tell(self.position, f"a number of more than {_MAX_DIGITS} digits")
        elif math.isinf(float(word)):
            self._tell(self.position, f"the number {safe(word, 40)} is out of range")

    def _next(self) -> str:
        """The next character that is no white space; empty at the end."""
        match = _SPACE.match(self.text, self.position)
        assert match is not None  # it matches nothing, too
        self.position = match.end()
        return self.text[self.position : self.position + 1]

    def _here(self) -> str:
        match = _WORD.match(self.text, self.position) or _STRING.match(self.text, self.position)
        end = match.end() + (match[0][0] == '"') if match else self.position + 1
        return safe(self.text[self.position : end], 40)

    def _unexpected(self, wanted: str) -> NotJsonError:
        match self._next():
            case "":
                frame = self.frames[-1]
                opener = f"the {self.text[frame.offset]} in line {line_at(self.text, frame.offset)}"
                return NotJsonError(self.position, f"it ends too early: {opener} is not closed")
            case "/" | "#":
                return NotJsonError(self.position, "a comment; JSON has none")
            case "'" | "`" | "“" | "”" | "„" | "«":
                return NotJsonError(
                    self.position, f'strings stand in straight double quotes ("), not {self._here()}'
                )
            case _:
                return NotJsonError(self.position, f"expected {wanted}, found {self._here()}")

    def _tell(self, offset: int, message: str) -> None:
        path = ""
        for frame in self.frames:
            path = join(path, frame.key)
        self.problems.append(Problem(message, line=line_at(self.text, offset), path=path or None))


def _unquoted(quoted: str) -> str:
    try:
        return str(json.loads(quoted))
    except ValueError:  # it was made safe for display, and is not what the file says any more
        return quoted
