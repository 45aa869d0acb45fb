"""Turns the JSON value of an expectation into its type's fields: nothing guessed, every problem with a path.

cattrs by itself reads `5` as "5", "no" as True and "xy" as ["x", "y"]; here a value has the right JSON type
or is a problem. The names in `tests.json` are the fields' names, or their aliases.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import re
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

import attrs
from cattrs import Converter, ForbiddenExtraKeysError
from cattrs.cols import (
    homogenous_tuple_structure_factory,
    is_any_set,
    is_frozenset,
    is_mapping,
    is_sequence,
    list_structure_factory,
    mapping_structure_factory,
)
from cattrs.errors import ClassValidationError, IterableValidationError
from cattrs.gen import make_dict_structure_fn

from skillwalker.errors import Problem
from skillwalker.jsonscan import join
from skillwalker.text import did_you_mean, safe

REQUIRED: Any = attrs.NOTHING
"""The default of an option that has none."""

UNKNOWN: Any = Ellipsis
"""The default of an option that is computed from the others."""

_COMPARED = {"<=": "at most", "<": "less than", ">=": "at least", ">": "more than"}
_BOUND = re.compile(r"must be (?P<how>[<>]=?) (?P<bound>\S+): (?P<value>.+)")
"""What the validators of attrs say of a number."""
_LENGTH = re.compile(r"Length of '(?P<field>\w+)' must be (?P<how>[<>]=) (?P<bound>\d+): (?P<value>\d+)")
"""And of a text or a list."""

_FACTORY: type[Any] = attrs.Factory  # type: ignore[assignment]  # its stub calls the class a function
_WORDS = {str: "text", bool: "true or false", int: "a whole number", float: "a number", type(None): "null"}


class OptionsError(ValueError):
    """The value does not fit; every problem with its path."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(problems)
        self.problems = problems


def structurer(cls: type[Any], shorthand: str | None = None) -> Callable[[Any, str], Any]:
    """Prepares what makes an instance of `cls` (attrs class or dataclass) from a JSON value and its path.

    The function returned raises OptionsError.

    Args:
        shorthand: The option that a value stands for which is no object.

    Raises:
        Exception: the fields' annotations cannot be resolved or are of a kind that JSON cannot give.
        ValueError: `shorthand` is no option, or one that is itself an object.
    """
    converter = _converter()
    hook = converter.get_structure_hook(cls)
    short = _short_form(cls, shorthand, converter) if shorthand is not None else None

    def structure(value: Any, path: str) -> Any:
        inside = path
        try:
            if short is not None and type(value) is not dict:
                value, inside = {shorthand: short(value)}, join(path, str(shorthand))
            return hook(value, cls)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # validators are the type's own code
            found = (
                (path if place == inside else place, text) for place, text in _problems(error, path, cls)
            )
            raise OptionsError(
                tuple(Problem(safe(text, 500), path=place) for place, text in found)
            ) from error

    return structure


def _short_form(cls: type[Any], option: str, converter: Converter) -> Callable[[Any], Any]:
    """Checks a value that stands for one option, and returns it as it is."""
    hints = typing.get_type_hints(cls)
    fields = {name: field for field, name, _ in fields_of(cls)}
    if option not in fields:
        raise ValueError(
            f"its shorthand {shown(option)} is none of its options: {', '.join(fields) or 'none'}"
        )
    hint = hints.get(fields[option], Any)
    if _may_be_object(hint):
        raise ValueError(f"its shorthand {shown(option)} may be an object, as the long form is")
    hook = converter.get_structure_hook(hint)
    options = f"the option{'s' if len(fields) > 1 else ''} {', '.join(fields)}"
    words = f"{in_words(hint)}, or an object with {options}"

    def check(value: Any) -> Any:
        try:
            hook(value, hint)
        except Exception:  # noqa: BLE001 (a class's own validators)
            raise TypeError(f"expected {words}, got {shown(value)}") from None
        return value

    return check


def _may_be_object(hint: Any) -> bool:
    if is_union(hint):
        return any(map(_may_be_object, typing.get_args(hint)))
    return hint is Any or is_mapping(hint) or is_class_of_options(hint)


def fields_of(cls: type[Any]) -> Iterator[tuple[str, str, Any]]:
    """(field, name in JSON, default) of each field that the constructor takes."""
    if attrs.has(cls):
        for attribute in attrs.fields(cls):
            if attribute.init:
                default = attribute.default
                if isinstance(default, _FACTORY):
                    default = UNKNOWN if default.takes_self else default.factory()
                yield attribute.name, attribute.alias or attribute.name, default
    else:
        for field in dataclasses.fields(cls):
            if field.init:
                default = REQUIRED if field.default is dataclasses.MISSING else field.default
                if field.default_factory is not dataclasses.MISSING:
                    default = field.default_factory()
                yield field.name, field.name, default


