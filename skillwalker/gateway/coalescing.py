"""Writes of one turn of the event loop, sent together."""

from __future__ import annotations

import asyncio
from typing import Any

AT_ONCE_BYTES = 1 << 16
"""So much is not held back until the end of the turn, so that a slow reader is noticed."""


class Coalesced:
    """A transport that sends what is written in one turn of the loop with one system call.

    An answer whose events are all there is one write instead of one for each event, here and in the relay
    behind. Nothing waits: a turn ends when the answer has to wait for its next event.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._written: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        if not self._written:
            self._loop.call_soon(self._flush)
        self._written.append(data)
        self._size += len(data)
        if self._size >= AT_ONCE_BYTES:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        self._written.clear()
        self._transport.abort()

    def _flush(self) -> None:
        data, self._size = b"".join(self._written), 0
        self._written.clear()
        if data and not self._transport.is_closing():
            self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
