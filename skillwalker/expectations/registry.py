"""The expectation types that are installed: loads the ones that tests name and binds their options.

Found is not loaded. A package that cannot be loaded concerns only the tests that name one of its types, and
the built-in types come the same way as all others.
"""

from __future__ import annotations

import dataclasses
import importlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
import entrypoints
from attrs import define, field, frozen

from skillwalker.errors import ConfigurationError, Problem
from skillwalker.evals import Eval, ExpectationSpec, Test
from skillwalker.expectations.base import INTERFACE_VERSION
from skillwalker.expectations.bound import Bound, in_words, judge_trial
from skillwalker.expectations.describe import shorthand_of
from skillwalker.expectations.discovery import Candidate, scan
from skillwalker.expectations.known import PACKAGE_OF
from skillwalker.expectations.options import OptionsError, structurer
from skillwalker.expectations.quiet import quiet
from skillwalker.text import did_you_mean, listed, safe

__all__ = [
    "Bound",
    "BrokenTypeError",
    "DuplicateTypeError",
    "LoadedType",
    "Registry",
    "UnknownTypeError",
    "instance_of",
    "judge_trial",
]

_OWN = "skillwalker"
_MOST_TOLD = 100


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
            with quiet():
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
                told = f"no installed package has the expectation type {safe(name, 80)}"
                if package := PACKAGE_OF.get(name):
                    told += f"; {package} has it: `pip install {package}`"
                else:
                    near_ones = did_you_mean(name, {*self.names(), *PACKAGE_OF})
                    told += f"{near_ones}; install the one that has it"
                raise UnknownTypeError([f"{told}, or write one of these: {installed}{damaged}"])
            case several:
                raise DuplicateTypeError([_doubled(name, several)])


def _load(candidate: Candidate) -> LoadedType:
    with _blamed(candidate, f"{candidate.reference} cannot be imported", _import_remedy):
        cls = _import(candidate)
    with _blamed(candidate, f"{candidate.reference} cannot be looked at"):  # it may have a metaclass
        fault = _fault(cls)
    if fault is not None:
        cause, remedy = fault
        raise _broken(candidate, f"{candidate.reference} {cause}", remedy.format(candidate.distribution))
    with _blamed(candidate, f"the options of {candidate.reference} are unclear"):
        return LoadedType(candidate, cls, structurer(cls, shorthand_of(cls)))


def _import(candidate: Candidate) -> Any:
    entry = entrypoints.EntryPoint.from_string(candidate.reference, candidate.name)
    with quiet():
        # A package that was installed while this process runs is not yet in the import system's caches.
        importlib.invalidate_caches()
        return entry.load()


def _import_remedy(candidate: Candidate, error: BaseException) -> str:
    """Empty where only the package's author can tell."""
    if not isinstance(error, ImportError) or not error.name:
        return ""
    if error.name.partition(".")[0] == _OWN:
        return f"it needs another version of {_OWN}: upgrade {_OWN} and {candidate.distribution}"
    module = candidate.reference.partition(":")[0]
    if f"{module}.".startswith(f"{error.name}."):
        return f"install {candidate.distribution} again; if that does not help, tell its author"
    return f"install {candidate.distribution} again, so that what it needs ({error.name}) comes with it"


def _fault(cls: Any) -> tuple[str, str] | None:
    """Why this is no expectation type and what to do; None if it is one."""
    if not isinstance(cls, type):
        return f"is no class but {safe(repr(cls), 60)}", ""
    version = getattr(cls, "interface_version", INTERFACE_VERSION)
    if version != INTERFACE_VERSION:
        newer = isinstance(version, int) and version > INTERFACE_VERSION
        return (
            f"is made for version {safe(repr(version), 40)} of the interface, this is version "
            f"{INTERFACE_VERSION}",
            f"upgrade {_OWN}, or install an older {{}}" if newer else "upgrade {}",
        )
    if not (attrs.has(cls) or dataclasses.is_dataclass(cls)):
        return "is no expectation type: it must be an attrs class or a dataclass", ""
    if not callable(getattr(cls, "check", None)):
        return "is no expectation type: it has no method `check`", ""
    return None


