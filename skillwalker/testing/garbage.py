"""Values that no type should take: made from values that it takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from skillwalker.expectations.options import shown

_ODD: tuple[Any, ...] = (
    None,
    True,
    -7,
    0.5,
    "",
    "\x1b[2J\u202e\n\x00",
    [],
    [None],
    [["deep"], {"deep": None}],
    {"no such option": None},
)


def kind(value: Any) -> str:
    """What JSON calls it."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "text"
        case list():
            return "list"
        case _:
            return "object"


def strays(good: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """(what is wrong, value): none of them can be meant.

    Of a kind that no good value has, or with an option that no good value has.
    """
    kinds = {kind(value) for value in good}
    for odd in _ODD:
        if kind(odd) not in kinds and kind(odd) != "object":
            yield f"a value of the wrong kind, {shown(odd)}", odd
    for value in good:
        if isinstance(value, dict):
            yield "an option that does not exist", {**value, "no such option": 1}
            yield "an option with an empty name", {**value, "": 1}
    if not any(isinstance(value, dict) for value in good):
        yield "an option that does not exist", {"no such option": 1}
    for name, value in _options(good):
        kinds_of_it = {kind(each[name]) for each in good if isinstance(each, dict) and name in each}
        for odd in _ODD:
            if kind(odd) == "object" and "object" not in kinds_of_it:
                yield f"{name} as {shown(odd)}", {**value, name: odd}


def oddities(good: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """(what is odd, value): a type may refuse or take them, but never break."""
    yield from ((shown(odd), odd) for odd in _ODD)
    for name, value in _options(good):
        yield from ((f"{name} as {shown(odd)}", {**value, name: odd}) for odd in _ODD)
        yield f"without {name}", {key: each for key, each in value.items() if key != name}


def _options(good: Sequence[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for value in good:
        if isinstance(value, dict):
            yield from ((name, value) for name in value)
