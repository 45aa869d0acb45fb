"""JSON and JSON Schema: read strictly, checked by `jsonschema`, without network and in bounded time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from skillwalker.expectations import NotObservedError, safe, shown
from skillwalker_expectations_contrib.patterns import pattern_fault, search

_SHOWN_ERRORS = 3
_MAX_ERRORS = 20


class NotJsonError(ValueError):
    """A text is no JSON; the message says where and why."""


class SchemaError(ValueError):
    """A JSON Schema cannot be used; the message is for its author."""


def parse(text: str) -> Any:
    """A JSON value, by the standard: no NaN, no name twice, nothing beside it.

    Raises:
        NotJsonError
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        near = safe(text[max(0, error.pos - 20) : error.pos + 20], 60)
        raise NotJsonError(f'line {error.lineno}, column {error.colno}: {error.msg}, at "{near}"') from None
    except RecursionError:
        raise NotJsonError("it is nested too deep") from None
    except ValueError as error:  # such as a number of 5,000 digits
        raise NotJsonError(safe(str(error), 200)) from None


def parse_embedded(text: str) -> Any:
    """The first JSON object or array in a text, in a code block or not.

    Raises:
        NotJsonError: there is none.
    """
    decoder = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_object)
    first: NotJsonError | None = None
    position = 0
    tried = 0
    while tried < _MAX_STARTS and (start := _next_start(text, position)) >= 0:
        tried += 1
        try:
            return decoder.raw_decode(text, start)[0]
        except RecursionError:
            raise NotJsonError("it is nested too deep") from None
        except ValueError as error:
            first = first or NotJsonError(
                f'what begins with "{safe(text[start : start + 40])}" is none: {error}'
            )
            position = _behind(text, start)
    raise first or NotJsonError("there is no { and no [")


def _behind(text: str, start: int) -> int:
    """Where to go on behind what is no JSON: a part of a broken document is not the document."""
    try:
        return json.JSONDecoder().raw_decode(text, start)[1]  # its form was right
    except json.JSONDecodeError as error:
        if not text[start + 1 : error.pos].strip():  # nothing was read: brackets in a sentence
            return start + 1
    except ValueError:  # a number of thousands of digits
        pass
    depth = 0
    for found in _MARKS.finditer(text, start):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return len(text)


_MARKS = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|[\[\]{}]')
"""A text, so that brackets in it do not count, or a bracket."""

_MAX_STARTS = 1_000
"""Places that are tried; each can cost a look at all the rest."""


def _next_start(text: str, position: int) -> int:
    places = [place for mark in "{[" if (place := text.find(mark, position)) >= 0]
    return min(places, default=-1)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {shown(twice)} stands twice in one object")
    return found


@frozen
class Misfit:
    """One thing in which a value does not fit its schema."""

    path: str
    message: str


def usable(schema: Any) -> None:
    """
    Raises:
        SchemaError: `schema` is no JSON Schema, or one that cannot be checked here.
    """
    _validator(schema)


def misfits(schema: Any, value: Any) -> tuple[Misfit, ...]:
    """In what `value` does not fit, the most telling first; empty if it fits.

    Raises:
        SchemaError: as `usable`.
        NotObservedError: a pattern in it does not come to an end, or the value is nested too deep or holds a
            number that is too large.
    """
    from jsonschema.exceptions import relevance

    validator = _validator(schema)
    found = []
    try:
        for error in validator.iter_errors(value):
            found.append(error)
            if len(found) == _MAX_ERRORS:
                break
    except RecursionError:
        raise NotObservedError("whether the JSON fits the schema (it is nested too deep)", None) from None
    except ArithmeticError as error:  # `multipleOf` of a number beyond all floats
        what = f"whether the JSON fits the schema (a number in it is too large: {error})"
        raise NotObservedError(what, None) from None
    found.sort(key=relevance, reverse=True)
    return tuple(Misfit(error.json_path, _message(error)) for error in found)


def in_words(found: tuple[Misfit, ...]) -> str:
    parts = [f"{safe(one.path, 100)}: {one.message}" for one in found[:_SHOWN_ERRORS]]
    rest = len(found) - len(parts)
    return "; ".join(parts) + (f"; and {rest} more" if rest else "")


