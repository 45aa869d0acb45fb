"""Checks decoded JSON by hand, member by member; goes on after a problem, so that all are told at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from attrs import define, field

from skillwalker.errors import Problem
from skillwalker.jsonfile import child
from skillwalker.text import did_you_mean, listed, safe


@define
class Checker:
    """What is wrong is told to `problems`, each with its path; what cannot be used comes back empty."""

    problems: list[Problem] = field(factory=list)

    def object(
        self,
        value: Any,
        path: str,
        known: Collection[str],
        *,
        required: Collection[str] = (),
        instead: str = "an object",
    ) -> Mapping[str, Any]:
        """The members that are known; {} where it is no object."""
        if not isinstance(value, dict):
            self.fail(path, f"expected {instead}, got {kind_of(value)}")
            return {}
        for key in value:
            if key not in known:
                hint = did_you_mean(key, known) or f"; known are {listed(sorted(known), 12)}"
                self.fail(child(path, key), f"unknown field {safe(key)}{hint}")
        for key in required:
            if key not in value:
                self.fail(path, f"missing field {key}")
        return {key: member for key, member in value.items() if key in known}

    def members(self, value: Any, path: str) -> list[tuple[str, Any]]:
        if isinstance(value, dict):
            return list(value.items())
        self.fail(path, f"expected an object, got {kind_of(value)}")
        return []

    def text(self, given: Mapping[str, Any], path: str, key: str) -> str | None:
        value = given.get(key)
        if key in given and (not isinstance(value, str) or not value):
            self.fail(child(path, key), f"expected a text, got {kind_of(value)}")
            return None
        return value

    def one_of(self, given: Mapping[str, Any], path: str, key: str, options: Collection[str]) -> str | None:
        value = given.get(key)
        if key not in given:
            return None
        if not isinstance(value, str) or value not in options:
            hint = did_you_mean(value, options) if isinstance(value, str) else ""
            self.fail(child(path, key), f"expected one of {listed(options)}, got {kind_of(value)}{hint}")
            return None
        return value

    def whole(self, given: Mapping[str, Any], path: str, key: str, low: int, high: int = 10**9) -> int | None:
        value = given.get(key)
        if key not in given:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            self.fail(
                child(path, key), f"expected a whole number from {low} to {high:,}, got {kind_of(value)}"
            )
            return None
        return value

    def number(self, given: Mapping[str, Any], path: str, key: str, high: float) -> float | None:
        value = given.get(key)
        if key not in given:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= high:
            self.fail(child(path, key), f"expected a number from 0 to {high:,g}, got {kind_of(value)}")
            return None
        return float(value)

    def fail(self, path: str, message: str) -> None:
        self.problems.append(Problem(message, path=path or None))


def kind_of(value: Any) -> str:
    """A value as a message names it."""
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return repr(safe(value, 40))
    return safe(str(value), 40)
