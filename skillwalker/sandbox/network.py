"""The way from trials to the hosts that they may reach: an HTTP proxy in the runner's process.

Nothing listens: the relay in a trial's container hands each connection over, as it does for the gateway.
`CONNECT` opens a tunnel; a plain `http://` request is passed on, one per connection.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import h11
from attrs import field, frozen

from skillwalker.sandbox.allowed import SETTING, Address, AllowList, NotAllowedError
from skillwalker.sandbox.company_proxy import CompanyProxy, WayOut
from skillwalker.sandbox.network_log import Connection, NetworkLog

MAX_CONNECTIONS = 96
"""Per trial at a time. The relay lets 64 through; what has just ended there may still count here."""

HEAD_SECONDS = 30.0
CONNECT_SECONDS = 20.0
_CLOSE_SECONDS = 5.0
_LINGER_SECONDS, _LINGER_BYTES = 2.0, 1 << 20
_BLOCK = 1 << 16

# They concern one connection alone; `expect` was answered here.
_HOP_BY_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer upgrade host "
    b"expect".split()
)

Touch = Callable[[], None]


@frozen
class Network:
    """What holds for all trials of a run."""

    allow: AllowList
    way: WayOut = field(factory=WayOut)

    def open(self, log: Path, redact: Callable[[Any], Any] = lambda value: value) -> TrialNetwork:
        """The way of one trial; each connection becomes a line in `log`, after `redact`."""
        return TrialNetwork(self, NetworkLog(log, redact))


class TrialNetwork:
    """One trial's connections, each on a thread of its own. Its methods are safe from any thread.

    Attributes:
        last_activity: `time.monotonic()` of the last byte in either direction; 0 before the first.
    """

    def __init__(self, network: Network, log: NetworkLog) -> None:
        self._network, self._log = network, log
        self._changed = threading.Condition()  # guards _sockets, _open and _ended
        self._sockets: set[socket.socket] = set()
        self._open = 0
        self._ended = False
        self.last_activity = 0.0

    def connect(self) -> socket.socket:
        """A new connected socket; its other end is an HTTP proxy.

        Raises:
            ConnectionRefusedError: the trial is over, or has too many connections.
        """
        with self._changed:
            if self._ended or self._open >= MAX_CONNECTIONS:
                raise ConnectionRefusedError("no more connections")
            self._open += 1
        ours, theirs = socket.socketpair()
        try:
            threading.Thread(target=self._serve, args=(ours,), name="network", daemon=True).start()
        except RuntimeError as error:  # the machine has no thread left
            self._left()
            ours.close()
            theirs.close()
            raise ConnectionRefusedError(str(error)) from error
        return theirs

    def notes(self) -> tuple[str, ...]:
        """What the trial's author should know; call after `close`."""
        return self._log.notes()

    def close(self) -> None:
        """Breaks off what is open. Returns when all has ended and is in the log."""
        with self._changed:
            self._ended = True
            for sock in self._sockets:
                _end(sock)
            self._changed.wait_for(lambda: not self._open, _CLOSE_SECONDS)
        self._log.close()

    def _serve(self, sock: socket.socket) -> None:
        client, connection = _Peer(sock, h11.SERVER, self._touch), Connection()
        try:
            with self._known(sock):
                sock.settimeout(HEAD_SECONDS)
                request = client.next()
                if isinstance(request, h11.Request):
                    self._answer(client, request, connection)
        except (OSError, h11.ProtocolError):  # the trial went away, or speaks no HTTP
            pass
        finally:
            if connection.method is not None:
                self._log.add(connection)
            self._left()

    def _answer(self, client: _Peer, request: h11.Request, connection: Connection) -> None:
        connection.method = request.method.decode("ascii")
        target = request.target.decode("ascii")
        try:
            if connection.method == "CONNECT":
                self._tunnel(client, self._permitted(Address.parse(target), connection), connection)
            else:
                address, path = _of_url(target)
                self._forward(client, self._permitted(address, connection), request, path, connection)
        except NotAllowedError as error:
            connection.outcome, connection.message = "refused", str(error)
            client.refuse(403, f"Not in {SETTING}", str(error))
        except ValueError as error:
            connection.outcome, connection.message = "refused", f"{target[:300]!r} {error}"
            client.refuse(400, "Bad Request", f"{target[:300]!r} {error}")
        except (OSError, h11.ProtocolError) as error:
            # A tunnel or an answer that had begun only ends.
            if connection.outcome != "passed":
                connection.message = getattr(error, "strerror", None) or str(error) or type(error).__name__
                client.refuse(502, "Bad Gateway", f"{target[:300]}: {connection.message}")

    def _permitted(self, address: Address, connection: Connection) -> Address:
        connection.host, connection.port = address.host, address.port
        self._network.allow.require(address)
        return address

    def _tunnel(self, client: _Peer, address: Address, connection: Connection) -> None:
        client.next()  # the end of the request, which has no body
        with contextlib.ExitStack() as stack:
            proxy = self._proxy(address, self._network.way.tunnels)
            server = stack.enter_context(self._known(self._dial(address, proxy, connection)))
            early = _ask_for_tunnel(_Peer(server, h11.CLIENT, self._touch), address, proxy) if proxy else b""
            connection.outcome = "passed"
            client.send(h11.Response(status_code=200, reason=b"Connection established", headers=[]))
            client.sock.sendall(early)
            first = client.http.trailing_data[0]
            server.sendall(first)
            connection.sent, connection.received = len(first), len(early)
            self._carry(client.sock, server, connection)

    def _carry(self, client: socket.socket, server: socket.socket, connection: Connection) -> None:
        """Both ways until both have ended."""
        for sock in (client, server):
            sock.settimeout(None)

        def sent(size: int) -> None:
            connection.sent += size

        def received(size: int) -> None:
            connection.received += size

        upward = threading.Thread(target=self._pump, args=(client, server, sent), name="network", daemon=True)
        upward.start()
        self._pump(server, client, received)
        upward.join()

    def _pump(self, source: socket.socket, target: socket.socket, counted: Callable[[int], None]) -> None:
        try:
            while data := source.recv(_BLOCK):
                target.sendall(data)
                counted(len(data))
                self._touch()
            target.shutdown(socket.SHUT_WR)
        except OSError:
            _end(source)
            _end(target)

    def _forward(
        self, client: _Peer, address: Address, request: h11.Request, path: str, connection: Connection
    ) -> None:
        """One request and its answer; both ends are told that no other one follows."""
        headers = [(b"host", str(address).encode("ascii")), (b"connection", b"close")]
        headers += _end_to_end(request.headers)
        proxy = self._proxy(address, self._network.way.requests)
        if proxy:
            path = f"http://{address}{path}"
            if proxy.authorization:
                headers.append((b"proxy-authorization", proxy.authorization.encode("ascii")))
        with self._known(self._dial(address, proxy, connection)) as sock:
            server = _Peer(sock, h11.CLIENT, self._touch)
            for one in (client, server):
                one.sock.settimeout(None)
            try:
                server.send(h11.Request(method=request.method, target=path, headers=headers))
                _pass_body(client, server)
                while isinstance(answer := server.next(), h11.InformationalResponse):
                    pass
                if not isinstance(answer, h11.Response):
                    raise ConnectionError("the server closed the connection without an answer")
                connection.outcome = "passed"
                more = [*_end_to_end(answer.headers), (b"connection", b"close")]
                client.send(h11.Response(status_code=answer.status_code, reason=answer.reason, headers=more))
                _pass_body(server, client)
            finally:
                connection.sent, connection.received = server.sent, server.received

    def _proxy(self, address: Address, proxy: CompanyProxy | None) -> CompanyProxy | None:
        if address.is_private or self._network.way.passes(address.host, address.port):
            return None
        return proxy

    def _dial(self, address: Address, proxy: CompanyProxy | None, connection: Connection) -> socket.socket:
        """A connection to the first address that answers, or to the proxy."""
        if proxy:
            return _connect(proxy.host, proxy.port)
        failure: OSError | None = None
        for number in self._network.allow.resolve(address):
            try:
                sock = _connect(number, address.port)
            except OSError as error:
                failure = error
            else:
                connection.address = number
                return sock
        assert failure is not None
        raise failure

    @contextlib.contextmanager
    def _known(self, sock: socket.socket) -> Iterator[socket.socket]:
        """Has it ended by `close`, and closes it when the block is left."""
        with sock:
            with self._changed:
                if self._ended:
                    raise ConnectionAbortedError("the trial is over")
                self._sockets.add(sock)
            try:
                yield sock
            finally:
                with self._changed:
                    self._sockets.discard(sock)

    def _left(self) -> None:
        with self._changed:
            self._open -= 1
            self._changed.notify_all()

    def _touch(self) -> None:
        self.last_activity = time.monotonic()  # one store, so no lock


