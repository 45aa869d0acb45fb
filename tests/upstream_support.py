"""A model's server of the tests' own: says what it is told to, also over TLS, and remembers the questions."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import uvloop
from attrs import frozen

from skillwalker.credentials import Credential
from skillwalker.gateway.conversations import Thread
from skillwalker.gateway.forward import ForwardResponder
from skillwalker.gateway.messages import ApiError, Event, encode_event, message_events
from skillwalker.gateway.pacing import Pacer
from skillwalker.gateway.responders import Caller, ConnectionDroppedError, Exchange
from skillwalker.gateway.upstream import Upstream

SECRET = "sk-ant-api03-of-the-tests-only"

USAGE = {
    "input_tokens": 900,
    "output_tokens": 40,
    "cache_read_input_tokens": 7,
    "cache_creation_input_tokens": 3,
}


def answer_events(text: str = "Grüß dich, 東京 😀", id: str = "msg_upstream") -> list[Event]:
    """A whole answer with text and a tool call."""
    content = [
        {"type": "text", "text": text},
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}},
    ]
    return list(
        message_events(
            id=id, model="claude-sonnet-5-5-20260901", content=content, stop_reason="tool_use", usage=USAGE
        )
    )


def sse_bytes(events: Iterable[Event]) -> bytes:
    return b"".join(map(encode_event, events))


@frozen
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def answer(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        given = self.server.takes(Asked(self.command, self.path, headers, self.rfile.read(size)))
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            given(self)

    do_POST = do_GET = do_HEAD = answer  # noqa: N815 -- the base class calls them so

    def head(self, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def log_message(self, *_: object) -> None:
        return None


Answer = Callable[[Handler], None]


class Server(ThreadingHTTPServer):
    """Gives the answers in turn, the last one for ever."""

    daemon_threads = True

    def __init__(self, *answers: Answer, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self._answers = list(answers)
        self._tls = tls
        self._lock = threading.Lock()
        self.asked: list[Asked] = []
        self.connections = 0

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def takes(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    def finish_request(self, request: Any, client_address: Any) -> None:
        self.connections += 1
        if self._tls:  # on the connection's own thread
            try:
                request = self._tls.wrap_socket(request, server_side=True)
            except (OSError, ssl.SSLError):
                return
        with contextlib.suppress(OSError), contextlib.closing(request):
            super().finish_request(request, client_address)

    def handle_error(self, *_: object) -> None:
        return None

    def __enter__(self) -> Server:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


def streams(
    *pieces: bytes, content_type: str = "text/event-stream; charset=utf-8", end: bool = True
) -> Answer:
    """Sends each piece as a chunk of its own; without an `end` the connection breaks off after the last."""

    def answer(handler: Handler) -> None:
        handler.head(200, content_type=content_type, transfer_encoding="chunked", request_id="req_1")
        for piece in pieces:
            handler.chunk(piece)
        if end:
            handler.wfile.write(b"0\r\n\r\n")
        else:
            handler.close_connection = True

    return answer


def says(status: int, body: Any, content_type: str = "application/json", **headers: str) -> Answer:
    """A body at once: bytes as they are, all else as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    def answer(handler: Handler) -> None:
        handler.head(status, content_type=content_type, content_length=str(len(data)), **headers)
        if handler.command != "HEAD":
            handler.wfile.write(data)

    return answer


def refuses(status: int, type: str, message: str, **headers: str) -> Answer:
    """An error as the API answers it."""
    return says(status, {"type": "error", "error": {"type": type, "message": message}}, **headers)


def sends_raw(data: bytes) -> Answer:
    """Bytes instead of HTTP, then the end of the connection."""

    def answer(handler: Handler) -> None:
        handler.wfile.write(data)
        handler.close_connection = True

    return answer


class Proxy:
    """An HTTP proxy that knows CONNECT; every host leads to `port` on this machine."""

    def __init__(self, port: int, status: bytes = b"200 OK") -> None:
        self._port, self._status = port, status
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.asked: list[str] = []

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Proxy:
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                if not (byte := client.recv(1)):
                    return
                head += byte
            self.asked.append(head.decode("latin-1"))
            if not self._status.startswith(b"200"):
                client.sendall(b"HTTP/1.1 %s\r\ncontent-length: 0\r\n\r\n" % self._status)
                return
            with socket.create_connection(("127.0.0.1", self._port)) as server:
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                back = threading.Thread(target=_pump, args=(server, client), daemon=True)
                back.start()
                _pump(client, server)
                back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


class TlsFront:
    """Takes TLS and passes what is in it to `port` on this machine."""

    def __init__(self, port: int, tls: ssl.SSLContext) -> None:
        self._port, self._tls = port, tls
        self._loop = asyncio.new_event_loop()
        self._listener = socket.create_server(("127.0.0.1", 0))

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> TlsFront:
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        served = asyncio.start_server(self._pass_on, sock=self._listener, ssl=self._tls)
        self._server = asyncio.run_coroutine_threadsafe(served, self._loop).result(30)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._port)
        ways = ((reader, inner_writer), (inner_reader, writer))
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*(_copied(*way) for way in ways))
        for one in (writer, inner_writer):
            one.transport.abort()


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


def key(url: str, kind: Any = "api-key", source: str = "ANTHROPIC_API_KEY") -> Credential:
    return Credential(kind, source, url, SECRET)


def exchange(
    request: Mapping[str, Any] | None = None, *, by_claude_code: bool = True, **more: Any
) -> Exchange:
    """One question, streamed unless its request says otherwise."""
    asked = request or {"model": "sonnet", "max_tokens": 9, "messages": [], "stream": True}
    known = {"headers": {"anthropic-version": "2023-06-01"}, "query": "beta=true", **more}
    thread = Thread("main", "main", "main")
    caller = Caller("t.1", "trial", by_claude_code=by_claude_code)
    return Exchange(caller, asked, thread=thread, turn=0, attempt=1, **known)


@frozen
class Replied:
    """What came of one question; `error` is what ended it."""

    events: list[Event]
    error: ApiError | ConnectionDroppedError | None = None

    @property
    def refused(self) -> ApiError:
        assert isinstance(self.error, ApiError), self.error
        return self.error


def forward(
    credential: Credential, *exchanges: Exchange, pacer: Pacer | None = None, **options: Any
) -> list[Replied]:
    """Asks one after the other, on a loop of its own."""

    async def ask_all() -> list[Replied]:
        responder = ForwardResponder(Upstream(credential, **options), pacer)
        try:
            return [await reply(responder, each) for each in exchanges]
        finally:
            await responder.aclose()

    return uvloop.run(ask_all())  # the gateway's kind


async def reply(responder: ForwardResponder, each: Exchange) -> Replied:
    events: list[Event] = []
    try:
        async with contextlib.aclosing(responder.reply(each)) as found:
            async for event in found:
                events.append(event)
    except (ApiError, ConnectionDroppedError) as error:
        return Replied(events, error)
    return Replied(events)


@contextlib.contextmanager
def closed_port() -> Iterator[int]:
    """A port that nothing listens on, kept from others for as long as the block lasts."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield int(taken.getsockname()[1])
