"""Which tests a command is about: SELECT, `-k`, and the tests that failed before.

In two steps, so that a broken eval does not stop the run of another one: `directories` says which evals are
worth loading, `tests` picks from those that were loaded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from attrs import frozen

from skillwalker.errors import NothingSelectedError
from skillwalker.evals import Eval, Test
from skillwalker.keywords import Keywords, findable
from skillwalker.loading import load_eval
from skillwalker.text import listed, near, safe

_SEPARATOR = "::"
_MANY = 5  # names in a message


@frozen
class Selection:
    """What the user wrote; what is not given selects everything.

    Attributes:
        cwd: What paths in `select` are relative to.
        select: Each is an eval's name, `eval::test name`, both with globs, or a path to or inside an eval. An
            exact name is meant before a path, and a path before a glob: names of tests may hold `*` and `[`.
        keyword: The expression of `-k`, over the names and tags of tests.
        failed: (eval, test) pairs.
    """

    cwd: Path
    select: tuple[str, ...] = ()
    keyword: str | None = None
    failed: frozenset[tuple[str, str]] | None = None

    def directories(self, found: Sequence[Path]) -> tuple[Path, ...]:
        """The evals of `found` that can hold a selected test, in their order.

        Raises:
            NothingSelectedError: a SELECT names no eval, or there is none.
            ConfigurationError: `-k` cannot be read.
        """
        self._keywords()  # a mistake in it is told before evals are loaded
        if not found:
            raise NothingSelectedError(
                "there is no eval here: no evals/*/tests.json; `skillwalker init` writes a first one"
            )
        names = [path.name for path in found]
        wanted = set() if self.select else set(found)
        missed = []
        for word in self.select:
            targets = _targets(word, found, self.cwd)
            wanted.update(path for target in targets for path in target.evals)
            if not targets:
                hint = _named_test(word, found) or _nearest(word.partition(_SEPARATOR)[0], names)
                missed.append(f"{_shown(word)} matches no eval{hint}")
        if missed:
            raise NothingSelectedError("\n".join(missed))
        return tuple(path for path in found if path in wanted)

    def tests(self, evals: Sequence[Eval]) -> tuple[tuple[Eval, Test], ...]:
        """The selected tests, each once, in the order of `evals`.

        Raises:
            NothingSelectedError: some SELECT, `-k` or `failed` matches nothing; names what comes near.
            ConfigurationError: `-k` cannot be read.
        """
        keywords = self._keywords()
        chosen = self._selected(evals)
        if keywords:
            names = [findable(test.name, test.tags) for _, test in chosen]
            chosen = [pair for pair in chosen if keywords.matches(findable(pair[1].name, pair[1].tags))]
            if not chosen:
                raise NothingSelectedError(no_match(keywords, names))
        if self.failed is not None:
            count = _count(chosen)
            chosen = [pair for pair in chosen if (pair[0].name, pair[1].name) in self.failed]
            if not chosen:
                raise NothingSelectedError(f"none of {count} is among the {len(self.failed)} that failed")
        return tuple(chosen)

    def _keywords(self) -> Keywords | None:
        return Keywords.parse(self.keyword) if self.keyword is not None else None

    def _selected(self, evals: Sequence[Eval]) -> list[tuple[Eval, Test]]:
        pairs = [(each, test) for each in evals for test in each.tests]
        if not pairs:
            raise NothingSelectedError("there is no test here")
        if not self.select:
            return pairs
        wanted: set[tuple[str, str]] = set()
        missed = []
        for word in self.select:
            matched = _matching(_targets(word, [each.directory for each in evals], self.cwd), pairs)
            wanted.update(matched)
            if not matched:
                names = [f"{each.name}{_SEPARATOR}{test.name}" for each, test in pairs]
                missed.append(f"{_shown(word)} matches no test{_nearest(word, names)}")
        if missed:
            raise NothingSelectedError("\n".join(missed))
        return [pair for pair in pairs if (pair[0].name, pair[1].name) in wanted]


@frozen
class _Target:
    """One reading of a SELECT: these evals, and in them the tests that match; None: all."""

    evals: frozenset[Path]
    test: str | None


def meets(word: str, evals: Sequence[Path], cwd: Path) -> bool:
    """Whether `word` as SELECT names, or leads to, one of `evals`."""
    return bool(_targets(word, evals, cwd))


def _targets(word: str, evals: Sequence[Path], cwd: Path) -> list[_Target]:
    """Every reading of the best kind (name, path, glob) that meets an eval."""
    splits = list(parts_of(word))
    for meet in (_named, _reached, _globbed):
        targets = [
            _Target(frozenset(met), test) for left, test in splits if left and (met := meet(left, evals, cwd))
        ]
        if targets:
            return targets
    return []


def parts_of(word: str) -> Iterator[tuple[str, str | None]]:
    """What may be the eval, and the test: the whole, then a cut at each `::`: both names may hold one."""
    yield word, None
    at = word.find(_SEPARATOR)
    while at >= 0:
        yield word[:at], word[at + len(_SEPARATOR) :]
        at = word.find(_SEPARATOR, at + 1)


def _named(name: str, evals: Sequence[Path], cwd: Path) -> tuple[Path, ...]:
    return tuple(path for path in evals if path.name == name)


def _reached(written: str, evals: Sequence[Path], cwd: Path) -> tuple[Path, ...]:
    """The eval that a path leads to or into, or all below it, as for `evals/`."""
    if "\0" in written or not os.path.lexists(cwd / written):
        return ()
    place = Path(os.path.realpath(cwd / written))
    real = {path: Path(os.path.realpath(path)) for path in evals}
    return tuple(p for p in evals if place.is_relative_to(real[p]) or real[p].is_relative_to(place))


def _globbed(pattern: str, evals: Sequence[Path], cwd: Path) -> tuple[Path, ...]:
    return tuple(path for path in evals if fnmatchcase(path.name, pattern))


def _matching(targets: Sequence[_Target], pairs: Sequence[tuple[Eval, Test]]) -> set[tuple[str, str]]:
    for target in targets:
        inside = [(each.name, test.name) for each, test in pairs if each.directory in target.evals]
        if target.test is None:
            return set(inside)
        exact = {pair for pair in inside if pair[1] == target.test}
        if matched := exact or {pair for pair in inside if fnmatchcase(pair[1], target.test)}:
            return matched
    return set()


def _named_test(word: str, evals: Sequence[Path]) -> str:
    """Where `word` is, or nearly is, a test's name without its eval."""
    names: dict[str, list[str]] = {}
    for directory in evals:
        draft = load_eval(directory, directory.parent.parent).draft
        for test in draft.tests if draft and word.strip() else ():
            names.setdefault(test.name, []).append(f"{directory.name}{_SEPARATOR}{test.name}")
    if word not in names and near(word.strip("*/"), [path.name for path in evals]):
        return ""
    close = (word,) if word in names else near(word, names)
    full = [name for match in close for name in names[match]]
    return f"; a test needs its eval: {listed(full, _MANY)}" if full else ""


