"""Commands of an eval's author, each in a container of its own: confined as a trial, and without a model."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from attrs import define

from skillwalker.commands import CHECKS, FINAL_TEXT, STREAM_LIMIT, CommandRequest, CommandResult
from skillwalker.errors import SandboxError
from skillwalker.sandbox import start_script as script
from skillwalker.sandbox.base import Limits
from skillwalker.sandbox.engine_errors import engine_errors
from skillwalker.sandbox.repack import repack
from skillwalker.sandbox.streams import STDOUT, EngineStream
from skillwalker.tree import Tree

if TYPE_CHECKING:
    from docker import DockerClient

# How long the engine may take to say that a container whose streams have ended is over.
_END_SECONDS = 30.0
# After its time is over: how long until a stream that still does not end is given up.
_KILL_SECONDS = 10.0
_CONFLICT = 409


class DockerCommands:
    """Runs commands on the engine and with the image of a run. Safe from many threads."""

    def __init__(self, client: DockerClient, image: str, labels: Mapping[str, str], limits: Limits) -> None:
        """
        Args:
            labels: Say whose the containers and volumes are, so that they are found if this process dies.
            limits: Hold for each command.
        """
        self._client, self._image, self._labels, self._limits = client, image, dict(labels), limits
        self._lock = threading.Lock()
        self._running: set[_Run] = set()
        self._stopped = False

    def run(self, request: CommandRequest) -> CommandResult:
        with engine_errors("running a command"):
            name = f"skillwalker-command-{secrets.token_hex(6)}"
            self._require_going()
            container = self._client.api.create_container_from_config(self._configuration(request), name)[
                "Id"
            ]
            try:
                self._put(container, script.WORKSPACE, lambda tar: _write_work_directory(request, tar))
                self._put(container, CHECKS, lambda tar: _write_checks(request, tar))
                with self._listed(_Run(self._client, container)) as run:
                    result = run.result(request.timeout_seconds)
                self._require_going()
                return result
            finally:
                self._remove(container)

    def stop(self) -> None:
        """Ends what runs and starts nothing more; what was waited for is then a SandboxError."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for run in running:
            run.kill()

    @contextlib.contextmanager
    def _listed(self, run: _Run) -> Iterator[_Run]:
        with self._lock:
            self._running.add(run)
        try:
            self._require_going()
            yield run
        finally:
            with self._lock:
                self._running.discard(run)

    def _require_going(self) -> None:
        if self._stopped:
            raise SandboxError("the run is being stopped")

    def _configuration(self, request: CommandRequest) -> dict[str, Any]:
        configuration = script.configuration(
            image=self._image,
            command=(),
            given={},
            volumes=(),
            scaffold=False,
            limits=self._limits,
            labels=self._labels,
        )
        program, *arguments = request.arguments
        configuration |= {
            "Entrypoint": [program],
            "Cmd": arguments,
            "Env": _environment(configuration["Env"]),
            "OpenStdin": False,
            "StdinOnce": False,
            "AttachStdin": False,
        }
        checks = {
            "Type": "volume",
            "Target": CHECKS,
            "VolumeOptions": {"NoCopy": True, "Labels": self._labels},
        }
        configuration["HostConfig"]["Mounts"].append(checks)
        return configuration

    def _put(self, container: str, target: str, write: Callable[[BinaryIO], None]) -> None:
        with tempfile.TemporaryFile() as file:
            write(cast("BinaryIO", file))
            file.seek(0)
            self._client.api.put_archive(container, target, file)

    def _remove(self, container: str) -> None:
        """What fails here is removed with the rest of the run."""
        with contextlib.suppress(SandboxError), engine_errors("removing a command's container"):
            self._client.api.remove_container(container, force=True, v=True)


def _environment(given: list[str]) -> list[str]:
    kept = [each for each in given if not each.startswith("ANTHROPIC_")]
    return [*kept, f"SKILLWALKER_FINAL_TEXT={FINAL_TEXT}"]


