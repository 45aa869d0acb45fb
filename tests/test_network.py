"""The proxy of trials against real servers on this machine's loopback."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from network_support import Server, echo, read_all, read_head, serving
from waiting import PATIENCE, wait_until

from skillwalker.sandbox import network as module
from skillwalker.sandbox.allowed import AllowList
from skillwalker.sandbox.company_proxy import WayOut
from skillwalker.sandbox.network import Network, TrialNetwork


class Trial:
    """One trial's network, and what its log says in the end."""

    def __init__(self, directory: Path, *allow: str, way: WayOut | None = None) -> None:
        self.log = directory / "network.jsonl"
        self.network: TrialNetwork = Network(AllowList.of(allow), way or WayOut()).open(self.log)

    def __enter__(self) -> Trial:
        return self

    def __exit__(self, *_: object) -> None:
        self.network.close()

    def connect(self) -> socket.socket:
        sock = self.network.connect()
        sock.settimeout(PATIENCE)
        return sock

    def tunnel(self, address: str) -> socket.socket:
        sock = self.connect()
        sock.sendall(f"CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n\r\n".encode())
        head = read_head(sock)
        assert head.startswith(b"HTTP/1.1 200 "), head
        return sock

    def ask(self, data: bytes) -> bytes:
        with self.connect() as sock:
            sock.sendall(data)
            return read_all(sock)

    def lines(self) -> list[dict[str, Any]]:
        self.network.close()
        text = self.log.read_text("ascii") if self.log.exists() else ""
        return [json.loads(line) for line in text.splitlines()]


def refused(answer: bytes, status: int) -> str:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), answer
    return body.decode()


def test_a_tunnel_carries_bytes_both_ways_and_ends_like_a_connection(tmp_path: Path) -> None:
    data = bytes(range(256)) * 10_000

    def upper(sock: socket.socket) -> None:
        sock.sendall(read_all(sock)[::-1])

    with serving(upper) as server, Trial(tmp_path, server.address) as trial:
        with trial.tunnel(server.address) as sock:
            threading.Thread(target=lambda: (sock.sendall(data), sock.shutdown(socket.SHUT_WR))).start()
            assert read_all(sock) == data[::-1]
        (line,) = trial.lines()
        assert (line["method"], line["host"], line["port"]) == ("CONNECT", "127.0.0.1", server.port)
        assert (line["outcome"], line["address"], line["message"]) == ("passed", "127.0.0.1", None)
        assert (line["sent"], line["received"]) == (len(data), len(data))
        assert trial.network.notes() == ()


def test_what_follows_the_request_at_once_is_not_lost(tmp_path: Path) -> None:
    with serving(echo) as server, Trial(tmp_path, server.address) as trial, trial.connect() as sock:
        sock.sendall(f"CONNECT {server.address} HTTP/1.0\r\n\r\nearly".encode())
        assert read_head(sock).startswith(b"HTTP/1.1 200 ")
        assert sock.recv(10) == b"early"


