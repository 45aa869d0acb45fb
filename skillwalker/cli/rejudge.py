"""`skillwalker rejudge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillwalker.cli.options import (
    Failed,
    Format,
    JudgeModel,
    Keyword,
    MaxCost,
    Output,
    Record,
    Replay,
    StoredRun,
    StoredSelect,
    globals_of,
    report_option,
)


def rejudge(
    context: typer.Context,
    run: StoredRun = "last",
    select: StoredSelect = None,
    keyword: Keyword = None,
    failed: Failed = False,
    judge_model: JudgeModel = None,
    rehearse: Annotated[
        bool | None,
        typer.Option("--rehearse", help="The judge's answers come from rehearsal.json or a simple rule."),
    ] = None,
    record: Record = None,
    replay: Replay = None,
    max_cost: MaxCost = None,
    reports: Annotated[
        list[str] | None,
        report_option("Also report the new verdicts: junit, github, markdown, html or json; repeatable."),
    ] = None,
    output: Output = Format.CONSOLE,
) -> None:
    """Judge stored trials again, with the eval as it is now: all, or those of the selected tests."""
    import contextlib
    import json
    import os
    import sys

    from attrs import evolve

    from skillwalker.cli.running import paint
    from skillwalker.cli.surroundings import surroundings
    from skillwalker.configuration import read_configuration
    from skillwalker.credentials import find_credentials
    from skillwalker.errors import ConfigurationError
    from skillwalker.records import load_run, run_object
    from skillwalker.redaction import Redactor, secrets_in
    from skillwalker.rejudge import rejudge as judge_again
    from skillwalker.rejudged import rejudged_object
    from skillwalker.reports.console import run_report
    from skillwalker.reports.formats import parse_reports, write_reports
    from skillwalker.reports.judged_again import framed
    from skillwalker.reports.source import own_root
    from skillwalker.reports.stored_select import selected
    from skillwalker.sandbox.passing import secrets_of
    from skillwalker.sources import settle
    from skillwalker.store import Store

    given = {
        "judge_model": judge_model,
        "rehearse": rehearse,
        "record": record,
        "replay": replay,
        "max_cost": max_cost,
    }
    known = globals_of(context)
    stdout = "--format json" if output is Format.JSON else None
    specs = parse_reports(reports or (), stdout=stdout)
    settled = settle(given, os.environ, read_configuration(known.root))
    if settled.problems:
        raise ConfigurationError(settled.problems)
    request = settled.request(known.root, Path.cwd())
    directory = Store(known.root_or_here).find(run)
    chosen = selected(load_run(directory), select or (), keyword, failed=failed, cwd=Path.cwd())
    tests = frozenset((test.eval, test.name) for test in chosen.tests)
    passed = {name: os.environ[name] for name in request.sandbox_env if name in os.environ}
    secrets = (*secrets_in(os.environ), *find_credentials(os.environ).secrets, *secrets_of(passed))
    redactor = Redactor(secrets)
    quiet = known.quiet

    def say(text: str) -> None:
        if not (quiet and text.startswith("note: ")):
            print(text, file=sys.stderr)

    # What an expectation of another package prints must not end up in the result.
    with contextlib.redirect_stdout(sys.stderr):
        found = judge_again(
            directory,
            request,
            tests=tests,
            redactor=redactor,
            environment=os.environ,
            say=say,
        )
    if output is Format.JSON:
        typer.echo(json.dumps({**run_object(found.run), **rejudged_object(found)}))
    else:
        colours = paint(sys.stdout.isatty())
        body = run_report(found.run, colours, begun=True)
        typer.echo("\n".join(framed(found, [body], colours)))
    root = own_root(directory) or known.root_or_here
    for failure in write_reports(directory, specs, root=root, surroundings=surroundings(), again=found):
        print(failure, file=sys.stderr)
    # That the run was interrupted is not this command's end: what did not run is unmeasured.
    raise typer.Exit(evolve(found.run, interrupted=False).exit_code)
