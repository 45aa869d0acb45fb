"""The way to the gateway for processes of this machine: one listening socket on 127.0.0.1.

Whoever connects must show a trial's secret as its API key, as Claude Code does with every request. From then
on the connection is that trial's, and its bytes pass unread.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import selectors
import socket
import threading
import time
from hmac import compare_digest

from skillwalker.sandbox.base import Connector

MAX_CONNECTIONS = 512
"""At a time, of all trials and of nobody: whoever runs on this machine can connect."""

_MAX_HEAD = 1 << 16
_HEAD_SECONDS = 60.0
_LINGER_SECONDS = 2.0
_BLOCK = 1 << 16


class Door:
    """Listens from its making to `close`. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._wake, self._woken = socket.socketpair()
        self._lock = threading.Lock()  # guards what follows
        self._gateways: dict[str, Connector] = {}
        self._sockets: dict[socket.socket, str | None] = {}  # with whose it is
        self._thread = threading.Thread(target=self._listen, name="door", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        host, port = self._listener.getsockname()
        return f"http://{host}:{port}"

    def admit(self, gateway: Connector) -> str:
        """A new secret; who shows it speaks through `gateway` from now on."""
        secret = secrets.token_urlsafe(32)
        with self._lock:
            self._gateways[secret] = gateway
        return secret

    def dismiss(self, secret: str) -> None:
        """The secret opens nothing any more, and what it had opened is broken off."""
        with self._lock:
            self._gateways.pop(secret, None)
            mine = [sock for sock, owner in self._sockets.items() if owner == secret]
        _break_off(mine)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._wake.send(b"x")
        self._thread.join()
        self._listener.close()
        self._wake.close()
        self._woken.close()
        with self._lock:
            everything = list(self._sockets)
        _break_off(everything)

    def _listen(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while not any(key.fileobj is self._woken for key, _ in selector.select()):
                try:
                    client, _ = self._listener.accept()
                except OSError:  # it was gone before it was taken, or this process has no descriptor left
                    time.sleep(0.02)
                else:
                    self._take(client)

    def _take(self, client: socket.socket) -> None:
        with self._lock:
            full = len(self._sockets) >= MAX_CONNECTIONS
            if not full:
                self._sockets[client] = None
        if full:
            client.close()
            return
        threading.Thread(target=self._serve, args=(client,), name="door-connection", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, contextlib.suppress(OSError):
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                head = _read_head(client)
                gateway = self._whose(client, _api_key(head))
                if gateway is None:
                    _refuse(client)
                    return
                client.settimeout(None)
                with gateway.connect() as inside:
                    inside.sendall(head)
                    back = threading.Thread(target=_pump, args=(inside, client), daemon=True)
                    back.start()
                    _pump(client, inside)
                    back.join()
        finally:
            with self._lock:
                del self._sockets[client]

    def _whose(self, client: socket.socket, key: bytes) -> Connector | None:
        with self._lock:
            found = None
            for secret, gateway in self._gateways.items():
                # All are compared, each in constant time: how long it takes tells nothing.
                if compare_digest(secret.encode(), key):
                    found = gateway
                    self._sockets[client] = secret
            return found


def _read_head(client: socket.socket) -> bytes:
    """What came up to the end of the first request's headers, and whatever came with it."""
    head = b""
    deadline = time.monotonic() + _HEAD_SECONDS
    while b"\r\n\r\n" not in head and len(head) < _MAX_HEAD:
        client.settimeout(max(0.001, deadline - time.monotonic()))
        data = client.recv(_BLOCK)
        if not data:
            raise ConnectionError
        head += data
    return head


def _api_key(head: bytes) -> bytes:
    """The value of the one `x-api-key`; empty where there is none, or more than one."""
    lines = head.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    fields = [line.partition(b":") for line in lines]
    found = [value.strip() for name, _, value in fields if name.lower() == b"x-api-key"]
    return found[0] if len(found) == 1 else b""


def _refuse(client: socket.socket) -> None:
    error = {"type": "authentication_error", "message": "no trial of this run has that x-api-key"}
    body = json.dumps({"type": "error", "error": error}).encode()
    client.sendall(
        b"HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nx-should-retry: false\r\n"
        b"connection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
    )
    client.shutdown(socket.SHUT_WR)
    # What is still under way is taken in: closing over it would throw the answer away.
    deadline = time.monotonic() + _LINGER_SECONDS
    while (left := deadline - time.monotonic()) > 0:
        client.settimeout(left)
        if not client.recv(_BLOCK):
            return


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_BLOCK):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _break_off(sockets: list[socket.socket]) -> None:
    for sock in sockets:
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
