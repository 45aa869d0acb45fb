"""What a reader of decoded JSON asks of it: objects with known fields, lists, strings; all problems told."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from attrs import define, field

from skillwalker.errors import Problem
from skillwalker.jsonfile import child
from skillwalker.text import did_you_mean, is_blank, near, safe


@define
class ShapeReader:
    """Goes on after a problem, so that all are told at once.

    Attributes:
        REQUIRED: Fields that cannot be left out, wherever they stand.
    """

    REQUIRED: ClassVar[Collection[str]] = ()

    problems: list[Problem] = field(factory=list, init=False)

    def string(self, holder: Mapping[str, Any], path: str, key: str) -> str | None:
        """The string; None where there is none to go on with, which is a problem unless it is just absent."""
        if key not in holder:
            return None
        value = holder[key]
        if not isinstance(value, str):
            advice = "; leave the field out instead" if value is None and key not in self.REQUIRED else ""
            self.tell(child(path, key), f"must be a string, not {kind_of(value)}{advice}")
            return None
        if is_blank(value):
            self.tell(child(path, key), "is blank" if value.strip() else "is empty")
            return None
        return value

    def elements(self, value: Any, path: str, advice: str) -> list[tuple[str, Any]]:
        if not isinstance(value, list):
            self.tell(path, f"must be a list, not {kind_of(value)}")
            return []
        if not value:
            self.tell(path, f"is empty; {advice}")
        return [(child(path, index), element) for index, element in enumerate(value)]

    def unknown(
        self, holder: Mapping[str, Any], path: str, known: Sequence[str], required: Sequence[str]
    ) -> set[str]:
        """Unknown and missing fields; one that was only mistyped is not told twice; returns those."""
        meant: set[str] = set()
        absent = [key for key in known if key not in holder]
        for key in holder:
            if key not in known:
                hint = did_you_mean(key, absent) or did_you_mean(key, known)
                meant.update(near(key, absent, limit=1))
                self.tell(child(path, key), f"unknown field {safe(key, 80)}{hint}")
        for key in required:
            if key in absent and key not in meant:
                self.tell(child(path, key), f"missing field {key}")
        return meant

    def tell(self, path: str, message: str) -> None:
        self.problems.append(Problem(message, path=path))


def kind_of(value: Any) -> str:
    """What JSON calls it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "a string"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return "a number"


def shown(value: Any) -> str:
    return (
        safe(json.dumps(value, ensure_ascii=False), 80)
        if isinstance(value, str | int | float)
        else kind_of(value)
    )