class _Peer:
    """HTTP/1.1 with the other end of a socket; counts bytes."""

    def __init__(self, sock: socket.socket, role: type[h11.CLIENT] | type[h11.SERVER], touch: Touch) -> None:
        self.sock, self.http, self._touch = sock, h11.Connection(role), touch
        self.sent = self.received = 0

    def next(self) -> Any:
        """The next event; h11.ConnectionClosed at the end."""
        while (event := self.http.next_event()) is h11.NEED_DATA:
            if self.http.they_are_waiting_for_100_continue:
                self.send(h11.InformationalResponse(status_code=100, headers=[]))
            data = self.sock.recv(_BLOCK)
            self.received += len(data)
            self._touch()
            self.http.receive_data(data)
        return event

    def send(self, event: Any) -> None:
        if data := self.http.send(event):
            self.sock.sendall(data)
            self.sent += len(data)
            self._touch()

    def refuse(self, status: int, reason: str, text: str) -> None:
        """An answer of our own, unless another one has begun."""
        if self.http.our_state is not h11.SEND_RESPONSE:
            return
        body = f"Skillwalker: {text}\n".encode()
        headers = [
            ("content-type", "text/plain; charset=utf-8"),
            ("content-length", str(len(body))),
            ("connection", "close"),
        ]
        self.send(h11.Response(status_code=status, reason=reason.encode("ascii"), headers=headers))
        self.send(h11.Data(data=body))
        self.send(h11.EndOfMessage())
        # What the client still sends is taken for a while: closing at once could take the answer from it.
        self.sock.shutdown(socket.SHUT_WR)
        self.sock.settimeout(_LINGER_SECONDS)
        left = _LINGER_BYTES
        while left > 0 and (data := self.sock.recv(_BLOCK)):
            left -= len(data)


