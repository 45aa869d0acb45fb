"""One trial's container from its creation to its removal."""

from __future__ import annotations

import contextlib
import io
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from skillwalker.errors import SandboxError
from skillwalker.redaction import NOTHING_SECRET, Redactor
from skillwalker.sandbox import relay
from skillwalker.sandbox import start_script as script
from skillwalker.sandbox.base import Chunk, Connector, Exit, Limits, WorkspaceSize
from skillwalker.sandbox.engine_errors import engine_errors
from skillwalker.sandbox.measuring import measure
from skillwalker.sandbox.streams import STDOUT, EngineStream
from skillwalker.workspace import save

if TYPE_CHECKING:
    from docker import DockerClient

_MIB = 1 << 20
_START_SECONDS = 300.0
# How long the engine may take to say that a container whose streams have ended is over.
_END_SECONDS = 30.0
# After SIGKILL: how long until a stream that still does not end is given up.
_KILL_SECONDS = 10.0
# How long the relay's stream may end before the container does, which ends both; a busy engine tells late.
_RELAY_SECONDS = 10.0
# How long until the engine tells of a container that ended while it was started.
_EARLY_SECONDS = 10.0
# A line that surely fits the buffers on the way; a longer one is sent beside reading.
_SHORT = 1 << 14


class IncompleteVolumeError(SandboxError):
    """The start script found a content volume that was not uploaded to its end."""


