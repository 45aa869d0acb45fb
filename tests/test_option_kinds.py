"""Kinds of options beyond the plain ones: taken as JSON says it, or refused, never made to fit."""

from __future__ import annotations

import enum
from collections.abc import Set
from typing import Any, Literal, TypedDict

import pytest
from attrs import field, frozen

from skillwalker.expectations.describe import describe, made_up_value
from skillwalker.expectations.options import OptionsError, structurer
from skillwalker.expectations.schema import value_schema


class Mode(enum.StrEnum):
    FAST = "fast"
    SLOW = "slow"


class Level(enum.IntEnum):
    LOW = 1


class Plain(enum.Enum):
    RED = "red"


class Loose(TypedDict):
    a: int


def of(hint: Any) -> type[Any]:
    return frozen(type("Type", (), {"__annotations__": {"x": hint}}))


def taken(hint: Any, value: Any) -> Any:
    return structurer(of(hint))({"x": value}, "p").x


def told(hint: Any, value: Any) -> str:
    with pytest.raises(OptionsError) as caught:
        taken(hint, value)
    (problem,) = caught.value.problems
    return str(problem)


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (set[str], ["a", "b", "a"], {"a", "b"}),
        (frozenset[int], [1], frozenset({1})),
        (Set[str], [], set()),
        (tuple[int, str], [1, "a"], (1, "a")),
        (Mode, "fast", Mode.FAST),
        (Mode | None, None, None),
        (Level, 1, Level.LOW),
        (Plain, "red", Plain.RED),
        (list[Mode], ["slow"], [Mode.SLOW]),
    ],
)
def test_what_json_says_is_taken(hint: Any, value: Any, expected: Any) -> None:
    found = taken(hint, value)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (set[str], "ab", 'p.x: expected a list, got "ab"'),
        (set[str], {"a": 1}, 'p.x: expected a list, got {"a": 1}'),
        (set[str], [1], "p.x[0]: expected text, got 1"),
        (tuple[str, str], "ab", 'p.x: expected a list of text, text, got "ab"'),
        (tuple[int, str], [1], "p.x: expected a list of a whole number, text, got [1]"),
        (tuple[int, str], ["a", "b"], 'p.x: expected a whole number, got "a"'),
        (Mode, "fats", 'p.x: expected one of "fast", "slow", got "fats" (did you mean fast?)'),
        (Mode, 1, 'p.x: expected one of "fast", "slow", got 1'),
        (Level, 5, "p.x: expected one of 1, got 5"),
        (Level, True, "p.x: expected one of 1, got true"),
        (Plain, "RED", 'p.x: expected one of "red", got "RED" (did you mean red?)'),
        (bytes, 5, "p.x: an option cannot be bytes"),
        (float, 10**400, f"p.x: expected a number, got {10**400}"[:73]),
    ],
)
def test_what_it_does_not_say_is_refused(hint: Any, value: Any, expected: str) -> None:
    assert told(hint, value).startswith(expected)


@pytest.mark.parametrize("hint", [Loose, Literal[Plain.RED]])
def test_what_nothing_can_check_is_no_option(hint: Any) -> None:
    with pytest.raises(TypeError, match="TypedDict|JSON cannot say"):
        structurer(of(hint))


class Stop(BaseException):
    pass


@pytest.mark.parametrize("error", [SystemExit(1), Stop("x")])
def test_a_validator_that_ends_the_program_refuses_the_value(error: BaseException) -> None:
    def validate(*_: object) -> None:
        raise error

    structure = structurer(
        frozen(type("Type", (), {"__annotations__": {"x": int}, "x": field(validator=validate)}))
    )
    with pytest.raises(OptionsError, match=type(error).__name__):
        structure({"x": 1}, "p")


@pytest.mark.parametrize(
    ("hint", "words", "schema", "sample"),
    [
        (Mode, 'one of "fast", "slow"', {"enum": ["fast", "slow"]}, "fast"),
        (set[str], "a list of text", {"type": "array", "items": {"type": "string"}}, ["text"]),
        (
            tuple[int, str],
            "a list of a whole number, text",
            {"type": "array", "items": [{"type": "integer"}, {"type": "string"}]},
            [1, "text"],
        ),
    ],
)
def test_they_are_described(hint: Any, words: str, schema: Any, sample: Any) -> None:
    cls = of(hint)
    (option,) = describe(cls).options
    assert option.type == words
    assert value_schema(cls)["properties"]["x"] == schema
    assert made_up_value(cls, structurer(cls)) == {"x": sample}
