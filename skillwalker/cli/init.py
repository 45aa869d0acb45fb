"""`skillwalker init`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from skillwalker.cli.options import Globals, globals_of

if TYPE_CHECKING:
    from skillwalker.drafting import Draft
    from skillwalker.importing.reading import Imported
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
    from skillwalker.cli.rehearsal import rehearse
    from skillwalker.drafting import write_draft
    from skillwalker.errors import ConfigurationError
    from skillwalker.first_eval import first_eval
    from skillwalker.folders import path_fault
    from skillwalker.importing.converting import convert
    from skillwalker.importing.reading import read_source
    from skillwalker.importing.values import bare
    from skillwalker.targets import broken_plugins, choose, find_targets, root_for
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
    again = _Again(known.given_root, source, name, targets)
    targets_of_kind = [one for one in targets if kind in (None, one.kind)]
    try:
        target = choose(targets, named, kind) if named else _target(targets_of_kind, imported, again)
    except ConfigurationError as error:
        raise ConfigurationError([*(() if broken and not targets else error.problems), *broken]) from None
    notes: list[str] = []
    left: list[str] = []
    warnings: list[str] = []
    name = name or target.tail.replace(":", "-")
    if imported:
        notes += _of_another(imported, target, targets, named, again)
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


class _Again(NamedTuple):
    """What was called, to be called again with a name."""

    root: Path | None
    source: Path | None
    eval_name: str | None
    targets: Sequence[Target]

    def command(self, target: Target) -> str:
        import shlex

        from skillwalker.targets import reference

        words = ["skillwalker", *(("--root", str(self.root)) if self.root else ()), "init"]
        words += reference(target, self.targets)
        words += ["--from", str(self.source)] if self.source else []
        words += ["--eval", self.eval_name] if self.eval_name else []
        return shlex.join(words)

    def commands(self, targets: Sequence[Target]) -> list[str]:
        """A line for each of them."""
        return [f"  {self.command(target)}" for target in targets]


def _target(targets: Sequence[Target], imported: Imported | None, again: _Again) -> Target:
    """The skill or agent that is meant; asks where nothing says it and somebody is there.

    Raises:
        ConfigurationError: it is not known, and nobody is there to be asked.
    """
    from skillwalker.cli.dry_run import can_ask
    from skillwalker.errors import ConfigurationError
    from skillwalker.importing.about import meant, named_in
    from skillwalker.targets import NOTHING_HERE
    from skillwalker.text import listed, safe

    if not targets:
        raise ConfigurationError([NOTHING_HERE])
    if imported:
        about, fitting = named_in(imported), meant(imported, targets)
        if len(fitting) == 1 and len(about) < 2:
            return fitting[0]
        if about:
            said = f"the file is about {listed(about, 20)}"
            if not can_ask():
                what = "say which skill or agent is meant:"
                raise ConfigurationError([f"{said}; {what}", *again.commands(fitting or targets)])
            typer.echo(said, err=True)
    if len(targets) == 1:
        return targets[0]
    if not can_ask():
        what = f"there are {len(targets)} skills and agents; name one:"
        raise ConfigurationError([what, *again.commands(targets)])
    for number, one in enumerate(targets, 1):
        typer.echo(f"{number:3}  {safe(one.part.id)}  ({one.kind})", err=True)
    chosen: int = typer.prompt("Which one", type=int, err=True)
    if not 1 <= chosen <= len(targets):
        raise ConfigurationError([f"{chosen} is none of them"])
    return targets[chosen - 1]


def _of_another(
    imported: Imported, target: Target, targets: Sequence[Target], named: str | None, again: _Again
) -> list[str]:
    """A note that the files are about something else, where the target was named in full all the same.

    Raises:
        ConfigurationError: it was not.
    """
    from skillwalker.errors import ConfigurationError
    from skillwalker.importing.about import of_another

    other = of_another(imported, target, targets)
    if other is None:
        return []
    if named == target.part.id:
        return [f"the file is about {other}, and was taken for {target.part.id}, as you said"]
    raise ConfigurationError(
        [
            f"the file is about {other}, not about {target.part.id}; if that is meant all the same, name it "
            "in full:",
            f"  {again.command(target)}",
        ]
    )


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
