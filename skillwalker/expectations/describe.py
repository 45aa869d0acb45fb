"""What a type says of itself: its description, its options, their defaults."""

from __future__ import annotations

import inspect
import re
import typing
from typing import Any

from attrs import frozen

from skillwalker.expectations.options import REQUIRED, fields_of, in_words

_ENTRY = re.compile(r"(?P<indent> +)(?P<name>\w+(?:, \w+)*): (?P<text>.*)")


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
    """

    summary: str
    text: str
    options: tuple[Option, ...]


def describe(cls: type[Any]) -> Description:
    """From the docstring and the fields, in the order of the fields."""
    paragraphs, attributes = _parts(_docstring(cls))
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
    return Description(" ".join(summary.split()), text.strip(), options)


def _docstring(cls: type[Any]) -> str:
    """Its own, not one that a dataclass made up from the fields, nor one of a base class."""
    text = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    return "" if text.startswith(f"{cls.__name__}(") else text


def _parts(doc: str) -> tuple[str, dict[str, str]]:
    """The paragraphs, and the entries of the section `Attributes:`."""
    paragraphs, _, section = doc.partition("\nAttributes:\n")
    entries: dict[str, str] = {}
    names: list[str] = []
    depth = 0
    for line in section.splitlines():
        entry = _ENTRY.fullmatch(line)
        if entry and (not names or len(entry["indent"]) <= depth):
            names, depth = entry["name"].split(", "), len(entry["indent"])
            entries.update(dict.fromkeys(names, entry["text"].strip()))
        elif line.startswith(" ") and names:
            entries.update({name: f"{entries[name]} {line.strip()}" for name in names})
        elif line.strip():
            break
    return paragraphs, entries
