"""`skillwalker validate`."""

from __future__ import annotations

from pathlib import Path

import typer

from skillwalker.cli.listing import failed_in_last
from skillwalker.cli.options import Failed, Format, Keyword, Output, Select, globals_of


def validate(
    context: typer.Context,
    select: Select = None,
    keyword: Keyword = None,
    failed: Failed = False,
    output: Output = Format.CONSOLE,
) -> None:
    """Check everything that can be known without starting anything."""
    import os

    from skillwalker.checks import check
    from skillwalker.configuration import read_configuration
    from skillwalker.errors import ConfigurationError, NothingSelectedError, Problem
    from skillwalker.select import Selection
    from skillwalker.sources import settle
    from skillwalker.text import count

    known = globals_of(context)
    root = known.root
    settled = settle({}, os.environ, read_configuration(root))
    before = failed_in_last(root) if failed else None
    try:
        checked, notes = check(Selection(Path.cwd(), tuple(select or ()), keyword, before), root)
    except NothingSelectedError:
        if settled.problems:
            raise ConfigurationError(settled.problems) from None
        raise
    known.tell_notes((*settled.notes, *notes, *checked.notices))
    problems = (*settled.problems, *checked.problems, *map(Problem, checked.broken))
    if problems:
        raise ConfigurationError(problems)
    evals = len({one.eval.name for one in checked.tests})
    tests = len(checked.tests)
    if output is Format.JSON:
        import json

        typer.echo(json.dumps({"problems": [], "evals": evals, "tests": tests}))
    else:
        typer.echo(f"{count(tests, 'test')} in {count(evals, 'eval')} {'is' if tests == 1 else 'are'} valid")
