"""`skillwalker show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillwalker.cli.options import Failed, Format, Keyword, Output, StoredRun, StoredSelect, globals_of


def show(
    context: typer.Context,
    run: StoredRun = "last",
    select: StoredSelect = None,
    keyword: Keyword = None,
    failed: Failed = False,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="Transcripts of the trials as they come, until they or the run have ended."
        ),
    ] = False,
    output: Output = Format.CONSOLE,
) -> None:
    """Show a stored run, or in detail what the trials of tests did."""
    import itertools
    import json
    import shlex
    import sys

    from skillwalker.cli.running import command, paint
    from skillwalker.errors import ConfigurationError
    from skillwalker.records import load_run, run_object
    from skillwalker.reports.console import banner, run_report
    from skillwalker.reports.details import test_details
    from skillwalker.reports.follow import follow as follow_run
    from skillwalker.reports.moments import Moments
    from skillwalker.reports.stored_select import selected
    from skillwalker.store import Store

    if follow and output is Format.JSON:
        raise ConfigurationError(["--follow is for people; its events are in trials/*/events.jsonl as JSON"])
    root = globals_of(context).root_or_here
    directory = Store(root).find(run)
    stored = selected(load_run(directory), select or (), keyword, failed=failed, cwd=Path.cwd())
    if output is Format.JSON:
        typer.echo(json.dumps(run_object(stored)))
        return
    colours = paint(sys.stdout.isatty())
    if follow:
        note = [text] if (text := banner(stored.model_source)) else []
        for line in itertools.chain(note, follow_run(directory, stored.tests, colours), note):
            typer.echo(line)
        return
    if not select:
        program = command(root)
        more = f"more: {program} show {shlex.quote(run)} 'EVAL::TEST'"
        go_on = f"{program} run --resume {stored.run_id}"
        typer.echo(run_report(stored, colours, more, go_on, moments=Moments(directory)))
        return
    for line in test_details(stored, directory, root, colours):
        typer.echo(line)
