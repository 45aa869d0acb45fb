"""`skillwalker report`."""

from __future__ import annotations

from typing import Annotated

import typer

from skillwalker.cli.judged import Verdicts, WhichVerdicts, later_verdicts
from skillwalker.cli.options import StoredRun, globals_of, report_option


def report(
    context: typer.Context,
    run: StoredRun = "last",
    reports: Annotated[
        list[str] | None,
        report_option("junit, github, markdown, html or json, and where to (- is stdout); repeatable."),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            "--compare", metavar="RUN", help="The HTML also tells what differs from this earlier run."
        ),
    ] = None,
    judged: WhichVerdicts = Verdicts.RUN,
) -> None:
    """Write reports of a stored run."""
    from skillwalker.cli.surroundings import surroundings
    from skillwalker.errors import CannotStartError, ConfigurationError
    from skillwalker.reports.formats import ReportFormat, parse_reports, write_reports
    from skillwalker.reports.judged_again import banner_of
    from skillwalker.reports.source import Source, own_root
    from skillwalker.store import Store

    if not reports:
        raise ConfigurationError(
            ["nothing to write: add --report FORMAT=FILE, such as --report html=report.html"]
        )
    specs = parse_reports(reports)
    if compare is not None and not any(spec.format is ReportFormat.HTML for spec in specs):
        raise ConfigurationError(
            ["--compare goes into the HTML: add --report html=FILE, or use `skillwalker compare`"]
        )
    known = globals_of(context)
    here = known.root_or_here
    store = Store(here)
    directory = store.find(run)
    root = own_root(directory) or here
    again = later_verdicts(known, directory, judged)
    source = Source.of(directory, root, again)
    comparison = None
    if compare is not None:
        from skillwalker.comparison.compare import compare as compare_runs

        other = store.find(compare)
        comparison = compare_runs(Source.of(other, own_root(other) or here), source)
    note = banner_of(source)
    if note:
        typer.echo(note, err=True)
    failures = write_reports(
        directory, specs, root=root, surroundings=surroundings(), comparison=comparison, again=again
    )
    for spec in specs:
        if spec.file is not None and not any(str(spec) in failure for failure in failures):
            typer.echo(f"wrote {spec.file}", err=True)
    if note:
        typer.echo(note, err=True)
    if failures:
        raise CannotStartError("\n".join(failures))
