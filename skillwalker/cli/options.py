"""Options that more than one command has, and what every command knows."""

from __future__ import annotations

import enum
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer


class Format(enum.StrEnum):
    """How a result is printed."""

    CONSOLE = "console"
    JSON = "json"


def evals_here(incomplete: str) -> list[str]:
    """For the shell's completion: the names of evals, where there are any."""
    from skillwalker.errors import SkillwalkerError
    from skillwalker.loading import find_evals, find_root

    try:
        root = find_root(Path.cwd())
        names = [path.name for path in find_evals(root).evals] if root else []
    except (SkillwalkerError, OSError):  # a shell that waits for words is no place for messages
        return []
    return [name for name in names if name.startswith(incomplete)]


Select = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SELECT",
        autocompletion=evals_here,
        help="An eval's name, 'eval::test name' (globs allowed), a path to or inside an eval; none: all.",
        show_default=False,
    ),
]
Keyword = Annotated[
    str | None,
    typer.Option(
        "-k", metavar="EXPR", help="Only tests whose name or tag fits, as pytest's -k: 'csv and not slow'."
    ),
]
StoredSelect = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SELECT",
        autocompletion=evals_here,
        help="An eval of the run or 'eval::test name' (globs allowed), or a path into an eval; none: all.",
        show_default=False,
    ),
]
StoredRun = Annotated[
    str,
    typer.Argument(metavar="RUN", help="An id, a unique prefix, last, last~1, or a run's directory."),
]
Image = Annotated[
    str | None, typer.Option(metavar="REF", help="Sandbox image [default: our own, built on first use].")
]
Claude = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="Claude Code for trials on this machine [default: the one on PATH]."),
]
Yes = Annotated[
    bool | None,
    typer.Option(
        "--yes/--no-yes", help="Agree that Claude Code runs with permissions skipped on this machine."
    ),
]
Model = Annotated[
    str | None, typer.Option(metavar="M", help="Model in all trials: opus, sonnet, haiku or claude-...")
]
JudgeModel = Annotated[str | None, typer.Option(metavar="M", help="Model for all judges.")]
Rehearse = Annotated[
    bool | None,
    typer.Option(
        "--rehearse/--no-rehearse",
        help="Answers come from rehearsal.json or a simple rule, not from a model.",
    ),
]
Record = Annotated[
    str | None, typer.Option(metavar="DIR", help="Keep what the model answers in DIR, for --replay.")
]
Replay = Annotated[
    str | None, typer.Option(metavar="DIR", help="Answers come from what was recorded in DIR.")
]
Timeout = Annotated[float | None, typer.Option(metavar="SECONDS", help="Limit of one trial [default: 600].")]
MaxCost = Annotated[
    float | None, typer.Option(metavar="USD", help="No new turn of a model once that has been spent.")
]
Background = Annotated[
    bool | None,
    typer.Option(
        "--background/--no-background", help="Let agents and commands run in the background, as for users."
    ),
]
_ISOLATED = "A fresh Docker container per trial, no network; else on this machine"
Isolated = Annotated[bool | None, typer.Option("--isolated/--no-isolated", help=f"{_ISOLATED}.")]
IsolatedByDefault = Annotated[
    bool | None, typer.Option("--isolated/--no-isolated", help=f"{_ISOLATED} [default: a container].")
]
Failed = Annotated[bool, typer.Option("--failed", help="Only what did not pass.")]
Changed = Annotated[
    bool,
    typer.Option("--changed", help="SELECT are changed files: check what they concern, maybe nothing."),
]
Output = Annotated[Format, typer.Option("--format", help="How the result is printed.")]


def report_option(help: str) -> Any:
    """`--report FORMAT=FILE`, repeatable."""
    return typer.Option("--report", metavar="FORMAT=FILE", help=help, show_default=False)


