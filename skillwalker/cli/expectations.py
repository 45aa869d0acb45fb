"""`skillwalker expectations`: which types there are, what one of them takes, and a package for a new one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skillwalker.cli.options import Format
from skillwalker.cli.quick import QuickCommand

if TYPE_CHECKING:
    from skillwalker.expectations.describe import Description, Option
    from skillwalker.expectations.registry import LoadedType, Registry

app = typer.Typer(help="The expectation types that are installed.", invoke_without_command=True)

_Format = Annotated[Format, typer.Option("--format", help="How to print.")]


@app.callback()
def default(context: typer.Context) -> None:
    """The expectation types that are installed."""
    if context.invoked_subcommand is None:
        list_()


@app.command("list", cls=QuickCommand, short_help="List every type with the package it comes from.")
def list_(format: _Format = Format.CONSOLE) -> None:
    """List every type with the package it comes from; broken ones with the reason."""
    from json import dumps

    from skillwalker.expectations.registry import Registry

    registry = Registry.scan()
    rows = list(_rows(registry))
    if format is Format.JSON:
        typer.echo(dumps({"schema": 1, "expectations": rows, "problems": list(registry.problems)}))
        return
    width = max((len(row["type"]) for row in rows), default=0)
    origins = [_origin(row) for row in rows]
    origin_width = max(map(len, origins), default=0)
    for row, origin in zip(rows, origins, strict=True):
        said = row["summary"] if row["problem"] is None else f"BROKEN: {row['problem']}"
        typer.echo(f"{row['type']:{width}}  {origin:{origin_width}}  {said}".rstrip())
    if not rows:
        typer.echo("no expectation types are installed; install skillwalker again")
    for problem in registry.problems:
        typer.echo(problem, err=True)


@app.command("show", cls=QuickCommand)
def show(
    type: Annotated[str, typer.Argument(metavar="TYPE", help="The key in tests.json.")],
    format: _Format = Format.CONSOLE,
) -> None:
    """Show what a type does and which options it takes."""
    from json import dumps

    from skillwalker.expectations.describe import describe
    from skillwalker.expectations.registry import Registry
    from skillwalker.text import safe

    loaded = Registry.scan().loaded(type)
    candidate, description = loaded.candidate, describe(loaded.cls)
    examples = list(description.examples) or _made_up(type, loaded)
    if format is Format.JSON:
        typer.echo(
            dumps(
                {
                    "schema": 1,
                    "type": type,
                    "distribution": candidate.distribution,
                    "version": candidate.version,
                    "summary": description.summary,
                    "description": description.text,
                    "options": [_option(option) for option in description.options],
                    "shorthand": description.shorthand,
                    "examples": examples,
                },
                default=repr,
            )
        )
        return
    typer.echo(f"{type}  ({candidate.origin})")
    typer.echo(safe("\n".join(_page(description, examples)), lines=True))


@app.command("new", cls=QuickCommand, short_help="Write a package for a type of your own.")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The key in tests.json, such as max-lines.")],
    into: Annotated[
        Path, typer.Option("--into", metavar="DIR", help="Where the package's directory is made.")
    ] = Path(),
) -> None:
    """Write a package for an expectation type of your own: class, entry point, test, README."""
    from shlex import quote

    from skillwalker.expectations.new import write_package
    from skillwalker.expectations.registry import Registry

    made = write_package(name, into, Registry.scan())
    typer.echo(f"{made.directory}/")
    for file in made.files:
        typer.echo(f"  {file}")
    typer.echo(f"next: pip install -e {quote(str(made.directory))}, then edit {made.module}")


def _rows(registry: Registry) -> Iterator[dict[str, Any]]:
    from skillwalker.errors import ConfigurationError
    from skillwalker.expectations.describe import describe
    from skillwalker.text import safe

    for name in registry.names():
        problem, summary = None, ""
        try:
            summary = describe(registry.load(name)).summary
        except ConfigurationError as error:
            problem = str(error)
        candidates = registry.candidates[name]
        yield {
            "type": safe(name),
            "distribution": " and ".join(sorted(candidate.distribution for candidate in candidates)),
            "version": candidates[0].version if len(candidates) == 1 else None,
            "summary": safe(summary),
            "problem": problem,
        }


def _origin(row: dict[str, Any]) -> str:
    return " ".join(part for part in (row["distribution"], row["version"]) if part)


def _made_up(type: str, loaded: LoadedType) -> list[Mapping[str, Any]]:
    from skillwalker.expectations.describe import made_up_value

    value = made_up_value(loaded.cls, loaded.structure)
    return [] if value is None else [{type: value}]


def _page(description: Description, examples: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    from json import dumps

    yield ""
    yield description.summary or "(it has no description)"
    if description.text:
        yield from ("", description.text)
    yield from ("", "Options:" if description.options else "It takes no options: {}.")
    width = max((len(option.name) for option in description.options), default=0)
    for option in description.options:
        yield f"  {option.name:{width}}  {option.type}, {_default(option)}"
        if option.description:
            yield f"  {'':{width}}  {option.description}"
    if description.shorthand:
        yield from ("", f"Short form: {description.shorthand}.")
    if examples:
        yield from ("", "Examples:" if len(examples) > 1 else "Example:")
    for example in examples:
        yield f"  {dumps(example, ensure_ascii=False)}"


def _option(option: Option) -> dict[str, Any]:
    from skillwalker.expectations.options import UNKNOWN

    known = not option.required and option.default is not UNKNOWN
    return {
        "name": option.name,
        "type": option.type,
        "required": option.required,
        "default": option.default if known else None,
        "description": option.description,
    }


def _default(option: Option) -> str:
    from skillwalker.expectations.options import UNKNOWN, shown

    if option.required:
        return "required"
    return "has a default" if option.default is UNKNOWN else f"default {shown(option.default)}"
