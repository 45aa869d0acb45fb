"""Carries TCP connections as frames over one byte stream.

The text of this file is also the program that runs inside a container (`python3 -I -S -c TEXT PORT`), so it
needs nothing but Python 3.9 and its standard library. It is one thread: the trial's process limit cannot
starve it. A frame is a connection's number, a kind, a length and that many bytes. Each end may send no more
than `WINDOW` bytes of a connection before the other end has passed them on, so a slow connection holds up
no other one and memory is bounded on both ends.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import struct
import sys
from collections.abc import Callable

OPEN, DATA, END, RESET, CREDIT, HELLO = range(6)
HEADER = struct.Struct(">IBI")
WINDOW = 262144
BLOCK = 65536
MAX_CONNECTIONS = 64

Frame = tuple[int, int, bytes]


def pack(number: int, kind: int, data: bytes = b"") -> bytes:
    return HEADER.pack(number, kind, len(data)) + data


class Frames:
    """Cuts a byte stream into frames."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Raises ValueError where the bytes are no frames."""
        self._rest += data
        frames = []
        while len(self._rest) >= HEADER.size:
            number, kind, length = HEADER.unpack_from(self._rest)
            if kind > HELLO or length > BLOCK:
                raise ValueError(f"not a frame: kind {kind}, {length} bytes")
            end = HEADER.size + length
            if len(self._rest) < end:
                break
            frames.append((number, kind, bytes(self._rest[HEADER.size : end])))
            del self._rest[:end]
        return frames


class Connection:
    def __init__(self, number: int, sock: socket.socket) -> None:
        self.number, self.sock = number, sock
        self.credit = WINDOW  # bytes that may still go to the other end
        self.pending = bytearray()  # bytes from the other end, not yet written
        self.passed = 0  # bytes written since the last CREDIT
        self.readable = True  # the socket has not ended
        self.ending = self.shut = False  # the other end has ended; this was passed on


class Mux:
    """One end's connections. Used by one thread; `send` takes whole frames, in order."""

    def __init__(self, selector: selectors.BaseSelector, send: Callable[[bytes], object]) -> None:
        self.selector, self.send = selector, send
        self.connections: dict[int, Connection] = {}

    def add(self, number: int, sock: socket.socket) -> None:
        sock.setblocking(False)
        if sock.family == socket.AF_INET:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connections[number] = Connection(number, sock)
        self._watch(self.connections[number])

    def receive(self, number: int, kind: int, data: bytes) -> None:
        """Takes a frame from the other end; one of an unknown connection, closed meanwhile, is dropped."""
        connection = self.connections.get(number)
        if connection is None:
            return
        if kind == DATA:
            connection.pending += data
            self._write(connection)
        elif kind == END:
            connection.ending = True
            self._write(connection)
        elif kind == CREDIT:
            connection.credit += int.from_bytes(data, "big")
            self._watch(connection)
        else:
            self._drop(connection)

    def ready(self, connection: Connection, events: int) -> None:
        """To be called when the selector has found a connection's socket ready."""
        if events & selectors.EVENT_WRITE:
            self._write(connection)
        if events & selectors.EVENT_READ and self.connections.get(connection.number) is connection:
            self._read(connection)

    def close(self) -> None:
        for connection in list(self.connections.values()):
            self._drop(connection)

    def _read(self, connection: Connection) -> None:
        try:
            data = connection.sock.recv(min(BLOCK, connection.credit))
        except BlockingIOError:
            return
        except OSError:
            self._reset(connection)
            return
        if data:
            connection.credit -= len(data)
            self.send(pack(connection.number, DATA, data))
        else:
            connection.readable = False
            self.send(pack(connection.number, END))
        self._watch(connection)

    def _write(self, connection: Connection) -> None:
        try:
            while connection.pending:
                sent = connection.sock.send(connection.pending)
                del connection.pending[:sent]
                connection.passed += sent
        except BlockingIOError:
            pass
        except OSError:
            self._reset(connection)
            return
        if connection.passed >= WINDOW // 4:
            self.send(pack(connection.number, CREDIT, connection.passed.to_bytes(8, "big")))
            connection.passed = 0
        if connection.ending and not connection.pending and not connection.shut:
            connection.shut = True
            with contextlib.suppress(OSError):
                connection.sock.shutdown(socket.SHUT_WR)
        self._watch(connection)

    def _watch(self, connection: Connection) -> None:
        if connection.shut and not connection.readable:
            self._drop(connection)
            return
        events = 0
        if connection.readable and connection.credit > 0:
            events |= selectors.EVENT_READ
        if connection.pending:
            events |= selectors.EVENT_WRITE
        watch(self.selector, connection.sock, events, connection)

    def _reset(self, connection: Connection) -> None:
        self.send(pack(connection.number, RESET))
        self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        watch(self.selector, connection.sock, 0, None)
        self.connections.pop(connection.number, None)
        connection.sock.close()


def watch(selector: selectors.BaseSelector, file: socket.socket | int, events: int, data: object) -> None:
    """Registers, changes or unregisters, whatever it takes."""
    known = selector.get_map().get(file)
    if known is None:
        if events:
            selector.register(file, events, data)
    elif not events:
        selector.unregister(file)
    elif known.events != events:
        selector.modify(file, events, data)


class Relay:
    """The container's end: listens, and speaks frames on standard input and output until input ends."""

    def __init__(self, port: int) -> None:
        self.listener = socket.create_server(("127.0.0.1", port), backlog=MAX_CONNECTIONS)
        self.listener.setblocking(False)
        self.selector = selectors.DefaultSelector()
        self.out = bytearray()
        self.mux = Mux(self.selector, self.out.extend)
        self.frames = Frames()
        self.number = 0
        for descriptor in (0, 1):
            os.set_blocking(descriptor, False)
        self.selector.register(0, selectors.EVENT_READ)

    def run(self) -> None:
        while True:
            free = len(self.mux.connections) < MAX_CONNECTIONS
            watch(self.selector, self.listener, selectors.EVENT_READ if free else 0, None)
            watch(self.selector, 1, selectors.EVENT_WRITE if self.out else 0, None)
            for key, events in self.selector.select():
                if key.fileobj == 0:
                    if not self.read():
                        return
                elif key.fileobj == 1:
                    del self.out[: os.write(1, self.out[:BLOCK])]
                elif key.fileobj is self.listener:
                    self.accept()
                elif key.data.number in self.mux.connections:
                    self.mux.ready(key.data, events)

    def read(self) -> bool:
        data = os.read(0, BLOCK)
        for number, kind, content in self.frames.feed(data):
            if kind == HELLO:
                self.out += pack(0, HELLO)
            else:
                self.mux.receive(number, kind, content)
        return bool(data)

    def accept(self) -> None:
        try:
            sock, _ = self.listener.accept()
        except OSError:  # the trial has given up this connection already
            return
        self.number += 1
        self.out += pack(self.number, OPEN)
        self.mux.add(self.number, sock)


if __name__ == "__main__":
    with contextlib.suppress(ConnectionError):
        Relay(int(sys.argv[1])).run()
    # At once: no thread, file or frame is worth waiting for when the runner has gone.
    os._exit(0)