@pytest.mark.parametrize("target", ["pypi.org:443", "localhost:{port}", "127.0.0.1:1", "[::1]:{port}"])
def test_an_address_that_is_not_listed_is_refused_by_the_settings_name(tmp_path: Path, target: str) -> None:
    with serving(echo) as server, Trial(tmp_path, server.address) as trial:
        address = target.format(port=server.port)
        answer = trial.ask(f"CONNECT {address} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert f'add "{address}" to sandbox.network.allow' in refused(answer, 403)
        assert answer.startswith(b"HTTP/1.1 403 Not in sandbox.network.allow\r\n")
        (line,) = trial.lines()
        assert (line["outcome"], line["address"], line["sent"]) == ("refused", None, 0)
        assert server.connections == 0
        assert trial.network.notes() == (f"1 connection refused: {address} (1 x); network.jsonl tells why",)


def test_a_listed_name_that_leads_to_this_machine_is_refused(tmp_path: Path) -> None:
    """Whoever answers for a name must not choose what of the runner's machine a trial reaches."""
    with serving(echo) as server, Trial(tmp_path, f"localhost:{server.port}") as trial:
        answer = trial.ask(f"CONNECT localhost:{server.port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert "in a private network" in refused(answer, 403)
        assert server.connections == 0


def test_a_name_and_its_private_address_that_are_both_listed_are_reached(tmp_path: Path) -> None:
    with serving(echo) as server:
        both = (f"localhost:{server.port}", server.address)
        with Trial(tmp_path, *both) as trial, trial.tunnel(both[0]) as sock:
            sock.sendall(b"x")
            assert sock.recv(1) == b"x"


@pytest.mark.parametrize(
    "request_line",
    [
        "CONNECT 127.0.0.1 HTTP/1.1",
        "CONNECT http://127.0.0.1:80 HTTP/1.1",
        "GET / HTTP/1.1",
        "GET https://127.0.0.1/ HTTP/1.1",
        "GET ftp://127.0.0.1/ HTTP/1.1",
        "GET http:///x HTTP/1.1",
        "GET http://127.0.0.1:99999/ HTTP/1.1",
        "OPTIONS * HTTP/1.1",
    ],
)
def test_what_is_no_address_is_a_bad_request(tmp_path: Path, request_line: str) -> None:
    with Trial(tmp_path, "127.0.0.1:80") as trial:
        answer = trial.ask(f"{request_line}\r\nHost: x\r\n\r\n".encode())
        refused(answer, 400)
        (line,) = trial.lines()
        assert (line["outcome"], line["host"], line["port"]) == ("refused", None, None)


def test_noise_is_a_closed_connection_and_no_line(tmp_path: Path) -> None:
    with Trial(tmp_path, "127.0.0.1:80") as trial:
        assert trial.ask(b"\x16\x03\x01\x00\xa5\x01\x00\r\n\r\n") == b""
        assert trial.ask(b"GET " + b"x" * 30_000) == b""
        trial.connect().close()
        assert trial.lines() == []


def test_a_server_that_is_not_there_is_a_bad_gateway(tmp_path: Path) -> None:
    with serving(echo) as server:
        address = server.address
    with Trial(tmp_path, address) as trial:
        answer = trial.ask(f"CONNECT {address} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert "Connection refused" in refused(answer, 502)
        (line,) = trial.lines()
        assert (line["outcome"], line["message"]) == ("failed", "Connection refused")


class Handler(http.server.BaseHTTPRequestHandler):
    """Says what it was asked, in the ways that bodies come."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[tuple[str, str, dict[str, str], bytes]]] = []

    def do_GET(self) -> None:
        size = int(self.headers.get("content-length", 0))
        self.seen.append((self.command, self.path, dict(self.headers), self.rfile.read(size)))
        self.send_response(200)
        body = b"0123456789" * 20_000
        if self.path == "/chunked":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        elif self.path == "/until-close":
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)
        elif self.path == "/cut":
            self.send_header("Content-Length", str(len(body) + 1))
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def web() -> Iterator[http.server.ThreadingHTTPServer]:
    Handler.seen = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


class Proxied(http.client.HTTPConnection):
    """A client whose connection is a trial's to the proxy."""

    def __init__(self, trial: Trial) -> None:
        super().__init__("proxy.invalid")
        self._trial = trial

    def connect(self) -> None:
        self.sock = self._trial.connect()


@pytest.mark.parametrize("path", ["/plain", "/chunked", "/until-close"])
def test_a_plain_request_is_passed_on_however_the_answer_ends(
    tmp_path: Path, web: http.server.ThreadingHTTPServer, path: str
) -> None:
    address = f"127.0.0.1:{web.server_port}"
    with Trial(tmp_path, address) as trial:
        client = Proxied(trial)
        client.request(
            "GET",
            f"http://{address}{path}",
            headers={
                "Host": "other.example",
                "X-Mine": "1",
                "Proxy-Authorization": "Basic eA==",
                "Connection": "X-Hop",
                "X-Hop": "1",
            },
        )
        answer = client.getresponse()
        assert (answer.status, answer.read()) == (200, b"0123456789" * 20_000)
        assert answer.headers["Connection"] == "close"
        client.close()
        ((method, asked, headers, _),) = Handler.seen
        assert (method, asked) == ("GET", path)
        names = {name.lower(): value for name, value in headers.items()}
        assert (names["host"], names["x-mine"], names["connection"]) == (address, "1", "close")
        assert not {"proxy-authorization", "x-hop"} & set(names)
        (line,) = trial.lines()
        assert (line["method"], line["outcome"], line["port"]) == ("GET", "passed", web.server_port)
        assert line["received"] > 200_000
        assert line["sent"] > 50


def test_a_body_goes_along_also_where_the_client_waits_for_leave(
    tmp_path: Path, web: http.server.ThreadingHTTPServer
) -> None:
    address = f"127.0.0.1:{web.server_port}"
    with Trial(tmp_path, address) as trial, trial.connect() as sock:
        head = f"POST http://{address}/x?a=1 HTTP/1.1\r\nHost: {address}\r\nExpect: 100-continue\r\n"
        sock.sendall(f"{head}Content-Length: 5\r\n\r\n".encode())
        assert read_head(sock).startswith(b"HTTP/1.1 100")
        sock.sendall(b"hello")
        assert read_head(sock).startswith(b"HTTP/1.1 200")
        ((method, path, _, body),) = Handler.seen
        assert (method, path, body) == ("POST", "/x?a=1", b"hello")


def test_a_head_request_has_no_body(tmp_path: Path, web: http.server.ThreadingHTTPServer) -> None:
    address = f"127.0.0.1:{web.server_port}"
    with Trial(tmp_path, address) as trial:
        answer = trial.ask(f"HEAD http://{address}/ HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert answer.lower().endswith(b"content-length: 200000\r\nconnection: close\r\n\r\n")


def test_an_answer_that_is_cut_is_not_made_whole(
    tmp_path: Path, web: http.server.ThreadingHTTPServer
) -> None:
    address = f"127.0.0.1:{web.server_port}"
    with Trial(tmp_path, address) as trial:
        client = Proxied(trial)
        client.request("GET", f"http://{address}/cut")
        with pytest.raises(http.client.IncompleteRead):
            client.getresponse().read()
        client.close()


def send(sock: socket.socket, data: bytes) -> None:
    with contextlib.suppress(OSError):
        sock.sendall(data)


def test_a_plain_request_to_another_host_is_refused_with_its_body_unread(
    tmp_path: Path, web: http.server.ThreadingHTTPServer
) -> None:
    with Trial(tmp_path, f"127.0.0.1:{web.server_port}") as trial:
        body = b"x" * 300_000
        head = b"POST http://user:pw@127.0.0.1/ HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
        with trial.connect() as sock:
            sender = threading.Thread(target=send, args=(sock, head + body))
            sender.start()
            assert 'add "127.0.0.1:80"' in refused(read_all(sock), 403)
        assert Handler.seen == []


def test_the_second_request_of_a_connection_is_not_answered(
    tmp_path: Path, web: http.server.ThreadingHTTPServer
) -> None:
    address = f"127.0.0.1:{web.server_port}"
    with Trial(tmp_path, address) as trial:
        one = f"GET http://{address}/ HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        assert trial.ask(one * 2).count(b"HTTP/1.1 200") == 1
        assert len(Handler.seen) == 1


def through(proxy: Server) -> WayOut:
    url = f"http://me:pass@127.0.0.1:{proxy.port}"
    return WayOut.of({"HTTPS_PROXY": url, "HTTP_PROXY": url, "NO_PROXY": "direct.example"})


def test_a_proxy_of_this_machine_is_used_for_tunnels(tmp_path: Path) -> None:
    heads: list[bytes] = []

    def proxy(sock: socket.socket) -> None:
        heads.append(read_head(sock))
        sock.sendall(b"HTTP/1.1 200 fine\r\nX-Via: p\r\n\r\nhello ")
        echo(sock)

    with serving(proxy) as company, Trial(tmp_path, "pypi.org:443", way=through(company)) as trial:
        with trial.tunnel("pypi.org:443") as sock:
            sock.sendall(b"you")
            sock.shutdown(socket.SHUT_WR)
            assert read_all(sock) == b"hello you"
        (head,) = heads
        assert head.startswith(b"CONNECT pypi.org:443 HTTP/1.1\r\n")
        assert b"proxy-authorization: basic bwu6cgfzcw==\r\n" in head.lower()
        (line,) = trial.lines()
        assert (line["outcome"], line["address"], line["sent"], line["received"]) == ("passed", None, 3, 9)
        assert "pass" not in json.dumps({**line, "outcome": ""})


def test_a_proxy_of_this_machine_that_refuses_is_told(tmp_path: Path) -> None:
    def proxy(sock: socket.socket) -> None:
        read_head(sock)
        sock.sendall(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")

    with serving(proxy) as company, Trial(tmp_path, "pypi.org:443", way=through(company)) as trial:
        answer = trial.ask(b"CONNECT pypi.org:443 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert "the proxy of the runner's machine answered 407" in refused(answer, 502)


def test_a_proxy_of_this_machine_is_used_for_plain_requests(tmp_path: Path) -> None:
    heads: list[bytes] = []

    def proxy(sock: socket.socket) -> None:
        heads.append(read_head(sock))
        sock.sendall(b"HTTP/1.1 200 fine\r\nContent-Length: 2\r\n\r\nok")

    with serving(proxy) as company, Trial(tmp_path, "pypi.org:80", way=through(company)) as trial:
        assert trial.ask(b"GET http://pypi.org/a?b HTTP/1.1\r\nHost: pypi.org\r\n\r\n").endswith(
            b"\r\n\r\nok"
        )
        assert heads[0].startswith(b"GET http://pypi.org:80/a?b HTTP/1.1\r\n")
        assert b"proxy-authorization:" in heads[0].lower()


def test_addresses_of_private_networks_are_reached_without_the_proxy(tmp_path: Path) -> None:
    with serving(echo) as server, serving(echo) as company:
        with Trial(tmp_path, server.address, way=through(company)) as trial, trial.tunnel(server.address):
            pass
        assert company.connections == 0


def test_the_end_of_the_trial_ends_its_connections_and_they_are_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CLOSE_SECONDS", PATIENCE)
    with serving(echo) as server, Trial(tmp_path, server.address) as trial:
        socks = [trial.tunnel(server.address) for _ in range(5)]
        waiting = trial.connect()
        began = time.monotonic()
        assert [line["outcome"] for line in trial.lines()] == ["passed"] * 5
        assert time.monotonic() - began < PATIENCE / 2  # they were ended, not waited for
        for sock in (*socks, waiting):
            assert sock.recv(1) == b""
            sock.close()
        with pytest.raises(ConnectionRefusedError):
            trial.connect()


def test_a_trial_has_so_many_connections_and_no_more(tmp_path: Path) -> None:
    with serving(echo) as server, Trial(tmp_path, server.address) as trial:
        socks = [trial.tunnel(server.address) for _ in range(module.MAX_CONNECTIONS)]
        with pytest.raises(ConnectionRefusedError):
            trial.connect()
        socks.pop().close()

        def has_room() -> bool:
            with contextlib.suppress(ConnectionRefusedError):
                socks.append(trial.connect())
                return True
            return False

        wait_until(has_room)
        assert len(socks) == module.MAX_CONNECTIONS
        for sock in socks:
            sock.close()


def test_bytes_either_way_are_activity(tmp_path: Path) -> None:
    with serving(echo) as server, Trial(tmp_path, server.address) as trial:
        assert trial.network.last_activity == 0.0
        with trial.tunnel(server.address) as sock:
            before = trial.network.last_activity
            time.sleep(0.05)
            sock.sendall(b"x")
            assert sock.recv(1) == b"x"
            wait_until(lambda: trial.network.last_activity > before + 0.04)


def test_a_client_that_says_nothing_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEAD_SECONDS", 0.2)
    with Trial(tmp_path, "127.0.0.1:80") as trial, trial.connect() as sock:
        assert sock.recv(1) == b""
