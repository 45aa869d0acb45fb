"""Names for tests that come from a list of queries: made of the query's own words, so that they stay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from skillwalker.text import has_controls

_WORDS = 7
_CHARACTERS = 48


def short_name(query: str) -> str:
    """The first words of a query; `…` where more follow."""
    words = [word for word in query.split() if not has_controls(word)]
    name = ""
    for number, word in enumerate(words):
        longer = f"{name} {word}" if name else word
        if number == _WORDS or len(longer) > _CHARACTERS:
            # Many scripts put no blanks between words.
            return f"{name or word[: _CHARACTERS - 1]}…"
        name = longer
    return name or "query"


def unique_names(wanted: Sequence[str], taken: Iterable[str]) -> tuple[str, ...]:
    """`wanted`, where a name that is there already gets the next number: `a`, `a (2)`, `a (3)`."""
    used = set(taken)
    names = []
    for name in wanted:
        candidate, number = name, 1
        while candidate in used:
            number += 1
            candidate = f"{name} ({number})"
        used.add(candidate)
        names.append(candidate)
    return tuple(names)
