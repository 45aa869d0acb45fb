"""Options that more than one command has, and what every command knows."""

from __future__ import annotations

import enum
import os
from pathlib import Path
from typing import Annotated

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
        metavar="[SELECT]...",
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
        metavar="[SELECT]...",
        autocompletion=evals_here,
        help="An eval of the run or 'eval::test name' (globs allowed), or a path into an eval; none: all.",
        show_default=False,
    ),
]
StoredRun = Annotated[
    str,
    typer.Argument(metavar="[RUN]", help="An id, a unique prefix, last, last~1, or a run's directory."),
]
Image = Annotated[
    str | None, typer.Option(metavar="REF", help="Sandbox image [default: our own, built on first use].")
]
Failed = Annotated[bool, typer.Option("--failed", help="Only what did not pass.")]
Output = Annotated[Format, typer.Option("--format", help="How the result is printed.")]


class Globals:
    """The options before the command, and how its result is printed.

    Attributes:
        output: Known before the command runs only where its own arguments say it.
    """

    def __init__(self) -> None:
        self.given_root: Path | None = None
        self.verbose = False
        self.output = Format.CONSOLE

    @property
    def root(self) -> Path:
        """The directory that holds `evals/`.

        Raises:
            ConfigurationError: `--root` names no directory.
            NothingSelectedError: no directory upwards holds an eval.
        """
        from skillwalker.errors import NothingSelectedError

        if (found := self.found) is None:
            raise NothingSelectedError(
                f"no evals/*/tests.json in {Path.cwd()} or above it; go to a directory that has one, "
                "or name it with --root DIR before the command"
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

        if self.given_root is None:
            return find_root(Path.cwd())
        if not os.path.isdir(self.given_root):  # no error, whatever the name
            raise ConfigurationError([f"--root {self.given_root} is no directory"])
        return self.given_root.resolve()


def globals_of(context: typer.Context) -> Globals:
    """What the command line said before the command."""
    found = context.find_root().obj
    assert isinstance(found, Globals)
    return found
