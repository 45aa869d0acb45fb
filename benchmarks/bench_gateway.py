"""What gateway and relay add to a request: 32 streams, each of one 60 KB request per second.

Every stream asks in turn by itself (straight to the model's server) and as a trial does (through a relay of
its own and the gateway), half a second apart, all in one run. The server, the streams, the relays and the
gateway are processes of their own, as in a run; relays talk over pipes instead of `docker exec`. The server
writes the time into each answer, so that the way of the first byte is measured on one clock.

Printed: how much longer a request took at the median (5 ms at most), and how long after the server sent it
the first byte arrived (20 ms at most at the median).
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

STREAMS, KILOBYTES, ADDED_MS, FIRST_BYTE_MS = 32, 60, 5.0, 20.0
EVENTS, DELTA_SECONDS = 20, 0.01
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
SECRET = "no-key-of-anybody"


def body() -> bytes:
    """A request of the size that Claude Code's have."""
    tools = [
        {"name": f"Tool{number}", "description": "x" * 900, "input_schema": {"type": "object"}}
        for number in range(20)
    ]
    text = "All work and no play. " * 1000
    request: dict[str, Any] = {
        "model": "sonnet",
        "max_tokens": 1000,
        "stream": True,
        "system": [{"type": "text", "text": text}],
        "tools": tools,
        "messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}],
    }
    lacking = KILOBYTES * 1000 - len(json.dumps(request))
    request["messages"][0]["content"][0]["text"] = "y" * lacking
    return json.dumps(request).encode()


def answer(now: int) -> list[dict[str, Any]]:
    """The events of an answer that was sent at `now`."""
    usage = {
        "input_tokens": 9,
        "output_tokens": 1,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
    }
    message = {
        "id": f"msg_{now}",
        "type": "message",
        "role": "assistant",
        "model": "sonnet",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    block = {"type": "text", "text": ""}
    delta = {"type": "text_delta", "text": "ten letters" * 4}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for _ in range(EVENTS)),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 200}},
        {"type": "message_stop"},
    ]


async def serve() -> None:
    """The model's server: a process of its own, begins to answer at once, a word at a time."""

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
                await reader.readexactly(int(length))
                writer.write(HEAD)
                for event in answer(time.monotonic_ns()):
                    if event["type"] == "content_block_delta":
                        await asyncio.sleep(DELTA_SECONDS)
                    data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
                    writer.write(b"%x\r\n%s\r\n" % (len(data), data))
                writer.write(b"0\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()

    server = await asyncio.start_server(connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


def ask(connection: http.client.HTTPConnection, data: bytes) -> tuple[float, float]:
    """Milliseconds that a whole request took, and that its first byte was on its way."""
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
    started = time.perf_counter()
    connection.request("POST", "/v1/messages?beta=true", data, headers)
    response = connection.getresponse()
    first = response.read1(65536)
    arrived = time.monotonic_ns()
    rest = response.read()
    took = time.perf_counter() - started
    sent = int((first + rest).partition(b'"msg_')[2].partition(b'"')[0])
    assert b'"message_stop"' in first + rest
    return took * 1000, (arrived - sent) / 1e6


def stream(number: int, ports: list[int], seconds: int, start: float, out: list[dict[str, Any]]) -> None:
    """One stream's questions; `ports` are the server's and the relay's."""
    connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=30) for port in ports]
    data = body()
    for second in range(-2, seconds):  # the first two are for warming up
        for way, connection in enumerate(connections):
            at = start + 2 + second + number / STREAMS / 2 + way / 2
            time.sleep(max(at - time.monotonic(), 0))
            took, first = ask(connection, data)
            if second >= 0:
                out.append({"way": way, "took": took, "first": first})
    for connection in connections:
        connection.close()


def load(seconds: int, server: int, relays: list[int]) -> None:
    """All streams: a process of its own, prints what it measured."""
    out: list[dict[str, Any]] = []
    start = time.monotonic() + 0.5
    threads = [
        threading.Thread(target=stream, args=(number, [server, relay], seconds, start, out))
        for number, relay in enumerate(relays)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(out))


class Pipes:
    """What an exec's stream is for a relay's link: here, the pipes of a process."""

    def __init__(self, port: int) -> None:
        from skillwalker.sandbox import relay

        command = [sys.executable, *relay.command(port)[1:]]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def send(self, data: bytes) -> None:
        assert self.process.stdin
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view) or 0 :]

    def chunks(self) -> Iterator[tuple[int, bytes]]:
        from skillwalker.sandbox.streams import STDOUT

        assert self.process.stdout
        while data := self.process.stdout.read(1 << 16):
            yield STDOUT, data

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(10)


def free_ports(number: int) -> list[int]:
    import socket

    with ExitStack() as stack:
        taken = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [int(each.getsockname()[1]) for each in taken]


def measure(seconds: int) -> list[dict[str, Any]]:
    """This process is the runner: gateway and relay links."""
    from skillwalker.credentials import Credential
    from skillwalker.gateway.forward import ForwardResponder
    from skillwalker.gateway.server import Caller, Gateway
    from skillwalker.gateway.upstream import Upstream
    from skillwalker.sandbox.relay import RelayLink

    own = [sys.executable, __file__]
    pipe = subprocess.PIPE
    with (
        subprocess.Popen([*own, "--serve"], stdin=pipe, stdout=pipe, text=True) as server,
        ExitStack() as stack,
    ):
        assert server.stdout
        assert server.stdin
        port = int(server.stdout.readline())
        stack.callback(server.stdin.close)
        url = f"http://127.0.0.1:{port}"
        responder = ForwardResponder(Upstream(Credential("api-key", "ANTHROPIC_API_KEY", url, SECRET)))
        gateway = stack.enter_context(Gateway(responder))
        relays = free_ports(STREAMS)
        for number, relay_port in enumerate(relays):
            link = stack.enter_context(gateway.open(Caller(f"bench.{number}", "trial")))
            relay = RelayLink(Pipes(relay_port), [link], print)  # type: ignore[arg-type]
            stack.callback(relay.close)
            relay.start()
        ports = [str(each) for each in (port, *relays)]
        done = subprocess.run(
            [*own, "--load", str(seconds), *ports], stdout=subprocess.PIPE, text=True, check=True
        )
        return list(json.loads(done.stdout))


def main(seconds: int) -> int:
    found = measure(seconds)
    direct, through = ([one for one in found if one["way"] == way] for way in (0, 1))
    took = [statistics.median(one["took"] for one in side) for side in (direct, through)]
    first = [statistics.median(one["first"] for one in side) for side in (direct, through)]
    slow = sorted(one["took"] for one in through)[int(len(through) * 0.95)]
    added = took[1] - took[0]
    print(f"{len(through)} requests of {len(body()) // 1000} KB by {STREAMS} streams, {len(direct)} straight")
    print(
        f"added at the median: {added:.2f} ms (at most {ADDED_MS}; {took[1]:.2f} ms against {took[0]:.2f} ms)"
    )
    print(f"95 of 100 requests took at most {slow:.2f} ms")
    print(
        f"first byte after the server sent it: {first[1]:.2f} ms "
        f"(at most {FIRST_BYTE_MS}; straight {first[0]:.2f} ms)"
    )
    return 0 if added <= ADDED_MS and first[1] <= FIRST_BYTE_MS else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--load", type=int, nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        asyncio.run(serve())
    elif given.load:
        load(given.load[0], given.load[1], given.load[2:])
    else:
        sys.exit(main(given.seconds))
