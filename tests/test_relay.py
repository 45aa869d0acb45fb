"""The relay's two ends against each other: the program in a process of its own, the link in this one."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from waiting import PATIENCE, free_port, wait_until

from skillwalker.errors import SandboxError
from skillwalker.sandbox import relay
from skillwalker.sandbox import relay_program as program
from skillwalker.sandbox.streams import STDERR, STDOUT

Serve = Callable[[socket.socket], None]


class ProcessStream:
    """What an exec's stream is for the link: here, the pipes of a process."""

    def __init__(self, command: list[str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)

    def send(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def chunks(self) -> Iterator[tuple[int, bytes]]:
        while data := self.process.stdout.read1(1 << 16):
            yield STDOUT, data
        yield STDERR, self.process.stderr.read()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.wait(PATIENCE)


class ServingGateway:
    """Serves each connection by a function, on a thread of its own."""

    def __init__(self, serve: Serve) -> None:
        self.serve = serve
        self.opened = 0

    def connect(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        self.opened += 1

        def run() -> None:
            with theirs, contextlib.suppress(OSError):
                self.serve(theirs)

        threading.Thread(target=run, daemon=True).start()
        return ours


class Relayed:
    """With a second function there is a second port, `second`, which leads to it."""

    def __init__(self, serve: Serve, serve_second: Serve | None = None) -> None:
        self.port = self.second = free_port()
        while self.second == self.port:
            self.second = free_port()
        self.gateway = ServingGateway(serve)
        ways = {self.port: self.gateway}
        if serve_second:
            ways[self.second] = ServingGateway(serve_second)
        self.ends: list[str] = []
        self.stream = ProcessStream([sys.executable, *relay.command(*ways)[1:]])
        self.link = relay.RelayLink(self.stream, [*ways.values()], self.ends.append)  # type: ignore[arg-type]

    def __enter__(self) -> Relayed:
        self.link.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.link.close()
        for pipe in (self.stream.process.stdout, self.stream.process.stderr):
            pipe.close()

    def connect(self, port: int | None = None) -> socket.socket:
        sock = socket.create_connection(("127.0.0.1", port or self.port))
        sock.settimeout(PATIENCE)
        return sock

    def ask(self, data: bytes) -> bytes:
        """Sends, says that this is all, and reads to the end."""
        with self.connect() as sock:
            sender = threading.Thread(target=lambda: (sock.sendall(data), sock.shutdown(socket.SHUT_WR)))
            sender.start()
            answer = read_all(sock)
            sender.join()
        return answer


def read_all(sock: socket.socket) -> bytes:
    answer = bytearray()
    while data := sock.recv(1 << 16):
        answer += data
    return bytes(answer)


def echo(sock: socket.socket) -> None:
    while data := sock.recv(1 << 16):
        sock.sendall(data)


def test_bytes_arrive_unchanged_and_the_end_of_either_side_does() -> None:
    data = bytes(range(256)) * 20_000  # far more than a window
    with Relayed(echo) as relayed:
        assert relayed.ask(data) == data
        assert relayed.ask(b"") == b""
        assert relayed.gateway.opened == 2


def test_an_answer_may_follow_after_the_end_of_the_question() -> None:
    def upper(sock: socket.socket) -> None:
        sock.sendall(read_all(sock).upper())

    with Relayed(upper) as relayed:
        assert relayed.ask(b"half-closed") == b"HALF-CLOSED"


def test_many_connections_at_once_keep_apart() -> None:
    with Relayed(echo) as relayed:
        answers: dict[int, bool] = {}

        def ask(number: int) -> None:
            data = b"%d " % number * 50_000
            answers[number] = relayed.ask(data) == data

        threads = [
            threading.Thread(target=ask, args=(number,)) for number in range(program.MAX_CONNECTIONS + 20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == dict.fromkeys(range(len(threads)), True)


def test_a_connection_that_nobody_reads_holds_up_no_other_and_takes_bounded_memory() -> None:
    sent = 0

    def flood(sock: socket.socket) -> None:
        nonlocal sent
        while sock.recv(1) == b"f":
            for _ in range(1000):
                sock.sendall(bytes(program.BLOCK))
                sent += program.BLOCK

    def serve(sock: socket.socket) -> None:
        flood(sock) if sock.recv(1, socket.MSG_PEEK) == b"f" else echo(sock)

    with Relayed(serve) as relayed, relayed.connect() as slow:
        slow.sendall(b"f")
        wait_until(lambda: sent > program.WINDOW)
        assert relayed.ask(b"quick") == b"quick"
        time.sleep(0.5)
        assert sent < 16_000_000  # of 65 million: a window, and what the kernel's buffers take


def test_each_port_leads_to_its_own_place() -> None:
    def twice(sock: socket.socket) -> None:
        while data := sock.recv(1 << 16):
            sock.sendall(data * 2)

    with (
        Relayed(echo, twice) as relayed,
        relayed.connect(relayed.second) as second,
        relayed.connect() as first,
    ):
        for sock in (first, second):
            sock.sendall(b"ab")
            sock.shutdown(socket.SHUT_WR)
        assert [read_all(sock) for sock in (first, second)] == [b"ab", b"abab"]


def test_without_a_second_place_nothing_listens_there() -> None:
    with Relayed(echo) as relayed, pytest.raises(ConnectionRefusedError):
        relayed.connect(relayed.second)


def test_a_port_whose_connections_are_used_up_takes_none_from_the_other() -> None:
    with Relayed(echo, echo) as relayed, contextlib.ExitStack() as stack:
        for _ in range(program.MAX_CONNECTIONS):
            sock = stack.enter_context(relayed.connect(relayed.second))
            sock.sendall(b"x")
            assert sock.recv(1) == b"x"
        with relayed.connect(relayed.second) as waiting:
            waiting.sendall(b"y")
            assert relayed.ask(b"model") == b"model"
            waiting.settimeout(0.2)
            with pytest.raises(TimeoutError):
                waiting.recv(1)
            sock.close()
            waiting.settimeout(PATIENCE)
            assert waiting.recv(1) == b"y"


class Scripted:
    """A relay that says what it was told to say, and keeps what it hears."""

    def __init__(self, *frames: bytes) -> None:
        self.frames, self.heard, self.over = frames, b"", threading.Event()

    def send(self, data: bytes) -> None:
        self.heard += data

    def chunks(self) -> Iterator[tuple[int, bytes]]:
        yield STDOUT, program.pack(0, program.HELLO)
        yield from ((STDOUT, frame) for frame in self.frames)
        self.over.wait(PATIENCE)

    def close(self) -> None:
        self.over.set()


@pytest.mark.parametrize("data", [b"\x01", b"\xff" * 100])
def test_a_relay_that_names_no_port_of_ours_is_refused(data: bytes) -> None:
    stream = Scripted(program.pack(7, program.OPEN, data))
    link = relay.RelayLink(stream, [ServingGateway(echo)], lambda reason: None)  # type: ignore[arg-type]
    link.start()
    try:
        wait_until(lambda: program.pack(7, program.RESET) in stream.heard)
    finally:
        link.close()


def test_a_gateway_that_closes_ends_the_connection() -> None:
    with Relayed(lambda sock: None) as relayed, relayed.connect() as sock:
        assert sock.recv(1) == b""


def test_a_trial_that_drops_its_connection_frees_both_ends() -> None:
    over = threading.Event()

    def serve(sock: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock.sendall(bytes(1000))
                time.sleep(0.001)
        over.set()

    with Relayed(serve) as relayed:
        sock = relayed.connect()
        assert sock.recv(10)
        sock.close()
        assert over.wait(PATIENCE)
        assert relayed.ends == []


def test_a_gateway_that_refuses_is_a_closed_connection_not_the_end() -> None:
    with Relayed(echo) as relayed:
        connect = relayed.gateway.connect

        def refuse() -> socket.socket:
            raise OSError("no more")

        relayed.gateway.connect = refuse  # type: ignore[method-assign]
        with relayed.connect() as sock:
            assert sock.recv(1) == b""
        relayed.gateway.connect = connect  # type: ignore[method-assign]
        assert relayed.ask(b"again") == b"again"


def test_when_the_runner_goes_so_does_the_relay() -> None:
    with Relayed(echo) as relayed:
        sock = relayed.connect()
        sock.sendall(b"x")
        assert sock.recv(1) == b"x"
        relayed.stream.process.stdin.close()
        assert relayed.stream.process.wait(PATIENCE) == 0
        with sock:
            assert sock.recv(1) == b""


def test_the_death_of_the_relay_is_told_once_with_what_it_said() -> None:
    with Relayed(echo) as relayed:
        relayed.stream.process.kill()
        wait_until(lambda: bool(relayed.ends))
        assert relayed.ends == ["it ended"]
    assert relayed.ends == ["it ended"]


def test_a_relay_that_cannot_listen_is_an_error_that_says_why() -> None:
    relayed = Relayed(echo)
    with socket.create_server(("127.0.0.1", relayed.port)):
        try:
            with pytest.raises(SandboxError, match="Address already in use"):
                relayed.link.start()
            assert relayed.ends == []
        finally:
            relayed.__exit__()


def test_bytes_that_are_no_frames_end_it() -> None:
    frames = program.Frames()
    whole = program.pack(7, program.DATA, b"abc") + program.pack(7, program.END)
    cut = [frames.feed(whole[index : index + 1]) for index in range(len(whole))]
    assert [frame for found in cut for frame in found] == [(7, program.DATA, b"abc"), (7, program.END, b"")]
    with pytest.raises(ValueError, match="not a frame"):
        program.Frames().feed(b"HTTP/1.1 200 OK\r\n")
    with pytest.raises(ValueError, match="not a frame"):
        program.Frames().feed(program.HEADER.pack(1, program.DATA, program.BLOCK + 1))


def test_the_program_imports_nothing_that_is_slow() -> None:
    check = """if True:
        import sys
        before = set(sys.modules)
        exec(compile(sys.stdin.read(), "relay", "exec"), {"__name__": "relay"})
        print(*sorted(set(sys.modules) - before))
    """
    text = relay.command()[4]
    result = subprocess.run(
        [sys.executable, "-I", "-S", "-c", check], input=text, capture_output=True, text=True, check=True
    )
    assert "select" in result.stdout.split()
    assert not {"socket", "selectors", "enum", "collections", "typing"} & set(result.stdout.split())
