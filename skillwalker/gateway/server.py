"""Serves the app on sockets that are handed out in pairs: nothing listens, and each pair has one owner."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import socket
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from skillwalker.gateway.app import Session, app
from skillwalker.gateway.responders import Caller, Closing, Responder
from skillwalker.gateway.traffic import Meter, Traffic, unchanged

if TYPE_CHECKING:
    import httpx2

__all__ = ["Caller", "Gateway", "Link", "Traffic"]

_T = TypeVar("_T")

_KEEP_ALIVE_SECONDS = 86_400
"""Longer than any trial: a connection that the server closes just when the client uses it again would be an
error that no model made."""

_CLOSE_SECONDS = 60.0  # for what takes milliseconds, on the busiest machine

MAX_CONNECTIONS = 128
"""Per caller at a time; what runs in a sandbox must not use up this process's file descriptors."""

MAX_OVERHEAD_BYTES = 1 << 20
"""Of one request, beside its body, which the app counts: a head without end must not fill memory either."""

# Only faults of our own are worth a line; what a trial sends is its own matter, and never shown.
_LOG = logging.getLogger("skillwalker.gateway")
_LOG.setLevel(logging.ERROR)


class Gateway:
    """One thread with one event loop for all connections of a run.

    Use it as a context manager; leaving it closes every link.
    """

    def __init__(self, responder: Responder, redact: Callable[[Any], Any] = unchanged) -> None:
        """
        Args:
            redact: Takes a line of a log as a JSON value and returns it without secrets.
        """
        self._responder = responder
        self._redact = redact
        self._loop = _new_loop()
        self._thread = threading.Thread(target=self._run, name="gateway", daemon=True)
        self._links: set[Link] = set()
        self._lock = threading.Lock()  # guards _links
        self._config = Config(
            app,
            http=HttpToolsProtocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,  # a client's words about itself count for nothing
            server_header=False,
            date_header=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        )

    def __enter__(self) -> Gateway:
        self._config.load()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            links = list(self._links)
        for link in links:
            link.close()
        if isinstance(self._responder, Closing):
            self._submit(self._responder.aclose()).result(_CLOSE_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_SECONDS)

    def open(self, caller: Caller, log: Path | None = None) -> Link:
        """A way in for `caller`; `log` is appended to, a line per request."""
        link = Link(self, caller, Meter(caller.trial_id, log, self._redact))
        with self._lock:
            self._links.add(link)
        return link

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    def _submit(self, coroutine: Coroutine[Any, Any, _T]) -> concurrent.futures.Future[_T]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def _forget(self, link: Link) -> None:
        with self._lock:
            self._links.discard(link)


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:  # there is none for Windows
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class Link:
    """One caller's way to the gateway. All methods may be called from any thread but the gateway's own."""

    def __init__(self, gateway: Gateway, caller: Caller, meter: Meter) -> None:
        self.caller = caller
        self._gateway = gateway
        self._meter = meter
        self._session = Session(caller, gateway._responder, meter)
        self._state = ServerState()
        self._lock = threading.Lock()  # guards _ended and _connections
        self._connections = 0
        self._opening = 0  # known to the gateway's thread alone
        self._ended: concurrent.futures.Future[None] | None = None

    def __enter__(self) -> Link:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def connect(self) -> socket.socket:
        """A new connected, blocking socket; its other end speaks HTTP/1.1 and knows it is this caller's.

        Raises:
            ConnectionRefusedError: the link is closed, or has too many connections.
        """
        with self._lock:
            if self._ended or self._connections >= MAX_CONNECTIONS:
                why = "closed" if self._ended else f"busy with {MAX_CONNECTIONS} connections"
                raise ConnectionRefusedError(f"the gateway is {why} for {self.caller.trial_id}")
            self._connections += 1
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self._gateway._submit(self._serve(ours))
        return theirs

    def traffic(self) -> Traffic:
        """What went through so far."""
        return self._meter.snapshot()

    def http_client(self) -> httpx2.Client:
        """What `anthropic.Anthropic` takes as its `http_client`. The base URL may be any."""
        from skillwalker.gateway.client import http_client

        return http_client(self.connect)

    def close(self) -> None:
        """Breaks off what is open; the connections of this caller lead nowhere from now on.

        Returns when all has ended, whoever began to close it.
        """
        with self._lock:
            self._ended = self._ended or self._gateway._submit(self._end())
        self._ended.result(_CLOSE_SECONDS)
        self._gateway._forget(self)

    async def _serve(self, sock: socket.socket) -> None:
        if self._ended:
            sock.close()
            return
        self._opening += 1
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: _Connection(self._gateway._config, self._state, self), sock
            )
        finally:
            self._opening -= 1

    def _left(self) -> None:
        with self._lock:
            self._connections -= 1

    async def _end(self) -> None:
        await self._session.close()
        while self._opening:  # a connection that is not yet among those that are to be broken off
            await asyncio.sleep(0)
        for connection in tuple(self._state.connections):
            connection.transport.abort()
        if self._state.tasks:
            await asyncio.wait(tuple(self._state.tasks))
        self._meter.close()
        for ending in self._session.endings:
            await asyncio.to_thread(ending)


class _Connection(HttpToolsProtocol):
    """uvicorn's protocol, on a socket that belongs to one link."""

    def __init__(self, config: Config, state: ServerState, link: Link) -> None:
        scope_state = {"session": link._session, "hang_up": self._hang_up}
        super().__init__(config, state, scope_state, asyncio.get_running_loop())
        self.logger = _LOG
        self.access_log = False
        self._link = link
        self._received = self._of_body = 0  # bytes of the present request

    def on_url(self, url: bytes) -> None:
        # A whole URL is for proxies; as a path it leads nowhere.
        super().on_url(url if self.url or url.startswith(b"/") else b"/" + url)

    def on_message_begin(self) -> None:
        self._received = self._of_body = 0
        super().on_message_begin()

    def on_body(self, body: bytes) -> None:
        self._of_body += len(body)
        super().on_body(body)

    def data_received(self, data: bytes) -> None:
        self._link._meter.touch()
        self._received += len(data)
        super().data_received(data)
        if self._received - self._of_body > MAX_OVERHEAD_BYTES:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._link._left()

    def _hang_up(self) -> None:
        self.transport.close()