def _of_url(target: str) -> tuple[Address, str]:
    """Raises ValueError for what is no `http://` address."""
    url = urlsplit(target)
    if url.scheme != "http" or not url.hostname:
        raise ValueError("is no http:// address: an HTTP proxy takes those, and CONNECT")
    path = url.path or "/"
    return Address.of(url.hostname, url.port or 80), f"{path}?{url.query}" if url.query else path


def _ask_for_tunnel(proxy: _Peer, address: Address, named: CompanyProxy) -> bytes:
    """Returns what came after the proxy's answer.

    Raises:
        ConnectionError: it refuses.
    """
    headers = [("host", str(address))]
    if named.authorization:
        headers.append(("proxy-authorization", named.authorization))
    proxy.send(h11.Request(method="CONNECT", target=str(address), headers=headers))
    proxy.send(h11.EndOfMessage())
    answer = proxy.next()
    if not isinstance(answer, h11.Response) or not 200 <= answer.status_code < 300:
        said = f"{answer.status_code}" if isinstance(answer, h11.Response) else "nothing"
        raise ConnectionError(f"the proxy of the runner's machine answered {said}")
    return bytes(proxy.http.trailing_data[0])


def _pass_body(source: _Peer, target: _Peer) -> None:
    while not isinstance(event := source.next(), h11.EndOfMessage):
        if not isinstance(event, h11.Data):
            raise ConnectionError("the connection was closed in the middle")
        target.send(h11.Data(data=bytes(event.data)))
    target.send(h11.EndOfMessage())


def _end_to_end(headers: Any) -> list[tuple[bytes, bytes]]:
    named = {
        token.strip().lower()
        for name, value in headers
        if name == b"connection"
        for token in value.split(b",")
    }
    return [(name, value) for name, value in headers if name not in _HOP_BY_HOP | named]


def _connect(host: str, port: int) -> socket.socket:
    sock = socket.create_connection((host, port), CONNECT_SECONDS)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def _end(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
