"""A connection that the engine has given over to a container's streams: attach and exec."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from typing import Any

_HEADER = struct.Struct(">BxxxL")
_BLOCK = 1 << 16
STDOUT, STDERR = 1, 2

# Not None: a TLS socket without a timeout holds its lock while it waits, and sending would wait for it too.
_FOREVER = 1_000_000.0


class EngineStream:
    """Bytes both ways, over whatever leads to the engine (Unix socket, TCP, TLS, ssh, named pipe).

    One thread may read while another one sends. Only `recv` and `send` are used: TLS and ssh have no
    descriptor that tells whether there is something to read.
    """

    def __init__(self, given: Any) -> None:
        """Args: given: What `attach_socket` or `exec_start(socket=True)` of the SDK returns."""
        self._closed = False
        self._given = given  # it holds the HTTP response, which closes the connection when it is collected
        self._process = getattr(given, "proc", None)  # the SDK's socket around an ssh client
        self._socket = getattr(given, "_sock", given)
        with contextlib.suppress(AttributeError, OSError):
            self._socket.settimeout(_FOREVER)
        if getattr(self._socket, "family", None) in (socket.AF_INET, socket.AF_INET6) and not self._process:
            _keep_alive(self._socket)

    def receive(self, size: int = _BLOCK) -> bytes:
        """Blocks until something comes; empty at the end, and after `close`.

        Raises:
            OSError: the connection broke.
        """
        if self._process is not None:
            # The SDK's own recv waits until `size` bytes are there.
            data: bytes = self._process.stdout.read1(size)
            return data
        while True:
            try:
                data = self._socket.recv(size)
            except TimeoutError:
                continue
            except OSError:
                if self._closed:  # by us, maybe just before this read began
                    return b""
                raise
            return data

    def send(self, data: bytes) -> None:
        """Blocks until the engine has taken all.

        Raises:
            OSError: the connection broke.
        """
        try:
            self._socket.sendall(data)
        except OSError:
            raise
        except Exception as error:  # ssh: ValueError of a closed pipe, or a bare Exception
            raise ConnectionError(str(error)) from error

    def chunks(self) -> Iterator[tuple[int, bytes]]:
        """Pairs of `STDOUT` or `STDERR` and bytes, as they come; large frames in parts.

        Raises:
            OSError: the connection broke, or ended within a frame.
        """
        head = b""
        stream = left = 0
        while data := self.receive():
            while data:
                if left:
                    yield stream, data[:left]
                    data, left = data[left:], left - min(left, len(data))
                    continue
                take = _HEADER.size - len(head)
                head, data = head + data[:take], data[take:]
                if len(head) == _HEADER.size:
                    stream, left = _HEADER.unpack(head)
                    head = b""
        if head or left:
            raise ConnectionError("the engine's stream ended within a frame")

    def close(self) -> None:
        """Ends a waiting `receive` too; never raises."""
        self._closed = True
        if self._process is not None:
            with contextlib.suppress(Exception):
                self._process.kill()
                self._process.wait(5)
        with contextlib.suppress(Exception):
            self._socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(Exception):
            self._given._response.close()
        with contextlib.suppress(Exception):
            self._socket.close()


def _keep_alive(sock: socket.socket) -> None:
    """Makes a silent connection through routers last, and a dead one be noticed within two minutes."""
    with contextlib.suppress(AttributeError, OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 15)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 6)
