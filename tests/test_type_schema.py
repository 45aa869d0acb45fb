"""The schema of one type's value: from fields, short form and docstring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import attrs
import jsonschema
import pytest

from skillwalker.expectations.options import OptionsError, structurer
from skillwalker.expectations.schema import hint_schema, value_schema


@dataclass(frozen=True)
class Place:
    line: int
    column: int = 1


@attrs.frozen
class Plain:
    """Does one thing.

    And more.

    Attributes:
        text: What to find.

    Examples:
        {"plain": {"text": "x"}}
    """

    text: str
    share: float = attrs.field(default=1, validator=[attrs.validators.gt(0), attrs.validators.le(1)])
    mode: Literal["all", "any"] = "all"
    places: tuple[Place, ...] = ()
    weights: Mapping[str, float] | None = None
    not_below: int = attrs.field(default=0, alias="notBelow", validator=attrs.validators.ge(-2))
    anything: Any = attrs.field(factory=object)

    def check(self, trial: Any) -> Any: ...


@attrs.frozen
class Short:
    shorthand: ClassVar[str] = "words"

    words: str | list[str]
    count: int = 1


@attrs.frozen
class Expands:
    text: str

    @classmethod
    def expand(cls, value: Any, test: Any) -> Any:
        return value


@dataclass(frozen=True)
class Tree:
    name: str
    inner: list[Tree] = field(default_factory=list)


@attrs.frozen
class Converted:
    size: int = attrs.field(converter=abs, validator=attrs.validators.ge(0))


def test_options_are_described() -> None:
    schema = value_schema(Plain)
    options = schema["properties"]
    assert schema["description"] == "Does one thing.\n\nAnd more."
    assert schema["examples"] == [{"text": "x"}]
    assert (schema["required"], schema["additionalProperties"]) == (["text"], False)
    assert options["text"] == {"description": "What to find.", "type": "string"}
    assert options["share"] == {"type": "number", "default": 1, "exclusiveMinimum": 0, "maximum": 1}
    assert options["notBelow"]["minimum"] == -2
    assert options["places"]["default"] == []
    assert options["anything"] == {}


def test_a_limit_of_a_converted_value_is_none_of_what_stands_in_the_file() -> None:
    assert value_schema(Converted)["properties"]["size"] == {"type": "integer"}


def test_a_short_form_is_one_of_the_forms() -> None:
    short, long = value_schema(Short)["anyOf"]
    assert short == {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    assert long["required"] == ["words"]


def test_what_a_hook_takes_is_not_guessed() -> None:
    assert value_schema(Expands)["anyOf"][1] == {}


def test_a_class_within_itself_has_an_end() -> None:
    assert value_schema(Tree)["properties"]["inner"]["items"] == {"type": "object"}


VALUES = (
    *({"text": "x", "share": share} for share in (0, 0.5, 1, 1.5, True, "1", None)),
    *({"text": "x", "mode": mode} for mode in ("all", "al", 1)),
    *({"text": "x", "weights": weights} for weights in ({}, {"a": 1}, {"a": "b"}, None, [])),
    *(
        {"text": "x", "places": places}
        for places in ([], [{"line": 1}], [{"column": 1}], [1], {}, [{"lime": 1}])
    ),
    *({"text": "x", "notBelow": low} for low in (-2, -3, None, "1")),
    *({"text": text} for text in ("", 5, None, ["x"])),
    {},
    {"text": "x", "other": 1},
    "x",
    None,
    [],
)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_schema_and_options_agree(value: Any) -> None:
    try:
        structurer(Plain)(value, "")
        taken = True
    except OptionsError:
        taken = False
    assert jsonschema.Draft7Validator(value_schema(Plain)).is_valid(value) is taken


@pytest.mark.parametrize("hint", [bytes, object])
def test_an_unknown_type_is_left_open(hint: Any) -> None:
    assert hint_schema(hint) == {}
