"""What goes to the model's server, over TLS and through proxies, and how its errors read."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from pathlib import Path
from typing import Self

import aiohttp
import pytest
import trustme
from upstream_support import (
    SECRET,
    Proxy,
    Server,
    TlsFront,
    answer_events,
    closed_port,
    exchange,
    forward,
    key,
    refuses,
    says,
    sends_raw,
    sse_bytes,
    streams,
)

from skillwalker.errors import ConfigurationError
from skillwalker.gateway import upstream as upstream_module
from skillwalker.gateway.messages import LostError
from skillwalker.gateway.network import proxy_of
from skillwalker.gateway.upstream import Upstream, request_headers

EVENTS = answer_events()
ANSWER = streams(sse_bytes(EVENTS))

CLAUDE_CODE = {
    "host": "127.0.0.1:29871",
    "accept": "application/json",
    "accept-encoding": "gzip, deflate, br, zstd",
    "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14",
    "anthropic-dangerous-direct-browser-access": "true",
    "anthropic-version": "2023-06-01",
    "connection": "keep-alive",
    "content-length": "17",
    "content-type": "application/json",
    "user-agent": "claude-cli/2.1.332 (external, sdk-cli)",
    "x-api-key": "no-key-in-the-sandbox",
    "x-app": "cli",
    "x-claude-code-agent-id": "a0123456789abcdef",
    "x-claude-code-session-id": "e2a8b5f0-0000-4000-8000-000000000000",
    "x-stainless-lang": "js",
    "x-stainless-retry-count": "0",
    "authorization": "Bearer of-the-trial",
    "cookie": "a=b",
    "proxy-authorization": "Basic abc",
    "transfer-encoding": "chunked",
    "x-forwarded-for": "10.0.0.1",
}

PASSED = {
    "accept": "application/json",
    "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14",
    "anthropic-dangerous-direct-browser-access": "true",
    "anthropic-version": "2023-06-01",
    "user-agent": "claude-cli/2.1.332 (external, sdk-cli)",
    "x-app": "cli",
    "x-stainless-lang": "js",
    "x-stainless-retry-count": "0",
    "content-type": "application/json",
    "accept-encoding": "identity",
}


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def tls(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "upstream.test").configure_cert(context)
    return context


@pytest.fixture
def ca_file(authority: trustme.CA, tmp_path: Path) -> Path:
    file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(file))
    return file


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(
    ("kind", "added"),
    [
        ("api-key", {"x-api-key": SECRET}),
        ("auth-token", {"authorization": f"Bearer {SECRET}"}),
        (
            "subscription",
            {
                "authorization": f"Bearer {SECRET}",
                "anthropic-beta": PASSED["anthropic-beta"] + ",oauth-2025-04-20",
            },
        ),
    ],
)
def test_of_the_headers_goes_on_what_the_server_needs_and_the_credential(kind, added):
    with Server(ANSWER) as server:
        (replied,) = forward(key(server.url, kind), exchange(headers=CLAUDE_CODE))
        (asked,) = server.asked
    assert replied.events == EVENTS
    sent = dict(asked.headers)
    assert sent.pop("host") == f"127.0.0.1:{server.port}"
    assert sent.pop("content-length") == str(len(asked.body))
    assert sent == PASSED | added


def test_a_beta_that_is_there_is_not_doubled_and_a_version_is_never_missing():
    headers = request_headers({"anthropic-beta": "a, oauth-2025-04-20"}, key("https://h", "subscription"))
    assert headers["anthropic-beta"] == "a,oauth-2025-04-20"
    assert headers["anthropic-version"] == "2023-06-01"
    assert request_headers({}, key("https://h", "subscription"))["anthropic-beta"] == "oauth-2025-04-20"


@pytest.mark.parametrize(
    ("prefix", "query", "path"),
    [
        ("", "beta=true", "/v1/messages?beta=true"),
        ("", "", "/v1/messages"),
        ("", "key=x&beta=true", "/v1/messages?beta=true"),
        ("", "key=x", "/v1/messages"),
        ("/team/a%20b", "beta=true", "/team/a%20b/v1/messages?beta=true"),
    ],
)
def test_the_path_of_the_base_url_and_the_query_are_kept(prefix, query, path):
    with Server(ANSWER) as server:
        (replied,) = forward(key(server.url + prefix), exchange(query=query))
        assert replied.error is None
        assert (server.asked[0].method, server.asked[0].path) == ("POST", path)


def test_the_request_arrives_as_it_was_meant():
    request = {
        "model": "sonnet",
        "stream": True,
        "temperature": 1e-9,
        "max_tokens": 2**53 + 1,
        "messages": [{"role": "user", "content": "Grüß 東京 😀 \ud800 \u2028 \x00"}],
        "metadata": {"user_id": None},
        "unknown": {"kept": [True, [], {}]},
    }
    with Server(ANSWER) as server:
        forward(key(server.url), exchange(request))
        assert server.asked[0].json == request


def test_no_cookie_of_the_server_comes_back_to_it():
    def answer(handler):
        data = sse_bytes(EVENTS)
        handler.head(
            200, content_type="text/event-stream", content_length=str(len(data)), set_cookie="cf=1; Path=/"
        )
        handler.wfile.write(data)

    with Server(answer) as server:
        forward(key(server.url), exchange(), exchange())
        assert ["cookie" in asked.headers for asked in server.asked] == [False, False]


def test_one_connection_serves_many_requests(tls, ca_file, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(ca_file))
    with Server(ANSWER, tls=tls) as server:
        replies = forward(key(server.url), *(exchange() for _ in range(5)))
        assert [replied.error for replied in replies] == [None] * 5
        assert (len(server.asked), server.connections) == (5, 1)


class Closing:
    """Answers the first request of each connection and closes it when the second one comes."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.connections = 0

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(30)

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        data = sse_bytes(EVENTS)
        head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(data)}\r\n\r\n"
        with client, client.makefile("rb") as file, contextlib.suppress(OSError):
            size = 0
            while (line := file.readline().lower()) not in (b"\r\n", b""):
                if line.startswith(b"content-length:"):
                    size = int(line.partition(b":")[2])
            file.read(size)
            client.sendall(head.encode() + data)
            file.read(1)