def shown(value: Any, limit: int = 60) -> str:
    """A JSON value as it would stand in the file, cut at `limit` characters and safe to print."""
    return safe(json.dumps(value, ensure_ascii=False, default=repr), limit)


def in_words(hint: Any) -> str:
    """What a JSON value of this type must be."""
    if hint in _WORDS:
        return _WORDS[hint]
    arguments = typing.get_args(hint)
    if is_choice(hint):
        return "one of " + ", ".join(map(shown, choices(hint)))
    if is_union(hint):
        return " or ".join(in_words(argument) for argument in arguments)
    if is_array(hint):
        return "a list" + (f" of {in_words(arguments[0])}" if arguments else "")
    if is_row(hint):
        return "a list of " + ", ".join(map(in_words, arguments))
    if is_mapping(hint):
        return "an object"
    if is_class_of_options(hint):
        return "an object with " + ", ".join(name for _, name, _ in fields_of(hint))
    return "any value" if hint is Any else getattr(hint, "__name__", str(hint))


def is_class_of_options(cls: Any) -> bool:
    return isinstance(cls, type) and (attrs.has(cls) or dataclasses.is_dataclass(cls))


def is_array(cls: Any) -> bool:
    """A list of any length, of which a type may make a tuple or a set."""
    return cls not in (str, bytes) and (is_sequence(cls) or is_any_set(cls))


def is_row(cls: Any) -> bool:
    """A tuple that says of what type each of its members is."""
    return typing.get_origin(cls) is tuple and not is_sequence(cls)


def is_choice(cls: Any) -> bool:
    return typing.get_origin(cls) is typing.Literal or _is_enum(cls)


def choices(cls: Any) -> tuple[Any, ...]:
    """What JSON may say where a type is a choice."""
    return tuple(one.value for one in cls) if _is_enum(cls) else typing.get_args(cls)


def _is_enum(cls: Any) -> bool:
    return isinstance(cls, type) and issubclass(cls, enum.Enum)


def is_union(cls: Any) -> bool:
    return typing.get_origin(cls) in (typing.Union, types.UnionType)


def _converter() -> Converter:
    """One per type, so that what one package registers or breaks stays with it."""
    converter = Converter(forbid_extra_keys=True)
    for cls in (str, bool, int):
        converter.register_structure_hook(cls, _exactly(cls))
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook(bytes, _no_option)
    converter.register_structure_hook_factory(is_array, _array)
    converter.register_structure_hook_factory(is_row, _row)
    converter.register_structure_hook_factory(is_mapping, _mapping)
    converter.register_structure_hook_factory(typing.is_typeddict, _refused)
    converter.register_structure_hook_factory(is_choice, _choice)
    converter.register_structure_hook_factory(is_union, _union)
    converter.register_structure_hook_factory(is_class_of_options, _object)
    return converter


def _exactly(cls: type[Any]) -> Callable[[Any, Any], Any]:
    def structure(value: Any, target: Any) -> Any:
        if target is not cls and _is_enum(target):  # cattrs takes an enumeration of texts for a text
            return _chosen(value, target)
        if type(value) is not cls:
            raise TypeError(f"expected {_WORDS[cls]}, got {shown(value)}")
        return value

    return structure


def _number(value: Any, _: Any) -> float:
    try:
        number = float(value) if type(value) in (int, float) else math.nan
    except OverflowError:  # a whole number of hundreds of digits
        number = math.inf
    if not math.isfinite(number):
        raise TypeError(f"expected a number, got {shown(value)}")
    return number


