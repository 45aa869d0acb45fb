"""The JSON Schema (draft 7) of one type's value: what its fields, short form and docstring say.

It is for editors, so it may take more than the type does (files that must exist, rules in code), and never
refuses a value that the type takes.
"""

from __future__ import annotations

import dataclasses
import json
import math
import typing
from collections.abc import Iterable, Iterator
from typing import Any

import attrs
from cattrs.cols import is_mapping

from skillwalker.expectations.describe import Option, describe, shorthand_of
from skillwalker.expectations.options import (
    UNKNOWN,
    choices,
    fields_of,
    is_array,
    is_choice,
    is_class_of_options,
    is_row,
    is_union,
)

_SIMPLE = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_BOUNDS = {">=": "minimum", ">": "exclusiveMinimum", "<=": "maximum", "<": "exclusiveMaximum"}


def value_schema(cls: type[Any]) -> dict[str, Any]:
    """What may stand below the type's key, with its description and its examples' values."""
    about = describe(cls)
    schema: dict[str, Any] = {}
    words = "\n\n".join(part for part in (about.summary, about.text) if part)
    if words:
        schema["description"] = words
    options = object_schema(cls)
    if (short := shorthand_of(cls)) is not None:
        schema["anyOf"] = [options["properties"][short], options]
    elif hasattr(cls, "expand"):
        # What `expand` takes is its own affair; the options are there for an editor's suggestions.
        schema["anyOf"] = [options, {}]
    else:
        schema |= options
    values = [next(iter(example.values())) for example in about.examples]
    return schema | ({"examples": values} if values else {})


def object_schema(cls: type[Any], within: tuple[type[Any], ...] = ()) -> dict[str, Any]:
    """An object with the options of a class (attrs or dataclass); `within` are the classes around it."""
    if cls in within:
        return {"type": "object"}
    options = {option.name: option for option in describe(cls).options}
    hints = typing.get_type_hints(cls)
    bounds = dict(_bounds(cls))
    properties = {
        name: _about(options[name])
        | hint_schema(hints.get(field, Any), (*within, cls))
        | bounds.get(field, {})
        for field, name, _ in fields_of(cls)
    }
    required = [name for name, option in options.items() if option.required]
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def hint_schema(hint: Any, within: tuple[type[Any], ...] = ()) -> dict[str, Any]:
    """What JSON may stand where a field of this type is filled; `{}` where that is not known."""
    if isinstance(hint, type) and hint in _SIMPLE:
        return {"type": _SIMPLE[hint]}
    arguments = typing.get_args(hint)
    if is_choice(hint):
        return {"enum": list(choices(hint))}
    if is_union(hint):
        return {"anyOf": [hint_schema(argument, within) for argument in arguments]}
    if is_array(hint):
        return {"type": "array"} | ({"items": hint_schema(arguments[0], within)} if arguments else {})
    if is_row(hint):
        return {"type": "array", "items": [hint_schema(one, within) for one in arguments]}
    if is_mapping(hint):
        values = hint_schema(arguments[1], within) if len(arguments) == 2 else {}
        return {"type": "object"} | ({"additionalProperties": values} if values else {})
    if is_class_of_options(hint):
        return object_schema(hint, within)
    return {}


def _about(option: Option) -> dict[str, Any]:
    """What an editor shows beside the option: its description and its default."""
    about: dict[str, Any] = {"description": option.description} if option.description else {}
    if option.required or option.default is UNKNOWN:
        return about
    try:
        return about | {"default": json.loads(json.dumps(option.default, allow_nan=False))}
    except (TypeError, ValueError):  # a value that JSON does not know, such as one of the type's own classes
        return about


def _bounds(cls: type[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(field, limits) as far as attrs' own validators of numbers say them."""
    if dataclasses.is_dataclass(cls):
        return
    for attribute in attrs.fields(cls):
        if attribute.converter is None:  # otherwise they judge what was made of the value
            yield attribute.name, dict(_limits([attribute.validator]))


def _limits(validators: Iterable[Any]) -> Iterator[tuple[str, float]]:
    for validator in validators:
        yield from _limits(getattr(validator, "_validators", ()))  # several, joined by `and_`
        bound: Any = getattr(validator, "bound", None)
        keyword = _BOUNDS.get(str(getattr(validator, "compare_op", None)))
        if keyword and type(bound) in (int, float) and math.isfinite(bound):
            yield keyword, bound
