"""SKILL.md and agent files, read the way Claude Code reads them.

Claude Code's reader is YAML 1.2 with habits of its own: the closing fence need not stand on a line of its
own, and where the YAML is broken, lines with unquoted special characters are quoted and read once more. What
it cannot read it drops without a word, so `Frontmatter.problem` says it.

Source: the skills and agents that Claude Code 2.1.332 lists in its requests for some thousand files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from math import inf, nan
from typing import Any

from attrs import field, frozen

_SPACE = r"[\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"  # as JavaScript's \s
_SPACES = (
    "\t\n\x0b\x0c\r \xa0\u1680"
    + "".join(map(chr, range(0x2000, 0x200B)))
    + "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_FENCED = re.compile(rf"---(?>{_SPACE}*\n)(.*?)---{_SPACE}*\n?", re.DOTALL)
_SPECIAL = re.compile(r"[{}\[\]*&#!|>%@`]|: ")
_PAIR = re.compile(rf"([a-zA-Z_-]+):{_SPACE}++([^\n\r\u2028\u2029]+)")
_DECIMAL = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_NUMBERS = ((re.compile(r"0o([0-7]+)"), 8), (re.compile(r"0x([0-9a-fA-F]+)"), 16))
_CONSTANTS: Mapping[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), nan),
}

EMPTY, UNFENCED = "the file is empty", "the file does not begin with a line `---`"
"""Problems of a file without any frontmatter."""

_MOST_REPEATED = 1_000_000  # characters
_INVALID = "the frontmatter is not valid YAML"
_NO_PAIR = "here it stops being `name: value`; a value that begins with a quote has to end with it"
_IN_OTHER_WORDS = {
    "did not find expected key": _NO_PAIR,
    "did not find expected <document start>": _NO_PAIR,
    "could not find expected ':'": "a line without `name:`; what goes on with a text is indented",
    "found unexpected end of stream": "a quote that is opened here is not closed",
    "mapping values are not allowed in this context": "a second `name:` in a value; put the value in quotes",
    "found a tab character where an indentation space is expected": "a tab is no indentation; use blanks",
    "found character that cannot start any token": "a tab, or a character that needs quotes, begins here",
    "did not find expected ',' or ']'": "a value that begins with [ is a list; put a text in quotes",
    "did not find expected ',' or '}'": "a value that begins with { is a mapping; put a text in quotes",
}
"""What libyaml says, and what its reader can do something with."""

_TOLD_LATE = ("could not find expected ':'", "found unexpected end of stream")
"""Problems whose cause is where libyaml began, not where it gave up."""

# Characters that libyaml refuses, or takes for the end of a line, and Claude Code does not: while libyaml
# reads, they wait in a private plane.
_PLANE = 0xF0000
_CONTROLS = (*range(1, 9), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0x7F, 0xA0))
_UNLIKED = (*_CONTROLS, 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF)
_HIDE = {code: _PLANE + code for code in _UNLIKED}
_UNHIDE = {hidden: code for code, hidden in _HIDE.items()}
_HIDDEN_COMMA = chr(_PLANE + ord(","))
_UNHIDE[ord(_HIDDEN_COMMA)] = ord(",")
_COMMA = re.compile(r"^([^\s:#]+:[ \t]+),", re.MULTILINE)
_ANCHOR = re.compile(r"^([^\s:#]+:[ \t]+&)([^\s,\[\]{}]+)", re.MULTILINE)
_CONFLICT = re.compile(r"^<{7} ", re.MULTILINE)
_SURROGATES = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")


@frozen
class Frontmatter:
    """What Claude Code sees of a file.

    Attributes:
        fields: The fields by name; values as JSON has them. Empty where Claude Code sees none.
        body: The text behind the closing fence.
        problem: Why Claude Code sees no fields; None where it sees some.
        line: Where in the file that is, from 1; None where it is no one line.
        repaired: The YAML is broken, and only reading it with special characters quoted helped.
        block: The YAML as it is written; empty where there is none.
    """

    fields: Mapping[str, Any] = field(factory=dict)
    body: str = ""
    problem: str | None = None
    line: int | None = None
    repaired: bool = False
    block: str = field(default="", eq=False, repr=False)

    def line_of(self, key: str) -> int:
        """The line of the file with a field, or the first one."""
        found = re.search(rf"^[\"']?{re.escape(key)}[\"']?[ \t]*:", self.block, re.MULTILINE)
        return self.block.count("\n", 0, found.start()) + 2 if found else 1


def read_frontmatter(data: bytes) -> Frontmatter:
    """What Claude Code sees of a file with these bytes; never raises."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return Frontmatter(problem="the file is UTF-16; Claude Code reads UTF-8")
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        return Frontmatter(body=text, problem="the file holds a NUL character", line=line)
    fenced = _FENCED.match(text)
    if fenced is None:
        return Frontmatter(body=text, problem=_why_not_fenced(text), line=1)
    body = text[fenced.end() :]
    first, problem = _parse(fenced[1])
    if problem is None:
        return Frontmatter(first, body, block=fenced[1])
    second, still = _parse(_quoted(fenced[1]))
    if still is None:
        return Frontmatter(second, body, repaired=True, block=fenced[1])
    if conflict := _CONFLICT.search(fenced[1]):
        line = fenced[1].count("\n", 0, conflict.start()) + 2
        problem = _Fault(f"{_INVALID}: a merge conflict was left in it", line)
    return Frontmatter(body=body, problem=problem.message, line=problem.line, block=fenced[1])


def text_of(value: Any) -> str:
    """A field as Claude Code makes text of it: a list joined by commas, `1.0` as `1`."""
    match value:
        case str():
            return value
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _number_text(value)
        case list():
            return ",".join(map(text_of, value))
        case _:
            return "[object Object]"


