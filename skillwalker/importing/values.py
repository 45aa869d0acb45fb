"""What other tools' files say: queries with what they should call, and cases with what to judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import define, field, frozen

from skillwalker.text import count, safe


class NotImportableError(ValueError):
    """A file is none of the known kinds; the message says why."""


@frozen
class Query:
    """A request and what should become of it.

    Attributes:
        wanted: Whether the skill that the file is about should be called; None: `skills` says it by name.
        skills: Names of the skills that should be called; none of them: no skill should be.
        unwanted: Names of skills that should not be; None: any other than `skills`.
        acceptable: Names of skills that may be called or not.
        name: What the file calls it; empty: nothing.
    """

    text: str
    wanted: bool | None = None
    skills: tuple[str, ...] = ()
    unwanted: tuple[str, ...] | None = None
    acceptable: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    name: str = ""

    def wants(self, skill: str) -> bool | None:
        """Whether `skill` (without its plugin) should be called; None: the file does not say."""
        if self.wanted is not None:
            return self.wanted
        if skill in map(bare, self.skills):
            return True
        if skill in map(bare, self.acceptable):
            return None
        if self.unwanted is None or not self.skills:
            return False
        return False if skill in map(bare, self.unwanted) else None


@frozen
class InputFile:
    """A file that a case needs; `content` None: it is to be looked for."""

    path: str
    content: str | None = None


@frozen
class Case:
    """A task and what its outcome should be.

    Attributes:
        expected: The outcome in prose; empty: not said.
        criteria: What a judge can say yes or no to.
        expect: Entries for `expect` beside the judge's; what `skill-call` and `agent-call` name is still as
            the file has it.
    """

    name: str
    prompt: str
    expected: str = ""
    criteria: tuple[str, ...] = ()
    files: tuple[InputFile, ...] = ()
    tags: tuple[str, ...] = ()
    model: str | None = None
    trials: int = 1
    expect: tuple[Mapping[str, Any], ...] = ()


@define
class Found:
    """What could be read; grows while reading.

    Attributes:
        skills: The skills that the files say they are about.
        left: What could not be taken over, and how often.
    """

    queries: list[Query] = field(factory=list)
    cases: list[Case] = field(factory=list)
    skills: dict[str, None] = field(factory=dict)
    left: Counter[str] = field(factory=Counter)

    def leave(self, what: str, times: int = 1) -> None:
        """Notes something that is not taken over."""
        self.left[what] += times

    def told(self) -> tuple[str, ...]:
        """What is not taken over, a line each."""
        return tuple(f"{safe(what, 200)} ({count(times, 'time')})" for what, times in self.left.items())

    @property
    def named(self) -> tuple[str, ...]:
        """Every skill that a query names, in the order of the file."""
        return tuple(dict.fromkeys(name for query in self.queries for name in query.skills))


def bare(name: str) -> str:
    """A skill's name without its plugin and without a slash before it."""
    return name.strip().removeprefix("/").rpartition(":")[2]


def texts(value: Any) -> tuple[str, ...]:
    """The texts of a list, or the one text; nothing of what is neither."""
    if isinstance(value, str):
        return (value,) if value.strip() else ()
    if isinstance(value, Iterable) and not isinstance(value, Mapping):
        return tuple(one for one in value if isinstance(one, str) and one.strip())
    return ()