def test_a_connection_that_the_server_closed_meanwhile_is_no_error():
    with Closing() as server:
        replies = forward(key(server.url), *(exchange() for _ in range(4)))
        assert [replied.error for replied in replies] == [None] * 4
        assert server.connections == 4


def test_a_connection_that_the_server_closes_over_a_request_is_one(monkeypatch):
    monkeypatch.setattr(upstream_module, "STALE_SECONDS", 0.0)
    with Closing() as server:
        first, second = forward(key(server.url), exchange(), exchange())
        assert first.error is None
        assert isinstance(second.error, LostError)
        assert server.connections == 1


@pytest.mark.parametrize("data", [b"", b"HTTP/1.1 200"])
def test_a_new_connection_that_ends_without_an_answer_is_one_and_not_tried_again(data):
    with Server(sends_raw(data)) as server:
        (replied,) = forward(key(server.url), exchange())
        assert replied.refused.status == 502
        assert server.connections == 1


def test_an_own_certificate_authority_beside_the_usual_ones(tls, ca_file):
    with Server(ANSWER, tls=tls) as server:
        (replied,) = forward(key(server.url), exchange(), extra_ca_file=str(ca_file))
        assert replied.events == EVENTS


def test_a_certificate_that_is_not_trusted_is_told_and_not_tried_again(tls):
    with Server(ANSWER, tls=tls) as server:
        (replied,) = forward(key(server.url), exchange())
        assert server.asked == []
    error = replied.refused
    assert (error.status, error.headers["x-should-retry"]) == (502, "false")
    assert f"127.0.0.1:{server.port}" in error.message
    assert "certificate is not trusted" in error.message
    assert "NODE_EXTRA_CA_CERTS" in error.message


def test_a_certificate_for_another_host_is_told(tls, ca_file):
    with Server(ANSWER, tls=tls) as server:
        url = f"https://localhost:{server.port}"
        (replied,) = forward(key(url), exchange(), extra_ca_file=str(ca_file))
        assert server.asked == []
    assert "certificate is not trusted" in replied.refused.message


@pytest.mark.parametrize("name", ["missing.pem", "empty.pem"])
def test_files_of_certificates_that_cannot_be_used_are_told(name, tmp_path, monkeypatch):
    file = tmp_path / name
    if name == "empty.pem":
        file.write_text("no certificate")
    with pytest.raises(ConfigurationError, match=name):
        Upstream(key("https://h"), extra_ca_file=str(file))
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with pytest.raises(ConfigurationError, match="SSL_CERT_FILE"):
        Upstream(key("https://h"))


