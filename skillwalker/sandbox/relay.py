"""The runner's end of a trial's ways out: frames from the relay in the container, to gateway and hosts."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files

from skillwalker.errors import SandboxError
from skillwalker.sandbox import relay_program as program
from skillwalker.sandbox.base import Connector
from skillwalker.sandbox.streams import STDOUT, EngineStream

PORT = 29871
"""The gateway's, on 127.0.0.1 inside the container. Not one that a development server would take."""

PROXY_PORT = 29872
"""Likewise, of the proxy that leads to the hosts which a trial may reach, where there are any."""

READY_SECONDS = 60.0


@cache
def command(*ports: int) -> tuple[str, ...]:
    """What to execute in the container; any image with a `python3` will do."""
    text = files("skillwalker.sandbox").joinpath("relay_program.py").read_text("utf-8")
    return ("python3", "-I", "-S", "-c", text, *map(str, ports))


class RelayLink:
    """Serves one relay with two threads: one reads the stream, one moves bytes to where they go, and back.

    Attributes:
        processes_full: Whether the container's limit of processes kept one from starting, as far as was seen.
    """

    def __init__(
        self, stream: EngineStream, ways: Sequence[Connector], on_end: Callable[[str], None]
    ) -> None:
        """
        Args:
            ways: Where connections to the relay's ports lead, in the order of the ports.
            on_end: Called with the reason, from an own thread, if a relay that was ready ends.
        """
        self._stream, self._ways, self._on_end = stream, tuple(ways), on_end
        self._frames: deque[program.Frame] = deque()
        self._said = bytearray()  # the relay's stderr
        self._greeted, self._ended = threading.Event(), threading.Event()
        self._bell, self._wake = socket.socketpair()
        self._wake.setblocking(False)
        self._bell.setblocking(False)
        self._ready = False
        self.processes_full = False
        self._threads = [
            threading.Thread(target=self._read, name="relay-reader", daemon=True),
            threading.Thread(target=self._move, name="relay-mover", daemon=True),
        ]

    def start(self) -> None:
        """Returns when the relay listens.

        Raises:
            SandboxError: it does not.
        """
        for thread in self._threads:
            thread.start()
        try:
            # The relay speaks only when spoken to: the SDK's HTTP reader could have swallowed an early word.
            self._stream.send(program.pack(0, program.HELLO))
        except OSError as error:
            raise SandboxError(f"the relay could not be reached: {error}") from error
        if not self._greeted.wait(READY_SECONDS):
            raise SandboxError(f"the relay was not ready within {READY_SECONDS:.0f} seconds")
        if not self._ready:
            raise SandboxError(f"the relay did not start: {self._reason()}")

    def close(self) -> None:
        """Closes all connections; never raises."""
        self._ended.set()
        self._stream.close()
        self._ring()
        if self._threads[0].ident is None:
            self._bell.close()
            self._wake.close()
            return
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(5)

    def _read(self) -> None:
        frames, reason = program.Frames(), ""
        try:
            for stream, data in self._stream.chunks():
                if stream != STDOUT:
                    self._said = (self._said + data)[-2000:]
                    continue
                for frame in frames.feed(data):
                    if frame[1] == program.HELLO:
                        self._ready = True
                        self._greeted.set()
                    elif frame[1] == program.FULL:
                        self.processes_full = True
                    else:
                        self._frames.append(frame)
                self._ring()
        except (OSError, ValueError) as error:
            reason = str(error)
        wanted = self._ended.is_set()
        self._ended.set()
        self._greeted.set()
        self._ring()
        if self._ready and not wanted:
            self._on_end(reason or self._reason())

    def _move(self) -> None:
        with selectors.DefaultSelector() as selector, self._wake, self._bell:
            mux = program.Mux(self._send, lambda connection, events: _watch(selector, connection, events))
            selector.register(self._wake, selectors.EVENT_READ)
            try:
                while not self._ended.is_set():
                    for key, events in selector.select():
                        if key.fileobj is self._wake:
                            with contextlib.suppress(BlockingIOError):
                                self._wake.recv(4096)
                        else:
                            mux.ready(key.data, events)
                    while self._frames:
                        self._take(mux, *self._frames.popleft())
            except OSError:  # the stream broke; the reader sees it too and tells
                self._stream.close()
            finally:
                mux.close()

    def _take(self, mux: program.Mux, number: int, kind: int, data: bytes) -> None:
        if kind != program.OPEN:
            mux.receive(number, kind, data)
        elif mux.is_full(way := int.from_bytes(data, "big")):
            self._send(program.pack(number, program.RESET))
        else:
            try:
                mux.add(number, self._ways[way].connect(), way)
            except Exception:  # noqa: BLE001 -- whatever it is, the trial sees a refused connection
                self._send(program.pack(number, program.RESET))

    def _send(self, frame: bytes) -> None:
        self._stream.send(frame)

    def _ring(self) -> None:
        with contextlib.suppress(OSError):
            self._bell.send(b"x")

    def _reason(self) -> str:
        return self._said.decode("utf-8", "replace").strip() or "it ended"


def _watch(selector: selectors.BaseSelector, connection: program.Connection, events: int) -> None:
    known = selector.get_map().get(connection.sock)
    if known is None:
        if events:
            selector.register(connection.sock, events, connection)
    elif not events:
        selector.unregister(connection.sock)
    elif known.events != events:
        selector.modify(connection.sock, events, connection)
