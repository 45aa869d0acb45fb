"""Opens the sandbox that a run was asked for, and finds out which Claude Code is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from attrs import frozen

from skillwalker import claude_code
from skillwalker.errors import CannotStartError, ConfigurationError, SandboxError
from skillwalker.request import Prepared
from skillwalker.sandbox.base import Sandbox

if TYPE_CHECKING:
    from skillwalker.sandbox.command import DockerCommands
    from skillwalker.sandbox.local import LocalSandbox

PERMISSION = "runs Claude Code with permissions skipped on this machine"
"""What a user must agree to before a run that is not isolated."""


@frozen
class Opened:
    """A sandbox that is open.

    Attributes:
        claude_code_version: None where it is not known.
        commands: Where expectations can run commands; None where they cannot.
    """

    sandbox: Sandbox
    claude_code_version: str | None
    commands: DockerCommands | None = None


@contextmanager
def opened(
    prepared: Prepared, run_id: str, progress: Callable[[str], None], passed: Mapping[str, str]
) -> Iterator[Opened]:
    """Closes the sandbox when the block is left.

    Args:
        passed: Variables that every trial gets.

    Raises:
        CannotStartError: no engine, no usable image, or no usable Claude Code.
        ConfigurationError: a run cannot go on with another version.
    """
    isolated = prepared.request.isolated
    with _isolated(prepared, run_id, progress, passed) if isolated else _local(prepared, passed) as found:
        yield found


@contextmanager
def _isolated(
    prepared: Prepared, run_id: str, progress: Callable[[str], None], passed: Mapping[str, str]
) -> Iterator[Opened]:
    from skillwalker.sandbox.command import DockerCommands
    from skillwalker.sandbox.docker import DockerSandbox
    from skillwalker.sandbox.engine import connect
    from skillwalker.sandbox.image import ensure_image
    from skillwalker.sandbox.owner import Owner

    resumed, request, owner = prepared.resumed, prepared.request, Owner.current()
    with closing(connect()) as client:
        ref = resumed.image if resumed else request.image
        image = ensure_image(client, ref, dockerfile=request.dockerfile, progress=progress)
        with closing(DockerSandbox.open(client, image.id, owner, run_id, passed=passed)) as sandbox:
            commands = DockerCommands(client, image.id, owner.labels(run_id), request.limits)
            yield Opened(sandbox, image.claude_version, commands)


@contextmanager
def _local(prepared: Prepared, passed: Mapping[str, str]) -> Iterator[Opened]:
    from skillwalker.sandbox.local import LocalSandbox, find_program
    from skillwalker.sandbox.owner import Owner

    program = find_program(prepared.request.claude)
    if program is None:
        raise CannotStartError("Claude Code has been removed")
    try:
        sandbox = LocalSandbox.open(program, Owner.current(), passed=passed)
    except SandboxError as error:
        raise CannotStartError(str(error)) from error
    with closing(sandbox):
        version = _version(sandbox)
        resumed = prepared.resumed
        if resumed and version != resumed.claude_code_version:
            before = f"the run began with Claude Code {resumed.claude_code_version}"
            raise ConfigurationError([f"{before}, and {program} is {version} now; start a new run"])
        yield Opened(sandbox, version)


def _version(sandbox: LocalSandbox) -> str:
    """Claude Code's version, if it has what trials need."""
    with ThreadPoolExecutor(2) as executor:  # each takes half a second
        asked = [executor.submit(sandbox.ask, flag) for flag in ("--version", "--help")]
    try:
        said, help_text = (one.result() for one in asked)
    except SandboxError as error:
        raise CannotStartError(f"no usable Claude Code: {error}") from error
    version = claude_code.parse_version(said)
    if version is None:
        raise CannotStartError(
            f"{sandbox.program} is no Claude Code: its --version prints {said.strip()[:200]!r}"
        )
    if missing := claude_code.missing_flags(help_text):
        raise CannotStartError(
            f"Claude Code {version} ({sandbox.program}) has no {', '.join(missing)}; update it"
        )
    return version
