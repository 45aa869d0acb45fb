"""Everything here can be imported, and little of it is an expectation type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import frozen

from skillwalker.expectations.base import Trial, Verdict

print("a package that prints while it is imported")


def function() -> None: ...


class Plain:
    def check(self, trial: Trial) -> Verdict: ...


@frozen
class NoCheck:
    text: str


@frozen
class Newer:
    interface_version: ClassVar[int] = 2

    def check(self, trial: Trial) -> Verdict: ...


@frozen
class Older:
    interface_version: ClassVar[int] = 0

    def check(self, trial: Trial) -> Verdict: ...


@frozen
class NoSuchShorthand:
    shorthand: ClassVar[str] = "txt"

    text: str

    def check(self, trial: Trial) -> Verdict: ...


@frozen
class ObjectShorthand:
    shorthand: ClassVar[str] = "where"

    where: str | Mapping[str, str]

    def check(self, trial: Trial) -> Verdict: ...


@frozen
class Unclear:
    text: NotImported  # noqa: F821

    def check(self, trial: Trial) -> Verdict: ...


@frozen
class Fine:
    def check(self, trial: Trial) -> Verdict:
        return Verdict.of(True, "fine")
