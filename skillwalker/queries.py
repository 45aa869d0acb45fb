"""Names for tests that come from a list of queries: made of the query's own words, so that they stay."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from skillwalker.text import has_controls

_WORDS = 7
_CHARACTERS = 48
_MORE = "…"
_NUMBER = re.compile(r" \(\d+\)\Z")


def short_name(query: str) -> str:
    """The first words of a query; `…` where more follow."""
    words = [word for word in query.split() if not has_controls(word)]
    name = ""
    for number, word in enumerate(words):
        longer = f"{name} {word}" if name else word
        if number == _WORDS or len(longer) > _CHARACTERS:
            # Many scripts put no blanks between words.
            return (name or word[: _CHARACTERS - 1]) + _MORE
        name = longer
    return name or "query"


def is_cut(name: str) -> bool:
    """Whether a test's name may be the beginning of a longer query."""
    return _NUMBER.sub("", name).endswith(_MORE)


def is_made_of(name: str, query: str) -> bool:
    """Whether a test's name was made of `query`: with or without a title before it and a number behind it."""
    made = short_name(query)
    return any(one == made or one.endswith(f": {made}") for one in (name, _NUMBER.sub("", name)))


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
