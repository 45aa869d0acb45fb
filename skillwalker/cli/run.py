"""`skillwalker run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillwalker.cli.options import (
    Background,
    Claude,
    Format,
    Image,
    Isolated,
    JudgeModel,
    Keyword,
    MaxCost,
    Model,
    Record,
    Rehearse,
    Replay,
    Select,
    Timeout,
    Yes,
    globals_of,
    report_option,
)

# None means that the command line says nothing; then environment, configuration and defaults have their say,
# and the limits of values are checked for all of them in one place.


def run(
    context: typer.Context,
    select: Select = None,
    keyword: Keyword = None,
    failed: Annotated[
        bool | None, typer.Option("--failed/--no-failed", help="Only what did not pass in the last run.")
    ] = None,
    isolated: Isolated = None,
    trials: Annotated[
        int | None, typer.Option(metavar="N", help='Trials of every test; beats "trials" in tests.json.')
    ] = None,
    stop_early: Annotated[
        bool | None,
        typer.Option(
            "--stop-early/--no-stop-early",
            help="Start no trial of a test whose outcome it cannot change.",
        ),
    ] = None,
    control: Annotated[
        bool | None,
        typer.Option(
            "--control/--no-control",
            help="Add prompts that must and must not call each skill or agent: can it be measured?",
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", metavar="N", help="Trials at a time [default: what fits].")
    ] = None,
    model: Model = None,
    judge_model: JudgeModel = None,
    rehearse: Rehearse = None,
    record: Record = None,
    replay: Replay = None,
    timeout: Timeout = None,
    max_cost: MaxCost = None,
    background: Background = None,
    output: Annotated[
        Format | None, typer.Option("--format", help="How the result is printed [default: console].")
    ] = None,
    report: Annotated[
        list[str] | None,
        report_option("Also write a report: junit, github, markdown, html or json. May be repeated."),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", help="Go on with a run that was cut short; its own plan and options hold."
        ),
    ] = None,
    allow_unmeasured: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="So many unmeasured tests are no reason for exit code 6 [default: 0]."
        ),
    ] = None,
    dry_run: Annotated[
        bool | None,
        typer.Option(
            "--dry-run/--no-dry-run", help="Print what would run and where options come from, start nothing."
        ),
    ] = None,
    keep: Annotated[
        bool | None, typer.Option("--keep/--no-keep", help="Keep the trials' containers or directories.")
    ] = None,
    image: Image = None,
    claude: Claude = None,
    yes: Yes = None,
) -> None:
    """Run evals: one sandbox per trial, a verdict per expectation.

    Every option but --resume can have another default: in skillwalker.toml, or in a variable such as
    SKILLWALKER_JOBS.
    """
    import os

    from skillwalker.cli.running import carry_out
    from skillwalker.configuration import Configuration, read_configuration
    from skillwalker.errors import ConfigurationError
    from skillwalker.sources import settle

    given = {
        "keyword": keyword,
        "failed": failed,
        "isolated": isolated,
        "trials": trials,
        "stop_early": stop_early,
        "control": control,
        "jobs": jobs,
        "model": model,
        "judge_model": judge_model,
        "rehearse": rehearse,
        "record": record,
        "replay": replay,
        "timeout": timeout,
        "max_cost": max_cost,
        "background": background,
        "format": None if output is None else str(output),
        "allow_unmeasured": allow_unmeasured,
        "dry_run": dry_run,
        "keep": keep,
        "image": image,
        "claude": claude,
        "yes": yes,
        "report": report or None,
        "quiet": globals_of(context).given_quiet,
    }
    known = globals_of(context)
    known.look_in(select or ())
    root = known.found
    configuration = read_configuration(root) if root else Configuration()
    settled = settle(given, os.environ, configuration, resuming=resume is not None)
    known.output = Format(settled.values.get("format", Format.CONSOLE))
    if root is None and settled.problems:
        raise ConfigurationError(settled.problems)
    request = settled.request(known.root, Path.cwd(), tuple(select or ()))
    raise typer.Exit(
        carry_out(
            request,
            known.output,
            dry_run=settled.values.get("dry_run", False),
            resume=resume,
            settled=settled,
            reports=settled.values.get("report", ()),
        )
    )