@pytest.mark.parametrize(
    "proxy",
    [
        "nonsense://ada:pass-word@h",
        "http://ada:pass-word@h:port",
        "http://ada:pass-word@",
        "http://a%3Ada:pass-word@h",
        "http://ada:pass-word%E2%82%AC@h",
    ],
)
def test_a_proxy_that_cannot_be_used_is_told_without_its_password(proxy, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(ConfigurationError, match="HTTPS_PROXY") as caught:
        Upstream(key("https://h"))
    assert "pass-word" not in str(caught.value)


def test_through_a_proxy_with_tls_to_a_name_that_only_the_proxy_knows(tls, ca_file, monkeypatch):
    with Server(ANSWER, tls=tls) as server, Proxy(server.port) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//ada:pass-word@"))
        monkeypatch.setenv("SSL_CERT_FILE", str(ca_file))
        first, second = forward(key("https://upstream.test/prefix"), exchange(), exchange())
        assert first.events == second.events == EVENTS
        assert server.asked[0].path == "/prefix/v1/messages?beta=true"
        (connected,) = proxy.asked
        assert connected.startswith("CONNECT upstream.test:443 HTTP/1.1\r\n")
        assert "Proxy-Authorization: Basic" in connected
        assert SECRET not in connected
        assert not any(name.startswith("proxy") for asked in server.asked for name in asked.headers)


def test_through_a_proxy_that_is_itself_reached_over_tls(tls, ca_file, monkeypatch):
    with (
        Server(ANSWER, tls=tls) as server,
        Proxy(server.port) as proxy,
        TlsFront(proxy.port, tls) as front,
    ):
        monkeypatch.setenv("ALL_PROXY", front.url)
        monkeypatch.setenv("SSL_CERT_FILE", str(ca_file))
        first, second = forward(key("https://upstream.test"), exchange(), exchange())
        assert first.events == second.events == EVENTS
        assert len(proxy.asked) == 1


@pytest.mark.parametrize("named", ["127.0.0.1", "h.test, 127.0.0.1:{}"])
def test_no_proxy_goes_around_the_proxy(named, tls, ca_file, monkeypatch):
    with Server(ANSWER, tls=tls) as server, Proxy(server.port) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", named.format(server.port))
        monkeypatch.setenv("SSL_CERT_FILE", str(ca_file))
        assert forward(key(server.url), exchange())[0].events == EVENTS
        assert proxy.asked == []


@pytest.mark.parametrize(
    ("url", "named", "around"),
    [
        ("https://h.test", "h.test:443", True),
        ("https://h.test", "h.test:80", False),
        ("https://h.test:8443", "h.test:443", False),
        ("https://[::1]:8443", "::1", True),
        ("https://[::1]:8443", "[::1]:8443", True),
    ],
)
def test_no_proxy_may_name_a_port(url, named, around, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.test:3128")
    monkeypatch.setenv("NO_PROXY", named)
    assert (proxy_of(url) is None) is around


def test_what_a_proxy_says_is_told_with_its_name(monkeypatch):
    with Proxy(1, status=b"407 Proxy Authentication Required") as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//ada:pass-word@"))
        (replied,) = forward(key("https://upstream.test"), exchange())
    message = replied.refused.message
    assert "upstream.test through the proxy 127.0.0.1:" in message
    assert "the proxy says: 407 Proxy Authentication Required" in message
    assert "pass-word" not in message


def test_a_server_that_is_not_there():
    with closed_port() as port:
        (replied,) = forward(key(f"http://127.0.0.1:{port}"), exchange())
    assert replied.refused.status == 502
    assert (
        replied.refused.message
        == f"no answer of 127.0.0.1:{port}: nothing listens there (connection refused)"
    )


def test_a_host_that_has_no_address(monkeypatch):
    async def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(aiohttp.ThreadedResolver, "resolve", unknown)
    (replied,) = forward(key("https://no.such.host.test"), exchange())
    assert replied.refused.message == "no answer of no.such.host.test: there is no such host name"


def test_a_server_that_does_not_answer_in_time():
    done = threading.Event()
    with Server(lambda _: done.wait(120)) as server:
        (replied,) = forward(key(server.url), exchange(), answer_seconds=0.1)
        done.set()
    assert (replied.refused.status, replied.refused.type) == (504, "timeout_error")
    assert "nothing came in time" in replied.refused.message


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "closed the connection without an answer"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "no HTTP"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99\r\n\r\n", "broke off"),
    ],
)
def test_a_server_that_speaks_no_http(data, said):
    with Server(sends_raw(data)) as server:
        (replied,) = forward(key(server.url), exchange())
    assert replied.refused.status == 502
    assert said in replied.refused.message


def test_tls_to_a_server_without_it():
    with Server(ANSWER) as server:
        (replied,) = forward(key(server.url.replace("http:", "https:")), exchange())
    assert "no TLS connection" in replied.refused.message


