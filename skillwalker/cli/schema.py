"""`skillwalker schema`."""

from __future__ import annotations

import typer

from skillwalker.cli.options import globals_of


def schema(context: typer.Context) -> None:
    """Print a JSON Schema of tests.json for editors, from the installed expectation types.

    Write it beside the evals (`skillwalker schema > evals/tests.schema.json`) and name it in each tests.json:
    "$schema": "../tests.schema.json".
    """
    import json

    from skillwalker.expectations.registry import Registry
    from skillwalker.schema import schema_of_tests

    made = schema_of_tests(Registry.scan())
    globals_of(context).tell_notes(made.notes)
    typer.echo(json.dumps(made.document, indent=2, ensure_ascii=False))