def _doubled(name: str, candidates: Sequence[Candidate]) -> str:
    claims = " and ".join(sorted(candidate.origin for candidate in candidates))
    others = sorted({each.distribution for each in candidates if each.distribution != _OWN})
    remedy = " or ".join(f"`pip uninstall {distribution}`" for distribution in others)
    return f"{claims} both have the expectation type {safe(name, 80)}; keep one: {remedy}"


def instance_of(loaded: LoadedType, spec: ExpectationSpec, test: Test) -> Any:
    """The type with the options that `spec` gives it.

    Raises:
        OptionsError: they do not fit.
        BrokenTypeError: its hook `expand` breaks.
    """
    value = spec.value
    if expand := getattr(loaded.cls, "expand", None):
        try:
            with _blamed(loaded.candidate, "`expand` failed", but=ValueError):
                value = expand(value, test)
        except ValueError as error:
            raise OptionsError((Problem(safe(str(error), 500), path=spec.path),)) from error
    return loaded.structure(value, spec.path)


def _bind(loaded: LoadedType, spec: ExpectationSpec, evaluation: Eval, test: Test) -> Bound:
    try:
        expectation = instance_of(loaded, spec, test)
    except OptionsError as error:
        return Bound(spec, problems=error.problems)
    _require_usable(loaded, expectation)
    missing = _missing(loaded, expectation, evaluation, test)
    if missing:
        return Bound(spec, problems=tuple(Problem(safe(text, 500), path=spec.path) for text in missing))
    return Bound(spec, expectation, origin=loaded.candidate.origin)


def _require_usable(loaded: LoadedType, expectation: Any) -> None:
    """Reads once what may be a property, so that later nobody stumbles over one that raises."""
    for name in ("uses_judge", "uses_commands", "check_seconds", "expects_call"):
        with _blamed(loaded.candidate, f"`{name}` failed"):
            found = getattr(expectation, name, None)
    if found is not None and (type(found) is not tuple or [type(one) for one in found] != [str, bool]):
        raise _broken(loaded.candidate, f"`expects_call` is {safe(repr(found), 60)}, no text and bool")


def _missing(loaded: LoadedType, expectation: Any, evaluation: Eval, test: Test) -> tuple[str, ...]:
    requires: Callable[[Eval, Test], Iterable[str]] | None = getattr(expectation, "requires", None)
    if requires is None:
        return ()
    with _blamed(loaded.candidate, "`requires` failed"):
        answer = requires(evaluation, test)
        told = (answer,) if isinstance(answer, str) else itertools.islice(answer, _MOST_TOLD)
        return tuple(str(text) for text in told)


@contextmanager
def _blamed(
    candidate: Candidate,
    what: str,
    remedy: Callable[[Candidate, BaseException], str] = lambda candidate, error: "",
    but: type[Exception] | tuple[()] = (),
) -> Iterator[None]:
    """Whatever a package's code raises in the block makes its type broken, but for interrupts and `but`.

    Raises:
        BrokenTypeError
    """
    try:
        yield
    except KeyboardInterrupt:
        raise
    except but:
        raise
    except BaseException as error:  # as of `pytest.skip`, which is no Exception
        raise _broken(candidate, f"{what}: {in_words(error)}", remedy(candidate, error)) from error


def _broken(candidate: Candidate, cause: str, remedy: str = "") -> BrokenTypeError:
    """Without a remedy of its own it is for the package's author to repair."""
    name, origin = safe(candidate.name, 80), safe(candidate.origin, 120)
    remedy = remedy or f"upgrade or uninstall {candidate.distribution}, or tell its author"
    return BrokenTypeError(
        [f"the expectation type {name} of {origin} cannot be used: {safe(cause, 500)}; {safe(remedy, 300)}"]
    )