class DockerProcess:
    """A trial's Claude Code in its container. See `SandboxProcess` for what each method promises."""

    def __init__(
        self,
        client: DockerClient,
        container: str,
        limits: Limits,
        remove: Callable[[str, bool], None],
        is_untouched: Callable[[str], bool],
    ) -> None:
        """
        Args:
            remove: Called once with the container and whether to keep it; does not wait.
            is_untouched: Whether the container's work directory is surely still empty.
        """
        self._api, self._container, self._limits, self._remove = client.api, container, limits, remove
        self._is_untouched = is_untouched
        self._stream: EngineStream | None = None
        self._relay: relay.RelayLink | None = None
        self._chunks: Iterator[tuple[int, bytes]] = iter(())
        self._ended = threading.Event()
        self._stderr = b""  # of the start script
        self._exit: Exit | None = None
        self._fault: str | None = None
        self._closed = False

    def start(self, line: bytes, gateway: Connector, network: Connector | None = None) -> None:
        """Returns when the relay listens and the prompt is on its way; the trial cannot run before.

        Args:
            network: Where the proxy's port leads; None: there is no such port.

        Raises:
            IncompleteVolumeError: upload again.
            SandboxError: something else failed.
        """
        with engine_errors("starting a trial's container"):
            parameters = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            self._stream = EngineStream(self._api.attach_socket(self._container, parameters))
            self._chunks = self._stream.chunks()
            self._api.start(self._container)
        try:
            with engine_errors("starting the relay"):
                self._start_relay(gateway, network)
        except SandboxError as error:
            raise self._early_end() or error from error
        self._await_script()
        if len(line) <= _SHORT:
            self._send(line)
        else:
            threading.Thread(target=self._send, args=(line,), name="prompt", daemon=True).start()

    def output(self) -> Iterator[Chunk]:
        trouble = "the stream of the trial broke off"
        try:
            for stream, data in self._chunks:
                yield Chunk("stdout" if stream == STDOUT else "stderr", data)
        except OSError as error:
            trouble = f"{trouble}: {error}"
        self._exit = self._await_end(trouble)
        self._ended.set()
        if self._fault is not None:
            raise SandboxError(self._fault)

    def interrupt(self) -> None:
        self._signal("SIGINT")

    def kill(self) -> None:
        if not self._ended.is_set():
            self._signal("SIGKILL")
            threading.Thread(target=self._give_up, name="kill", daemon=True).start()

    def wait(self) -> Exit:
        if self._exit is None:
            self._exit = self._await_end("the trial did not end")
            self._ended.set()
        return self._exit

    def workspace_size(self) -> WorkspaceSize | None:
        try:
            return measure(self._api, self._container)
        except SandboxError:
            return None

    def save_workspace(
        self, target: BinaryIO, limit_mib: int, redactor: Redactor = NOTHING_SECRET
    ) -> tuple[str, ...]:
        import tarfile

        with engine_errors("saving the work directory"):
            if self._is_untouched(self._container):
                with tarfile.open(fileobj=target, mode="w"):
                    return ()
            pieces, _ = self._api.get_archive(self._container, script.WORKSPACE, chunk_size=1 << 18)
            limit, read_limit = limit_mib * _MIB, max(limit_mib, self._limits.workspace_mib) * _MIB
            try:
                source = io.BufferedReader(_Pieces(pieces))
                return save(source, target, limit=limit, read_limit=read_limit, redactor=redactor)
            except tarfile.TarError as error:
                raise SandboxError(f"saving the work directory: {error}") from error

    def close(self, keep: bool = False) -> None:
        if self._closed:
            return
        self._closed = True
        self._ended.set()
        if self._relay is not None:
            self._relay.close()
        if self._stream is not None:
            self._stream.close()
        self._remove(self._container, keep)

    def _start_relay(self, gateway: Connector, network: Connector | None) -> None:
        ways = {relay.PORT: gateway} | ({relay.PROXY_PORT: network} if network else {})
        execution = self._api.exec_create(
            self._container,
            list(relay.command(*ways)),
            stdin=True,
            user=f"{script.RELAY}:{script.RELAY}",
            workdir="/",
        )
        stream = EngineStream(self._api.exec_start(execution["Id"], socket=True))
        self._relay = relay.RelayLink(stream, [*ways.values()], self._relay_ended)
        self._relay.start()

    def _await_script(self) -> None:
        guard = threading.Timer(_START_SECONDS, self.kill)
        guard.daemon = True
        guard.start()
        try:
            ready = self._read_preparation()
        finally:
            guard.cancel()
        if not ready:
            raise self._early_end() or SandboxError(f"the container did not get ready: {self._complaints()}")

    def _read_preparation(self) -> bool:
        """Whether the start script got as far as the prompt; what it wrote to stderr is kept."""
        said = b""
        try:
            for stream, data in self._chunks:
                if stream == STDOUT:
                    said += data
                else:
                    self._stderr = (self._stderr + data)[-2000:]
                if said.endswith(script.READY):
                    return True
        except OSError as error:
            self._stderr += str(error).encode()
        return False

    def _early_end(self) -> SandboxError | None:
        """What it means that the container ended before the trial began; None if it runs or nobody knows."""
        try:
            with engine_errors("looking at the container"):
                self._api.wait(self._container, timeout=_EARLY_SECONDS)
                state = self._state()
        except SandboxError:
            return None
        if state["ExitCode"] == script.INCOMPLETE:
            return IncompleteVolumeError("a volume with plugins or a scaffold is incomplete")
        self._read_preparation()
        why = "its memory limit is too low" if state.get("OOMKilled") else self._complaints()
        return SandboxError(f"the container ended before the trial began (exit {state['ExitCode']}): {why}")

    def _complaints(self) -> str:
        return self._stderr.decode("utf-8", "replace").strip() or "it did not say why"

    def _send(self, line: bytes) -> None:
        assert self._stream is not None
        with contextlib.suppress(OSError):  # the container is over, which `output` sees
            self._stream.send(line)

    def _await_end(self, trouble: str) -> Exit:
        from requests.exceptions import ConnectionError as Lost
        from requests.exceptions import Timeout

        with engine_errors(trouble):
            try:
                self._api.wait(self._container, timeout=_END_SECONDS)
            except (Timeout, Lost) as error:
                if "timed out" not in str(error).lower():
                    raise
                raise SandboxError(f"{trouble}, but its container still runs") from error
            state = self._state()
        full = self._relay is not None and self._relay.processes_full
        return Exit(state.get("ExitCode"), bool(state.get("OOMKilled")), full)

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = self._api.inspect_container(self._container)["State"]
        return state

    def _signal(self, name: str) -> None:
        if not self._ended.is_set():
            # One that has ended meanwhile is a conflict; an engine that is gone is seen by `output`.
            with contextlib.suppress(SandboxError), engine_errors(f"sending {name}"):
                self._api.kill(self._container, name)

    def _give_up(self) -> None:
        if not self._ended.wait(_KILL_SECONDS) and self._stream is not None:
            self._stream.close()

    def _relay_ended(self, reason: str) -> None:
        if self._ended.wait(_RELAY_SECONDS):
            return
        with contextlib.suppress(SandboxError), engine_errors("looking at the container"):
            if self._state()["Running"]:
                self._fault = f"the trial's way to the model broke: {reason}"
                self.kill()


class _Pieces(io.RawIOBase):
    """An iterator over bytes as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            try:
                self._rest = memoryview(next(self._pieces))
            except StopIteration:
                return 0
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size