class Globals:
    """The program's options, before the command or after it, and how its result is printed.

    Attributes:
        chosen_root: What `look_in` found; beats the nearest root.
        given_quiet: None where the command line says nothing of notes.
        output: Known before the command runs only where its own arguments say it.
    """

    def __init__(self) -> None:
        self.given_root: Path | None = None
        self.given_verbose: bool | None = None
        self.given_quiet: bool | None = None
        self.chosen_root: Path | None = None
        self._sought: tuple[str, ...] = ()
        self.output = Format.CONSOLE

    def tell_notes(self, notes: Iterable[str]) -> None:
        """Prints what a user should know, to stderr, unless it is not wanted: see `quiet`."""
        from skillwalker.text import safe

        notes = list(notes)
        for note in notes if notes and not self.quiet else ():
            typer.echo(f"note: {safe(note)}", err=True)

    @property
    def quiet(self) -> bool:
        """Whether command line, environment or configuration want no notes; errors and results are none."""
        from skillwalker.configuration import Configuration, read_configuration
        from skillwalker.sources import settle

        root = self.found
        configuration = read_configuration(root) if root else Configuration()
        return bool(settle({"quiet": self.given_quiet}, os.environ, configuration).values.get("quiet"))

    def parts(self, select: Sequence[str], *, changed: bool = False) -> Mapping[Path, tuple[str, ...]]:
        """The roots that SELECTs are about, and what of them; a path may lead to others than the nearest.

        Args:
            changed: SELECTs are files, and what comes back are the evals that they concern; maybe none.

        Raises:
            NothingSelectedError: there is no root.
        """
        from skillwalker.places import concerned, roots_of

        here, nearest = Path.cwd(), self.found
        if changed:
            return concerned(select, here, nearest, only=self.given_root is not None)
        if self.given_root is not None:
            return {self.root: tuple(select)}
        return roots_of(select, here, nearest) or {self._required(nearest, select): tuple(select)}

    def look_in(self, select: Sequence[str]) -> None:
        """Makes `root` the one that SELECTs are about.

        Raises:
            ConfigurationError: they are about several.
        """
        from skillwalker.errors import ConfigurationError
        from skillwalker.places import roots_of
        from skillwalker.text import listed

        if not select or self.given_root is not None:
            return
        roots = list(roots_of(select, Path.cwd(), self.found))
        if len(roots) > 1:
            names = listed([os.path.relpath(root) for root in roots])
            raise ConfigurationError(
                [f"these paths lead to evals of several roots: {names}; give those of one, then of the next"]
            )
        self.chosen_root = next(iter(roots), None)
        self._sought = tuple(select)

    @property
    def root(self) -> Path:
        """The directory that holds `evals/`.

        Raises:
            ConfigurationError: `--root` names no directory.
            NothingSelectedError: no directory upwards holds an eval.
        """
        return self._required(self.found, self._sought)

    @staticmethod
    def _required(found: Path | None, select: Sequence[str] = ()) -> Path:
        from skillwalker.errors import NothingSelectedError
        from skillwalker.loading import misnamed
        from skillwalker.text import listed, safe

        if found is None:
            here = Path.cwd()
            if slips := misnamed(here):
                names = listed([safe(name) for name in slips], 3)
                raise NothingSelectedError(
                    f"no evals/*/tests.json in {here} or above it, but {names}: did you mean tests.json? "
                    "Rename it"
                )
            others = " (what is in evals/ here can be taken over with --from evals)"
            paths = [word for word in select if "\0" not in word and os.path.lexists(word)]
            beside = f", nor in {listed(paths, 3)} or above" if paths else ""
            raise NothingSelectedError(
                f"no evals/*/tests.json in {here} or above it{beside}: `skillwalker init` writes a first "
                f"eval for a skill or an agent{others if _has_files(here / 'evals') else ''}; or go to a "
                "directory that has evals, or name it with --root DIR"
            )
        return found

    @property
    def root_or_here(self) -> Path:
        """As `root`, but the current directory where none holds an eval: stored runs need no evals."""
        return self.found or Path.cwd()

    @property
    def found(self) -> Path | None:
        """As `root`, but None where no directory upwards holds an eval.

        Raises:
            ConfigurationError: `--root` names no directory.
        """
        from skillwalker.errors import ConfigurationError
        from skillwalker.loading import find_root

        if self.chosen_root is not None:
            return self.chosen_root
        if self.given_root is None:
            return find_root(Path.cwd())
        if not os.path.isdir(self.given_root):  # no error, whatever the name
            raise ConfigurationError([f"--root {self.given_root} is no directory"])
        return self.given_root.resolve()


def _has_files(directory: Path) -> bool:
    try:
        return bool(os.listdir(directory))
    except OSError:
        return False


def globals_of(context: typer.Context) -> Globals:
    """What the command line said of the whole program."""
    found = context.find_root().obj
    assert isinstance(found, Globals)
    return found
