"""`skillwalker compare`."""

from __future__ import annotations

from typing import Annotated

import typer

from skillwalker.cli.options import Format, Output, globals_of


def compare(
    context: typer.Context,
    before: Annotated[
        str,
        typer.Argument(metavar="EARLIER", help="The earlier run: an id, a prefix, last~1, or a directory."),
    ] = "last~1",
    after: Annotated[
        str,
        typer.Argument(metavar="LATER", help="The later run."),
    ] = "last",
    output: Output = Format.CONSOLE,
) -> None:
    """Show what differs between two stored runs, test by test."""
    import json
    import sys

    from skillwalker.cli.running import paint
    from skillwalker.comparison.as_json import comparison_object
    from skillwalker.comparison.compare import compare as compare_runs
    from skillwalker.comparison.console import comparison_report
    from skillwalker.errors import ConfigurationError, Problem
    from skillwalker.reports.source import Source, own_root
    from skillwalker.store import Store

    here = globals_of(context).root_or_here
    store = Store(here)
    sources: list[Source] = []
    problems: list[Problem] = []
    for reference in (before, after):
        try:
            directory = store.find(reference)
            sources.append(Source.of(directory, own_root(directory) or here))
        except ConfigurationError as error:
            problems += error.problems
    if problems:
        raise ConfigurationError(list(dict.fromkeys(problems)))
    found = compare_runs(*sources)
    if output is Format.JSON:
        for warning in found.warnings:
            typer.echo(warning, err=True)
        typer.echo(json.dumps(comparison_object(found)))
        for warning in found.warnings:
            typer.echo(warning, err=True)
    else:
        typer.echo(comparison_report(found, paint(sys.stdout.isatty())))
