"""Faults of the engine, or of the way to it, as errors of the sandbox."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from skillwalker.errors import SandboxError


@contextlib.contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Turns whatever goes wrong there into a SandboxError that says during what."""
    from docker.errors import APIError, DockerException
    from requests.exceptions import RequestException
    from urllib3.exceptions import HTTPError

    try:
        yield
    except (DockerException, RequestException, HTTPError, OSError) as error:
        said = error.explanation if isinstance(error, APIError) else None
        raise SandboxError(f"{what}: {said or error or type(error).__name__}") from error
