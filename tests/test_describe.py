"""What a type says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from attrs import Factory, field, frozen

from skillwalker.expectations.describe import describe, examples_of, made_up_value, shorthand_of
from skillwalker.expectations.options import REQUIRED, UNKNOWN, in_words, structurer


@frozen
class Inner:
    line: int


@frozen
class Full:
    """Does one thing
    over two lines.

    More about it.

    Attributes:
        text: What to find,
            and where.
        one, two: Both alike.
        camelCase: By its name in the file.

    Examples:
        {"full": {"text": "x"}}
        {"full": {"text": "x",
                  "one": 2}}

    Notes below are no attributes:
        not: an option.
    """

    text: str
    one: int = 1
    two: list[str] = Factory(list)
    three: int = Factory(lambda self: self.one, takes_self=True)
    snake: bool = field(default=False, alias="camelCase")
    hidden: int = field(default=0, init=False)


@dataclass(frozen=True)
class Bare:
    a: int
    b: tuple[int, ...] = ()


def test_the_docstring_gives_summary_text_and_options() -> None:
    found = describe(Full)
    assert found.summary == "Does one thing over two lines."
    assert found.text == "More about it."
    assert [(o.name, o.default, o.description) for o in found.options] == [
        ("text", REQUIRED, "What to find, and where."),
        ("one", 1, "Both alike."),
        ("two", [], "Both alike."),
        ("three", UNKNOWN, ""),
        ("camelCase", False, "By its name in the file."),
    ]
    assert [option.required for option in found.options] == [True, False, False, False, False]


def test_a_docstring_that_a_dataclass_made_up_is_none() -> None:
    found = describe(Bare)
    assert (found.summary, found.text) == ("", "")
    assert [(o.name, o.type, o.required) for o in found.options] == [
        ("a", "a whole number", True),
        ("b", "a list of a whole number", False),
    ]


def test_examples_are_json_objects_of_one_key() -> None:
    assert describe(Full).examples == ({"full": {"text": "x"}}, {"full": {"text": "x", "one": 2}})
    assert describe(Bare).examples == ()
    for text in ('{"a": 1, "b": 2}', "{}", "[1]", "{a: 1}", "result-contains: x"):
        broken = type("Broken", (Bare,), {"__doc__": f"Does.\n\nExamples:\n    {text}\n"})
        assert describe(broken).examples == ()
        with pytest.raises(ValueError):
            examples_of(broken)


def test_the_short_form_is_that_of_its_option() -> None:
    assert describe(type("Short", (Full,), {"shorthand": "camelCase"})).shorthand == "true or false"
    assert describe(Full).shorthand is None


def test_an_option_may_be_called_shorthand() -> None:
    @frozen
    class Named:
        shorthand: str = "x"

    assert shorthand_of(Named) is None


@pytest.mark.parametrize(
    ("cls", "value"),
    [(Full, {"text": "text"}), (Bare, {"a": 1}), (Inner, {"line": 1})],
)
def test_a_value_can_be_made_up(cls: type, value: Any) -> None:
    assert made_up_value(cls, structurer(cls)) == value


def test_no_value_is_made_up_that_the_type_refuses() -> None:
    @frozen
    class Even:
        number: int = field(validator=lambda _, __, value: [][value % 2])

    assert made_up_value(Even, structurer(Even)) is None


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (str, "text"),
        (bool, "true or false"),
        (float, "a number"),
        (str | None, "text or null"),
        (Literal["a", 1], 'one of "a", 1'),
        (list[str], "a list of text"),
        (list, "a list"),
        (tuple[Inner, ...], "a list of an object with line"),
        (Mapping[str, int], "an object"),
        (Any, "any value"),
    ],
)
def test_types_in_words(hint: Any, words: str) -> None:
    assert in_words(hint) == words
