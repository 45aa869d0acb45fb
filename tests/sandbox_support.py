"""A sandbox whose trials are shell scripts instead of Claude Code, and a gateway that says hello."""

from __future__ import annotations

import contextlib
import io
import itertools
import secrets
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen
from docker.errors import APIError

from skillwalker.sandbox.base import Exit, Limits, SandboxRequest
from skillwalker.sandbox.docker import DockerSandbox
from skillwalker.sandbox.docker_process import DockerProcess
from skillwalker.sandbox.owner import RUN, Owner
from skillwalker.tree import Tree
from skillwalker.workspace import Workspace

if TYPE_CHECKING:
    from docker import DockerClient

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


class Lab:
    """One run's sandbox; `run` takes a script from start to removal."""

    def __init__(self, client: DockerClient, image: str, directory: Path) -> None:
        self.client = client
        self.run_id = f"20261130T101500Z-{secrets.token_hex(3)}"
        self.sandbox = DockerSandbox.open(client, image, Owner.current(), self.run_id, program="sh")
        self.gateway = HelloGateway()
        self._directory, self._numbers = directory, itertools.count(1)

    def close(self) -> None:
        self.sandbox.close()
        assert self.sandbox.notes == []
        mine = self.client.api.volumes(filters={"label": f"{RUN}={self.run_id}"}).get("Volumes") or []
        for volume in mine:  # contents that no other test will ask for
            with contextlib.suppress(APIError):
                self.client.api.remove_volume(volume["Name"])

    def start(
        self,
        script: str,
        *,
        line: bytes = LINE,
        environment: Mapping[str, str] | None = None,
        plugins: Sequence[tuple[str, Tree]] = (),
        scaffold: Tree | None = None,
        limits: Limits | None = None,
    ) -> DockerProcess:
        request = SandboxRequest(
            trial_id=f"e.t.0123abcd.main.{next(self._numbers)}",
            arguments=("-c", script),
            environment=environment or {},
            line=line,
            plugins=tuple(plugins),
            scaffold=scaffold,
            limits=limits or Limits(memory_mib=512, pids=128),
        )
        return self.sandbox.start(request, self.gateway)

    def run(self, script: str, *, limit_mib: int = 50, **options: object) -> Result:
        process = self.start(script, **options)  # type: ignore[arg-type]
        try:
            return self.finish(process, options.get("scaffold"), limit_mib)  # type: ignore[arg-type]
        finally:
            process.close()

    def finish(self, process: DockerProcess, scaffold: Tree | None = None, limit_mib: int = 50) -> Result:
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


@contextlib.contextmanager
def open_lab(client: DockerClient, image: str, directory: Path) -> Iterator[Lab]:
    lab = Lab(client, image, directory)
    try:
        yield lab
    finally:
        lab.close()


def until(process: DockerProcess, text: bytes) -> Iterator[object]:
    """Reads until the trial has said `text`; returns the rest of the output."""
    chunks = process.output()
    said = b""
    while text not in said:
        said += next(chunks).data
    return chunks


def left(client: DockerClient, label: str) -> set[str]:
    """Names of all containers and volumes with a label, but for content volumes."""
    containers = client.api.containers(all=True, filters={"label": label})
    volumes = client.api.volumes(filters={"label": label}).get("Volumes") or []
    return {item["Names"][0].lstrip("/") for item in containers} | {
        item["Name"] for item in volumes if "skillwalker.content" not in item["Labels"]
    }
