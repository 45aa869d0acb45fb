"""Which skill or agent `init` is about, and what to type where that is not clear."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import typer
from attrs import frozen

from skillwalker.cli.dry_run import can_ask
from skillwalker.errors import ConfigurationError
from skillwalker.importing.about import meant, named_in, of_another
from skillwalker.importing.reading import Imported
from skillwalker.targets import NOTHING_HERE, Target, reference
from skillwalker.text import listed, safe


@frozen
class Again:
    """What was called, to be called again with a name."""

    root: Path | None
    source: Path | None
    eval_name: str | None
    targets: Sequence[Target]

    def command(self, target: Target) -> str:
        words = ["skillwalker", *(("--root", str(self.root)) if self.root else ()), "init"]
        words += reference(target, self.targets)
        words += ["--from", str(self.source)] if self.source else []
        words += ["--eval", self.eval_name] if self.eval_name else []
        return shlex.join(words)

    def commands(self, targets: Sequence[Target]) -> list[str]:
        """A line for each of them."""
        return [f"  {self.command(target)}" for target in targets]


def which(targets: Sequence[Target], imported: Imported | None, again: Again) -> Target:
    """The skill or agent that is meant; asks where nothing says it and somebody is there.

    Raises:
        ConfigurationError: it is not known, and nobody is there to be asked.
    """
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


def about_another(
    imported: Imported, target: Target, targets: Sequence[Target], named: str | None, again: Again
) -> list[str]:
    """A note that the files are about something else, where the target was named in full all the same.

    Raises:
        ConfigurationError: it was not.
    """
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
