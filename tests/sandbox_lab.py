"""A sandbox whose trials are shell scripts instead of Claude Code, and a gateway that says hello."""

from __future__ import annotations

import contextlib
import io
import itertools
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from attrs import frozen

from skillwalker.sandbox.base import Connector, Exit, Limits, Sandbox, SandboxProcess, SandboxRequest
from skillwalker.tree import Tree
from skillwalker.workspace import Workspace

_S = TypeVar("_S", bound=Sandbox)

LINE = b'{"prompt": "hello"}\n'


class HelloGateway:
    """Answers every request with the length of its body; `requests` counts."""

    def __init__(self) -> None:
        self.requests = 0

    def connect(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        threading.Thread(target=self._serve, args=(theirs,), daemon=True).start()
        return ours

    def _serve(self, sock: socket.socket) -> None:
        with sock, sock.makefile("rb") as file, contextlib.suppress(OSError):
            size = 0
            while (line := file.readline().strip().lower()) != b"":
                if line.startswith(b"content-length:"):
                    size = int(line.partition(b":")[2])
                if line == b"expect: 100-continue":
                    sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.requests += 1
            body = b"hello %d" % len(file.read(size))
            sock.sendall(
                b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
            )


@frozen
class Result:
    stdout: bytes
    stderr: bytes
    exit: Exit
    notes: tuple[str, ...]
    workspace: Workspace

    @property
    def text(self) -> str:
        return self.stdout.decode("utf-8", "replace")


class Lab(Generic[_S]):
    """One run's sandbox, whose program is `sh`; `run` takes a script from start to removal."""

    def __init__(self, sandbox: _S, directory: Path) -> None:
        self.sandbox = sandbox
        self.gateway = HelloGateway()
        self._directory, self._numbers = directory, itertools.count(1)

    def start(
        self,
        script: str,
        *,
        trial_id: str | None = None,
        line: bytes = LINE,
        environment: Mapping[str, str] | None = None,
        plugins: Sequence[tuple[str, Tree]] = (),
        scaffold: Tree | None = None,
        limits: Limits | None = None,
        network: Connector | None = None,
        passed: bool = True,
    ) -> SandboxProcess:
        request = SandboxRequest(
            trial_id=trial_id or f"e.t.0123abcd.main.{next(self._numbers)}",
            arguments=("-c", script),
            environment=environment or {},
            line=line,
            plugins=tuple(plugins),
            scaffold=scaffold,
            limits=limits or Limits(memory_mib=512, pids=128),
            passed=passed,
        )
        return self.sandbox.start(request, self.gateway, network)

    def run(self, script: str, *, limit_mib: int = 50, **options: object) -> Result:
        process = self.start(script, **options)  # type: ignore[arg-type]
        try:
            return self.finish(process, options.get("scaffold"), limit_mib)  # type: ignore[arg-type]
        finally:
            process.close()

    def finish(self, process: SandboxProcess, scaffold: Tree | None = None, limit_mib: int = 50) -> Result:
        said = {"stdout": io.BytesIO(), "stderr": io.BytesIO()}
        for chunk in process.output():
            said[chunk.stream].write(chunk.data)
        ended = process.wait()
        path = self._directory / f"{next(self._numbers)}.tar"
        with path.open("wb") as target:
            notes = process.save_workspace(target, limit_mib)
        return Result(
            said["stdout"].getvalue(), said["stderr"].getvalue(), ended, notes, Workspace(path, scaffold)
        )


def until(process: SandboxProcess, text: bytes) -> Iterator[object]:
    """Reads until the trial has said `text`; returns the rest of the output."""
    chunks = process.output()
    said = b""
    while text not in said:
        said += next(chunks).data
    return chunks
