"""What a sandbox is: the place where one trial's Claude Code runs. One protocol for all kinds."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO, Literal, Protocol

from attrs import field, frozen, validators

from skillwalker.redaction import NOTHING_SECRET, Redactor
from skillwalker.tree import Tree


@frozen
class Limits:
    """What one trial may use.

    Attributes:
        memory_mib: Memory of all its processes, in MiB (2**20 bytes).
        pids: Processes and threads.
        cpus: CPUs, fractions allowed; None means no limit, and so does more than there are.
        file_mib: Size of any one file, in MiB.
        workspace_mib: Size of the work directory, in MiB; above it the trial is stopped.
        workspace_files: Files and directories in it; above it the trial is stopped.
        output_mib: Size of its standard output, in MiB; above it the trial is stopped.
        line_mib: Size of one line of it, in MiB; the longest seen of Claude Code itself had two.
    """

    memory_mib: int = field(default=2048, validator=[validators.ge(256), validators.le(1 << 24)])
    pids: int = field(default=512, validator=[validators.ge(64), validators.le(1 << 22)])
    cpus: float | None = field(
        default=None,
        validator=[validators.optional(validators.ge(0.01)), validators.optional(validators.le(65_536.0))],
    )
    file_mib: int = field(default=1024, validator=validators.ge(1))
    workspace_mib: int = field(default=2048, validator=validators.ge(1))
    workspace_files: int = field(default=500_000, validator=validators.ge(1))
    output_mib: int = field(default=1024, validator=validators.ge(1))
    line_mib: int = field(default=128, validator=validators.ge(1))


@frozen
class SandboxRequest:
    """One trial as a sandbox sees it.

    Attributes:
        trial_id: Safe as a file name; not unique between runs.
        arguments: Arguments of `claude`, without the program itself.
        environment: Everything the process finds in its environment beside what the sandbox itself sets
            (HOME, PATH, the address of the gateway).
        line: The one line for standard input, ending with a newline.
        plugins: The trees to mount read-only; the n-th at `Sandbox.plugin_path(trial_id, n, name)`.
        scaffold: Copied to the work directory and committed to a fresh git repository; None leaves it empty.
        passed: Whether it gets the variables that the configuration passes on, too.
    """

    trial_id: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    line: bytes
    plugins: tuple[tuple[str, Tree], ...]
    scaffold: Tree | None
    limits: Limits
    passed: bool = True


@frozen
class Chunk:
    """Bytes as they came; a chunk may end inside a line or a character."""

    stream: Literal["stdout", "stderr"]
    data: bytes


@frozen
class Exit:
    """How the process ended, as the sandbox knows it (not as the stream tells it).

    Attributes:
        code: The exit code; None where it could not be read.
        out_of_memory: Whether the memory limit killed the process or one of its children; None where the
            sandbox cannot tell.
        out_of_processes: Whether the limit of processes was seen to keep one from starting; None where the
            sandbox has no such limit.
    """

    code: int | None
    out_of_memory: bool | None = None
    out_of_processes: bool | None = None

    @property
    def killed(self) -> bool:
        """Whether a signal ended it, as far as an exit code tells."""
        return self.code is not None and (self.code < 0 or self.code > 128)


class Connector(Protocol):
    """Opens connections that speak for one trial: to the gateway, or to the proxy that leads to hosts."""

    def connect(self) -> socket.socket:
        """A new connected stream socket; HTTP/1.1 is served on its other end."""


@frozen
class WorkspaceSize:
    """What a work directory holds.

    Attributes:
        files: Directories among them.
    """

    mib: float
    files: int

    def beyond(self, limits: Limits) -> str | None:
        """Which limit it is over, in words."""
        if self.mib > limits.workspace_mib:
            return f"the work directory holds {self.mib:.0f} MiB; the limit is {limits.workspace_mib} MiB"
        if self.files > limits.workspace_files:
            return (
                f"the work directory holds {self.files:,} files and directories; "
                f"the limit is {limits.workspace_files:,}"
            )
        return None


class SandboxProcess(Protocol):
    """A trial's started process. `output` is for one thread, the other methods are safe from any thread."""

    def output(self) -> Iterator[Chunk]:
        """Yields until both streams have ended and the process is gone.

        Raises:
            SandboxError: the stream broke off although the process may still run.
        """

    def interrupt(self) -> None:
        """Sends SIGINT, so that Claude Code ends with a result. Does nothing after the end."""

    def kill(self) -> None:
        """Sends SIGKILL to everything of the trial. Does nothing after the end."""

    def wait(self) -> Exit:
        """Call after `output` has ended."""

    def workspace_size(self) -> WorkspaceSize | None:
        """What the work directory holds now; None where it cannot be told."""

    def save_workspace(
        self, target: BinaryIO, limit_mib: int, redactor: Redactor = NOTHING_SECRET
    ) -> tuple[str, ...]:
        """Writes the final work directory as a tar stream (members relative to it), secrets overwritten, and
        returns notes on that and on what was left out because of the limit. Call after `wait`."""

    def close(self, keep: bool = False) -> None:
        """Removes everything that this trial made, unless `keep`. Never raises."""


class Sandbox(Protocol):
    """A kind of sandbox, opened for one run."""

    @property
    def name(self) -> str:
        """`docker` or `local`."""

    @property
    def image(self) -> str | None:
        """Id of the image (`sha256:...`), or None."""

    def plugin_path(self, trial_id: str, index: int, name: str) -> str:
        """Where the plugin directory `name` will stand, as that trial's processes see it."""

    def default_jobs(self, memory_mib: int) -> int:
        """max(1, min(CPUs, memory / memory_mib)) of the machine that runs the trials."""

    def start(
        self, request: SandboxRequest, gateway: Connector, network: Connector | None = None
    ) -> SandboxProcess:
        """Starts a trial; on an error nothing of it is left.

        Args:
            network: The way to hosts that the trial may reach. A sandbox that restricts no network has no
                use for it.

        Raises:
            SandboxError: it could not be started.
        """

    def close(self) -> None:
        """Ends what `open` began; leaves nothing behind but what was kept."""

    @property
    def notes(self) -> Sequence[str]:
        """After `close`: what could not be cleaned up, and where what was kept is; a sentence each."""
