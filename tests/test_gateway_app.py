"""What the gateway does with requests of all kinds, over real sockets."""

import json
import socket
from contextlib import suppress

import pytest
from gateway_support import connected, events_of, main_request, opened, post, script
from waiting import PATIENCE, wait_until

from skillwalker.gateway import app
from skillwalker.gateway.server import Caller, Gateway


@pytest.mark.parametrize("path", ["/", "/api/hello"])
@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_who_looks_whether_anybody_is_there_finds_somebody(method, path):
    with opened() as link, connected(link) as connection:
        connection.request(method, path)
        response = connection.getresponse()
        assert (response.status, response.read()) == (200, b"")
        assert link.traffic().requests == 0


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/messages/count_tokens?beta=true"),
        ("POST", "/v1/messages/"),
        ("POST", "/v1/complete"),
        ("GET", "/v1/messages"),
        ("DELETE", "/v1/messages"),
        ("POST", "/"),
        ("GET", "/v1/models"),
        ("GET", "/etc/passwd"),
        ("GET", "http://example.org/"),
    ],
)
def test_everything_else_is_not_there(method, path):
    with opened() as link, connected(link) as connection:
        connection.request(method, path)
        response = connection.getresponse()
        assert (response.status, response.headers["x-should-retry"]) == (404, "false")
        assert json.loads(response.read())["error"]["type"] == "not_found_error"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no JSON",
        b"[]",
        b"{}",
        b'{"messages": []}',
        b'{"messages": [], "model": 5}',
        b'{"messages": {}, "model": "m"}',
        b'{"messages": [], "model": "\xff"}',
        b'{"messages": [], "model": "%s"}' % (b"m" * 257),
        b"[" * 200_000,
    ],
)
def test_a_body_that_is_no_request_is_refused(body):
    with opened() as link:
        status, _, answer = post(link, body)
        assert (status, answer["error"]["type"]) == (400, "invalid_request_error")
        assert link.traffic().requests == 0


def test_a_body_may_be_large_and_come_in_chunks():
    prompt = "x" * 8_000_000
    with opened() as link, connected(link) as connection:
        data = json.dumps(main_request(prompt)).encode()
        chunks = [data[start : start + 500_000] for start in range(0, len(data), 500_000)]
        connection.request("POST", "/v1/messages", iter(chunks), encode_chunked=True)
        assert connection.getresponse().status == 200


def test_a_body_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(app, "MAX_BODY_BYTES", 1 << 20)
    with opened() as link, connected(link) as connection:
        connection.putrequest("POST", "/v1/messages")
        connection.putheader("content-length", str(1 << 40))
        connection.endheaders()
        connection.send(b" " * ((1 << 20) + 1))
        response = connection.getresponse()
        assert (response.status, response.headers["connection"]) == (413, "close")


def test_the_requests_of_a_caller_hold_only_so_much_together(monkeypatch, tmp_path):
    monkeypatch.setattr(app, "MAX_HELD_BYTES", 1 << 20)
    body = json.dumps(main_request("x" * 600_000))
    with opened(script([{"fault": "hang", "times": 1}, {"content": "x"}], tmp_path)) as link:
        with connected(link) as first:
            first.request("POST", "/v1/messages", body)
            wait_until(lambda: link.traffic().open_requests)
            assert post(link, body.encode())[0] == 413
        wait_until(lambda: post(link, body.encode())[0] == 200)


def test_events_are_sent_as_they_become_known(tmp_path):
    slow = {"content": "cut", "fault": "hang", "after_events": 3}
    with opened(script([slow], tmp_path)) as link, connected(link) as connection:
        connection.request("POST", "/v1/messages", json.dumps(main_request("Go", stream=True)))
        response = connection.getresponse()
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        data = b""
        while data.count(b"\n\n") < 3:
            data += response.read1(65536)
        assert [event["type"] for event in events_of(data)][-1] == "content_block_delta"
        assert link.traffic().open_requests == 1


def test_one_connection_serves_many_requests():
    with opened() as link, connected(link) as connection:
        for stream in (True, False, True):
            body = json.dumps(main_request("Go", stream=stream))
            connection.request("POST", "/v1/messages?beta=true", body)
            assert connection.getresponse().read().strip().endswith(b"}")
        assert link.traffic().answers == 3


def test_a_slow_reader_stops_only_itself(tmp_path):
    huge = script([{"content": "x" * 4_000_000}], tmp_path)
    with opened(huge) as link, connected(link) as slow:
        slow.request("POST", "/v1/messages", json.dumps(main_request("Go", stream=True)))
        wait_until(lambda: link.traffic().open_requests)
        assert post(link, main_request("Go"))[0] == 200
        assert link.traffic().open_requests == 1
        assert len(slow.getresponse().read()) > 4_000_000


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: -5\r\n\r\n",
        b"GET /" + b"a" * 1_000_000,
        b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_no_http_is_refused_in_silence(data, caplog):
    with opened() as link:
        answer = b""
        # The gateway may be gone before it has read everything.
        with link.connect() as sock, suppress(BrokenPipeError, ConnectionResetError):
            sock.settimeout(PATIENCE)
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            while chunk := sock.recv(65536):
                answer += chunk
        assert not answer or answer.startswith(b"HTTP/1.1 4")
        assert post(link, main_request("Go"))[0] == 200
    assert caplog.text == ""


def test_a_client_that_leaves_in_the_middle_of_its_request_is_forgotten(caplog):
    with opened() as link:
        sock = link.connect()
        sock.sendall(b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\n{")
        sock.close()
        assert post(link, main_request("Go"))[0] == 200
    assert caplog.text == ""


def test_a_fault_of_our_own_is_an_error_answer_and_shown(caplog):
    class Broken:
        async def reply(self, exchange):
            raise KeyError("a fault of ours")
            yield {}

    with (
        Gateway(Broken()) as gateway,
        gateway.open(Caller("t", "trial")) as link,
        connected(link) as connection,
    ):
        connection.request("POST", "/v1/messages", json.dumps(main_request("Go")))
        assert connection.getresponse().status == 500
        assert link.traffic().errors == ((500, "gateway_error", "KeyError: 'a fault of ours'"),)
    assert "a fault of ours" in caplog.text


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_without_events_is_an_error(stream):
    class Silent:
        async def reply(self, exchange):
            for event in ():
                yield event

    with Gateway(Silent()) as gateway, gateway.open(Caller("t", "trial")) as link:
        assert post(link, main_request("Go", stream=stream))[0] == 500
        assert link.traffic().answers == 0


def test_an_answer_that_comes_whole_goes_out_as_it_came():
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
    whole = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "new_kind", "payload": [1]}, call],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }

    class Whole:
        async def reply(self, exchange):
            yield whole

    with Gateway(Whole()) as gateway, gateway.open(Caller("t", "trial")) as link:
        status, _, body = post(link, main_request("Go"))
        assert (status, body) == (200, whole)
        assert (link.traffic().message_ids, link.traffic().tool_use_ids) == ({"msg_1"}, {"toolu_1"})
        assert link.traffic().answers == 1
