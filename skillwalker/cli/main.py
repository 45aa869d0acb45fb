"""The command line's root, and the only place where errors become messages and exit codes.

Commands import what they need when they run: `--help` answers without loading Docker's or Anthropic's SDK.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from skillwalker.cli import demo, doctor, expectations, image, listing, prune, run, show, validate
from skillwalker.cli.options import Globals
from skillwalker.errors import CannotStartError, ConfigurationError, Problem, SkillwalkerError

FAULT = 3
USAGE = 4
INTERRUPTED = 2

app = typer.Typer(
    name="skillwalker",
    help="Tests skills and agents of Claude Code. A verdict is a measurement, or it is not given.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help starts in half the time
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from skillwalker import __version__

        typer.echo(f"skillwalker {__version__}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    root: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Directory that holds evals/ [default: the nearest upwards]."),
    ] = None,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Tell more.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Tests skills and agents of Claude Code. A verdict is a measurement, or it is not given."""
    context.obj = Globals(root, verbose)


app.command("run")(run.run)
app.command("demo")(demo.demo)
app.command("validate")(validate.validate)
app.command("list")(listing.list_)
app.command("show")(show.show)
app.command("doctor")(doctor.doctor)
app.command("prune")(prune.prune)
app.add_typer(image.app, name="image")
app.add_typer(expectations.app, name="expectations")


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command line and exits."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    sys.exit(exit_code(arguments))


def exit_code(arguments: Sequence[str]) -> int:
    """Runs the command line; every error has been printed when it returns."""
    try:
        return int(app(list(arguments), prog_name="skillwalker", standalone_mode=False) or 0)
    except typer.TyperException as error:  # wrong usage, found by typer
        return _report([Problem(error.format_message())], arguments)
    except ConfigurationError as error:
        return _report(error.problems, arguments)
    except CannotStartError as error:
        return _report([Problem(str(error))], arguments)
    except SkillwalkerError as error:
        typer.echo(_shown(str(error)), err=True)
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:  # the reader has gone, for example `| head`
        sys.stderr.close()
        return 0
    except Exception as error:  # noqa: BLE001 - the last resort: a fault is told, with the exit code of one
        import traceback

        traceback.print_exc()
        typer.echo(f"this is a fault in Skillwalker itself, please report it: {error!r}", err=True)
        return FAULT


def _report(problems: Sequence[Problem], arguments: Sequence[str]) -> int:
    if _wants_json(arguments):
        import json

        from skillwalker.records import problems_object

        typer.echo(json.dumps(problems_object(problems)))
    else:
        for problem in problems:
            typer.echo(_shown(str(problem)), err=True)
    return USAGE


def _wants_json(arguments: Sequence[str]) -> bool:
    """Read from the raw arguments, since the error may be that they cannot be parsed."""
    pairs = zip(arguments, (*arguments[1:], ""), strict=True)
    return any(one == "--format=json" or (one, two) == ("--format", "json") for one, two in pairs)


def _shown(message: str) -> str:
    from skillwalker.text import safe

    return safe(message, lines=True)
