"""Which tests of a stored run a command is about: SELECT, `-k` and `--failed`, as for evals on disk."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from attrs import evolve

from skillwalker.errors import NothingSelectedError
from skillwalker.keywords import Keywords, findable
from skillwalker.outcomes import Outcome
from skillwalker.results import RunResult, TestResult
from skillwalker.select import no_match
from skillwalker.text import listed, near, safe


def selected(
    run: RunResult,
    select: Sequence[str] = (),
    keyword: str | None = None,
    *,
    failed: bool = False,
    cwd: Path | None = None,
) -> RunResult:
    """The run with these tests of it, all where nothing is selected.

    Args:
        select: Names of evals and `eval::test`, exact before globs, or paths to or inside an eval; where
            that fits no test, `eval::control`.
        failed: Only what did not pass in this run.
        cwd: What paths are relative to.

    Raises:
        NothingSelectedError: a SELECT, `-k` or `failed` matches nothing.
        ConfigurationError: `-k` cannot be read.
    """
    keywords = Keywords.parse(keyword) if keyword is not None else None
    tests = _named(run, select, cwd) if select else run.tests
    if keywords:
        names = [findable(test.name, test.tags) for test in tests]
        tests = tuple(test for test in tests if keywords.matches(findable(test.name, test.tags)))
        if not tests:
            raise NothingSelectedError(no_match(keywords, names, f" of run {run.run_id}"))
    if failed:
        tests = tuple(test for test in tests if test.outcome is not Outcome.PASSED)
        if not tests:
            raise NothingSelectedError(f"nothing failed in run {run.run_id}: --failed has nothing to show")
    about = (one for one in run.controls if one.test not in tests and any(map(one.is_of, tests)))
    return evolve(run, tests=tests, controls=tuple(about))


def _named(run: RunResult, select: Sequence[str], cwd: Path | None) -> tuple[TestResult, ...]:
    wanted: set[tuple[str, str, str]] = set()
    missed = []
    for word in select:
        if not (matched := _matching(run.tests, word, cwd) or _controls(run, word)):
            names = [_full(test) for test in run.tests]
            close = near(word, [*names, *{test.eval for test in run.tests}])
            hint = f"near: {listed(close)}" if close else f"there are: {listed(names, 5)}"
            missed.append(f"{safe(word)} matches no test of run {run.run_id}; {hint}")
        wanted.update((test.eval, test.name, test.arm) for test in matched)
    if missed:
        raise NothingSelectedError("\n".join(missed))
    return tuple(test for test in run.all_tests if (test.eval, test.name, test.arm) in wanted)


def _controls(run: RunResult, word: str) -> list[TestResult]:
    """Controls are no tests, and meant only where a SELECT fits no test."""
    return [one.test for one in run.controls if fnmatchcase(_full(one.test), word)]


def _matching(tests: Sequence[TestResult], word: str, cwd: Path | None) -> list[TestResult]:
    exact = [test for test in tests if word in (_full(test), test.eval)]
    if exact:
        return exact
    if (name := _eval_of(word, cwd)) and (inside := [test for test in tests if test.eval == name]):
        return inside
    return [test for test in tests if fnmatchcase(_full(test), word) or fnmatchcase(test.eval, word)]


def _eval_of(word: str, cwd: Path | None) -> str | None:
    """The eval that a path leads to or into; the stored run knows its name only."""
    if cwd is None or "\0" in word or not os.path.lexists(cwd / word):
        return None
    place = Path(os.path.abspath(cwd / word))
    for directory in (place, *place.parents):
        if directory.parent.name == "evals":
            return directory.name
    return None


def _full(test: TestResult) -> str:
    return f"{test.eval}::{test.name}"
