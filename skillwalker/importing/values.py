"""What other tools' files say: queries with what they should call, and cases with what to judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from attrs import define, field, frozen

from skillwalker.text import count, listed, safe

_MOST_NAMES = 8


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
            the file has it, and types may be among them that are not installed.
        lost: Whether nothing here checks something that the outcome in prose says.
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
    lost: bool = False


@define
class Found:
    """What could be read; grows while reading.

    Attributes:
        skills: The skills that the files say they are about.
        left: What could not be taken over, and how often.
        where: Of which entries, where that is told.
        notes: What was taken over in a way that nobody would guess, and of which entries.
    """

    queries: list[Query] = field(factory=list)
    cases: list[Case] = field(factory=list)
    skills: dict[str, None] = field(factory=dict)
    left: Counter[str] = field(factory=Counter)
    where: dict[str, dict[str, None]] = field(factory=dict)
    notes: dict[str, dict[str, None]] = field(factory=dict)

    def leave(self, what: str, times: int = 1, who: str = "") -> None:
        """Notes something that is not taken over."""
        self.left[what] += times
        if who:
            self.where.setdefault(what, {})[who] = None

    def note(self, what: str, who: str) -> None:
        """Notes how something of an entry was taken over."""
        self.notes.setdefault(what, {})[who] = None

    def add(self, other: Found) -> None:
        """Takes over what was found elsewhere."""
        self.queries += other.queries
        self.cases += other.cases
        self.skills |= other.skills
        self.left += other.left
        for mine, theirs in ((self.where, other.where), (self.notes, other.notes)):
            for what, names in theirs.items():
                mine.setdefault(what, {}).update(names)

    def told(self) -> tuple[str, ...]:
        """What is not taken over, a line each."""
        return tuple(
            f"{safe(what, 200)} ({count(times, 'time')}{_of(self.where.get(what, {}))})"
            for what, times in self.left.items()
        )

    def noted(self) -> tuple[str, ...]:
        """The notes, a line each."""
        return tuple(f"{safe(what, 200)}{_of(names)}" for what, names in self.notes.items())

    @property
    def named(self) -> tuple[str, ...]:
        """Every skill that a query names, in the order of the file."""
        return tuple(dict.fromkeys(name for query in self.queries for name in query.skills))


def _of(names: Collection[str]) -> str:
    return f": {listed([safe(name, 60) for name in names], _MOST_NAMES)}" if names else ""


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
