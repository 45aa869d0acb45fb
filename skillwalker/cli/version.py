"""What `--version` tells: Skillwalker, the Claude Code of its image, and the engine that answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_SECONDS = 1.0
"""For the engine to answer; one on this machine takes milliseconds."""


def version_lines(environment: Mapping[str, str]) -> Iterator[str]:
    """A line each; what needs asking comes last.

    Args:
        environment: Says where the engine is.
    """
    from skillwalker import __version__

    yield f"skillwalker {__version__}"
    yield f"Claude Code {_claude_code() or 'of an unknown version'} (in the sandbox image)"
    yield _engine(environment)


def _claude_code() -> str | None:
    """As the image that this version builds has it."""
    from skillwalker.packaged import packaged

    text = packaged("Dockerfile.sandbox").read_text("utf-8")
    match = re.search(r"^ARG CLAUDE_VERSION=(\S+)$", text, re.MULTILINE)
    return match[1] if match else None


def _engine(environment: Mapping[str, str]) -> str:
    from contextlib import closing

    from skillwalker.errors import CannotStartError
    from skillwalker.sandbox.engine import connect
    from skillwalker.text import safe

    try:
        with closing(connect(environment, answer_seconds=_SECONDS)) as client:
            found = client.api.version(api_version=False)
    except CannotStartError:
        return f"Docker engine: none answers within {_SECONDS:g} s (`skillwalker doctor` tells why)"
    except Exception as error:  # noqa: BLE001 - the SDK's, requests', paramiko's; a version is told all the same
        return f"Docker engine: it cannot be asked ({safe(str(error), 120)})"
    return f"Docker engine {safe(str(found.get('Version')), 40)}"