@pytest.mark.parametrize(
    ("status", "type"),
    [
        (400, "invalid_request_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (500, "api_error"),
    ],
)
def test_an_error_of_the_api_stays_what_it_is(status, type):
    given = refuses(status, type, "what is wrong", request_id="req_7", x_secret="no", set_cookie="a=b")
    with Server(given) as server:
        (replied,) = forward(key(server.url), exchange())
    error = replied.refused
    assert (error.status, error.type, error.message) == (status, type, "what is wrong")
    pointless = {"x-should-retry": "false"} if status in (403, 404) else {}
    assert error.headers == {"request-id": "req_7", **pointless}


def test_the_useful_headers_of_an_error_come_with_it():
    useful = {
        "retry-after": "3600",
        "x-should-retry": "true",
        "anthropic-ratelimit-tokens-remaining": "0",
        "anthropic-ratelimit-tokens-reset": "2026-11-30T10:00:00Z",
        "request-id": "req_8",
    }
    given = refuses(500, "api_error", "no", **{name.replace("-", "_"): text for name, text in useful.items()})
    with Server(given) as server:
        assert forward(key(server.url), exchange())[0].refused.headers == useful


def test_a_key_that_is_refused_is_named_by_where_it_was_found():
    with Server(refuses(401, "authentication_error", "invalid x-api-key", x_should_retry="true")) as server:
        error = forward(key(server.url), exchange())[0].refused
    assert error.message == f"invalid x-api-key (127.0.0.1:{server.port} refuses ANTHROPIC_API_KEY)"
    assert error.headers == {"x-should-retry": "false"}


@pytest.mark.parametrize("kind", ["api-key", "auth-token"])
def test_an_error_that_repeats_the_credential_is_redacted(kind):
    text = f"you sent {SECRET} and Bearer {SECRET}"
    given = refuses(400, "invalid_request_error", text, request_id=SECRET)
    with Server(given, says(502, f"<html>{SECRET}</html>".encode(), "text/html")) as server:
        for replied in forward(key(server.url, kind), exchange(), exchange()):
            said = f"{replied.refused.message} {replied.refused.headers} {replied.refused!r}"
            assert SECRET not in said
            assert "*" * len(SECRET) in said


@pytest.mark.parametrize(
    ("answer", "status", "type", "said"),
    [
        (says(500, {"error": "boom"}), 500, "api_error", "boom"),
        (says(500, {"error": {"message": "boom", "code": 3}}), 500, "api_error", "boom"),
        (says(422, {"detail": "boom"}), 422, "api_error", "boom"),
        (says(429, {"message": "boom"}, x_should_retry="false"), 429, "rate_limit_error", "boom"),
        (says(503, b""), 503, "api_error", "answered with 503"),
        (says(502, b"\xff\xfe"), 502, "api_error", "answered with 502"),
        (says(500, [1]), 500, "api_error", "answered with 500: [1]"),
        (
            says(502, b"<html><style>a {}</style><h1>502 Bad Gateway</h1>\x1b[31m</html>", "text/html"),
            502,
            "api_error",
            r"answered with 502: 502 Bad Gateway \x1b[31m",
        ),
        (
            says(301, b"", location="https://elsewhere.test/"),
            502,
            "api_error",
            "301 to https://elsewhere.test/",
        ),
        (says(204, b""), 502, "api_error", "answered with 204"),
        (
            says(404, b"<h1>Not Found</h1>", "text/html"),
            404,
            "not_found_error",
            "Found; is ANTHROPIC_BASE_URL (",
        ),
        (says(405, b""), 405, "api_error", "answered with 405; is ANTHROPIC_BASE_URL ("),
        (says(500, b"x" * 3_000_000), 500, "api_error", "answered with 500: xxx"),
    ],
)
def test_errors_of_other_servers(answer, status, type, said):
    with Server(answer) as server:
        (replied,) = forward(key(server.url), exchange())
        assert len(server.asked) == 1
    error = replied.refused
    assert (error.status, error.type) == (status, type)
    assert said in error.message
    assert len(error.message) < 2500


LONG = "a" * 180


@pytest.mark.parametrize(
    "answer",
    [
        says(502, f"<p>{LONG} {SECRET}</p>".encode(), "text/html"),
        says(200, f"<p>{LONG} {SECRET}</p>".encode(), "text/html"),
        says(302, b"", location=f"https://h.test/{LONG}{SECRET}"),
        says(500, {"error": {"message": "b" * 1990 + SECRET}}),
        refuses(400, f"of_{SECRET}", "wrong"),
    ],
)
def test_where_an_answer_is_cut_not_even_a_part_of_the_credential_is_left(answer):
    with Server(answer) as server:
        error = forward(key(server.url), exchange())[0].refused
    assert SECRET[:8] not in f"{error.type} {error.message}"
    assert "**" in f"{error.type} {error.message}"
