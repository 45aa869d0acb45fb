"""Which skill or agent another tool's files are about: what they say, or where they lie."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from skillwalker.importing.reading import Imported
from skillwalker.importing.values import bare
from skillwalker.parts import SKILL_FILE
from skillwalker.targets import Target


def named_in(imported: Imported) -> tuple[str, ...]:
    """The skills that the files, or else their queries, name."""
    return tuple(dict.fromkeys(imported.found.skills or imported.found.named))


def meant(imported: Imported, targets: Sequence[Target]) -> list[Target]:
    """Those that the files name; where they name none, the one beside which they lie."""
    if about := named_in(imported):
        return [one for one in targets if _is_named(one, about)]
    places = [file.resolve() for file in imported.files]
    return [
        one
        for one in targets
        if one.part.path.name == SKILL_FILE
        and one.part.path.parent != one.plugin.directory
        and all(place.is_relative_to(one.part.path.resolve().parent) for place in places)
    ]


def of_another(imported: Imported, target: Target, targets: Sequence[Target]) -> str | None:
    """The name of what the files are about, where that is not `target`."""
    about = named_in(imported)
    if about:
        return None if _is_named(target, about) else ", ".join(about[:5])
    beside = meant(imported, targets)
    return beside[0].part.id if beside and target not in beside and not _below(imported, target) else None


def _below(imported: Imported, target: Target) -> bool:
    """Whether the files belong to all of a directory in which the target lies too."""
    home = target.part.path.resolve().parent
    return any(home.is_relative_to(file.resolve().parent) for file in imported.files)


def _is_named(target: Target, about: Iterable[str]) -> bool:
    names = {_plain(target.tail), _plain(target.part.name or ""), _plain(target.plugin.name)} - {""}
    return any(_plain(bare(name)) in names for name in about)


def _plain(name: str) -> str:
    """A title and the directory that is named after it are the same."""
    return re.sub(r"[^\w]+", "-", name.strip().lower()).strip("-")
