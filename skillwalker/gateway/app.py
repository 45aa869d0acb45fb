"""The gateway's ASGI app: answers like the Messages API, for whoever the connection belongs to."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import aclosing
from functools import partial
from typing import Any

from attrs import define

from skillwalker.gateway.conversations import Conversations
from skillwalker.gateway.listing import read_listing
from skillwalker.gateway.messages import ApiError, Event, LostError, encode_event, encode_json
from skillwalker.gateway.responders import Caller, ConnectionDroppedError, Exchange, Responder
from skillwalker.gateway.traffic import Meter, Record

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

MAX_BODY_BYTES = 32 << 20
MAX_MODEL_CHARACTERS = 256
"""What the API takes."""

MAX_HELD_BYTES = 64 << 20
"""Of one caller's requests together; what runs in a sandbox must not fill this process's memory."""

READ_SECONDS = 0.5
"""What a client has to read the beginning of an answer before it breaks off. Where the break comes with it,
Claude Code now goes on with what it has and now asks again: no replay would be like the other."""

_PROBED = ("/", "/api/hello")  # where Claude Code looks whether anybody is there
_STREAM_HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]


class Session:
    """One caller's side of the app: what its connections share.

    Used on the gateway's loop only, but for `meter`.
    """

    def __init__(self, caller: Caller, responder: Responder, meter: Meter) -> None:
        self.caller = caller
        self.responder = responder
        self.meter = meter
        self.conversations = Conversations(caller.purpose)
        self.running: set[asyncio.Task[bool]] = set()
        self.held_bytes = 0
        self.endings: list[Callable[[], None]] = []
        self.opened = time.monotonic()

    async def close(self) -> None:
        """Ends every answer that is still being given."""
        running = tuple(self.running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Expects `session` and `hang_up` (which closes the connection) in the state of the scope."""
    method, path = scope["method"], scope["path"]
    if path == "/v1/messages" and method == "POST":
        await _messages(scope, receive, send)
    elif path in _PROBED and method in ("GET", "HEAD"):
        await _send(200, {"content-length": "0"}, b"", send)
    else:
        await _respond(ApiError(404, "not_found_error", "the gateway has only POST /v1/messages"), send)


async def _messages(scope: Scope, receive: Receive, send: Send) -> None:
    session: Session = scope["state"]["session"]
    body = _Body(session)
    try:
        await _messages_from(body, session, scope, receive, send)
    finally:
        session.held_bytes -= body.size


async def _messages_from(body: _Body, session: Session, scope: Scope, receive: Receive, send: Send) -> None:
    try:
        came = await body.read(receive)
        request = _parsed(came)
    except ApiError as error:
        await _respond(error, send)
        return
    except ConnectionError:
        return
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    query = scope["query_string"].decode("latin-1")
    work = asyncio.create_task(_answer(session, request, came, headers, query, send))
    gone = asyncio.create_task(_gone(receive))
    session.running.add(work)
    work.add_done_callback(session.running.discard)
    try:
        done, _ = await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if work not in done:
            work.cancel()
            await asyncio.wait({work})
        elif work.cancelled() or not work.result():
            scope["state"]["hang_up"]()
            await gone  # uvicorn would answer 500 in our place as long as the connection is there
    finally:
        gone.cancel()


async def _answer(
    session: Session,
    request: Mapping[str, Any],
    came: bytes,
    headers: Mapping[str, str],
    query: str,
    send: Send,
) -> bool:
    """Whether the answer has come to its end; False: the connection is to break off."""
    place = session.conversations.place(request, headers)
    listing = read_listing(request) if place.thread.kind == "main" else None
    record = session.meter.begin(request, place, listing)
    exchange = Exchange(
        session.caller,
        request,
        headers,
        place.thread,
        place.turn,
        place.attempt,
        partial(session.meter.holding, record),
        query,
        session.endings.append,
        time.monotonic() - session.opened,
        came,
    )
    reply = _Reply(session, record, send)
    try:
        async with aclosing(session.responder.reply(exchange)) as events:
            await (reply.stream(events) if request.get("stream") is True else reply.whole(events))
    except ApiError as error:
        await reply.fail(error)
    except RecursionError:  # what a trial asks may be nested as deeply as it likes
        await reply.fail(ApiError(400, "invalid_request_error", "the request is nested too deeply"))
    except ConnectionDroppedError:
        record.error = (0, "connection_dropped", "the responder broke the connection off")
        record.lost = True
        if reply.started:
            await asyncio.sleep(READ_SECONDS)
        return False
    except asyncio.CancelledError:
        record.cancelled = True
        raise
    except Exception as error:
        record.error = (500, "gateway_error", f"{type(error).__name__}: {error}")
        raise
    finally:
        reply.count()
    return True


