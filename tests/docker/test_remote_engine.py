"""A whole run on an engine that is reached over TLS, and over ssh: this machine's own, by another way."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pwd
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from roots import an_eval, bash, plugin, text
from sandbox_support import left
from tls_support import Authority
from waiting import free_port

from skillwalker.errors import CannotStartError
from skillwalker.sandbox.engine import DEFAULT_SOCKET, connect

if TYPE_CHECKING:
    from docker import DockerClient

SSHD = "/usr/sbin/sshd"
START_SECONDS = 120


@pytest.fixture
def engine_socket(docker_client: object) -> str:
    address = os.environ.get("DOCKER_HOST", DEFAULT_SOCKET)
    if not address.startswith("unix://"):
        pytest.skip("the other ways lead to an engine on this machine")
    return address.removeprefix("unix://")


class Door:
    """A port that speaks TLS with whoever has a certificate of the authority, and hands on to the engine."""

    def __init__(self, engine: str, authority: Authority) -> None:
        self._engine, self.connections, self.port = engine, 0, 0
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.certificate))
        self._context.load_cert_chain(*authority.sign("127.0.0.1"))
        self._context.verify_mode = ssl.CERT_REQUIRED
        self._loop = asyncio.new_event_loop()
        self._open = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),))

    def __enter__(self) -> Door:
        self._thread.start()
        assert self._open.wait(120)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(120)
        self._loop.close()

    async def _run(self) -> None:
        self._end = asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context)
        self.port = server.sockets[0].getsockname()[1]
        self._open.set()
        async with server:
            await self._end.wait()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        inner_reader, inner_writer = await asyncio.open_unix_connection(self._engine)
        moves = [
            asyncio.create_task(_move(reader, inner_writer)),
            asyncio.create_task(_move(inner_reader, writer)),
        ]
        try:
            await asyncio.wait(moves, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in (writer, inner_writer):
                one.close()
            for move in moves:
                move.cancel()
            await asyncio.gather(*moves, return_exceptions=True)


async def _move(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(1 << 16):
            target.write(data)
            await target.drain()


def skillwalker(
    root: Path, *arguments: str, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).with_name("skillwalker")), "--root", str(root), *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def run_one(client: DockerClient, root: Path, image: str, environment: Mapping[str, str]) -> None:
    """A plugin and a scaffold go there; a long answer and a work directory come back."""
    plugin(root)
    script = [bash("seq 5000; head -c 3000000 /dev/urandom >made.bin"), text("done")]
    tests = [{"name": f"t{n}", "scaffold": "s", "expect": [{"result-contains": "done"}]} for n in range(3)]
    an_eval(root, tests, scaffolds={"s/a.txt": "a"}, script={test["name"]: script for test in tests})
    options = ("--isolated", "--rehearse", "--image", image, "--jobs", "3", "--format", "json")

    done = skillwalker(root, "run", *options, environment=environment)

    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "pool is full" not in done.stderr
    found = json.loads(done.stdout)
    assert [test["outcome"] for test in found["tests"]] == ["passed"] * 3
    for trial in root.glob(".skillwalker/runs/*/trials/*"):
        assert (trial / "events.jsonl").stat().st_size > 20_000
        assert (trial / "workspace.tar").stat().st_size > 3_000_000
    shown = skillwalker(root, "show", "last", "csv::t0", environment=environment)
    assert "made.bin" in shown.stdout
    assert left(client, f"skillwalker.run={found['run_id']}") == set()


class TestTls:
    @pytest.fixture
    def door(self, tmp_path: Path, engine_socket: str) -> Iterator[tuple[Door, dict[str, str]]]:
        authority = Authority(tmp_path / "authority")
        certificates = tmp_path / "certificates"
        certificates.mkdir()
        shutil.copy(authority.certificate, certificates / "ca.pem")
        for path, name in zip(authority.sign("client.example"), ("cert.pem", "key.pem"), strict=True):
            shutil.copy(path, certificates / name)
        with Door(engine_socket, authority) as door:
            yield (
                door,
                {
                    "DOCKER_HOST": f"tcp://127.0.0.1:{door.port}",
                    "DOCKER_TLS_VERIFY": "1",
                    "DOCKER_CERT_PATH": str(certificates),
                },
            )

    def test_a_whole_run(
        self,
        door: tuple[Door, dict[str, str]],
        tmp_path: Path,
        docker_client: DockerClient,
        sandbox_image: str,
    ) -> None:
        run_one(docker_client, tmp_path / "root", sandbox_image, door[1])
        assert door[0].connections > 10

    @pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
    def test_what_others_are_told_to_trust_does_not_count(
        self,
        door: tuple[Door, dict[str, str]],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        variable: str,
    ) -> None:
        monkeypatch.setenv(variable, str(Authority(tmp_path / "other").certificate))
        with closing(connect(door[1])) as client:
            assert client.ping()

    def test_who_has_no_certificate_is_told_so(
        self, door: tuple[Door, dict[str, str]], tmp_path: Path
    ) -> None:
        other = Authority(tmp_path / "other")
        certificates = Path(door[1]["DOCKER_CERT_PATH"])
        for path, name in zip(other.sign("client.example"), ("cert.pem", "key.pem"), strict=True):
            shutil.copy(path, certificates / name)
        with pytest.raises(CannotStartError, match="DOCKER_HOST names this engine"):
            connect(door[1])

    def test_an_engine_of_another_authority_is_refused(
        self, door: tuple[Door, dict[str, str]], tmp_path: Path
    ) -> None:
        certificates = Path(door[1]["DOCKER_CERT_PATH"])
        shutil.copy(Authority(tmp_path / "other").certificate, certificates / "ca.pem")
        with pytest.raises(CannotStartError, match="certificate verify failed"):
            connect(door[1])


class TestSsh:
    @pytest.fixture
    def environment(
        self, tmp_path_factory: pytest.TempPathFactory, engine_socket: str, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[dict[str, str]]:
        """A daemon with keys of its own, and an `ssh` first on PATH that knows them and nobody else's."""
        if os.geteuid() or not Path(SSHD).exists() or not shutil.which("ssh") or not shutil.which("docker"):
            pytest.skip("an ssh daemon needs root, sshd, ssh and the docker command")
        if engine_socket != DEFAULT_SOCKET.removeprefix("unix://"):
            pytest.skip("the docker command at the other end takes the default socket")
        if not find_spec("paramiko"):
            pytest.skip("ssh:// needs the package paramiko")
        home = tmp_path_factory.mktemp("ssh")
        home.chmod(0o700)
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", home / name], check=True)
        shutil.copy(home / "user.pub", home / "authorized")
        port = free_port()
        (home / "sshd.conf").write_text(
            f"ListenAddress 127.0.0.1:{port}\nHostKey {home}/host\nAuthorizedKeysFile {home}/authorized\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nStrictModes no\n"
            "PermitRootLogin prohibit-password\nMaxStartups 100\nPidFile none\n"
            f"SetEnv PATH={os.environ['PATH']}\n"
        )
        key = " ".join((home / "host.pub").read_text().split()[:2])
        (home / "known").write_text(f"[127.0.0.1]:{port} {key}\n")
        (home / "ssh.conf").write_text(
            f"IdentityFile {home}/user\nIdentitiesOnly yes\nUserKnownHostsFile {home}/known\n"
            "GlobalKnownHostsFile none\nStrictHostKeyChecking yes\nBatchMode yes\n"
        )
        (home / "bin").mkdir()
        (home / "bin" / "ssh").write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {home}/ssh.conf "$@"\n')
        (home / "bin" / "ssh").chmod(0o755)
        Path("/run/sshd").mkdir(exist_ok=True)
        monkeypatch.setenv("PATH", f"{home}/bin:{os.environ['PATH']}")
        with (home / "log").open("wb") as log:
            daemon = subprocess.Popen([SSHD, "-D", "-e", "-f", home / "sshd.conf"], stderr=log)
        try:
            _await_port(port)
            user = pwd.getpwuid(os.geteuid()).pw_name
            yield {"DOCKER_HOST": f"ssh://{user}@127.0.0.1:{port}"}
        finally:
            daemon.terminate()
            daemon.wait(120)

    def test_a_whole_run(
        self, environment: dict[str, str], tmp_path: Path, docker_client: DockerClient, sandbox_image: str
    ) -> None:
        run_one(docker_client, tmp_path, sandbox_image, environment)

    def test_a_host_that_is_not_known_is_refused(self, environment: dict[str, str], tmp_path: Path) -> None:
        elsewhere = environment["DOCKER_HOST"].replace("127.0.0.1", "localhost")
        done = skillwalker(tmp_path, "doctor", environment={"DOCKER_HOST": elsewhere})
        assert done.returncode == 4
        assert "DOCKER_HOST names this engine" in done.stdout


def _await_port(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    pytest.fail("the ssh daemon does not start")
