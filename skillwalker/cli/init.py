"""`skillwalker init`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillwalker.cli.options import Globals, globals_of

if TYPE_CHECKING:
    from skillwalker.importing.reading import Imported
    from skillwalker.targets import Target

_MOST_LEFT = 40  # lines of what was not taken over


def init(
    context: typer.Context,
    named: Annotated[
        str | None,
        typer.Argument(
            metavar="PLUGIN:SKILL", help="The skill or agent [default: the only one].", show_default=False
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
) -> None:
    """Write a first eval for a skill or agent that exists, or from other tools' files."""
    from skillwalker.drafting import write_draft
    from skillwalker.errors import ConfigurationError
    from skillwalker.first_eval import first_eval
    from skillwalker.folders import path_fault
    from skillwalker.importing.converting import convert
    from skillwalker.importing.reading import read_source
    from skillwalker.importing.values import bare
    from skillwalker.targets import broken_plugins, find_targets, root_for
    from skillwalker.text import has_controls, safe

    if name is not None and (
        path_fault(name) or "/" in name or name.startswith((".", "_")) or has_controls(name)
    ):
        raise ConfigurationError([f"--eval {safe(name)} cannot be a directory's name"])
    known = globals_of(context)
    root = (known.found or root_for(Path.cwd())).resolve()
    imported = read_source(source, bare(named) if named else "") if source else None
    targets = find_targets(root)
    broken = broken_plugins(root)
    try:
        target = _target(targets, named, imported)
    except ConfigurationError as error:
        raise ConfigurationError([*(() if broken and not targets else error.problems), *broken]) from None
    name = name or target.tail.replace(":", "-")
    if imported:
        draft, left = convert(imported, target, targets, name)
        notes: list[str] = []
        if not draft.tests:
            raise ConfigurationError([f"nothing of {source} could be taken over", *left])
    else:
        draft, notes = first_eval(target, targets, name)
        left = []
    files = write_draft(draft, root)
    _tell(known, root, files, target, [*notes, *broken], left)
    _require_valid(known, root, files[0].parent)


def _target(targets: Sequence[Target], named: str | None, imported: Imported | None) -> Target:
    """The skill or agent that is meant; asks where nothing says it and somebody is there.

    Raises:
        ConfigurationError: it is not known, and nobody is there to be asked.
    """
    from skillwalker.cli.dry_run import can_ask
    from skillwalker.errors import ConfigurationError
    from skillwalker.targets import NOTHING_HERE, choose
    from skillwalker.text import listed, safe

    if named:
        return choose(targets, named)
    if not targets:
        raise ConfigurationError([NOTHING_HERE])
    candidates = list(targets)
    if imported:
        if hinted := _hinted(targets, imported):
            return hinted
        if about := [*imported.found.skills, *imported.found.named]:
            said = f"the file is about {listed(list(dict.fromkeys(about)), 20)}"
            if not can_ask():
                raise ConfigurationError(
                    [f"{said}; say which skill or agent is meant: skillwalker init PLUGIN:SKILL --from ..."]
                )
            typer.echo(said, err=True)
    if len(candidates) == 1:
        return candidates[0]
    ids = [target.part.id for target in candidates]
    if not can_ask():
        raise ConfigurationError(
            [
                f"there are {len(ids)} skills and agents; name one: skillwalker init {ids[0]} "
                f"(or {listed(ids[1:], 20)})"
            ]
        )
    for number, one in enumerate(candidates, 1):
        typer.echo(f"{number:3}  {safe(one.part.id)}  ({one.kind})", err=True)
    chosen: int = typer.prompt("Which one", type=int, err=True)
    if not 1 <= chosen <= len(candidates):
        raise ConfigurationError([f"{chosen} is none of them"])
    return candidates[chosen - 1]


def _hinted(targets: Sequence[Target], imported: Imported) -> Target | None:
    """The one skill that the files name, or beside which they lie."""
    from skillwalker.importing.values import bare

    about = {bare(name) for name in imported.found.skills or imported.found.named}
    matching = [one for one in targets if one.tail in about or (one.part.name or "") in about]
    if len(about) == 1 and len(matching) == 1:
        return matching[0]
    places = [file.resolve() for file in imported.files]
    around = [
        one
        for one in targets
        if one.part.path.name == "SKILL.md"
        and one.part.path.parent != one.plugin.directory
        and all(place.is_relative_to(one.part.path.resolve().parent) for place in places)
    ]
    if len(around) == 1 and not imported.found.named:
        return around[0]
    plugins = {one.plugin.directory for one in targets}
    return targets[0] if len(targets) == 1 and len(plugins) == 1 and not imported.found.named else None


def _tell(
    known: Globals,
    root: Path,
    files: Sequence[Path],
    target: Target,
    notes: Sequence[str],
    left: Sequence[str],
) -> None:
    from skillwalker.cli.running import command
    from skillwalker.text import safe

    program = command(root)
    eval_name = files[0].parent.name
    for file in files:
        typer.echo(safe(file.relative_to(root).as_posix()))
    if target.plugin.is_unnamed and target.plugin.directory == root:
        notes = [*notes, "the plugin has no plugin.json, so its name is that of this directory: write one"]
    known.tell_notes(notes)
    if left:
        typer.echo("not taken over:", err=True)
        for line in left[:_MOST_LEFT]:
            typer.echo(f"  {safe(line, 300)}", err=True)
        if len(left) > _MOST_LEFT:
            typer.echo(f"  and {len(left) - _MOST_LEFT} more", err=True)
    typer.echo(f"try it without a model: {program} run --isolated --rehearse {safe(eval_name)}")


def _require_valid(known: Globals, root: Path, directory: Path) -> None:
    """What was written is checked like anything else: a plugin may have problems of its own."""
    from skillwalker.checks import check_evals
    from skillwalker.errors import ConfigurationError
    from skillwalker.expectations.registry import Registry

    checked = check_evals([directory], root, Registry.scan())
    known.tell_notes(checked.notices)
    if checked.problems:
        raise ConfigurationError(checked.problems)