def _write_work_directory(request: CommandRequest, tar: BinaryIO) -> None:
    repack(request.workspace.tar, tar, owner=script.AGENT, root=script.WORKSPACE)


def _write_checks(request: CommandRequest, tar: BinaryIO) -> None:
    """The author's files and, where none of them can be, the final text."""
    given = Tree.of_directory(request.files, root=request.files) if request.files else Tree.of_files({})
    name = FINAL_TEXT.removeprefix(f"{CHECKS}/")
    own = Tree.of_files({name: request.final_text.encode("utf-8", "replace")})
    Tree((*given.entries, *own.entries)).write_tar(tar)


class _Run:
    """One container from its start to its end."""

    def __init__(self, client: DockerClient, container: str) -> None:
        self._api, self._container = client.api, container
        self._timed_out = threading.Event()
        self._killed = threading.Event()
        self._ended = threading.Event()
        self._stream: EngineStream | None = None

    def result(self, timeout_seconds: float) -> CommandResult:
        from docker.errors import APIError

        parameters = {"stdout": 1, "stderr": 1, "stream": 1}
        self._stream = EngineStream(self._api.attach_socket(self._container, parameters))
        out, err = _Tail(), _Tail()
        guard = threading.Timer(timeout_seconds, self._time_is_over)
        guard.daemon = True
        try:
            try:
                self._api.start(self._container)
            except APIError as error:
                if code := _start_exit(error):
                    return CommandResult(code, stderr=str(error.explanation))
                raise
            guard.start()
            for stream, data in self._chunks():
                (out if stream == STDOUT else err).add(data)
            self._ended.set()
            state = self._state()
        finally:
            self._ended.set()
            guard.cancel()
            self._stream.close()
        timed_out = self._timed_out.is_set()
        stdout, stderr = out.text(), err.text()
        return CommandResult(
            exit_code=None if timed_out else state.get("ExitCode"),
            stdout=stdout,
            stderr=stderr,
            timed_out=timed_out,
            out_of_memory=bool(state.get("OOMKilled")),
            cut=out.cut or err.cut,
        )

    def _chunks(self) -> Iterator[tuple[int, bytes]]:
        assert self._stream is not None
        try:
            yield from self._stream.chunks()
        except OSError:
            if not self._killed.is_set():  # otherwise it was given up, and what was read is what there is
                raise

    def _state(self) -> Mapping[str, Any]:
        self._api.wait(self._container, timeout=_END_SECONDS)
        state: Mapping[str, Any] = self._api.inspect_container(self._container)["State"]
        return state

    def _time_is_over(self) -> None:
        self._timed_out.set()
        self.kill()

    def kill(self) -> None:
        """Ends the container, and what waits for it."""
        self._killed.set()
        with contextlib.suppress(SandboxError), engine_errors("ending a command"):
            self._api.kill(self._container, "SIGKILL")
        if not self._ended.wait(_KILL_SECONDS) and self._stream is not None:
            self._stream.close()


def _start_exit(error: Any) -> int | None:
    """The exit code that a shell gives where a program is not there (127) or cannot be executed (126)."""
    said = str(error.explanation or "").lower()
    if "executable file not found" in said or "no such file or directory" in said:
        return 127
    return 126 if "permission denied" in said or "exec format error" in said else None


@define
class _Tail:
    """The last bytes of a stream."""

    _data: bytes = b""
    cut: bool = False

    def add(self, data: bytes) -> None:
        self._data += data
        if len(self._data) > 2 * STREAM_LIMIT:  # not at every chunk, which would copy all of it each time
            self._trim()

    def text(self) -> str:
        self._trim()
        return self._data.decode("utf-8", "replace")

    def _trim(self) -> None:
        self.cut |= len(self._data) > STREAM_LIMIT
        self._data = self._data[-STREAM_LIMIT:]
