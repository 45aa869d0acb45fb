"""The forward responder: the real model answers, through whatever server the credential is for."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from skillwalker.gateway.messages import ApiError, Event, encode_json, events_of
from skillwalker.gateway.pacing import PACED, Pacer, Patience
from skillwalker.gateway.responders import ConnectionDroppedError, Exchange
from skillwalker.gateway.sse import Parser
from skillwalker.gateway.upstream import Upstream, parsed

if TYPE_CHECKING:
    from aiohttp import ClientResponse

MAX_EVENT_BYTES = 16 << 20
"""Of one event. The API's are small; other servers send a whole tool call as one."""

MAX_MESSAGE_BYTES = 64 << 20
"""Of an answer that is not streamed."""

_END_SECONDS = 1.0
"""How long the end of a body may take after the last event; then its connection is not used again."""


class ForwardResponder:
    """Passes events on as they come, each as soon as it is whole."""

    def __init__(self, upstream: Upstream, pacer: Pacer | None = None) -> None:
        self._upstream = upstream
        self._pacer = pacer or Pacer()

    async def aclose(self) -> None:
        """Closes the connections to the server; on the gateway's loop."""
        await self._upstream.aclose()

    async def reply(self, exchange: Exchange) -> AsyncGenerator[Event, None]:
        self._allow(exchange)
        body = exchange.body or encode_json(exchange.request)
        patience = Patience()
        while True:
            ticket = await self._pacer.admitted(patience, exchange.holding())
            started = False
            try:
                async with (
                    self._upstream.asked(body, exchange.headers, exchange.query) as response,
                    aclosing(self._events(response, exchange.request)) as events,
                ):
                    async for event in events:
                        if not started:
                            self._pacer.answered(ticket)
                            started = True
                        yield event
                return
            except ApiError as caught:
                error = caught
            if error.status not in PACED:
                self._pacer.answered(ticket)
                raise error
            again = self._pacer.refused(error, ticket, patience)
            if started:  # too late to ask again
                raise error
            if not again:
                # All that asking again could do was done here.
                headers = {**error.headers, "x-should-retry": "false"}
                raise ApiError(error.status, error.type, error.message, headers)

    def _allow(self, exchange: Exchange) -> None:
        if self._upstream.credential.kind == "subscription" and not exchange.caller.by_claude_code:
            raise ApiError(
                403,
                "permission_error",
                "a subscription is for Claude Code's own requests, and this is none: set ANTHROPIC_API_KEY",
            )

    async def _events(
        self, response: ClientResponse, request: Mapping[str, Any]
    ) -> AsyncGenerator[Event, None]:
        """The events of a 200 answer, whatever form it has.

        Raises:
            ApiError: it is none, or holds an error.
            ConnectionDroppedError: it has no end.
        """
        import aiohttp

        begun = False
        try:
            if _content_type(response) != "text/event-stream":
                message = await self._whole(response)
                for event in events_of(message) if request.get("stream") is True else (message,):
                    yield event
                return
            parser = Parser(MAX_EVENT_BYTES)
            async for piece in response.content.iter_any():
                for event in self._parsed(parser, piece):
                    begun = True
                    yield event
                    if event["type"] == "message_stop":
                        await _finish(response)
                        return
        except aiohttp.ClientError as error:
            if not begun:
                raise self._upstream.unreachable(error) from error
            raise ConnectionDroppedError(f"{self._upstream.host} broke its answer off") from error
        if not begun:
            raise self._upstream.broken(f"{self._upstream.host} answered with 200 and no event")
        raise ConnectionDroppedError(f"the answer of {self._upstream.host} has no end")

    def _parsed(self, parser: Parser, piece: bytes) -> Iterator[Event]:
        """The events that end with this piece."""
        try:
            for name, data in parser.feed(piece):
                if event := self._event(name, data):
                    yield from events_of(event) if event["type"] == "message" else (event,)
        except ValueError as error:
            raise self._upstream.broken(f"{self._upstream.host} sent {error}") from error

    def _event(self, name: str, data: bytes) -> dict[str, Any] | None:
        """One event as JSON; None where it is none of the API's.

        Raises:
            ApiError: it is an error, or damaged: without it the answer would not be what the model said.
        """
        event = parsed(data)
        if event is None:
            if data.lstrip().startswith(b"{") or name.startswith(("message_", "content_block_")):
                raise self._upstream.broken(f"{self._upstream.host} sent an event that is no JSON")
            return None  # such as `[DONE]`, with which servers of another API end
        type_ = event.get("type", name)
        self._check(type_, event)
        if not isinstance(type_, str) or not type_ or not type_.isprintable():
            return None
        if type_ == "message" and not _is_message(event):
            return None
        return {**event, "type": type_}

    async def _whole(self, response: ClientResponse) -> dict[str, Any]:
        """An answer that is one JSON message."""
        host, data = self._upstream.host, bytearray()
        async for chunk in response.content.iter_any():
            data += chunk
            if len(data) > MAX_MESSAGE_BYTES:
                raise self._upstream.broken(
                    f"the answer of {host} is larger than {MAX_MESSAGE_BYTES >> 20} MiB"
                )
        message = parsed(bytes(data)) or {}
        self._check(message.get("type"), message)
        if not _is_message(message):
            raise self._upstream.foreign(_content_type(response), bytes(data))
        return {**message, "type": "message"}

    def _check(self, type_: object, event: Mapping[str, Any]) -> None:
        """Raises what an error that came with status 200 says."""
        if type_ != "error":
            return
        match event.get("error"):
            case {"type": str(kind), "message": str(message)}:
                raise self._upstream.failed(kind, message)
            case other:
                raise self._upstream.failed("api_error", json.dumps(other))


def _is_message(value: Mapping[str, Any]) -> bool:
    content, usage = value.get("content"), value.get("usage") or {}
    return isinstance(content, list) and all(isinstance(one, dict) for one in (*content, usage))


def _content_type(response: ClientResponse) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _finish(response: ClientResponse) -> None:
    """Reads what follows after the last event, so that the connection can be used again."""
    import aiohttp

    with contextlib.suppress(aiohttp.ClientError, TimeoutError):
        async with asyncio.timeout(_END_SECONDS):
            async for _ in response.content.iter_any():
                pass
