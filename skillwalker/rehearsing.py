"""Brings a `rehearsal.json` up to date with the `tests.json` beside it; what somebody wrote stays."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from skillwalker.atomic import rewrite
from skillwalker.checks import REHEARSAL_FILE, CheckedTest, check_evals
from skillwalker.drafting import is_drafted, turns, written_json
from skillwalker.errors import ConfigurationError, Problem
from skillwalker.expectations.registry import Registry
from skillwalker.jsonfile import load
from skillwalker.plan import target_of
from skillwalker.text import safe


@frozen
class Rehearsed:
    """What became of a script.

    Attributes:
        added: Tests of activation that have an entry now.
        changed: Tests whose drafted entry said the opposite of what is expected now.
        removed: Drafted entries that belonged to no test.
        foreign: Entries of no test that somebody has written, which are left alone.
        silent: Tests that have none still: what they are answered only their author knows.
    """

    file: Path
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()


def update_rehearsal(directory: Path, root: Path) -> Rehearsed:
    """Writes the script of an eval anew, if anything of it has to change.

    Raises:
        ConfigurationError: something is wrong with the eval, or the file cannot be written.
    """
    checked = check_evals([directory], root, Registry.scan())
    if checked.problems:
        raise ConfigurationError(checked.problems)
    file = directory / REHEARSAL_FILE
    document = load(file).value if os.path.lexists(file) else {"tests": {}}
    entries: dict[str, Any] = document["tests"]
    wanted = {one.test.name: answers for one in checked.tests if (answers := _expected(one)) is not None}
    names = {one.test.name for one in checked.tests}
    removed = [name for name, entry in entries.items() if name not in names and is_drafted(entry)]
    kept = {name: entry for name, entry in entries.items() if name not in removed}
    changed = [
        name
        for name, entry in kept.items()
        if name in wanted and is_drafted(entry) and len(entry) != len(wanted[name])
    ]
    added = [name for name in wanted if name not in kept]
    if removed or changed or added:
        kept |= {name: wanted[name] for name in (*changed, *added)}
        _write(file, {**document, "tests": kept} if kept else None)
    return Rehearsed(
        file,
        tuple(added),
        tuple(changed),
        tuple(removed),
        tuple(name for name in kept if name not in names),
        tuple(one.test.name for one in checked.tests if one.test.name not in kept),
    )


def _expected(checked: CheckedTest) -> Sequence[Mapping[str, Any]] | None:
    """What a model says that does what a test of activation expects; None where that is not known."""
    target = target_of(checked)
    if target is None:
        return None
    return turns(target.kind, target.id, called=target.should, prompt=checked.test.prompt)


def _write(file: Path, document: Any) -> None:
    """All of it or nothing; a file without entries would be a mistake, so it goes."""
    try:
        if document is None:
            file.unlink()
        else:
            rewrite(file, written_json(document))
    except OSError as error:
        why = error.strerror or str(error)
        raise ConfigurationError([Problem(f"cannot be written: {why}", file=safe(str(file)))]) from None
