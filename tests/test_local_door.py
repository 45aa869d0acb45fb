"""Who may come in from this machine, and as whom."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
from collections.abc import Iterator

import pytest
from sandbox_lab import HelloGateway
from waiting import PATIENCE, wait_until

from skillwalker.sandbox import local_door
from skillwalker.sandbox.local_door import Door


class EchoGateway:
    """Sends back what it gets, and its own name first."""

    def __init__(self, name: bytes = b"") -> None:
        self.name = name
        self.inside: list[socket.socket] = []

    def connect(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        self.inside.append(theirs)
        threading.Thread(target=self._serve, args=(theirs,), daemon=True).start()
        return ours

    def _serve(self, sock: socket.socket) -> None:
        with sock, contextlib.suppress(OSError):
            sock.sendall(self.name)
            while data := sock.recv(1000):
                sock.sendall(data)


@pytest.fixture
def door() -> Iterator[Door]:
    door = Door()
    yield door
    door.close()


def connect(door: Door) -> socket.socket:
    host, _, port = door.url.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE)


def head(*lines: str) -> bytes:
    return "\r\n".join(["POST /v1/messages HTTP/1.1", "host: x", *lines, "", ""]).encode()


def status(door: Door, *lines: str, body: bytes = b"") -> int:
    with connect(door) as sock:
        sock.sendall(head(*lines, f"content-length: {len(body)}") + body)
        response = http.client.HTTPResponse(sock)
        response.begin()
        response.read()
        return response.status


def test_it_listens_on_the_loopback_interface_only(door: Door) -> None:
    assert door.url.startswith("http://127.0.0.1:")


def test_who_shows_a_trials_secret_speaks_for_that_trial(door: Door) -> None:
    one, two = HelloGateway(), HelloGateway()
    secrets = [door.admit(one), door.admit(two)]
    assert len(set(secrets)) == 2
    assert status(door, f"X-Api-Key:  {secrets[1]} ") == 200
    assert (one.requests, two.requests) == (0, 1)


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["x-api-key: "],
        ["x-api-key: wrong"],
        ["authorization: Bearer {}"],
        ["x-api-key: {}x"],
        ["x-api-key: x", "x-api-key: {}"],
        ["x-api-key-2: {}"],
        ["x-api-key: \xff"],
    ],
)
def test_everybody_else_is_nobody(door: Door, lines: list[str]) -> None:
    gateway = HelloGateway()
    secret = door.admit(gateway)
    assert status(door, *(line.format(secret) for line in lines), body=b"x" * 100_000) == 401
    assert gateway.requests == 0


def test_a_secret_in_the_body_is_none(door: Door) -> None:
    secret = door.admit(HelloGateway())
    assert status(door, body=f"\r\nx-api-key: {secret}\r\n\r\n".encode()) == 401


def test_a_connection_stays_the_trials_whose_it_is_from_the_first_byte_to_the_last(door: Door) -> None:
    one, two = EchoGateway(b"one"), EchoGateway(b"two")
    secrets = [door.admit(one), door.admit(two)]
    first, second = (head(f"x-api-key: {secret}") for secret in secrets)
    with connect(door) as sock:
        for byte in first:  # in pieces, as a network may deliver it
            sock.sendall(bytes([byte]))
        sock.sendall(second)
        sock.shutdown(socket.SHUT_WR)
        answer = b""
        while data := sock.recv(1000):
            answer += data
    assert answer == b"one" + first + second
    assert two.inside == []


def test_a_dismissed_secret_opens_nothing_and_what_it_opened_is_broken_off(door: Door) -> None:
    secret, other = door.admit(EchoGateway(b"hello")), door.admit(EchoGateway(b"other"))
    with connect(door) as sock, connect(door) as second:
        sock.sendall(head(f"x-api-key: {secret}"))
        second.sendall(head(f"x-api-key: {other}"))
        assert sock.recv(5) == b"hello"
        assert second.recv(5) == b"other"
        door.dismiss(secret)
        while sock.recv(1000):
            pass
        second.sendall(b"still here")
        assert second.recv(1000)
    assert status(door, f"x-api-key: {secret}") == 401
    door.dismiss(secret)


def test_a_gateway_that_refuses_is_a_connection_that_breaks_off(door: Door) -> None:
    class Refusing:
        def connect(self) -> socket.socket:
            raise ConnectionRefusedError

    secret = door.admit(Refusing())
    with connect(door) as sock:
        sock.sendall(head(f"x-api-key: {secret}"))
        assert sock.recv(10) == b""


def test_a_head_without_end_is_cut_off(door: Door) -> None:
    door.admit(EchoGateway())
    with connect(door) as sock, contextlib.suppress(OSError):
        for _ in range(100):
            sock.sendall(b"x" * 1000)
        assert b" 401 " in sock.recv(1000)


def test_who_says_nothing_is_sent_away(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_door, "_HEAD_SECONDS", 0.2)
    with connect(door) as sock:
        assert sock.recv(10) == b""


def test_there_is_room_for_only_so_many(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_door, "MAX_CONNECTIONS", 2)
    secret = door.admit(HelloGateway())
    with connect(door), connect(door), connect(door) as third:
        assert third.recv(10) == b""

    def has_room() -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            return status(door, f"x-api-key: {secret}") == 200
        return False

    wait_until(has_room)  # those that left made some


def test_closing_breaks_everything_off() -> None:
    other = Door()
    secret = other.admit(EchoGateway(b"hello"))
    with connect(other) as sock:
        place = sock.getpeername()
        sock.sendall(head(f"x-api-key: {secret}"))
        assert sock.recv(5) == b"hello"
        other.close()
        while sock.recv(1000):
            pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(place, timeout=PATIENCE)
