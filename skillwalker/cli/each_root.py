"""Commands that only look go over every root that their SELECTs are about, and tell what is wrong in all."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from attrs import evolve

from skillwalker.cli.options import Globals
from skillwalker.errors import ConfigurationError, NothingSelectedError, Problem

Result = TypeVar("Result")


def in_each_root(
    known: Globals,
    select: Sequence[str],
    look: Callable[[Path, tuple[str, ...]], Result],
    *,
    changed: bool = False,
) -> list[tuple[str, Result]]:
    """What `look` makes of each root and the SELECTs that are about it, with how to reach the root's files.

    Args:
        changed: As in `Globals.parts`; then there may be no root, or one without a SELECT.

    Raises:
        ConfigurationError: with the problems of all roots.
        NothingSelectedError: with all that matches nothing.
    """
    nearest = known.found
    found: list[tuple[str, Result]] = []
    problems: list[Problem] = []
    missed: list[str] = []
    for root, words in known.parts(select, changed=changed).items():
        known.chosen_root = root
        prefix = "" if root == nearest else f"{os.path.relpath(root)}/"
        try:
            found.append((prefix, look(root, words)))
        except ConfigurationError as error:
            problems += (_reached(problem, root, prefix) for problem in error.problems)
        except NothingSelectedError as error:
            missed.append(str(error))
    if problems:
        raise ConfigurationError(dict.fromkeys(problems))
    if missed:
        raise NothingSelectedError("\n".join(missed))
    return found


def _reached(problem: Problem, root: Path, prefix: str) -> Problem:
    """With the file as it is reached from here; what is no file of the root stays as it is."""
    if not prefix or problem.file is None or not os.path.lexists(root / problem.file):
        return problem
    return evolve(problem, file=f"{prefix}{problem.file}")
