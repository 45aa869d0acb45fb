"""`skillwalker list`."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillwalker.cli.options import Failed, Format, Globals, Keyword, Output, Select, globals_of

if TYPE_CHECKING:
    from skillwalker.evals import Eval
    from skillwalker.loading import LoadedEval
    from skillwalker.results import RunResult


class What(enum.StrEnum):
    """What can be listed."""

    EVALS = "evals"
    RUNS = "runs"


class As(enum.StrEnum):
    """Files of other tools."""

    TRIGGER_EVALS = "trigger-evals"
    EVALS_JSON = "evals-json"


def list_(
    context: typer.Context,
    what: Annotated[What, typer.Argument(help="What to list.")] = What.EVALS,
    select: Select = None,
    keyword: Keyword = None,
    failed: Failed = False,
    output: Output = Format.CONSOLE,
    as_: Annotated[
        As | None,
        typer.Option("--as", help="Print the tests as a file of skill-creator, where its form allows."),
    ] = None,
) -> None:
    """List evals with their tests, or stored runs, all or those with the selected tests."""
    known, chosen = globals_of(context), _Chosen(tuple(select or ()), keyword, failed)
    if what is What.EVALS:
        _evals(known, chosen, output, as_)
    else:
        _runs(known, chosen, output)


class _Chosen:
    """Which tests; all where nothing is said."""

    def __init__(self, select: tuple[str, ...], keyword: str | None, failed: bool) -> None:
        self.select, self.keyword, self.failed = select, keyword, failed

    def __bool__(self) -> bool:
        return bool(self.select or self.keyword is not None or self.failed)


def failed_in_last(root: Path) -> frozenset[tuple[str, str]]:
    """The (eval, test) pairs that did not pass in the last run.

    Raises:
        ConfigurationError: there is no run.
        NothingSelectedError: all passed.
    """
    from skillwalker.records import load_run
    from skillwalker.reports.stored_select import selected
    from skillwalker.store import Store

    run = selected(load_run(Store(root).find("last")), failed=True)
    return frozenset((test.eval, test.name) for test in run.tests)


def _evals(known: Globals, chosen: _Chosen, output: Format, as_: As | None) -> None:
    from json import dumps

    import attrs

    from skillwalker.loading import find_evals, load_eval
    from skillwalker.select import Selection
    from skillwalker.text import count, safe

    known.look_in(chosen.select)
    root = known.root
    found = find_evals(root)
    failed = failed_in_last(root) if chosen.failed else None
    selection = Selection(Path.cwd(), chosen.select, chosen.keyword, failed)
    directories = selection.directories(found.evals) if chosen else found.evals
    loaded = [load_eval(directory, root) for directory in directories]
    evals = [one.eval for one in loaded if one.eval]
    if chosen and len(evals) == len(loaded):  # what cannot be read cannot be selected from
        names = {(each.name, test.name) for each, test in selection.tests(evals)}
        kept = [
            attrs.evolve(each, tests=tuple(test for test in each.tests if (each.name, test.name) in names))
            for each in evals
        ]
        evals = [each for each in kept if each.tests]
    if as_:
        _require_readable(loaded)
        _export(evals, as_)
        return
    if output is Format.JSON:
        data = [
            {
                "name": each.name,
                "tests": [
                    {"name": test.name, "type": str(test.type), "tags": test.tags, "skip": test.skip}
                    for test in each.tests
                ],
            }
            for each in evals
        ]
        typer.echo(dumps({"evals": data}))
    else:
        for each in evals:
            typer.echo(f"{safe(each.name)}  ({count(len(each.tests), 'test')})")
            for test in each.tests:
                skipped = f"  skipped: {safe(test.skip, 300)}" if test.skip else ""
                about = ", ".join((test.type, test.model, *map(safe, test.tags)))
                typer.echo(f"  {safe(test.name)}  ({about}){skipped}")
    known.tell_notes(found.notes)
    _require_readable(loaded)


def _require_readable(loaded: Sequence[LoadedEval]) -> None:
    from skillwalker.errors import ConfigurationError

    if problems := [problem for one in loaded for problem in one.placed()]:
        raise ConfigurationError(problems)


def _export(evals: Sequence[Eval], as_: As) -> None:
    from json import dumps

    from skillwalker.importing.exporting import evals_json, trigger_list
    from skillwalker.text import safe

    found, left = (trigger_list if as_ is As.TRIGGER_EVALS else evals_json)(evals)
    typer.echo(dumps(found, indent=2, ensure_ascii=False))
    for line in left:
        typer.echo(f"not exported: {safe(line, 300)}", err=True)


def _runs(known: Globals, chosen: _Chosen, output: Format) -> None:
    from json import dumps

    from skillwalker.errors import ConfigurationError, NothingSelectedError
    from skillwalker.records import load_run
    from skillwalker.reports.stored_select import selected
    from skillwalker.store import Store
    from skillwalker.text import safe

    store = Store(known.root_or_here)
    rows = []
    for run_id in store.ids():
        try:
            run = load_run(store.find(run_id))
        except ConfigurationError as error:
            known.tell_notes([str(error)])
            continue
        if chosen:
            try:
                selected(run, chosen.select, chosen.keyword, failed=chosen.failed, cwd=Path.cwd())
            except NothingSelectedError:
                continue
        rows.append(run)
    if chosen and not rows:
        raise NothingSelectedError("no run has such a test")
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
        typer.echo(dumps({"runs": data}))
        return
    for run in rows:
        typer.echo(_row(run))
    if not rows:
        typer.echo(f"no runs yet below {safe(str(store.runs))}; `skillwalker run` makes one", err=True)


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
