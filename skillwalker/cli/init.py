"""`skillwalker init`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillwalker.cli.options import Globals, globals_of

if TYPE_CHECKING:
    from skillwalker.drafting import Draft
    from skillwalker.targets import Target

_MOST_LEFT = 40  # lines of what was not taken over


def init(
    context: typer.Context,
    named: Annotated[
        str | None,
        typer.Argument(
            metavar="PLUGIN:SKILL",
            help="The skill or agent, by its name or the path of its file [default: the only one].",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="PATH",
            help="Take over a trigger list, evals.json or `claude plugin eval` cases.",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--eval", metavar="NAME", help="The new eval's name [default: the skill's].")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option("--type", metavar="TYPE", help="skill or agent, where both have the same name."),
    ] = None,
    rehearsed: Annotated[
        str | None,
        typer.Option(
            "--rehearsal",
            metavar="EVAL",
            help="Write no eval: bring the rehearsal.json of this one up to date with its tests.json.",
        ),
    ] = None,
) -> None:
    """Write a first eval for a skill or agent that exists, or from other tools' files."""
    from skillwalker.cli.choosing import Again, about_another, which
    from skillwalker.cli.rehearsal import rehearse
    from skillwalker.drafting import name_of_file, write_draft
    from skillwalker.errors import ConfigurationError
    from skillwalker.first_eval import first_eval
    from skillwalker.folders import path_fault
    from skillwalker.importing.converting import convert
    from skillwalker.importing.reading import read_source
    from skillwalker.importing.values import bare
    from skillwalker.targets import broken_plugins, choose, find_targets, root_for, unreadable
    from skillwalker.text import has_controls, safe

    if kind not in (None, "skill", "agent"):
        raise ConfigurationError([f"--type must be skill or agent, got {safe(kind)}"])
    if rehearsed is not None:
        if given := [one for one in (named, source, name, kind) if one is not None]:
            raise ConfigurationError([f"--rehearsal is about an eval that exists; leave out {given[0]}"])
        rehearse(globals_of(context), rehearsed)
        return
    if name is not None and (
        path_fault(name) or "/" in name or name.startswith((".", "_")) or has_controls(name)
    ):
        raise ConfigurationError([f"--eval {safe(name)} cannot be a directory's name"])
    known = globals_of(context)
    root = (known.found or root_for(Path.cwd())).resolve()
    imported = read_source(source, bare(named) if named else "") if source else None
    targets = find_targets(root)
    broken = broken_plugins(root)
    again = Again(known.given_root, source, name, targets)
    targets_of_kind = [one for one in targets if kind in (None, one.kind)]
    try:
        target = choose(targets, named, kind) if named else which(targets_of_kind, imported, again)
    except ConfigurationError as error:
        why = () if broken and not targets else error.problems
        raise ConfigurationError([*why, *broken, *unreadable(root)]) from None
    notes: list[str] = []
    left: list[str] = []
    warnings: list[str] = []
    name = name or name_of_file(target.tail)
    if imported:
        notes += about_another(imported, target, targets, named, again)
        converted = convert(imported, target, targets, name, root)
        draft, left, warnings = converted.draft, converted.left, converted.warnings
        notes += converted.notes
        if not draft.tests:
            raise ConfigurationError([f"nothing of {source} could be taken over", *left])
    else:
        draft, notes = first_eval(target, targets, name)
    files = write_draft(draft, root, Path.cwd())
    _tell(known, root, files, target, [*notes, *broken], left, warnings)
    _tell_how_to_try(known, root, files[0].parent)
    if not imported:
        _tell_what_to_edit(draft, root, files[0])


def _tell(
    known: Globals,
    root: Path,
    files: Sequence[Path],
    target: Target,
    notes: Sequence[str],
    left: Sequence[str],
    warnings: Sequence[str],
) -> None:
    """What was written, and what was not."""
    from skillwalker.drafting import shown
    from skillwalker.text import safe

    for file in files:
        typer.echo(safe(shown(file, root, Path.cwd())))
    if target.plugin.is_unnamed and target.plugin.directory == root:
        notes = [*notes, "the plugin has no plugin.json, so its name is that of this directory: write one"]
    known.tell_notes(notes)
    if left:
        typer.echo("could not be taken over:", err=True)
        for line in left[:_MOST_LEFT]:
            typer.echo(f"  {safe(line, 300)}", err=True)
        if len(left) > _MOST_LEFT:
            typer.echo(f"  and {len(left) - _MOST_LEFT} more", err=True)
    for line in warnings:
        typer.echo(f"warning: {safe(line)}", err=True)


def _tell_how_to_try(known: Globals, root: Path, directory: Path) -> None:
    """What was written is checked like anything else, before anybody is told to run it.

    Raises:
        ConfigurationError: it is not valid: a plugin may have problems of its own.
    """
    import shlex

    from skillwalker.checks import check_evals
    from skillwalker.cli.running import command
    from skillwalker.errors import ConfigurationError
    from skillwalker.expectations.registry import Registry
    from skillwalker.text import safe

    checked = check_evals([directory], root, Registry.scan())
    known.tell_notes(checked.notices)
    run = f"{command(root)} run --isolated --rehearse {shlex.quote(safe(directory.name))}"
    if checked.problems:
        what = f"the eval was written, but cannot be run yet; mend this, then try it with: {run}"
        raise ConfigurationError([what, *checked.problems])
    typer.echo(f"try it without a model: {run}")


def _tell_what_to_edit(draft: Draft, root: Path, file: Path) -> None:
    from skillwalker.drafting import EDIT_ME, shown
    from skillwalker.text import count, safe

    queries = [query["query"] for test in draft.tests for query in test.get("queries", ())]
    marked = sum(query.startswith(EDIT_ME) for query in queries)
    if not queries:
        said = f"its rubric is marked {EDIT_ME}, and its task is a draft"
    elif not marked:
        said = "all queries are drafts: read them"
    else:
        others = "; all others are drafts too: read them" if marked < len(queries) else ""
        said = f"{count(marked, 'query is', 'queries are')} marked {EDIT_ME}{others}"
    typer.echo(f"now edit {safe(shown(file, root, Path.cwd()))}: {said}")
