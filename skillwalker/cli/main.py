"""The command line's root, and the only place where errors become messages and exit codes.

Commands import what they need when they run: `--help` answers without loading Docker's or Anthropic's SDK.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillwalker.cli import (
    compare,
    demo,
    doctor,
    expectations,
    image,
    init,
    lint,
    listing,
    prune,
    rejudge,
    report,
    run,
    schema,
    shell,
    show,
    try_,
    validate,
)
from skillwalker.cli.options import Format, Globals
from skillwalker.cli.quick import QuickCommand, QuickGroup

if TYPE_CHECKING:
    from skillwalker.errors import Problem

FAULT = 3
USAGE = 4
INTERRUPTED = 2
SIGNALLED = 130  # what typer makes of Ctrl-C
BROKEN_PIPE = 141  # what a shell says of a program that SIGPIPE ended

app = typer.Typer(
    name="skillwalker",
    cls=QuickGroup,
    help="Tests skills and agents of Claude Code. A verdict is a measurement, or it is not given.",
    epilog=(
        "First steps: `doctor` checks this machine, `demo` shows a run, `init` writes an eval for a skill or "
        "an agent of yours, `run --isolated --rehearse` tries it without a model.\n\n"
        "Exit codes: 0 all passed, 1 a test failed, 2 interrupted, 3 a fault in Skillwalker, 4 wrong usage "
        "or nothing can start, 5 nothing selected, 6 tests could not be measured."
    ),
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help starts in half the time
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from skillwalker.cli.version import version_lines

        for line in version_lines(os.environ):
            typer.echo(line)
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    root: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Directory that holds evals/ [default: the nearest upwards]."),
    ] = None,
    verbose: Annotated[bool | None, typer.Option("-v", "--verbose", help="Tell more.")] = None,
    quiet: Annotated[
        bool | None,
        typer.Option("-q", "--quiet/--no-quiet", help="Leave out notes, never errors and results."),
    ] = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Print versions: ours, Claude Code's, the engine's.",
        ),
    ] = False,
) -> None:
    """Tests skills and agents of Claude Code. A verdict is a measurement, or it is not given."""
    known = context.obj
    assert isinstance(known, Globals)
    known.given_root, known.given_verbose, known.given_quiet = root, verbose, quiet


COMMANDS: dict[str, Callable[..., None]] = {
    "init": init.init,
    "run": run.run,
    "demo": demo.demo,
    "validate": validate.validate,
    "lint": lint.lint,
    "list": listing.list_,
    "show": show.show,
    "report": report.report,
    "compare": compare.compare,
    "rejudge": rejudge.rejudge,
    "try": try_.try_,
    "shell": shell.shell,
    "schema": schema.schema,
    "doctor": doctor.doctor,
    "prune": prune.prune,
}
IN_SHORT = {  # what fits on a line; their own help says more
    "init": "Write a first eval for a skill or an agent.",
    "run": "Run evals, and tell which tests passed.",
    "demo": "Run the packaged example: needs Docker, no key.",
    "validate": "Check evals without starting anything.",
    "lint": "Find tests that measure less than they seem to.",
    "list": "List evals with their tests, or stored runs.",
    "show": "Show a stored run, or what its trials did.",
    "report": "Write JUnit, HTML and more of a stored run.",
    "compare": "Show what differs between two stored runs.",
    "rejudge": "Judge stored trials again, with the eval as it is now.",
    "try": "Give one prompt to Claude Code with these plugins.",
    "shell": "Open a shell in the sandbox of a test.",
    "schema": "Print a JSON Schema of tests.json, for editors.",
    "doctor": "Check machine, engine, image and the way to the model.",
    "prune": "Remove what dead runs left behind.",
}
for name, command in COMMANDS.items():
    app.command(name, cls=QuickCommand, short_help=IN_SHORT[name])(command)
app.add_typer(image.app, name="image", cls=QuickGroup)
app.add_typer(expectations.app, name="expectations", cls=QuickGroup)


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command line and exits."""
    _make_writable()
    arguments = list(sys.argv[1:] if argv is None else argv)
    code = exit_code(arguments)
    try:
        sys.stdout.flush()
    except OSError:  # the reader has gone, for example `| head`; so has what would tell of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)


def exit_code(arguments: Sequence[str]) -> int:
    """Runs the command line; every error has been printed when it returns."""
    known = Globals()
    try:
        found = app(list(arguments), prog_name="skillwalker", standalone_mode=False, obj=known)
    except (typer.Abort, KeyboardInterrupt):
        found = SIGNALLED
    except SystemExit as error:  # how typer tells that the reader of the output has gone
        found = error.code
        return BROKEN_PIPE if found == 1 else int(found or 0)
    except Exception as error:  # noqa: BLE001 - the one place where errors end; told apart below
        return _explained(error, known.output is Format.JSON or _wants_json(arguments))
    if found == SIGNALLED:
        typer.echo("interrupted", err=True)
        return INTERRUPTED
    return int(found or 0)


def _make_writable() -> None:
    """Output never fails for want of a character or of a stream: a run's report is too dear for that."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - lives as long as we do
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _explained(error: Exception, as_json: bool) -> int:
    """Prints what is wrong and returns the exit code that says so."""
    from skillwalker.errors import CannotStartError, ConfigurationError, Problem, SkillwalkerError

    match error:
        case typer.TyperException():  # wrong usage
            return _report([Problem(error.format_message())], as_json)
        case ConfigurationError():
            return _report(error.problems, as_json)
        case CannotStartError():
            return _report([Problem(str(error))], as_json)
        case SkillwalkerError():
            if as_json:
                _report([Problem(str(error))], as_json)
            typer.echo(_shown(str(error)), err=True)
            return error.exit_code
    import traceback

    traceback.print_exception(error)
    typer.echo(f"this is a fault in Skillwalker itself, please report it: {error!r}", err=True)
    return FAULT


def _report(problems: Sequence[Problem], as_json: bool) -> int:
    if as_json:
        import json

        from skillwalker.records import problems_object

        typer.echo(json.dumps(problems_object(problems)))
    else:
        for problem in problems:
            typer.echo(_shown(str(problem)), err=True)
    return USAGE


def _wants_json(arguments: Sequence[str]) -> bool:
    """Read from the raw arguments, since the error may be that they cannot be parsed."""
    return "--format=json" in arguments or ("--format", "json") in pairwise(arguments)


def _shown(message: str) -> str:
    from skillwalker.text import safe

    return safe(message, lines=True)