@define
class _Reply:
    """One answer on its way out."""

    session: Session
    record: Record
    send: Send
    started: bool = False
    counted: bool = False

    def count(self) -> None:
        """Ends the record, once; before the last byte is sent, so that nobody sees an answer uncounted."""
        if not self.counted:
            self.counted = True
            self.session.meter.end(self.record)

    async def stream(self, events: AsyncGenerator[Event, None]) -> None:
        async for event in events:
            self._take(event)
            if not self.started:
                await self._start()
            if self.record.answer.complete:
                self.count()
            await self._put(encode_event(event))
        if not self.started:
            raise ApiError(500, "api_error", "the model's answer is empty")
        await self._put(b"", more=False)

    async def whole(self, events: AsyncGenerator[Event, None]) -> None:
        async for event in events:
            self._take(event)
        if not self.record.answer.complete:
            raise ApiError(500, "api_error", "the model's answer has no end")
        self.count()
        await _send_json(200, {}, self.record.answer.message, self.send)
        self.session.meter.touch()

    async def fail(self, error: ApiError) -> None:
        self.record.error = (200 if self.started else error.status, error.type, error.message)
        self.record.lost = isinstance(error, LostError)
        self.count()
        if self.started:
            await self._put(encode_event(error.body), more=False)
        else:
            await _respond(error, self.send)
        self.session.meter.touch()

    def _take(self, event: Event) -> None:
        """Everybody who must know of an event before the client does is told."""
        answer, meter = self.record.answer, self.session.meter
        answer.add(event)
        match event:
            case {"type": "message_start"}:
                meter.announce(message_id=answer.id)
            case {"type": "content_block_start", "content_block": {"type": "tool_use", "id": str(id_)}}:
                meter.announce(tool_use_id=id_)
            case {"type": "content_block_stop", "index": int(index)}:
                if (block := answer.block(index)).get("type") == "tool_use":
                    self.session.conversations.served(self.record.place.thread, block)
            case {"type": "message"}:
                meter.announce(message_id=answer.id)
                for block in answer.tool_uses:
                    meter.announce(tool_use_id=block.get("id"))
                    self.session.conversations.served(self.record.place.thread, block)

    async def _start(self) -> None:
        self.started = True
        await self.send({"type": "http.response.start", "status": 200, "headers": _STREAM_HEADERS})

    async def _put(self, data: bytes, *, more: bool = True) -> None:
        await self.send({"type": "http.response.body", "body": data, "more_body": more})
        self.session.meter.touch()


async def _gone(receive: Receive) -> None:
    """Ends when the client has left, or the answer is complete."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _respond(error: ApiError, send: Send) -> None:
    await _send_json(error.status, error.headers, error.body, send)


async def _send_json(status: int, headers: Mapping[str, str], value: Any, send: Send) -> None:
    body = encode_json(value)
    own = {"content-type": "application/json", "content-length": str(len(body))}
    await _send(status, {**own, **headers}, body, send)


async def _send(status: int, headers: Mapping[str, str], body: bytes, send: Send) -> None:
    encoded = [(name.encode("latin-1"), text.encode("latin-1")) for name, text in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


@define
class _Body:
    """The body of one request; its bytes are held against the caller until the answer is over."""

    session: Session
    size: int = 0

    async def read(self, receive: Receive) -> bytes:
        chunks = []
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError
            chunk = message.get("body", b"")
            self.size += len(chunk)
            self.session.held_bytes += len(chunk)
            if self.size > MAX_BODY_BYTES or self.session.held_bytes > MAX_HELD_BYTES:
                text = (
                    f"the gateway takes at most {MAX_BODY_BYTES >> 20} MiB, {MAX_HELD_BYTES >> 20} at a time"
                )
                raise ApiError(413, "request_too_large", text, {"connection": "close"})
            chunks.append(chunk)
            if not message.get("more_body"):
                return b"".join(chunks)


def _parsed(body: bytes) -> Mapping[str, Any]:
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        raise ApiError(400, "invalid_request_error", "the body is no JSON") from None
    if not isinstance(request, dict) or not isinstance(request.get("messages"), list):
        raise ApiError(400, "invalid_request_error", "messages: field required")
    if not isinstance(request.get("model"), str):
        raise ApiError(400, "invalid_request_error", "model: field required")
    if len(request["model"]) > MAX_MODEL_CHARACTERS:  # it is kept with every answer, and in the log
        message = f"model: String should have at most {MAX_MODEL_CHARACTERS} characters"
        raise ApiError(400, "invalid_request_error", message)
    return request
