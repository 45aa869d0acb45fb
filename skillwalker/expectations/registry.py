"""The expectation types that are installed: loads the ones that tests name and binds their options.

Found is not loaded. A package that cannot be loaded concerns only the tests that name one of its types, and
the built-in types come the same way as all others.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs
import entrypoints
from attrs import define, field, frozen

from skillwalker.errors import ConfigurationError, Problem
from skillwalker.evals import Eval, ExpectationSpec, Test
from skillwalker.expectations.base import INTERFACE_VERSION
from skillwalker.expectations.bound import Bound, in_words, judge_trial
from skillwalker.expectations.discovery import Candidate, scan
from skillwalker.expectations.options import OptionsError, structurer
from skillwalker.text import did_you_mean, listed, safe

__all__ = [
    "Bound",
    "BrokenTypeError",
    "DuplicateTypeError",
    "LoadedType",
    "Registry",
    "UnknownTypeError",
    "judge_trial",
]


class UnknownTypeError(ConfigurationError):
    """No installed distribution has this type; names those that are there."""


class DuplicateTypeError(ConfigurationError):
    """Two distributions claim one type; names both."""


class BrokenTypeError(ConfigurationError):
    """An installed type cannot be loaded or used; names the distribution, its version and the cause."""


@frozen
class LoadedType:
    """A type that is there and has been looked at."""

    candidate: Candidate
    cls: type[Any]
    structure: Callable[[Any, str], Any]


@define
class Registry:
    """Every type that was found; what is asked for is loaded once and kept.

    Attributes:
        candidates: What claims each name, usually one.
        problems: A sentence for each package whose entry points cannot be read. They concern only tests that
            name a type which is then missing.
    """

    candidates: Mapping[str, tuple[Candidate, ...]]
    problems: tuple[str, ...] = ()
    _known: dict[str, LoadedType | ConfigurationError] = field(factory=dict, init=False, repr=False)

    @classmethod
    def scan(cls, path: Sequence[str] | None = None) -> Registry:
        """Looks through `path` (`sys.path` by default) and imports nothing."""
        found = scan(path)
        by_name: dict[str, tuple[Candidate, ...]] = {}
        for candidate in found.candidates:
            by_name[candidate.name] = (*by_name.get(candidate.name, ()), candidate)
        return cls(by_name, found.damaged)

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self.candidates))

    def load(self, name: str) -> type[Any]:
        """The class behind a type.

        Raises:
            UnknownTypeError, DuplicateTypeError, BrokenTypeError
        """
        return self.loaded(name).cls

    def loaded(self, name: str) -> LoadedType:
        """As `load`, with where the class comes from."""
        if name not in self._known:
            try:
                self._known[name] = _load(self._only_candidate(name))
            except ConfigurationError as error:
                self._known[name] = error
        known = self._known[name]
        if isinstance(known, ConfigurationError):
            raise known.with_traceback(None)
        return known

    def bind(self, spec: ExpectationSpec, evaluation: Eval, test: Test) -> Bound:
        """Never raises for what the eval or the type's package holds."""
        try:
            loaded = self.loaded(spec.type)
            return _bind(loaded, spec, evaluation, test)
        except BrokenTypeError as error:
            return Bound(spec, broken=str(error))
        except ConfigurationError as error:
            return Bound(spec, problems=(Problem(str(error), path=spec.path),))

    def _only_candidate(self, name: str) -> Candidate:
        match self.candidates.get(name, ()):
            case (only,):
                return only
            case ():
                installed = listed(self.names(), 40) or "none"
                damaged = "".join(f"; {problem}" for problem in self.problems)
                raise UnknownTypeError(
                    [
                        f"no installed package has the expectation type {safe(name, 80)}"
                        f"{did_you_mean(name, self.names())}; installed: {installed}{damaged}"
                    ]
                )
            case several:
                claims = " and ".join(sorted(candidate.origin for candidate in several))
                raise DuplicateTypeError([f"{claims} both have the expectation type {name}; uninstall one"])


def _load(candidate: Candidate) -> LoadedType:
    try:
        cls = _import(candidate)
    except (Exception, SystemExit) as error:
        raise _broken(candidate, f"{candidate.reference} cannot be imported: {in_words(error)}") from error
    if (fault := _fault(cls)) is not None:
        raise _broken(candidate, f"{candidate.reference} {fault}")
    try:
        return LoadedType(candidate, cls, structurer(cls))
    except Exception as error:
        raise _broken(
            candidate, f"the options of {candidate.reference} are unclear: {in_words(error)}"
        ) from error


def _import(candidate: Candidate) -> Any:
    entry = entrypoints.EntryPoint.from_string(candidate.reference, candidate.name)
    # What a package prints while it is imported must not end up in a report on standard output.
    with contextlib.redirect_stdout(sys.stderr):
        # A package that was installed while this process runs is not yet in the import system's caches.
        importlib.invalidate_caches()
        return entry.load()


def _fault(cls: Any) -> str | None:
    """Why this is no expectation type; None if it is one."""
    if not isinstance(cls, type):
        return f"is no class but {safe(repr(cls), 60)}"
    if not (attrs.has(cls) or dataclasses.is_dataclass(cls)):
        return "is no expectation type: it must be an attrs class or a dataclass"
    if not callable(getattr(cls, "check", None)):
        return "is no expectation type: it has no method `check`"
    version = getattr(cls, "interface_version", INTERFACE_VERSION)
    if version != INTERFACE_VERSION:
        remedy = (
            "upgrade skillwalker"
            if isinstance(version, int) and version > INTERFACE_VERSION
            else "upgrade it"
        )
        return (
            f"is made for version {version!r} of the interface, this is version {INTERFACE_VERSION}; {remedy}"
        )
    return None


def _bind(loaded: LoadedType, spec: ExpectationSpec, evaluation: Eval, test: Test) -> Bound:
    value = spec.value
    if expand := getattr(loaded.cls, "expand", None):
        try:
            value = expand(value, test)
        except ValueError as error:
            return Bound(spec, problems=(Problem(safe(str(error), 500), path=spec.path),))
        except (Exception, SystemExit) as error:
            raise _broken(loaded.candidate, f"`expand` failed: {in_words(error)}") from error
    try:
        expectation = loaded.structure(value, spec.path)
    except OptionsError as error:
        return Bound(spec, problems=error.problems)
    missing = _missing(loaded, expectation, evaluation, test)
    if missing:
        return Bound(spec, problems=tuple(Problem(safe(text, 500), path=spec.path) for text in missing))
    return Bound(spec, expectation, origin=loaded.candidate.origin)


def _missing(loaded: LoadedType, expectation: Any, evaluation: Eval, test: Test) -> tuple[str, ...]:
    requires: Callable[[Eval, Test], Iterable[str]] | None = getattr(expectation, "requires", None)
    if requires is None:
        return ()
    try:
        answer = requires(evaluation, test)
        return (answer,) if isinstance(answer, str) else tuple(str(text) for text in answer)
    except (Exception, SystemExit) as error:
        raise _broken(loaded.candidate, f"`requires` failed: {in_words(error)}") from error


def _broken(candidate: Candidate, cause: str) -> BrokenTypeError:
    return BrokenTypeError(
        [f"the expectation type {candidate.name} of {candidate.origin} cannot be used: {safe(cause, 500)}"]
    )
