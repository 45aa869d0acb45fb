"""`skillwalker lint`."""

from __future__ import annotations

from pathlib import Path

import typer

from skillwalker.cli.listing import failed_in_last
from skillwalker.cli.options import Failed, Format, Keyword, Output, Select, globals_of


def lint(
    context: typer.Context,
    select: Select = None,
    keyword: Keyword = None,
    failed: Failed = False,
    output: Output = Format.CONSOLE,
) -> None:
    """Find tests that measure less than they seem to; exit code 1 where there are any.

    Asks no model and starts nothing. SELECT may also be a file of an eval, so that it can run before commits.
    """
    from skillwalker.lint.linting import lint as lint_evals
    from skillwalker.select import Selection
    from skillwalker.text import count, safe

    known = globals_of(context)
    root = known.root
    before = failed_in_last(root) if failed else None
    linted = lint_evals(Selection(Path.cwd(), tuple(select or ()), keyword, before), root)
    known.tell_notes(linted.notes)
    if output is Format.JSON:
        import json

        found = [one.as_json() for one in linted.findings]
        typer.echo(json.dumps({"findings": found, "evals": linted.evals, "tests": linted.tests}))
    else:
        for finding in linted.findings:
            typer.echo(safe(str(finding)))
        told = count(len(linted.findings), "finding") if linted.findings else "nothing found"
        typer.echo(f"{told} in {count(linted.tests, 'test')} of {count(linted.evals, 'eval')}")
    raise typer.Exit(1 if linted.findings else 0)
