"""`skillwalker show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from skillwalker.cli.options import Format, Output, globals_of

if TYPE_CHECKING:
    from skillwalker.results import RunResult


def show(
    context: typer.Context,
    run: Annotated[
        str,
        typer.Argument(metavar="[RUN]", help="An id, a unique prefix, last, last~1, or a run's directory."),
    ] = "last",
    select: Annotated[
        str | None,
        typer.Argument(metavar="[SELECT]", help="An eval or 'eval::test name': shows what its trials did."),
    ] = None,
    output: Output = Format.CONSOLE,
) -> None:
    """Show a stored run, or in detail the trials of one test."""
    import json
    import shlex
    import sys

    from skillwalker.cli.running import command, paint
    from skillwalker.records import load_run, run_object
    from skillwalker.reports.console import run_report
    from skillwalker.reports.details import test_details
    from skillwalker.reports.moments import Moments
    from skillwalker.store import Store

    root = globals_of(context).root_or_here
    directory = Store(root).find(run)
    stored = load_run(directory)
    if select is not None:
        stored = _only(stored, select)
    if output is Format.JSON:
        typer.echo(json.dumps(run_object(stored)))
        return
    colours = paint(sys.stdout.isatty())
    if select is None:
        program = command(root)
        more = f"more: {program} show {shlex.quote(run)} 'EVAL::TEST'"
        go_on = f"{program} run --resume {stored.run_id}"
        typer.echo(run_report(stored, colours, more, go_on, moments=Moments(directory)))
        return
    for line in test_details(stored, directory, root, colours):
        typer.echo(line)


def _only(run: RunResult, select: str) -> RunResult:
    from fnmatch import fnmatchcase

    from attrs import evolve

    from skillwalker.errors import NothingSelectedError
    from skillwalker.text import listed, near, safe

    names = [f"{test.eval}::{test.name}" for test in run.tests]
    exact = [test for test, name in zip(run.tests, names, strict=True) if select in (name, test.eval)]
    chosen = exact or [
        test
        for test, name in zip(run.tests, names, strict=True)
        if fnmatchcase(name, select) or fnmatchcase(test.eval, select)
    ]
    if not chosen:
        close = near(select, names) or tuple(names[:5])
        raise NothingSelectedError(
            f"{safe(select)} matches no test of run {run.run_id}; near: {listed(close)}"
        )
    return evolve(run, tests=tuple(chosen))