def _shown(word: str) -> str:
    return safe(word) if word.strip() else f'"{safe(word)}"'


def _count(tests: Collection[object]) -> str:
    return f"{len(tests)} test{'' if len(tests) == 1 else 's'}"


def no_match(keywords: Keywords, findable_names: Sequence[str], where: str = "") -> str:
    """What is said where `-k` finds no test.

    Args:
        findable_names: What it was compared with, see `findable`.
        where: Whose tests these are.
    """
    hint = _nearest_words(keywords, findable_names)
    count = _count(findable_names)
    return f"-k {safe(keywords.text)} matches no name and no tag of {count}{where}{hint}"


def _nearest_words(keywords: Keywords, names: Sequence[str]) -> str:
    """For a word that no name holds, names with words like it, or the words; else what there is."""
    only = [name.partition("\n")[0] for name in names]
    absent = [
        word for word in keywords.words if not any(word.casefold() in name.casefold() for name in names)
    ]
    alike = dict.fromkeys(match for word in absent for match in _alike(word, only))
    if alike:
        return f"; near: {listed(alike, _MANY)}"
    vocabulary = sorted({word for name in names for word in re.findall(r"[\w-]+", name.casefold())})
    found = dict.fromkeys(match for word in absent for match in near(word, vocabulary))
    return f"; near: {listed(found)}" if found else f"; there are: {listed(only, _MANY)}"


def _alike(phrase: str, names: Sequence[str]) -> list[str]:
    """The names that begin with, or are, nearly this phrase of several words."""
    if " " not in phrase:
        return []
    begins: dict[str, list[str]] = {}
    for name in names:
        begins.setdefault(name[: len(phrase)], []).append(name)
    return [name for match in near(phrase, begins) for name in begins[match]]


def _nearest(word: str, names: Sequence[str]) -> str:
    """What `word` may have meant; where nothing comes near, what there is."""
    unique = sorted(set(names))
    if found := near(word.strip("*/"), unique):
        return f"; near: {listed(found)}"
    return f"; there are: {listed(unique, _MANY)}"
