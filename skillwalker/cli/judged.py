"""Which verdicts of a stored run are meant: its own, or those of later judgements."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Annotated

import typer

from skillwalker.cli.options import Globals

if TYPE_CHECKING:
    from skillwalker.rejudged import Rejudged
    from skillwalker.store import RunDirectory


class Verdicts(enum.StrEnum):
    """Whose verdicts are shown."""

    RUN = "run"
    LATEST = "latest"


WhichVerdicts = Annotated[
    Verdicts, typer.Option("--judged", help="Verdicts of the run itself, or the latest that `rejudge` gave.")
]


def later_verdicts(known: Globals, directory: RunDirectory, which: Verdicts) -> Rejudged | None:
    """The run with its latest verdicts where they are wanted; else a note tells that there are any.

    Raises:
        ConfigurationError: there are none, or they cannot be read.
    """
    from skillwalker.judgements import how_many, judged_latest
    from skillwalker.records import load_run
    from skillwalker.text import count

    if which is Verdicts.LATEST:
        return judged_latest(directory, load_run(directory))
    if times := how_many(directory):
        known.tell_notes(
            [
                f"this run was judged again {count(times, 'time')}; here are its own verdicts, "
                "--judged latest has the newest"
            ]
        )
    return None
