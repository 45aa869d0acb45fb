"""`skillwalker show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillwalker.cli.judged import Verdicts, WhichVerdicts, later_verdicts
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
    judged: WhichVerdicts = Verdicts.RUN,
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
    from skillwalker.rejudged import rejudged_object
    from skillwalker.reports.console import banner, run_report
    from skillwalker.reports.details import test_details
    from skillwalker.reports.follow import follow as follow_run
    from skillwalker.reports.judged_again import framed
    from skillwalker.reports.moments import Moments
    from skillwalker.reports.stored_select import selected
    from skillwalker.store import Store

    if follow and output is Format.JSON:
        raise ConfigurationError(["--follow is for people; its events are in trials/*/events.jsonl as JSON"])
    if follow and judged is Verdicts.LATEST:
        raise ConfigurationError(["--follow shows what trials do; --judged is about their verdicts"])
    known = globals_of(context)
    root = known.root_or_here
    directory = Store(root).find(run)
    again = later_verdicts(known, directory, judged)
    whole = again.run if again else load_run(directory)
    stored = selected(whole, select or (), keyword, failed=failed, cwd=Path.cwd())
    again = again.only(stored) if again else None
    if output is Format.JSON:
        changed = rejudged_object(again) if again else {}
        typer.echo(json.dumps({**run_object(stored), **changed}))
        return
    colours = paint(sys.stdout.isatty())
    if follow:
        note = [text] if (text := banner(stored.model_source)) else []
        for line in itertools.chain(note, follow_run(directory, stored.tests, colours), note):
            typer.echo(line)
        return
    if select:
        body = test_details(stored, directory, root, colours)
    else:
        program = command(root)
        more = f"more: {program} show {shlex.quote(run)} 'EVAL::TEST'"
        go_on = f"{program} run --resume {stored.run_id}"
        moments = Moments(directory)
        body = iter([run_report(stored, colours, more, go_on, begun=again is not None, moments=moments)])
    for line in framed(again, body, colours) if again else body:
        typer.echo(line)
