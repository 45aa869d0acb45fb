"""JSON files written by hand: read strictly, each problem with its line.

`json` decodes. Only where it finds a fault is the text scanned a second time, for places and for words that
help an author, which do not change with Python's version.
"""

from __future__ import annotations

import codecs
import errno
import json
import math
import os
import re
import stat
from pathlib import Path
from typing import Any

from attrs import field, frozen

from skillwalker.errors import ConfigurationError, Problem
from skillwalker.jsonscan import NotJsonError, join, line_at, node_at, scan

_UTF8_ONLY = "save it as UTF-8"
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_MAX_DEPTH = 200
# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


@frozen
class Document:
    """A JSON text that could be decoded.

    Attributes:
        problems: What JSON readers disagree on and is refused here: duplicate keys, NaN and Infinity, numbers
            out of range, lone surrogates. Each has its line and path.
    """

    value: Any
    text: str = field(repr=False)
    problems: tuple[Problem, ...] = ()


def load(file: Path) -> Document:
    """Reads and parses `file`.

    Raises:
        ConfigurationError: it cannot be read, is not UTF-8 or is not JSON; its problem has no `file` yet.
    """
    return parse(decode(read_bytes(file)))


class IrregularError(OSError):
    """Nobody knows when it can be read: it is a FIFO or a device."""


def content_of(file: Path) -> bytes:
    """The content of a regular file; opening a FIFO would wait for its writer.

    Raises:
        IrregularError, OSError: it cannot be read.
    """
    mode = os.stat(file).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise IrregularError(errno.EINVAL, "it is no regular file")
    return file.read_bytes()


def read_bytes(file: Path) -> bytes:
    """As `content_of`, of a file that an author has named.

    Raises:
        ConfigurationError: there is none, or it cannot be read.
    """
    try:
        return content_of(file)
    except IsADirectoryError:
        raise ConfigurationError(["is a directory, not a file"]) from None
    except IrregularError:
        raise ConfigurationError(["is not a regular file"]) from None
    except FileNotFoundError:
        linked = os.path.islink(file)
        raise ConfigurationError(["is a link that leads nowhere" if linked else "does not exist"]) from None
    except OSError as error:
        raise ConfigurationError([f"cannot be read: {error.strerror}"]) from None


def decode(data: bytes) -> str:
    """UTF-8 text without its byte order mark; line ends stay as they are.

    Raises:
        ConfigurationError: another encoding; the problem has the line where one is known.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            raise ConfigurationError([f"is {encoding}; {_UTF8_ONLY}"])
    # UTF-16 without a mark is valid UTF-8 as long as its text is ASCII: every second byte is NUL.
    if data.count(0) * 3 > len(data):
        raise ConfigurationError([f"looks like UTF-16 or UTF-32 (it is full of NUL bytes); {_UTF8_ONLY}"])
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        byte = error.object[error.start]
        message = f"is not UTF-8: byte 0x{byte:02x} in line {line}; {_UTF8_ONLY}"
        raise ConfigurationError([Problem(message, line=line)]) from None


def parse(text: str) -> Document:
    """Decodes `text`; NaN and the like are told as problems, not refused, so that the rest can be checked.

    Raises:
        ConfigurationError: it is not JSON; the problem has the line.
    """
    suspicious = _SURROGATE_ESCAPE.search(text) is not None

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal suspicious
        value = dict(members)
        suspicious = suspicious or len(value) != len(members)
        return value

    def number(digits: str) -> float:
        nonlocal suspicious
        value = float(digits)
        suspicious = suspicious or math.isinf(value)
        return value

    def constant(name: str) -> float:
        nonlocal suspicious
        suspicious = True
        return float(name)

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_float=number, parse_constant=constant)
        return Document(value, text, scan(text).problems if suspicious else ())
    except (ValueError, RecursionError) as error:  # ValueError too: an integer of over 4,300 digits
        raise ConfigurationError([_explained(text, error)]) from None


def _explained(text: str, error: ValueError | RecursionError) -> Problem:
    if not text.strip():
        return Problem("is empty", line=1)
    too_deep = isinstance(error, RecursionError)
    try:
        problems = scan(text, _MAX_DEPTH if too_deep else None).problems
    except NotJsonError as fault:
        return Problem(f"is not JSON: {fault.message}", line=line_at(text, fault.offset))
    if problems:
        return problems[0]
    return Problem("is nested too deeply" if too_deep else f"is not JSON: {error}")


def child(path: str, *keys: str | int) -> str:
    """The JSON path of what lies below `path`, such as `tests[0].expect[1].llm-judge`."""
    for key in keys:
        path = join(path, key)
    return path


def locate(text: str, path: str) -> int | None:
    """The line of what `path` names in `text`, or of the nearest thing around it that is there.

    None where the text is not JSON.
    """
    try:
        return line_at(text, node_at(scan(text).root, path).offset)
    except NotJsonError:
        return None
