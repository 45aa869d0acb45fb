"""Text of others made harmless before it is shown, and suggestions for mistyped words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence

# Controls (ANSI escapes start with one), format characters (bidirectional overrides, zero width, tags),
# lone surrogates, line and paragraph separators: all can make a terminal show what is not there.
_HARMFUL = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Fillers, the empty braille cell and variation selectors count as letters, symbols and marks.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {
    chr(code) for code in range(0xFE00, 0xFE10)
}
_COMMAND = "##["
"""Begins a command of GitHub's runner anywhere in a line, such as `##[add-mask]`; the newer `::` does so at a
line's start. Source: actions/runner, src/Runner.Common/ActionCommand.cs."""
_NAMED = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_NOT_PLAIN = re.compile(r"[^ -~]")
_NOT_PLAIN_IN_LINES = re.compile(r"[^ -~\n\t]")


def safe(text: str, limit: int | None = None, *, lines: bool = False) -> str:
    """`text` for a terminal or a log: what could steer it is a visible escape such as `\\x1b`.

    Lines, where they are left, can still begin with `::`; who prints them marks them.

    Args:
        limit: At most so many characters; a longer text is cut and ends in `…`.
        lines: Leave line breaks and tabs as they are; otherwise the result is one line.
    """
    cut = limit is not None and len(text) > limit
    if cut:
        text = text[:limit]
    if not text.isprintable():
        if not lines:
            text = _NOT_PLAIN.sub(_shown, text)
        else:
            text = text.replace("\r\n", "\n")
            if not text.replace("\n", "").replace("\t", "").isprintable():  # much faster than the pattern
                text = _NOT_PLAIN_IN_LINES.sub(_shown, text)
    if _COMMAND in text:
        text = text.replace(_COMMAND, r"#\x23[")
    if limit is not None and (cut or len(text) > limit):
        text = text[: max(limit - 1, 0)] + "…"
    return text


def has_controls(text: str) -> bool:
    """Whether `text` holds control characters, line separators or lone surrogates: no name does."""
    return not text.isprintable() and any(
        unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text
    )


def is_blank(text: str) -> bool:
    """Whether nothing of `text` can be seen."""
    return all(_is_invisible(character) for character in text)


def near(word: str, options: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """The options that `word` may be a mistyping of, the nearest first; case does not count."""
    import difflib

    folded: dict[str, list[str]] = {}
    for option in options:
        folded.setdefault(option.casefold(), []).append(option)
    matches = difflib.get_close_matches(word.casefold(), folded, n=limit, cutoff=0.6)
    return tuple(option for match in matches for option in folded[match])[:limit]


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """` (did you mean x?)` with the nearest option, or nothing: to be appended to a message."""
    matches = near(word, options, limit=1)
    return f" (did you mean {safe(matches[0])}?)" if matches else ""


def listed(words: Collection[str], limit: int = 10) -> str:
    """`a, b, c and 4 more`, each made safe."""
    shown: Sequence[str] = [safe(word) for word in list(words)[:limit]]
    rest = len(words) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def count(number: int, one: str, many: str = "") -> str:
    """`1 test`, `2 tests`; `many` where it is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _is_invisible(character: str) -> bool:
    return (
        character.isspace()
        or character in _INVISIBLE
        or unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")
    )


def _shown(match: re.Match[str]) -> str:
    character = match[0]
    if unicodedata.category(character) not in _HARMFUL:
        return character
    if character in _NAMED:
        return _NAMED[character]
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
