"""A second reading of a TOML text: in which line each key stands, which `tomllib` does not tell."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from itertools import count

from attrs import define, field, frozen

from skillwalker.jsonscan import join

_TOKEN = re.compile(
    r'''
    (?P<comment> \#[^\n]* | [^\S\n]+ )
  | (?P<text> """(?:\\.|[^\\])*?"{3,5} | \'{3}.*?\'{3,5} | "(?:\\.|[^"\\\n])*" | \'[^'\n]*\' )
  | (?P<end> \n )
  | (?P<sign> [][{}=.,] )
  | (?P<word> [^][{}=.,\#"'\s]+ )
    ''',
    re.VERBOSE | re.DOTALL,
)


@frozen
class _Token:
    kind: str
    text: str
    line: int


_NOTHING = _Token("end", "", 0)


def lines_of(text: str) -> Mapping[str, int]:
    """The line of each key and element by its path, such as `sandbox.network.allow[1]`.

    Args:
        text: What `tomllib` has read without a fault.
    """
    scanner = _Scanner(_tokens(text))
    scanner.document()
    return scanner.lines


def _tokens(text: str) -> list[_Token]:
    found = []
    line = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind and kind != "comment":
            found.append(_Token(kind, match[0], line))
        line += match[0].count("\n")
    return found


@define
class _Scanner:
    _tokens: list[_Token]
    _at: int = 0
    lines: dict[str, int] = field(factory=dict)

    def document(self) -> None:
        table = ""
        while self._at < len(self._tokens):
            if self._next.kind == "end":
                self._at += 1
            elif self._take("["):
                repeated = self._take("[")
                table = self._key("")
                if repeated:
                    table = next(join(table, n) for n in count() if join(table, n) not in self.lines)
                    self.lines[table] = self._tokens[self._at - 1].line
                self._skip("")
            else:
                self._pair(table)
                self._skip("")

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _NOTHING

    def _take(self, sign: str) -> bool:
        if self._next.kind == "sign" and self._next.text == sign:
            self._at += 1
            return True
        return False

    def _key(self, table: str) -> str:
        """The path of a key, which may have dots; it and what it leads through get their lines."""
        path = table
        while self._next.kind in ("word", "text"):
            token = self._next
            self._at += 1
            path = join(path, _unquoted(token.text) if token.kind == "text" else token.text)
            self.lines.setdefault(path, token.line)
            if not self._take("."):
                break
        return path

    def _pair(self, table: str) -> None:
        path = self._key(table)
        if self._take("="):
            self._value(path)

    def _value(self, path: str) -> None:
        if self._take("["):
            for index in count():
                self._blank()
                if self._take("]"):
                    return
                self.lines.setdefault(join(path, index), self._next.line)
                self._value(join(path, index))
                self._blank()
                self._take(",")
        elif self._take("{"):
            while not self._take("}"):
                self._blank()
                self._pair(path)
                self._blank()
                self._take(",")
        else:
            self._skip(",]}")

    def _blank(self) -> None:
        while self._next.kind == "end" and self._next is not _NOTHING:
            self._at += 1

    def _skip(self, signs: str) -> None:
        """To the end of the line, or to one of `signs`."""
        while self._next.kind != "end" and not (self._next.kind == "sign" and self._next.text in signs):
            self._at += 1


def _unquoted(text: str) -> str:
    found: str = tomllib.loads(f"key = {text}")["key"]
    return found