def _message(error: Any) -> str:
    """Its own message begins with the whole value, which may be long."""
    value = shown(error.instance, 80)
    match error.validator:
        case "type" | "enum" | "const" | "pattern" | "format":
            wanted = shown(error.validator_value, 120)
            return f"{value} has not the {error.validator} {wanted}"
        case "required" | "additionalProperties" | "unevaluatedProperties":
            return safe(error.message, 200)
        case _:
            return f"{value} does not fit {error.validator}: {shown(error.validator_value, 120)}"


def _validator(schema: Any) -> Any:
    """A validator of the draft that `$schema` names (2020-12 where it names none)."""
    from jsonschema import exceptions, validators
    from jsonschema_specifications import REGISTRY

    cls: Any = validators.Draft202012Validator
    if isinstance(schema, Mapping) and (named := schema.get("$schema")) is not None:
        drafts = {cls.ID_OF(cls.META_SCHEMA).rstrip("#"): cls for cls in _drafts()}
        cls = drafts.get(named.rstrip("#")) if isinstance(named, str) else None
        if cls is None:
            raise SchemaError(f"$schema is {shown(named)}, which is unknown; there are: {', '.join(drafts)}")
    try:
        cls.check_schema(schema)
    except exceptions.SchemaError as error:
        raise SchemaError(f"is no JSON Schema: {safe(error.json_path, 100)}: {_message(error)}") from None
    _require_checkable(schema, cls, REGISTRY)
    bounded: Any = validators.extend(cls, _BOUNDED)  # type: ignore[no-untyped-call]
    return bounded(schema, registry=REGISTRY, format_checker=cls.FORMAT_CHECKER)


def _drafts() -> tuple[Any, ...]:
    from jsonschema import validators

    names = ("3", "4", "6", "7", "201909", "202012")
    return tuple(getattr(validators, f"Draft{name}Validator") for name in names)


def _require_checkable(schema: Any, cls: Any, registry: Any) -> None:
    from referencing import exceptions
    from referencing.jsonschema import specification_with

    specification = specification_with(str(cls.ID_OF(cls.META_SCHEMA)))
    root = specification.create_resource(schema)
    resolver = registry.resolver_with_root(root)
    patterns = unevaluated = False
    for part, inner in _parts(root, resolver):
        for pattern in (part.get("pattern"), *part.get("patternProperties", {})):
            if isinstance(pattern, str) and pattern and (fault := pattern_fault(pattern)):
                raise SchemaError(f"the pattern {shown(pattern)} {fault}")
        if (name := part.get("format")) is not None and name not in cls.FORMAT_CHECKER.checkers:
            known = ", ".join(sorted(cls.FORMAT_CHECKER.checkers))
            raise SchemaError(f"the format {shown(name)} is not checked in this draft; there are: {known}")
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if isinstance(reference := part.get(keyword), str):
                try:
                    inner.lookup(reference)
                except exceptions.Unresolvable:
                    raise SchemaError(
                        f"{keyword} {shown(reference)} leads nowhere: only parts of the same schema can be "
                        "meant (nothing is fetched); copy it into $defs"
                    ) from None
        patterns |= "patternProperties" in part
        unevaluated |= "unevaluatedProperties" in part
    if patterns and unevaluated:
        raise SchemaError(
            "patternProperties beside unevaluatedProperties cannot be checked in bounded time; "
            "use additionalProperties"
        )


def _parts(resource: Any, resolver: Any) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Every schema in a schema, each with what resolves its references."""
    waiting = [(resource, resolver)]
    while waiting:
        one, inner = waiting.pop()
        if isinstance(one.contents, Mapping):
            yield one.contents, inner
        for part in one.subresources():
            waiting.append((part, inner.in_subresource(part)))


# The library searches with `re`, which nothing can stop; these are its three keywords that do.


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if validator.is_type(instance, "string") and pattern and search(pattern, instance) is None:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Any], instance: Any, schema: Any
) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, part in patterns.items():
        for name, value in instance.items():
            if _fits(pattern, name):
                yield from validator.descend(value, part, path=name, schema_path=pattern)


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if not validator.is_type(instance, "object"):
        return
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extra = [name for name in instance if name not in named and not any(_fits(one, name) for one in patterns)]
    if validator.is_type(allowed, "object"):
        for name in extra:
            yield from validator.descend(instance[name], allowed, path=name)
    elif not allowed and extra:
        yield ValidationError(f"unexpected: {', '.join(shown(name) for name in extra[:5])}")


def _fits(pattern: str, name: str) -> bool:
    return not pattern or search(pattern, name) is not None


_BOUNDED = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
}
