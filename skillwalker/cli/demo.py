"""`skillwalker demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillwalker.cli.options import Format, Image, Output, globals_of

_NEXT = "next: `skillwalker demo --into DIR` copies this example to DIR, where you can change it and run it"


def demo(
    context: typer.Context,
    output: Output = Format.CONSOLE,
    into: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Put the example there and keep it [default: a temporary place]."),
    ] = None,
    image: Image = None,
) -> None:
    """Run the packaged example, isolated and rehearsed: needs Docker, no key."""
    import os
    import shutil

    from skillwalker.cli.running import carry_out
    from skillwalker.errors import ConfigurationError
    from skillwalker.packaged import packaged
    from skillwalker.request import RunRequest
    from skillwalker.sandbox.local_places import temporary_directory

    if into is not None and os.path.exists(into) and (not os.path.isdir(into) or any(into.iterdir())):
        raise ConfigurationError([f"--into {into} is there already; name a new directory"])
    with temporary_directory() as temporary:
        root = (into or temporary / "example").absolute()
        try:
            shutil.copytree(
                packaged("examples/csv-toolbox"),
                root,
                dirs_exist_ok=True,
                ignore=shutil.ignore_patterns(".skillwalker"),
            )
        except OSError as error:
            what = error.strerror or "not all of it could be written"
            raise ConfigurationError([f"the example cannot be copied to {root}: {what}"]) from None
        request = RunRequest(root=root, cwd=root, isolated=True, rehearse=True, image=image)
        quiet = globals_of(context).given_quiet or False
        code = carry_out(request, output, hint=None if into else _NEXT, quiet=quiet)
    raise typer.Exit(code)
