"""`skillwalker run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillwalker.cli.options import Format, Keyword, Output, Select, globals_of


def run(
    context: typer.Context,
    select: Select = None,
    keyword: Keyword = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only what did not pass in the last run.")] = False,
    isolated: Annotated[
        bool,
        typer.Option(
            "--isolated", help="A fresh Docker container per trial, no network; else on this machine."
        ),
    ] = False,
    trials: Annotated[
        int | None,
        typer.Option(
            min=1, max=1000, metavar="N", help='Trials of every test; beats "trials" in tests.json.'
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("-j", "--jobs", min=1, metavar="N", help="Trials at a time [default: what fits]."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="M", help="Model for all tests: opus, sonnet, haiku or claude-...")
    ] = None,
    judge_model: Annotated[str | None, typer.Option(metavar="M", help="Model for all judges.")] = None,
    rehearse: Annotated[
        bool,
        typer.Option(
            "--rehearse", help="Answers come from rehearsal.json or a simple rule, not from a model."
        ),
    ] = False,
    timeout: Annotated[
        float, typer.Option(min=1, max=604_800, metavar="SECONDS", help="Limit of one trial.")
    ] = 600.0,
    background: Annotated[
        bool,
        typer.Option("--background", help="Let agents and commands run in the background, as for users."),
    ] = False,
    output: Output = Format.CONSOLE,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", help="Go on with a run that was cut short; its own plan and options hold."
        ),
    ] = None,
    allow_unmeasured: Annotated[
        int, typer.Option(min=0, metavar="N", help="So many unmeasured tests are no reason for exit code 6.")
    ] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would run, start nothing.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the trials' containers or directories.")] = False,
    image: Annotated[
        str | None, typer.Option(metavar="REF", help="Sandbox image [default: our own, built on first use].")
    ] = None,
    claude: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Claude Code for runs on this machine [default: the one on PATH]."),
    ] = None,
    yes: Annotated[
        bool,
        typer.Option("--yes", help="Agree that Claude Code runs with permissions skipped on this machine."),
    ] = False,
) -> None:
    """Run evals: one sandbox per trial, a verdict per expectation."""
    from skillwalker.cli.running import carry_out
    from skillwalker.request import RunRequest

    known = globals_of(context)
    request = RunRequest(
        root=known.root,
        cwd=Path.cwd(),
        select=tuple(select or ()),
        keyword=keyword,
        failed=failed,
        isolated=isolated,
        rehearse=rehearse,
        trials=trials,
        jobs=jobs,
        model=model,
        judge_model=judge_model,
        timeout_seconds=timeout,
        background=background,
        allow_unmeasured=allow_unmeasured,
        keep=keep,
        image=image,
        claude=claude,
        permitted=yes,
    )
    raise typer.Exit(carry_out(request, output, dry_run=dry_run, resume=resume))
