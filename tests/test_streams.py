from __future__ import annotations

import io
import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from skillwalker.sandbox.streams import STDERR, STDOUT, EngineStream


class Given:
    """What the SDK gives for a Unix socket or TCP: a file around the socket, holding the HTTP response."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._response = io.BytesIO()


@pytest.fixture
def ends() -> Iterator[tuple[EngineStream, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.settimeout(0.05)  # as the SDK leaves it: what is silent for longer seems to be over
    stream = EngineStream(Given(ours))
    with theirs:
        yield stream, theirs
    stream.close()


def frame(stream: int, data: bytes) -> bytes:
    return struct.pack(">BxxxL", stream, len(data)) + data


def joined(chunks: Iterator[tuple[int, bytes]]) -> dict[int, bytes]:
    said: dict[int, bytes] = {}
    for stream, data in chunks:
        said[stream] = said.get(stream, b"") + data
    return said


@pytest.mark.parametrize("size", [1, 3, 8, 9, 1000])
def test_frames_cut_anywhere_are_whole(ends: tuple[EngineStream, socket.socket], size: int) -> None:
    stream, engine = ends
    data = frame(STDOUT, b"one") + frame(STDERR, b"two") + frame(STDOUT, b"") + frame(STDOUT, b"three")

    def send() -> None:
        for start in range(0, len(data), size):
            engine.sendall(data[start : start + size])
        engine.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=send)
    thread.start()
    assert joined(stream.chunks()) == {STDOUT: b"onethree", STDERR: b"two"}
    thread.join()


def test_a_part_of_a_frame_is_given_at_once(ends: tuple[EngineStream, socket.socket]) -> None:
    stream, engine = ends
    engine.sendall(frame(STDOUT, b"first and second")[:13])
    assert next(stream.chunks()) == (STDOUT, b"first")


@pytest.mark.parametrize("cut", [3, 10])
def test_an_end_within_a_frame_is_an_error(ends: tuple[EngineStream, socket.socket], cut: int) -> None:
    stream, engine = ends
    engine.sendall(frame(STDOUT, b"data")[:cut])
    engine.shutdown(socket.SHUT_WR)
    with pytest.raises(ConnectionError, match="within a frame"):
        list(stream.chunks())


def test_silence_is_not_the_end(ends: tuple[EngineStream, socket.socket]) -> None:
    stream, engine = ends
    threading.Timer(0.3, engine.sendall, [b"late"]).start()
    assert stream.receive() == b"late"


def test_closing_ends_a_waiting_read(ends: tuple[EngineStream, socket.socket]) -> None:
    stream, _ = ends
    threading.Timer(0.2, stream.close).start()
    assert stream.receive() == b""


def test_a_closed_stream_is_at_its_end(ends: tuple[EngineStream, socket.socket]) -> None:
    stream, _ = ends
    stream.close()
    assert stream.receive() == b""


def test_sending_to_an_engine_that_has_gone_is_an_error(ends: tuple[EngineStream, socket.socket]) -> None:
    stream, engine = ends
    engine.close()
    with pytest.raises(OSError):
        stream.send(b"x" * 1_000_000)


class Broken:
    def sendall(self, data: bytes) -> None:
        raise ValueError("write to closed file")


def test_what_ssh_raises_is_a_broken_connection_too() -> None:
    with pytest.raises(ConnectionError, match="closed file"):
        EngineStream(Broken()).send(b"x")
