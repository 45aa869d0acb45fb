"""`skillwalker image`: the image that isolated trials run in."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skillwalker.cli.options import Format, Globals, Output, globals_of
from skillwalker.cli.quick import QuickCommand

if TYPE_CHECKING:
    from skillwalker.sandbox.image import ImageInfo, Inputs

app = typer.Typer(help="The image that isolated trials run in.", no_args_is_help=True, rich_markup_mode=None)

CaFile = Annotated[
    Path | None,
    typer.Option(
        "--ca-file",
        metavar="FILE",
        help="Certificates (PEM) that the image trusts beside the public ones "
        "[default: SKILLWALKER_CA_FILE, else those this machine trusts].",
    ),
]
Base = Annotated[
    str | None,
    typer.Option(
        metavar="REF",
        help="Build on this image, which is Debian or made from it "
        "[default: debian:bookworm-slim, else Debian's packages].",
    ),
]


@app.command(cls=QuickCommand, short_help="Build the image, unless the engine has it.")
def build(
    ca_file: CaFile = None,
    base: Base = None,
    dockerfile: Annotated[
        Path | None,
        typer.Option(
            "--dockerfile",
            metavar="FILE",
            help="Build this one on top of it too, as `dockerfile` of the configuration is.",
        ),
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Build again, with the packages of today.")
    ] = False,
) -> None:
    """Build the image unless the engine has it; `run` does the same on first use."""
    from skillwalker.sandbox.engine import connect
    from skillwalker.sandbox.image import ensure_image

    with closing(connect()) as client:
        found = ensure_image(
            client, dockerfile=dockerfile, base=base, ca_file=ca_file, no_cache=no_cache, progress=_tell
        )
    typer.echo(f"{found.tag}  Claude Code {found.claude_version}  {_megabytes(found.size)}")


@app.command(cls=QuickCommand)
def info(
    context: typer.Context, ca_file: CaFile = None, base: Base = None, output: Output = Format.CONSOLE
) -> None:
    """Say which image trials would run in, and what it is made from."""
    from skillwalker.sandbox.engine import connect
    from skillwalker.sandbox.image import find_image, read_inputs
    from skillwalker.text import safe

    with closing(connect()) as client:
        inputs = read_inputs(client, base=base, ca_file=ca_file)
        found = find_image(client, inputs.tag)
    configured = _configured(globals_of(context))
    facts = {**_facts(inputs, found), "configured": configured}
    if output is Format.JSON:
        import json

        typer.echo(json.dumps(facts))
        return
    typer.echo(f"tag            {inputs.tag}")
    if found is None:
        typer.echo(
            "id             not built yet: `skillwalker image build` does it, or the first isolated run"
        )
    else:
        typer.echo(f"id             {found.id}")
        typer.echo(f"Claude Code    {found.claude_version}")
        typer.echo(f"size           {_megabytes(found.size)}")
        typer.echo(f"created        {found.created}")
        typer.echo(f"built on       {found.base or 'not known'}")
    for name, value in facts["inputs"].items():
        typer.echo(f"input          {name}: {'none' if value is None else value}")
    if configured["image"]:
        typer.echo(f"not used       the configuration names the image {safe(configured['image'])}")
    elif configured["dockerfile"]:
        typer.echo(f"on top of it   {safe(configured['dockerfile'])}, built by the first isolated run")


def _configured(known: Globals) -> dict[str, str | None]:
    """What configuration and environment put in place of ours, or on top of it; `run` tells what is wrong."""
    import os

    from skillwalker.configuration import Configuration, read_configuration
    from skillwalker.sources import settle

    root = known.found
    configuration = read_configuration(root) if root else Configuration()
    image, dockerfile = settle({}, os.environ, configuration).values.get("image"), configuration.dockerfile
    return {"image": image, "dockerfile": None if image or dockerfile is None else str(dockerfile)}


def _facts(inputs: Inputs, found: ImageInfo | None) -> dict[str, Any]:
    """What was not observed is None: an image that is not there has no size."""
    import hashlib

    def digest(data: bytes) -> str:
        return f"sha256:{hashlib.sha256(data).hexdigest()}"

    return {
        "schema": 1,
        "tag": inputs.tag,
        "id": found.id if found else None,
        "claude_code_version": found.claude_version if found else None,
        "size_bytes": found.size if found else None,
        "created": found.created if found else None,
        "built_on": found.base if found else None,
        "inputs": {
            "dockerfile": digest(inputs.dockerfile),
            "base": inputs.base,
            "base_script": digest(inputs.base_script),
            "certificates": digest(inputs.certificates.pem) if inputs.certificates.pem else None,
            "certificates_source": inputs.certificates.source,
            "architecture": inputs.architecture,
        },
    }


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def _tell(message: str) -> None:
    typer.echo(message, err=True)
