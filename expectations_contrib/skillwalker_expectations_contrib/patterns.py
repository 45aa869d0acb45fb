"""Regular expressions that end in time.

A pattern of an eval meets a text that nobody foresaw. Python's own `re` cannot be interrupted, and while it
backtracks nothing else in the process runs; `regex` takes the same patterns and has a deadline.
"""

from __future__ import annotations

from typing import Any

import regex

from skillwalker.expectations import NotObservedError, safe

SEARCH_SECONDS = 5.0
"""For one search; a sound pattern needs milliseconds."""
TEXT_LIMIT = 4 << 20
"""Characters that are searched; no answer of a model comes near it, but a file may."""

_FLAGS = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL, "x": regex.VERBOSE}
_AROUND, _FOUND = 60, 160


def is_flags(_: Any, attribute: Any, value: str) -> None:
    """A validator for options such as `"im"`."""
    unknown = "".join(sorted(set(value) - set(_FLAGS)))
    if unknown:
        raise ValueError(
            f"'{attribute.name}' has {safe(unknown, 20)}; there are i (capitals do not count), m (^ and $ at "
            "every line), s (a dot is a line break too) and x (spaces and comments in the pattern)"
        )


def is_pattern(instance: Any, attribute: Any, value: str) -> None:
    """A validator; if the class has a field `flags`, they count."""
    if fault := pattern_fault(value, getattr(instance, "flags", "")):
        raise ValueError(f"'{attribute.name}' {fault}")


def pattern_fault(pattern: str, flags: str = "") -> str | None:
    """Why a text is no usable pattern; None if it is one."""
    if not pattern:
        return "must not be empty: the empty pattern matches every text"
    try:
        compiled(pattern, flags)
    except (regex.error, ValueError, OverflowError, RecursionError) as error:
        return f"is no regular expression: {safe(str(error), 200)}"
    return None


def compiled(pattern: str, flags: str = "") -> regex.Pattern[str]:
    """
    Raises:
        regex.error: it is no regular expression.
    """
    value = 0
    for flag in flags:
        value |= _FLAGS.get(flag, 0)
    return regex.compile(pattern, value)


def search(pattern: str, text: str, flags: str = "") -> regex.Match[str] | None:
    """The first match.

    Raises:
        NotObservedError: there is no answer in time, or none in as much of the text as is searched.
    """
    what = f"whether /{safe(pattern, 80)}/ matches"
    try:
        found = compiled(pattern, flags).search(
            text, endpos=TEXT_LIMIT, timeout=SEARCH_SECONDS, concurrent=True
        )
    except TimeoutError:
        raise NotObservedError(
            f"{what} (no answer within {SEARCH_SECONDS:g} s: the pattern tries too many ways)", None
        ) from None
    # A match that ends where the search did may be one of `$` with what is not the text's end.
    if len(text) > TEXT_LIMIT and (found is None or found.end() >= TEXT_LIMIT):
        raise NotObservedError(f"{what} (not in the first {TEXT_LIMIT:,} characters of a longer text)", None)
    return found


def around(text: str, start: int, end: int) -> str:
    """What was found, quoted, with some of what stands before and after."""
    first, last = max(0, start - _AROUND), min(len(text), min(end, start + _FOUND) + _AROUND)
    before, after = "…" if first else "", "…" if last < len(text) else ""
    return f'"{before}{safe(text[first:last])}{after}"'
