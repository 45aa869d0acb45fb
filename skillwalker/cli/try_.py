"""`skillwalker try`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillwalker.cli.options import (
    Background,
    Claude,
    Format,
    Image,
    IsolatedByDefault,
    MaxCost,
    Model,
    Output,
    Record,
    Rehearse,
    Replay,
    Timeout,
    Yes,
    globals_of,
)

UNMEASURED = 6


def _without_file(line: str) -> str:
    """A line of the transcript without the name of the file that has the rest: it is not kept."""
    return line.removesuffix(" in events.jsonl") if line.lstrip().startswith("… ") else line


def try_(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PLUGIN_DIR... PROMPT",
            help="Plugin directories, then the prompt (- reads it from standard input).",
            show_default=False,
        ),
    ] = None,
    save: Annotated[
        str | None, typer.Option(metavar="EVAL", help="Make a test of it, in evals/EVAL/.")
    ] = None,
    model: Model = None,
    isolated: IsolatedByDefault = None,
    rehearse: Rehearse = None,
    record: Record = None,
    replay: Replay = None,
    timeout: Timeout = None,
    max_cost: MaxCost = None,
    background: Background = None,
    image: Image = None,
    claude: Claude = None,
    yes: Yes = None,
    output: Output = Format.CONSOLE,
) -> None:
    """Give one prompt to Claude Code with these plugins: what it is told of, what it calls, its answer.

    Nothing is kept but what --save writes. Options that are not given come from environment and
    configuration, as for run.
    """
    import json
    import os
    import sys

    from attrs import evolve

    from skillwalker.cli.attempt import attempt_lines, attempt_object, prepare_attempt, read_attempt
    from skillwalker.cli.quiet import quiet_progress
    from skillwalker.cli.running import one_output, paint, perform, permitted
    from skillwalker.cli.tried import read_words
    from skillwalker.configuration import Configuration, read_configuration
    from skillwalker.errors import ConfigurationError
    from skillwalker.records import problems_object
    from skillwalker.reports.console import banner
    from skillwalker.sandbox.local_places import temporary_directory
    from skillwalker.sources import settle

    given = {
        "model": model,
        "isolated": isolated,
        "rehearse": rehearse,
        "record": record,
        "replay": replay,
        "timeout": timeout,
        "max_cost": max_cost,
        "background": background,
        "image": image,
        "claude": claude,
        "yes": yes,
        "quiet": globals_of(context).given_quiet,
    }
    project = globals_of(context).found
    directories, prompt = read_words(words or (), project)
    if prompt == "-":
        prompt = sys.stdin.read()
    settled = settle(given, os.environ, read_configuration(project) if project else Configuration())
    if settled.problems:
        raise ConfigurationError(settled.problems)
    # What selects, repeats and keeps is for runs; and here a container is the default.
    values = {"isolated": True, **settled.values}
    for name in ("keyword", "failed", "trials", "jobs", "allow_unmeasured", "keep"):
        values.pop(name, None)
    home = project or Path.cwd()
    request = evolve(settled, values=values).request(home, Path.cwd())
    target = None
    if save is not None:
        from skillwalker.cli.saving import find_target

        target = find_target(save, directories, home)
    with temporary_directory() as place:
        prepared = permitted(prepare_attempt(directories, prompt, evolve(request, root=place), project))
        result = perform(prepared, quiet_progress(), quiet=settled.values.get("quiet", False))
        attempt = read_attempt(prepared, result)
        if attempt is None:
            raise typer.Exit(result.exit_code)
        saved, unsaved = None, None
        if target and attempt.measured:
            from skillwalker.cli.saving import save_test

            try:
                saved = save_test(target, attempt, prompt)
            except ConfigurationError as error:  # what was asked has cost something, and is shown first
                unsaved = error
        told: dict[str, object] = {
            "saved": {"eval": target.directory.name, "test": saved.test} if target and saved else None
        }
        if output is Format.JSON:
            told |= problems_object(unsaved.problems) if unsaved else {}
            typer.echo(json.dumps({**attempt_object(attempt), **told}))
            if unsaved:
                raise typer.Exit(unsaved.exit_code)
        else:
            colours = paint(sys.stdout.isatty())
            lines = list(attempt_lines(attempt, colours))
            if globals_of(context).given_verbose:
                from skillwalker.reports.details import event_lines
                from skillwalker.transcript import Transcript

                events = Transcript(attempt.transcript).events()
                told_lines = (line for event in events for line in event_lines(event))
                lines += ["transcript", *map(_without_file, told_lines)]
            if target and saved:
                from skillwalker.cli.saving import saved_lines

                lines += saved_lines(saved, target.directory.name)
            elif target and not unsaved:
                lines.append("saved     nothing: what a broken trial did not show cannot be expected")
            note = [text] if (text := banner(result.model_source)) else []
            begun = one_output()  # it has shown that already
            typer.echo("\n".join((*([] if begun else note), *lines, *note)))
            if unsaved:
                raise unsaved
    raise typer.Exit(result.exit_code if result.interrupted else 0 if attempt.measured else UNMEASURED)
