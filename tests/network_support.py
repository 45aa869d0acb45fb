"""Servers on this machine's loopback, and a company's proxy that knows names nobody else knows."""

from __future__ import annotations

import contextlib
import http.server
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

Serve = Callable[[socket.socket], None]


class Server:
    """Serves each connection by a function, on a thread of its own; `connections` counts."""

    def __init__(self, serve: Serve) -> None:
        self.serve = serve
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self.listener.accept()
                self.connections += 1
                threading.Thread(target=self._run, args=(sock,), daemon=True).start()

    def _run(self, sock: socket.socket) -> None:
        with sock, contextlib.suppress(OSError):
            self.serve(sock)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


@contextlib.contextmanager
def serving(serve: Serve) -> Iterator[Server]:
    server = Server(serve)
    try:
        yield server
    finally:
        with server.listener, contextlib.suppress(OSError):
            server.listener.shutdown(socket.SHUT_RDWR)


def echo(sock: socket.socket) -> None:
    while data := sock.recv(1 << 16):
        sock.sendall(data)


def read_head(sock: socket.socket) -> bytes:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        if not (byte := sock.recv(1)):
            break
        head += byte
    return head


def read_all(sock: socket.socket) -> bytes:
    found = b""
    while data := sock.recv(1 << 16):
        found += data
    return found


def pump(one: socket.socket, other: socket.socket) -> None:
    """Both ways, until both have ended."""

    def move(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    back = threading.Thread(target=move, args=(other, one), daemon=True)
    back.start()
    move(one, other)
    back.join()


@contextlib.contextmanager
def company_proxy(hosts: Mapping[str, int]) -> Iterator[str]:
    """The address of a proxy that knows hosts as `name:port`, each of which is a port of this machine."""

    def serve(sock: socket.socket) -> None:
        target = read_head(sock).split(b" ")[1].decode()
        if target not in hosts:
            sock.sendall(b"HTTP/1.1 504 Unknown\r\nContent-Length: 0\r\n\r\n")
            return
        with socket.create_connection(("127.0.0.1", hosts[target])) as server:
            sock.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            pump(sock, server)

    with serving(serve) as server:
        yield f"http://{server.address}"


class _Files(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass


class _TlsServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Clients that break off are no news."""


@contextlib.contextmanager
def tls_files(directory: Path, certificate: Path, key: Path) -> Iterator[int]:
    """The port of an HTTPS server of files."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with _TlsServer(("127.0.0.1", 0), partial(_Files, directory=str(directory))) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()
