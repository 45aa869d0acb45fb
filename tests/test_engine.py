"""Where the engine is looked for, and what is said when none answers."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from upstream_support import closed_port

from skillwalker.errors import CannotStartError
from skillwalker.sandbox.engine import DEFAULT_SOCKET, Endpoint, connect, endpoints, explain, reason

VERSION = json.dumps({"ApiVersion": "1.41", "Version": "20.10.24"}).encode()


@pytest.fixture(autouse=True)
def no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without any Docker configuration; returns where it would be."""
    directory = tmp_path / "docker-config"
    directory.mkdir()
    (directory / "config.json").write_text("{}")
    monkeypatch.setenv("DOCKER_CONFIG", str(directory))
    monkeypatch.setenv("HOME", str(tmp_path))
    return directory


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[str]:
    """An engine that answers one question, its version, as often as it is asked."""
    path = tmp_path / "engine.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        threading.Thread(target=_serve, args=(server,), daemon=True).start()
        yield f"unix://{path}"
        server.shutdown(socket.SHUT_RDWR)


def _serve(server: socket.socket) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            if connection.recv(65536):
                head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(VERSION)}\r\nConnection: close\r\n\r\n"
                connection.sendall(head.encode() + VERSION)


def make_context(configuration: Path, name: str, host: str) -> None:
    meta = configuration / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest()
    meta.mkdir(parents=True)
    endpoint = {"docker": {"Host": host, "SkipTLSVerify": False}}
    (meta / "meta.json").write_text(json.dumps({"Name": name, "Metadata": {}, "Endpoints": endpoint}))


def test_docker_host_is_used(engine: str) -> None:
    with closing(connect({"DOCKER_HOST": engine})) as client:
        assert client.version()["Version"] == "20.10.24"
        assert client.api._version == "1.41"


def test_the_current_context_is_used(engine: str, no_configuration: Path) -> None:
    make_context(no_configuration, "desktop-linux", engine)
    (no_configuration / "config.json").write_text('{"currentContext": "desktop-linux"}')
    with closing(connect({})) as client:
        assert client.version()["Version"] == "20.10.24"


def test_docker_context_names_one(engine: str, no_configuration: Path) -> None:
    make_context(no_configuration, "far", engine)
    assert endpoints({"DOCKER_CONTEXT": "far"})[0].address == engine


def test_docker_host_beats_the_context(engine: str, no_configuration: Path) -> None:
    make_context(no_configuration, "far", "tcp://127.0.0.1:1")
    found = endpoints({"DOCKER_HOST": engine, "DOCKER_CONTEXT": "far"})
    assert [(one.address, one.chosen) for one in found] == [(engine, True)]


def test_without_a_choice_the_usual_sockets_are_tried(tmp_path: Path) -> None:
    assert [(one.address, one.chosen) for one in endpoints({})] == [(DEFAULT_SOCKET, False)]
    own = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(own))
        found = endpoints({"XDG_RUNTIME_DIR": str(tmp_path)})
    assert [one.address for one in found] == [DEFAULT_SOCKET, f"unix://{own}"]


def test_a_context_that_does_not_exist_is_named() -> None:
    with pytest.raises(CannotStartError, match="'gone', which does not exist"):
        connect({"DOCKER_CONTEXT": "gone"})


def test_a_context_whose_engine_does_not_answer_is_named(no_configuration: Path) -> None:
    with closed_port() as port:
        make_context(no_configuration, "far", f"tcp://127.0.0.1:{port}")
        with pytest.raises(CannotStartError) as caught:
            connect({"DOCKER_CONTEXT": "far"})
    assert "The Docker context 'far' names this engine: start it, choose another with" in str(caught.value)


def test_a_damaged_context_is_named(no_configuration: Path) -> None:
    make_context(no_configuration, "far", "tcp://127.0.0.1:1")
    (meta,) = no_configuration.rglob("meta.json")
    meta.write_text("{")
    with pytest.raises(CannotStartError, match="'far' cannot be read"):
        connect({"DOCKER_CONTEXT": "far"})


def test_missing_tls_files_are_told() -> None:
    environment = {
        "DOCKER_HOST": "tcp://127.0.0.1:1",
        "DOCKER_TLS_VERIFY": "1",
        "DOCKER_CERT_PATH": "/nonexistent",
    }
    with pytest.raises(CannotStartError, match="DOCKER_CERT_PATH must name a directory"):
        connect(environment)


def test_an_engine_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CannotStartError) as caught:
        connect({"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    message = str(caught.value)
    assert f"unix://{tmp_path}/none.sock (DOCKER_HOST): no such socket" in message
    assert "DOCKER_HOST names this engine: start it, unset DOCKER_HOST, or point it at an engine" in message
    assert "context" not in message
    assert "\n" not in message


def test_a_stopped_engine_elsewhere() -> None:
    with closed_port() as port, pytest.raises(CannotStartError, match="connection refused"):
        connect({"DOCKER_HOST": f"tcp://127.0.0.1:{port}"})


@pytest.mark.parametrize("family", ["tcp", "unix"])
def test_an_engine_that_hangs_is_given_up(tmp_path: Path, family: str) -> None:
    if family == "unix":
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(tmp_path / "hung.sock"))
        server.listen()
        address = f"unix://{tmp_path}/hung.sock"
    else:
        server = socket.create_server(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
    with server, pytest.raises(CannotStartError, match=r"\(DOCKER_HOST\): no answer"):
        connect({"DOCKER_HOST": address}, answer_seconds=0.2)


def test_something_that_is_no_engine() -> None:
    with pytest.raises(CannotStartError, match="No Docker engine answers"):
        connect({"DOCKER_HOST": "nonsense"})


def failure(error: Exception) -> str:
    nested = RuntimeError("Error while fetching server API version", ("Connection aborted.", error))
    nested.__cause__ = error
    return explain([(Endpoint(DEFAULT_SOCKET, "default socket", chosen=False), nested)])


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (PermissionError(13, "Permission denied"), "usermod -aG docker"),
        (ConnectionRefusedError(111, "Connection refused"), "installed but not started"),
        (FileNotFoundError(2, "No such file"), "Docker Desktop"),
    ],
)
def test_the_ways_to_have_no_engine_are_told_apart(error: Exception, advice: str) -> None:
    assert advice in failure(error)
    others = {"usermod -aG docker", "installed but not started", "install an engine"} - {advice}
    assert sum(other in failure(error) for other in others) <= (advice == "Docker Desktop")


def test_the_reason_is_found_however_deep_and_cyclic_errors_are_nested() -> None:
    inner = PermissionError(13, "Permission denied")
    outer = ValueError("a", inner)
    inner.__context__ = outer
    assert reason(outer) == "permission denied"
    assert reason(ValueError("x" * 500)) == "x" * 199 + "…"
