"""What a type says of itself: its description, its options, their defaults, its short form and examples."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
import typing
from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from skillwalker.expectations.options import (
    REQUIRED,
    OptionsError,
    choices,
    fields_of,
    in_words,
    is_array,
    is_choice,
    is_class_of_options,
    is_row,
    is_union,
)

_SECTION = re.compile(r"^(Attributes|Examples?):$", re.MULTILINE)
_ENTRY = re.compile(r"(?P<name>\w+(?:, \w+)*): (?P<text>.*)")
_SAMPLES: Mapping[Any, Any] = {str: "text", bool: True, int: 1, float: 1, type(None): None, Any: "any value"}


@frozen
class Option:
    """One option of a type, as `tests.json` writes it.

    Attributes:
        type: What the value must be, in words.
        default: `REQUIRED` where it has none, `UNKNOWN` where it depends on other options.
        description: From the section `Attributes:` of the type's docstring.
    """

    name: str
    type: str
    default: Any
    description: str = ""

    @property
    def required(self) -> bool:
        return self.default is REQUIRED


@frozen
class Description:
    """What a type says of itself.

    Attributes:
        summary: One line.
        text: The other paragraphs.
        shorthand: What a value may be that is no object, in words; None where there is no such form, or only
            the type's own code knows it.
        examples: Entries of `expect`, from the section `Examples:`.
    """

    summary: str
    text: str
    options: tuple[Option, ...]
    shorthand: str | None = None
    examples: tuple[Mapping[str, Any], ...] = ()


def describe(cls: type[Any]) -> Description:
    """From the docstring and the fields, in the order of the fields."""
    paragraphs, sections = _parts(_docstring(cls))
    attributes = _entries(sections.get("Attributes", ""))
    hints = typing.get_type_hints(cls)
    options = tuple(
        Option(
            name,
            in_words(hints.get(field, Any)),
            default,
            attributes.get(name, attributes.get(field, "")),
        )
        for field, name, default in fields_of(cls)
    )
    summary, _, text = paragraphs.partition("\n\n")
    short = shorthand_of(cls)
    kind = next((option.type for option in options if option.name == short), None)
    try:
        examples = examples_of(cls)
    except ValueError:
        examples = ()
    return Description(" ".join(summary.split()), text.strip(), options, kind, examples)


def shorthand_of(cls: type[Any]) -> str | None:
    """The option that a value stands for which is no object."""
    if any(field == "shorthand" for field, _, _ in fields_of(cls)):
        return None  # an option of that name, or its default
    found = getattr(cls, "shorthand", None)
    return found if found is None or isinstance(found, str) else str(found)


def examples_of(cls: type[Any]) -> tuple[Mapping[str, Any], ...]:
    """The JSON objects in the docstring's section `Examples:`.

    Raises:
        ValueError: it holds something else.
    """
    _, sections = _parts(_docstring(cls))
    text = sections.get("Examples", sections.get("Example", "")).strip()
    found: list[Mapping[str, Any]] = []
    while text:
        value, end = json.JSONDecoder().raw_decode(text)
        if not isinstance(value, dict) or len(value) != 1:
            raise ValueError(f"an example must be an object with the type as its only key: {text[:end]}")
        found.append(value)
        text = text[end:].lstrip(" \t\n,")
    return tuple(found)


def made_up_value(cls: type[Any], structure: Callable[[Any, str], Any]) -> Any:
    """A value for a type without examples: its required options; None where its own rules refuse that."""
    value = _sample(cls)
    try:
        structure(value, "")
    except OptionsError:
        return None
    return value


def _sample(hint: Any) -> Any:
    if hint in _SAMPLES:
        return _SAMPLES[hint]
    arguments = typing.get_args(hint)
    if is_choice(hint) or is_union(hint):
        return choices(hint)[0] if is_choice(hint) else _sample(arguments[0])
    if is_array(hint):
        return [_sample(arguments[0])] if arguments else []
    if is_row(hint):
        return [_sample(one) for one in arguments]
    if is_class_of_options(hint):
        hints = typing.get_type_hints(hint)
        needed = [(field, name) for field, name, default in fields_of(hint) if default is REQUIRED]
        return {name: _sample(hints.get(field, Any)) for field, name in needed}
    return {}


def _docstring(cls: type[Any]) -> str:
    """Its own, not one that a dataclass made up from the fields, nor one of a base class."""
    written = cls.__dict__.get("__doc__")
    text = inspect.cleandoc(written) if isinstance(written, str) else ""
    return "" if text.startswith(f"{cls.__name__}(") else text


def _parts(doc: str) -> tuple[str, dict[str, str]]:
    """The paragraphs, and the text of each known section."""
    paragraphs, *rest = _SECTION.split(doc)
    return paragraphs.strip(), {
        name: _indented(text) for name, text in zip(rest[::2], rest[1::2], strict=True)
    }


def _indented(text: str) -> str:
    """The lines of a section, without their common indentation."""
    lines = text.strip("\n").splitlines()
    end = next((at for at, line in enumerate(lines) if line.strip() and line[0] != " "), len(lines))
    return textwrap.dedent("\n".join(lines[:end]))


def _entries(section: str) -> dict[str, str]:
    """name -> text of a section `Attributes:`."""
    entries: dict[str, str] = {}
    names: list[str] = []
    for line in section.splitlines():
        if entry := _ENTRY.fullmatch(line):
            names = entry["name"].split(", ")
            entries.update(dict.fromkeys(names, entry["text"].strip()))
        elif line.startswith(" ") and names:
            entries.update({name: f"{entries[name]} {line.strip()}" for name in names})
    return entries
