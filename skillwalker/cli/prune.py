"""`skillwalker prune`: removes what dead runs left on this machine and on the Docker engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from skillwalker.text import safe

if TYPE_CHECKING:
    from skillwalker.sandbox.local_places import LeftDirectory
    from skillwalker.sandbox.owner import Leftover


def prune(
    volumes: Annotated[
        bool, typer.Option("--volumes", help="Also remove cached plugins and scaffolds that nothing uses.")
    ] = False,
) -> None:
    """Remove what dead runs left on this machine and on the Docker engine, and what --keep kept.

    Never touches what belongs to a live run. What runs of other machines left is listed with its age:
    only there can be told whether they still live.
    """
    from contextlib import closing

    from skillwalker.errors import CannotStartError
    from skillwalker.sandbox.engine import connect
    from skillwalker.sandbox.engine_errors import engine_errors
    from skillwalker.sandbox.owner import reap

    found = _prune_directories()
    try:
        client = connect()
    except CannotStartError as error:  # who runs trials on this machine only needs none
        typer.echo(f"no container was looked for: {error}", err=True)
    else:
        with closing(client), engine_errors("removing what dead runs left"):
            reaped = reap(client, kept=True, content=volumes)
        for leftover in reaped.removed:
            typer.echo(f"removed {_described(leftover)}")
        for leftover, problem in reaped.failed:
            typer.echo(f"could not remove {_described(leftover)}: {safe(problem)}")
        for leftover in reaped.elsewhere:
            typer.echo(f"left alone {_described(leftover)}: {_made_by(leftover.owner)}")
        found = found or bool(reaped.removed or reaped.failed)
    if not found:
        typer.echo("nothing to remove")


def _prune_directories() -> bool:
    """Whether there was something to remove."""
    from skillwalker.sandbox.local_places import clear

    cleared = clear(kept=True)
    for directory in cleared.removed:
        typer.echo(f"removed {_directory(directory)}")
    for directory in cleared.failed:
        typer.echo(f"could not remove {_directory(directory)}")
    for directory in cleared.elsewhere:
        typer.echo(f"left alone {_directory(directory)}: {_made_by(directory.owner)}")
    return bool(cleared.removed or cleared.failed)


def _directory(directory: LeftDirectory) -> str:
    return f"directory {safe(str(directory.path))} ({_age(directory.age_seconds)} old)"


def _made_by(owner: str) -> str:
    return f"made by {safe(owner) or 'an unknown process'}"


def _described(leftover: Leftover) -> str:
    age = "unknown age" if leftover.age_seconds is None else f"{_age(leftover.age_seconds)} old"
    return f"{leftover.kind} {safe(leftover.name)} ({age})"


def _age(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"
