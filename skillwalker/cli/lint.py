"""`skillwalker lint`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from skillwalker.cli.listing import failed_in_last
from skillwalker.cli.options import Changed, Failed, Format, Keyword, Output, Select, globals_of

if TYPE_CHECKING:
    from skillwalker.lint.linting import Linted


def lint(
    context: typer.Context,
    select: Select = None,
    keyword: Keyword = None,
    failed: Failed = False,
    changed: Changed = False,
    output: Output = Format.CONSOLE,
) -> None:
    """Find tests that measure less than they seem to; exit code 1 where there are any.

    Asks no model and starts nothing. With --changed SELECT are files, as a hook before commits gives them.
    """
    import os

    from attrs import evolve

    from skillwalker.cli.each_root import in_each_root
    from skillwalker.lint.linting import Linted
    from skillwalker.lint.linting import lint as lint_evals
    from skillwalker.select import Selection
    from skillwalker.text import count, safe

    known = globals_of(context)

    def look(root: Path, words: tuple[str, ...]) -> Linted:
        if changed and not words:
            return Linted((), 0, 0)
        before = failed_in_last(root) if failed else None
        linted = lint_evals(Selection(Path.cwd(), words, keyword, before), root)
        known.tell_notes(linted.notes)
        return linted

    looked = in_each_root(known, select or (), look, changed=changed)
    findings = [
        evolve(finding, file=os.path.join(prefix, finding.file))
        for prefix, one in looked
        for finding in one.findings
    ]
    tests, evals = (sum(one.tests for _, one in looked), sum(one.evals for _, one in looked))
    if output is Format.JSON:
        import json

        found = [one.as_json() for one in findings]
        typer.echo(json.dumps({"findings": found, "evals": evals, "tests": tests}))
    else:
        for finding in findings:
            typer.echo(safe(str(finding)))
        told = count(len(findings), "finding") if findings else "nothing found"
        typer.echo(f"{told} in {count(tests, 'test')} of {count(evals, 'eval')}")
    raise typer.Exit(1 if findings else 0)
