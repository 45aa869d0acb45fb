"""Carries TCP connections as frames over one byte stream.

The text of this file is also the program that runs inside a container (`python3 -I -S -c TEXT PORT ...`), so
it needs nothing but Python 3.9 on Linux. It imports built-in modules only: importing `socket` would double
the time it takes to start. It is one thread, so the trial's process limit cannot starve it.

A frame is a connection's number, a kind, a length and that many bytes; OPEN has one byte, which tells the
port by its place among the arguments. Each end may send no more than `WINDOW` bytes of a connection before
the other end has passed them on, so a slow connection holds up no other one and memory is bounded on both.
FULL, once, tells that the container's limit of processes kept one from starting: the engine does not say so,
and the kernel's count is gone with the container.
"""

from __future__ import annotations

import _socket
import os
import select
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

OPEN, DATA, END, RESET, CREDIT, HELLO, FULL = range(7)
HEADER = struct.Struct(">IBI")
WINDOW = 262144
BLOCK = 65536
MAX_CONNECTIONS = 64  # of each port

PIDS_EVENTS = ("/sys/fs/cgroup/pids.events", "/sys/fs/cgroup/pids/pids.events")
PIDS_MILLISECONDS = 500  # only version 2 of cgroups would wake whoever waits for the file

READ, WRITE = 1, 2
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
            if kind > FULL or length > BLOCK:
                raise ValueError(f"not a frame: kind {kind}, {length} bytes")
            end = HEADER.size + length
            if len(self._rest) < end:
                break
            frames.append((number, kind, bytes(self._rest[HEADER.size : end])))
            del self._rest[:end]
        return frames


class Connection:
    def __init__(self, number: int, sock: _socket.socket, way: int) -> None:
        self.number, self.sock = number, sock
        self.way = way  # which port it came to, counted from 0
        self.credit = WINDOW  # bytes that may still go to the other end
        self.pending = bytearray()  # bytes from the other end, not yet written
        self.passed = 0  # bytes written since the last CREDIT
        self.readable = True  # the socket has not ended
        self.ending = self.shut = False  # the other end has ended; this was passed on


class Mux:
    """One end's connections, used by one thread.

    `send` takes whole frames, in order. `watch` is told which of READ and WRITE a connection waits for;
    before its socket is closed, none.
    """

    def __init__(self, send: Callable[[bytes], object], watch: Callable[[Connection, int], object]) -> None:
        self.send, self.watch = send, watch
        self.connections: dict[int, Connection] = {}

    def add(self, number: int, sock: _socket.socket, way: int) -> None:
        sock.setblocking(False)
        if sock.family == _socket.AF_INET:
            sock.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
        self.connections[number] = Connection(number, sock, way)
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
        """To be called when a connection's socket is ready for READ, WRITE or both."""
        if events & WRITE and self._knows(connection):
            self._write(connection)
        if events & READ and self._knows(connection):
            self._read(connection)

    def is_full(self, way: int) -> bool:
        return sum(one.way == way for one in self.connections.values()) >= MAX_CONNECTIONS

    def close(self) -> None:
        for connection in list(self.connections.values()):
            self._drop(connection)

    def _knows(self, connection: Connection) -> bool:
        """False where it was closed after the selector had found it ready."""
        return self.connections.get(connection.number) is connection

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
            try:  # noqa: SIM105 -- contextlib is not built in
                connection.sock.shutdown(_socket.SHUT_WR)
            except OSError:  # closed by the peer already
                pass
        self._watch(connection)

    def _watch(self, connection: Connection) -> None:
        if connection.shut and not connection.readable:
            self._drop(connection)
            return
        events = 0
        if connection.readable and connection.credit > 0:
            events |= READ
        if connection.pending:
            events |= WRITE
        self.watch(connection, events)

    def _reset(self, connection: Connection) -> None:
        self.send(pack(connection.number, RESET))
        self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        self.watch(connection, 0)
        self.connections.pop(connection.number, None)
        connection.sock.close()


class Relay:
    """The container's end: listens, and speaks frames on standard input and output until input ends."""

    def __init__(self, *ports: int) -> None:
        self.listeners = [self.listen(port) for port in ports]
        self.ways = {listener.fileno(): way for way, listener in enumerate(self.listeners)}
        self.poll = select.poll()
        self.watched: dict[int, int] = {}
        self.waiting: dict[int, Connection] = {}
        self.out = bytearray()
        self.mux = Mux(self.out.extend, self.watch)
        self.frames = Frames()
        self.number = 0
        for descriptor in (0, 1):
            os.set_blocking(descriptor, False)
        self.change(0, READ)
        self.pids = -1

    def open_pids(self) -> int:
        for path in PIDS_EVENTS:
            try:
                return os.open(path, os.O_RDONLY)
            except OSError:
                pass
        return -1

    def listen(self, port: int) -> _socket.socket:
        listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(MAX_CONNECTIONS)
        listener.setblocking(False)
        return listener

    def run(self) -> None:
        while True:
            self.look_at_pids()
            for listener, way in self.ways.items():
                self.change(listener, 0 if self.mux.is_full(way) else READ)
            self.change(1, WRITE if self.out else 0)
            for descriptor, events in self.poll.poll(PIDS_MILLISECONDS):
                if descriptor == 0:
                    if not self.read():
                        return
                elif descriptor == 1:
                    del self.out[: os.write(1, self.out[:BLOCK])]
                elif descriptor in self.ways:
                    self.accept(self.ways[descriptor])
                elif descriptor in self.waiting:
                    # An error or a hang-up shows itself to whatever the connection waits for.
                    asked = self.watched[descriptor]
                    ready = READ if events & select.POLLIN else 0
                    ready |= WRITE if events & select.POLLOUT else 0
                    self.mux.ready(self.waiting[descriptor], ready or asked)

    def change(self, descriptor: int, events: int) -> None:
        if self.watched.get(descriptor, 0) == events:
            return
        if events:
            mask = (select.POLLIN if events & READ else 0) | (select.POLLOUT if events & WRITE else 0)
            self.poll.register(descriptor, mask)
            self.watched[descriptor] = events
        else:
            self.poll.unregister(descriptor)
            del self.watched[descriptor]

    def watch(self, connection: Connection, events: int) -> None:
        descriptor = connection.sock.fileno()
        self.change(descriptor, events)
        if events:
            self.waiting[descriptor] = connection
        else:
            self.waiting.pop(descriptor, None)

    def read(self) -> bool:
        data = os.read(0, BLOCK)
        for number, kind, content in self.frames.feed(data):
            if kind == HELLO:
                self.out += pack(0, HELLO)
                self.pids = self.open_pids()
            else:
                self.mux.receive(number, kind, content)
        return bool(data)

    def look_at_pids(self) -> None:
        try:
            if self.pids >= 0 and not os.pread(self.pids, 100, 0).startswith(b"max 0\n"):
                self.out += pack(0, FULL)
                self.pids = -1
        except OSError:
            self.pids = -1

    def accept(self, way: int) -> None:
        try:
            descriptor, _ = self.listeners[way]._accept()  # type: ignore[attr-defined]  # `accept` is in socket.py
        except OSError:  # the trial has given up this connection already
            return
        self.number += 1
        self.out += pack(self.number, OPEN, bytes((way,)))
        self.mux.add(self.number, _socket.socket(fileno=descriptor), way)


if __name__ == "__main__":
    try:  # noqa: SIM105 -- contextlib is not built in
        Relay(*map(int, sys.argv[1:])).run()
    except ConnectionError:  # standard output leads nowhere
        pass
    # At once: no frame is worth waiting for when the runner has gone.
    os._exit(0)
