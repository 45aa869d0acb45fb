"""`skillwalker init --rehearsal EVAL`."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from skillwalker.cli.options import Globals


def rehearse(known: Globals, named: str) -> None:
    """Brings one eval's `rehearsal.json` up to date, and tells what became of it."""
    from skillwalker.errors import ConfigurationError
    from skillwalker.loading import find_evals
    from skillwalker.rehearsing import update_rehearsal
    from skillwalker.select import Selection, meets
    from skillwalker.text import count, listed, safe

    known.look_in((named,))
    root = known.root
    evals = find_evals(root).evals
    base = Path.cwd() if meets(named, evals, Path.cwd()) else root
    found = Selection(base, (named,)).directories(evals)
    if len(found) != 1:
        names = listed([path.name for path in found])
        raise ConfigurationError([f"--rehearsal takes one eval, and {safe(named)} means {names}"])
    done = update_rehearsal(found[0], root)
    what = (
        (done.added, "added for tests of activation that had none"),
        (done.changed, "drafted the other way than is expected now, and turned"),
        (done.removed, "drafted for what is no test any more, and removed"),
    )
    file = safe(os.path.relpath(done.file, Path.cwd()))
    lines = [f"  {count(len(names), 'entry', 'entries')} {why}" for names, why in what if names]
    typer.echo(f"{file}: {'brought up to date' if lines else 'is up to date, nothing was changed'}")
    for line in lines:
        typer.echo(line)
    notes = []
    if done.foreign:
        names = listed([f'"{one}"' for one in done.foreign], 5)
        notes.append(f"no test is named {names}; these entries are not as init drafts them, so they stayed")
    if done.silent:
        names = listed([f'"{one}"' for one in done.silent], 5)
        notes.append(f"no entry, since only you know what is to be answered: {names}")
    known.tell_notes(notes)
