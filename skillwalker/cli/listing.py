"""`skillwalker list`."""

from __future__ import annotations

import enum
import json
from typing import TYPE_CHECKING, Annotated

import typer

from skillwalker.cli.options import Format, Globals, Output, globals_of

if TYPE_CHECKING:
    from skillwalker.results import RunResult


class What(enum.StrEnum):
    """What can be listed."""

    EVALS = "evals"
    RUNS = "runs"


def list_(
    context: typer.Context,
    what: Annotated[What, typer.Argument(help="What to list.")] = What.EVALS,
    output: Output = Format.CONSOLE,
) -> None:
    """List evals with their tests, or stored runs."""
    known = globals_of(context)
    if what is What.EVALS:
        _evals(known, output)
    else:
        _runs(known, output)


def _evals(known: Globals, output: Format) -> None:
    from skillwalker.errors import ConfigurationError
    from skillwalker.loading import find_evals, load_eval
    from skillwalker.text import count, safe

    root = known.root
    found = find_evals(root)
    loaded = [load_eval(directory, root) for directory in found.evals]
    evals = [one.eval for one in loaded if one.eval]
    if output is Format.JSON:
        data = [
            {"name": each.name, "tests": [{"name": test.name, "type": str(test.type)} for test in each.tests]}
            for each in evals
        ]
        typer.echo(json.dumps({"evals": data}))
    else:
        for each in evals:
            typer.echo(f"{safe(each.name)}  ({count(len(each.tests), 'test')})")
            for test in each.tests:
                typer.echo(f"  {safe(test.name)}  ({test.type}, {test.model})")
    for note in found.notes:
        typer.echo(f"note: {safe(note)}", err=True)
    if problems := [problem for one in loaded for problem in one.placed()]:
        raise ConfigurationError(problems)


def _runs(known: Globals, output: Format) -> None:
    from skillwalker.errors import ConfigurationError
    from skillwalker.records import load_run
    from skillwalker.store import Store
    from skillwalker.text import safe

    store = Store(known.root_or_here)
    rows = []
    for run_id in store.ids():
        try:
            run = load_run(store.find(run_id))
        except ConfigurationError as error:
            typer.echo(f"note: {safe(str(error))}", err=True)
            continue
        rows.append(run)
    if output is Format.JSON:
        data = [
            {
                "run_id": run.run_id,
                "outcome": str(run.outcome),
                "model_source": run.model_source,
                "interrupted": run.interrupted,
                "tests": len(run.tests),
                "evals": _evals_of(run),
            }
            for run in rows
        ]
        typer.echo(json.dumps({"runs": data}))
        return
    for run in rows:
        typer.echo(_row(run))
    if not rows:
        typer.echo("no runs yet", err=True)


def _row(run: RunResult) -> str:
    from skillwalker.reports.console import counts
    from skillwalker.text import listed, safe

    state = {True: "interrupted", None: "not finished", False: str(run.outcome)}[run.interrupted]
    parts = (
        safe(run.run_id),
        _when(run.run_id),
        state.ljust(len("not finished")),
        counts(run),
        f"of {listed(_evals_of(run), 5)}",
        safe(f"({run.sandbox}, {run.model_source})"),
    )
    return "  ".join(part for part in parts if part)


def _when(run_id: str) -> str:
    """`2026-11-30 10:15 UTC`; nothing where the id, which comes from a file, does not tell."""
    import datetime

    try:
        began = datetime.datetime.strptime(run_id[:16], "%Y%m%dT%H%M%SZ")
    except ValueError:
        return ""
    return f"{began:%Y-%m-%d %H:%M} UTC"


def _evals_of(run: RunResult) -> list[str]:
    return list(dict.fromkeys(test.eval for test in run.tests))
