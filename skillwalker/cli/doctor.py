"""`skillwalker doctor`."""

from __future__ import annotations

import typer

from skillwalker.cli.options import Format, Output, globals_of


def doctor(context: typer.Context, output: Output = Format.CONSOLE) -> None:
    """Check this machine, its Docker engine, the sandbox image and the way to the model."""
    import os
    import sys
    from pathlib import Path

    from skillwalker.configuration import read_configuration
    from skillwalker.diagnosis import examine
    from skillwalker.errors import CannotStartError
    from skillwalker.model_diagnosis import examine_model

    root = globals_of(context).found
    subscription = root is not None and read_configuration(root).subscription
    model = examine_model(os.environ, platform=sys.platform, home=Path.home(), subscription=subscription)
    checks = [*examine(), *model]
    if output is Format.JSON:
        import json

        lines = [{"name": one.name, "status": one.status, "message": one.message} for one in checks]
        typer.echo(json.dumps({"schema": 1, "checks": lines}))
    else:
        width = max(len(one.name) for one in checks)
        for one in checks:
            typer.echo(f"{one.status:4}  {one.name:{width}}  {one.message}")
    if any(one.status == "fail" for one in checks):
        raise typer.Exit(CannotStartError.exit_code)
