"""`skillwalker prune`: removes what dead runs left on the Docker engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from skillwalker.text import safe

if TYPE_CHECKING:
    from skillwalker.sandbox.owner import Leftover


def prune(
    volumes: Annotated[
        bool, typer.Option("--volumes", help="Also remove cached plugins and scaffolds that nothing uses.")
    ] = False,
) -> None:
    """Remove what dead runs of this machine left on the Docker engine, and what --keep kept.

    Never touches what belongs to a live run. What runs of other machines left is listed with its age:
    only there can be told whether they still live.
    """
    from contextlib import closing

    from skillwalker.sandbox.engine import connect
    from skillwalker.sandbox.engine_errors import engine_errors
    from skillwalker.sandbox.owner import reap

    with closing(connect()) as client, engine_errors("removing what dead runs left"):
        reaped = reap(client, kept=True, content=volumes)
    for leftover in reaped.removed:
        typer.echo(f"removed {_described(leftover)}")
    for leftover, problem in reaped.failed:
        typer.echo(f"could not remove {_described(leftover)}: {safe(problem)}")
    for leftover in reaped.elsewhere:
        typer.echo(
            f"left alone {_described(leftover)}: made by {safe(leftover.owner) or 'an unknown process'}"
        )
    if not reaped.removed and not reaped.failed:
        typer.echo("nothing to remove")


def _described(leftover: Leftover) -> str:
    age = "unknown age" if leftover.age_seconds is None else f"{_age(leftover.age_seconds)} old"
    return f"{leftover.kind} {safe(leftover.name)} ({age})"


def _age(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"
