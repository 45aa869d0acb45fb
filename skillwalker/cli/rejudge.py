"""`skillwalker rejudge`."""

from __future__ import annotations

from typing import Annotated

import typer

from skillwalker.cli.options import Format, Output, globals_of


def rejudge(
    context: typer.Context,
    run: Annotated[
        str,
        typer.Argument(metavar="[RUN]", help="An id, a unique prefix, last, last~1, or a run's directory."),
    ] = "last",
    judge_model: Annotated[str | None, typer.Option(metavar="M", help="Model for all judges.")] = None,
    rehearse: Annotated[
        bool,
        typer.Option("--rehearse", help="The judge's answers come from rehearsal.json or a simple rule."),
    ] = False,
    output: Output = Format.CONSOLE,
) -> None:
    """Judge stored trials again, with the eval as it is now."""
    import contextlib
    import json
    import os
    import sys

    from skillwalker.cli.running import paint
    from skillwalker.errors import ConfigurationError
    from skillwalker.models import is_model
    from skillwalker.records import run_object
    from skillwalker.redaction import Redactor, secrets_in
    from skillwalker.rejudge import rejudge as judge_again
    from skillwalker.reports.console import run_report
    from skillwalker.store import Store

    problems = []
    if judge_model is not None and not is_model(judge_model):
        problems.append(
            f"--judge-model must be opus, sonnet, haiku or a full claude-... name, not {judge_model}"
        )
    if not rehearse:
        problems.append("there is no model to judge: this version has rehearsed models only; add --rehearse")
    if problems:
        raise ConfigurationError(problems)
    known = globals_of(context)
    directory = Store(known.root_or_here).find(run)
    # What an expectation of another package prints must not end up in the result.
    with contextlib.redirect_stdout(sys.stderr):
        result = judge_again(
            directory, known.root, judge_model=judge_model, redactor=Redactor(secrets_in(os.environ))
        )
    if output is Format.JSON:
        typer.echo(json.dumps(run_object(result)))
    else:
        typer.echo(run_report(result, paint(sys.stdout.isatty())))
    raise typer.Exit(result.exit_code)