def is_true(value: Any) -> bool:
    """A switch such as `disable-model-invocation` is on."""
    return not isinstance(value, list) and text_of(value).strip().lower() in ("true", "yes", "on", "1")


def strip(text: str) -> str:
    """Without white space at both ends, as JavaScript's `trim` counts it."""
    return text.strip(_SPACES)


def _why_not_fenced(text: str) -> str:
    if not strip(text):
        return EMPTY
    if text.startswith("---"):
        return "the frontmatter has no closing `---`"
    return UNFENCED


def _is_list(text: str) -> bool:
    return _parse(f"list: {text}")[1] is None


def _quoted(block: str) -> str:
    """`block` with every value quoted that holds a character with a meaning in YAML."""

    def line(text: str) -> str:
        pair = _PAIR.fullmatch(text)
        if pair is None or not _SPECIAL.search(pair[2]):
            return text
        value = pair[2]
        ends = value[0] + value[-1]
        if ends in ('""', "''") or (ends == "[]" and _is_list(value)):
            return text
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'{pair[1]}: "{escaped}"'

    return "\n".join(map(line, block.split("\n")))


@frozen
class _Fault:
    """What is wrong with the YAML, and the line of the file."""

    message: str
    line: int | None


class _UnindentedError(ValueError):
    """Carries the line of the file."""


def _parse(block: str) -> tuple[dict[str, Any], _Fault | None]:
    """The fields of a block of YAML and None, or nothing and what is wrong."""
    import yaml  # 30 ms that only a command with plugins needs

    try:
        return _Reading(_adapted(block)).fields(), None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        if error.problem in _TOLD_LATE and error.context_mark:
            mark = error.context_mark
        why = _IN_OTHER_WORDS.get(error.problem or "", error.problem)
        return {}, _Fault(f"{_INVALID}: {why}", mark.line + 2 if mark else None)
    except _UnindentedError as error:
        return {}, _Fault(f"{_INVALID}: quoted text goes on in a line that is not indented", error.args[0])
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        return {}, _Fault(f"{_INVALID}: {error}", None)


def _adapted(block: str) -> str:
    """`block` with what libyaml refuses and Claude Code reads made readable for libyaml."""
    block = _SURROGATES.sub(_joined, block).translate(_HIDE)
    block = _COMMA.sub(lambda pair: pair[1] + _HIDDEN_COMMA, block)
    return _ANCHOR.sub(lambda pair: pair[1] + re.sub(r"[^a-zA-Z0-9_-]", "_", pair[2]), block)


def _joined(pair: re.Match[str]) -> str:
    high, low = (int(half, 16) for half in pair.groups())
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))


class _Reading:
    """One block of YAML on its way to plain values."""

    def __init__(self, block: str) -> None:
        import yaml

        self._lines = block.split("\n")
        self._root: Any = yaml.compose(block, getattr(yaml, "CBaseLoader", yaml.BaseLoader))
        self._seen: dict[int, Any] = {}  # an alias is read once; inside itself it is nothing
        self._sizes: dict[int, int] = {}  # of what was seen, aliases in full
        self._size = 0

    def fields(self) -> dict[str, Any]:
        if self._root is None:
            return {}
        value = self._value(self._root, -1)
        if not isinstance(value, dict):
            raise ValueError("it is no list of `name: value` lines")
        return value

    def _value(self, node: Any, outer: int) -> Any:
        """`node` as JSON would have it; `outer` is the column of the mapping or list around it."""
        if id(node) in self._seen:
            self._size += self._sizes.get(id(node), 1)
            if self._size > _MOST_REPEATED:  # a few lines of aliases can stand for more than any memory holds
                raise ValueError("its aliases stand for too much")
            return self._seen[id(node)]
        before = self._size
        if node.id == "scalar":
            self._size += 1 + len(node.value)
            if not node.style:
                return _plain(node.value)
            if node.style in ("'", '"'):
                self._refuse_unindented(node, outer, may_begin="")
            return node.value.translate(_UNHIDE)
        if node.flow_style:
            self._refuse_unindented(node, outer, may_begin="#]}")
        else:
            outer = node.start_mark.column
        self._seen[id(node)] = None
        if node.id == "sequence":
            read: Any = [self._value(item, outer) for item in node.value]
        else:  # of two equal keys the last wins
            read = {text_of(self._value(key, outer)): self._value(value, outer) for key, value in node.value}
        self._seen[id(node)] = read
        self._sizes[id(node)] = self._size - before + 1
        return read

    def _refuse_unindented(self, node: Any, outer: int, may_begin: str) -> None:
        """A text in quotes or brackets goes on in indented lines only; libyaml does not mind."""
        for number in range(node.start_mark.line + 1, node.end_mark.line + 1):
            line = self._lines[number]
            text = line.strip()
            if text and text[0] not in may_begin and len(line) - len(line.lstrip()) <= outer:
                raise _UnindentedError(number + 2)


def _plain(text: str) -> Any:
    """A plain scalar by the core schema of YAML 1.2: `yes`, dates and `1_000` are text, `012` is twelve."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    for pattern, base in _NUMBERS:
        if number := pattern.fullmatch(text):
            return float(int(number[1], base))
    if _DECIMAL.fullmatch(text):
        return float(text)
    return text.translate(_UNHIDE)


def _number_text(number: float) -> str:
    """A number as JavaScript prints it."""
    if number != number:
        return "NaN"
    if abs(number) == inf:
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "0"
    if 1e-6 <= abs(number) < 1e21:
        plain = format(Decimal(repr(number)), "f")
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    return re.sub(r"e([-+])0+", r"e\1", repr(number)).replace(".0e", "e")