def _array(cls: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    if is_any_set(cls):
        members = typing.get_args(cls)
        listed = _array(list[members[0]] if members else list, converter)  # type: ignore[valid-type]
        kind = frozenset if is_frozenset(cls) else set
        return lambda value, _: kind(listed(value, list))
    is_tuple = (typing.get_origin(cls) or cls) is tuple
    hook = (homogenous_tuple_structure_factory if is_tuple else list_structure_factory)(cls, converter)
    return _only(list, "a list", hook)


def _row(cls: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    members = [(member, converter.get_structure_hook(member)) for member in typing.get_args(cls)]

    def structure(value: Any, _: Any) -> Any:
        if type(value) is not list or len(value) != len(members):
            raise TypeError(f"expected {in_words(cls)}, got {shown(value)}")
        return tuple(hook(one, member) for one, (member, hook) in zip(value, members, strict=True))

    return structure


def _no_option(_: Any, cls: Any) -> Any:
    raise TypeError(f"an option cannot be {cls.__name__}")


def _refused(cls: Any, _: Converter) -> Callable[[Any, Any], Any]:
    raise TypeError(f"{cls.__name__} is a TypedDict, which nothing checks; make it an attrs class")


def _mapping(cls: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    return _only(dict, "an object", mapping_structure_factory(cls, converter))


def _object(cls: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    hook = make_dict_structure_fn(
        cls,
        converter,
        _cattrs_forbid_extra_keys=True,
        _cattrs_detailed_validation=True,
        _cattrs_use_alias=True,
    )
    names = ", ".join(name for _, name, _ in fields_of(cls))
    return _only(dict, f"an object with the options {names}" if names else "an empty object", hook)


def _choice(cls: Any, _: Converter) -> Callable[[Any, Any], Any]:
    known = choices(cls)
    if strange := [one for one in known if type(one) not in (str, int, float, bool, type(None))]:
        raise TypeError(f"{strange[0]!r} is a choice that JSON cannot say")
    return _chosen


def _chosen(value: Any, cls: Any) -> Any:
    known = choices(cls)
    for choice in known:
        if type(value) is type(choice) and value == choice:
            return cls(choice) if _is_enum(cls) else choice
    words = [choice for choice in known if isinstance(choice, str)]
    hint = did_you_mean(value, words) if isinstance(value, str) else ""
    raise ValueError(f"expected {in_words(cls)}, got {shown(value)}{hint}")


def _union(cls: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    """The first alternative that takes the value as it is."""
    members = typing.get_args(cls)
    hooks = [(member, converter.get_structure_hook(member)) for member in members if member is not type(None)]

    def structure(value: Any, _: Any) -> Any:
        if value is None and type(None) in members:
            return None
        errors: list[Exception] = []
        for member, hook in hooks:
            try:
                return hook(value, member)
            except Exception as error:  # noqa: BLE001 (an alternative may be another package's class)
                errors.append(error)
        if len(errors) == 1:  # all that `| None` adds; the problem may lie deeper in the value
            raise errors[0]
        raise TypeError(f"expected {in_words(cls)}, got {shown(value)}")

    return structure


def _only(json_type: type[Any], words: str, hook: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def structure(value: Any, target: Any) -> Any:
        if type(value) is not json_type:
            raise TypeError(f"expected {words}, got {shown(value)}")
        return hook(value, target)

    return structure


def _problems(error: BaseException, path: str, cls: type[Any] | None) -> Iterator[tuple[str, str]]:
    if isinstance(error, ClassValidationError):
        names = {field: name for field, name, _ in fields_of(error.cl)}
        with_notes, others = error.group_exceptions()
        for inner, note in with_notes:
            name = names.get(note.name, note.name)
            if isinstance(inner, KeyError) and inner.args == (name,):
                yield path, f"missing option {name}"
            else:
                yield from _problems(inner, join(path, name), None)
        for inner in others:
            yield from _problems(inner, path, error.cl)
    elif isinstance(error, IterableValidationError):
        with_indices, others = error.group_exceptions()
        for inner, index in with_indices:
            yield from _problems(inner, join(path, index.index), None)
        for inner in others:
            yield from _problems(inner, path, None)
    elif isinstance(error, ForbiddenExtraKeysError):
        known = [name for _, name, _ in fields_of(error.cl)]
        for key in sorted(error.extra_fields):
            there = ", ".join(known) or "none"
            yield path, f"unknown option {shown(key)}{did_you_mean(key, known)}; there are: {there}"
    elif isinstance(error, ValueError | TypeError):
        yield _placed_by_validator(str(error.args[0]) if error.args else "", path, cls) or (path, str(error))
    else:
        yield path, f"{type(error).__name__}: {error}"


def _placed_by_validator(message: str, path: str, cls: type[Any] | None) -> tuple[str, str] | None:
    """The field that an attrs validator names at the beginning of its message."""
    if length := _LENGTH.fullmatch(message):
        wanted = f"its length must be {_COMPARED[length['how']]} {length['bound']}, not {length['value']}"
        message = f"'{length['field']}' {wanted}"
    for field, name, _ in fields_of(cls) if cls else ():
        if message.startswith(f"'{field}' "):
            text = message.removeprefix(f"'{field}' ")
            if match := _BOUND.fullmatch(text):
                text = f"must be {_COMPARED[match['how']]} {match['bound']}, not {match['value']}"
            return join(path, name), text
    return (path, message) if message else None
