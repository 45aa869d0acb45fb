"""Which directories with evals a command is about, where what it was given lies in others than the nearest.

A repository may have several, such as one below each of its packages.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from skillwalker.loading import EVALS, find_evals, find_root, load_eval
from skillwalker.select import meets, parts_of

CONFIGURATION = ("skillwalker.toml", "pyproject.toml")


def roots_of(select: Sequence[str], cwd: Path, nearest: Path | None) -> Mapping[Path, tuple[str, ...]]:
    """The roots of what is selected, and what of it is in each; {} where there is none.

    Args:
        nearest: The root that holds for names, and for paths that lead to its evals.
    """
    found: dict[Path, list[str]] = {}
    names = []
    evals = find_evals(nearest).evals if nearest else ()
    for word in select:
        other = None if meets(word, evals, cwd) else root_of_path(word, cwd)
        if other is None or other == nearest:
            names.append(word)
        else:
            found.setdefault(other, []).append(word)
    if names or not found:
        home = nearest or next(iter(found), None)
        if home is not None:
            found.setdefault(home, []).extend(names)
    return {root: tuple(words) for root, words in found.items()}


def root_of_path(word: str, cwd: Path) -> Path | None:
    """The root of the eval that `word` leads to or into; None where it is no path, or has none."""
    for left, _ in parts_of(word):
        if left and "\0" not in left and os.path.lexists(cwd / left):
            return find_root(cwd / left)
    return None


def concerned(
    files: Iterable[str], cwd: Path, nearest: Path | None, *, only: bool = False
) -> Mapping[Path, tuple[str, ...]]:
    """The evals whose own files, or whose plugins' files, are among `files`: their directories by root.

    A root whose configuration is among them has an entry, too; files that nothing uses have none.

    Args:
        only: Whether no other root than `nearest` counts.
    """
    found: dict[Path, dict[str, None]] = {}
    users: dict[Path, Sequence[tuple[Path, tuple[Path, ...]]]] = {}
    for name in files:
        if "\0" in name:
            continue
        own = None if only else find_root(cwd / name)
        file = Path(os.path.realpath(cwd / name))
        for root in dict.fromkeys((nearest, own)):
            if root is None:
                continue
            if root not in users:
                users[root] = _users(root)
            real = Path(os.path.realpath(root))
            met = [str(directory) for directory, places in users[root] if _uses(file, real, places)]
            if met or (file.parent == real and file.name in CONFIGURATION):
                found.setdefault(root, {}).update(dict.fromkeys(met))
    return {root: tuple(words) for root, words in found.items()}


def _users(root: Path) -> list[tuple[Path, tuple[Path, ...]]]:
    """Each eval with its own directory and those of its plugins; the root where these are not known."""
    found = []
    for directory in find_evals(root).evals:
        draft = load_eval(directory, root).draft
        plugins = [root / name for name in draft.plugins] if draft else []
        places = (directory, *(plugins or [root]))
        found.append((directory, tuple(Path(os.path.realpath(place)) for place in places)))
    return found


def _uses(file: Path, root: Path, places: tuple[Path, ...]) -> bool:
    """`places` as in `_users`. A plugin may be the root, and no eval is a part of it."""
    own, *plugins = places
    if file.is_relative_to(own):
        return True
    return not file.is_relative_to(root / EVALS) and any(file.is_relative_to(one) for one in plugins)
