"""The forward responder: streams, whole answers, breaks, and a server that asks to slow down."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import random
import threading
from contextlib import contextmanager

import pytest
from gateway_support import connected, events_of, main_request, post
from upstream_support import (
    USAGE,
    Server,
    answer_events,
    exchange,
    forward,
    key,
    refuses,
    says,
    sends_raw,
    sse_bytes,
    streams,
)
from waiting import PATIENCE, wait_until

from skillwalker.gateway import app as app_module
from skillwalker.gateway import forward as forward_module
from skillwalker.gateway.forward import ForwardResponder
from skillwalker.gateway.messages import Aggregate
from skillwalker.gateway.pacing import MAX_ATTEMPTS, Pacer
from skillwalker.gateway.responders import ConnectionDroppedError
from skillwalker.gateway.server import Caller, Gateway
from skillwalker.gateway.upstream import Upstream

EVENTS = answer_events()
DATA = sse_bytes(EVENTS)
MESSAGE = {
    "id": "msg_whole",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5-5-20260901",
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "Grüße 😀"},
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}},
        {"type": "redacted_thinking", "data": "abc"},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": USAGE,
}
WHOLE = {"model": "sonnet", "max_tokens": 9, "messages": []}


class Time:
    """Passes by being waited for."""

    def __init__(self) -> None:
        self.now, self.slept = 1000.0, list[float]()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def pacer(self, **options) -> Pacer:
        now = {"clock": lambda: self.now, "wall_clock": lambda: self.now}
        return Pacer(sleep=self.sleep, chance=lambda: 0.0, **now, **options)


def replied_to(answer, each=None, **options):
    with Server(answer) as server:
        (replied,) = forward(key(server.url), each or exchange(), **options)
    return replied


def until_it_leaves(handler) -> None:
    """Returns when the client has left, however its connection ends."""
    handler.connection.settimeout(PATIENCE)
    with contextlib.suppress(ConnectionError):
        assert handler.connection.recv(1) == b""


def cut_anywhere(data: bytes, seed: int) -> list[bytes]:
    places = sorted(random.Random(seed).sample(range(1, len(data)), 12))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


@pytest.mark.parametrize(
    "pieces",
    [
        [DATA],
        [DATA[at : at + 1] for at in range(len(DATA))],
        [DATA.replace(b"\n", b"\r\n")],
        [DATA.replace(b"\n", b"\r\n")[at : at + 1] for at in range(len(DATA.replace(b"\n", b"\r\n")))],
        [b": keep-alive\n\n" + DATA.replace(b"\n\n", b"\n\n: another\n\n")],
        [DATA.replace(b"data: ", b"data:")],
        [DATA.replace(b"data: {", b"data: {\ndata: ")],
        [DATA.replace(b"data: ", b"id: 7\nretry: 10\nunknown: field\nnothing\ndata: ")],
        [DATA, b"event: done\ndata: [DONE]\n\n"],
        *(cut_anywhere(DATA, seed) for seed in range(5)),
    ],
    ids=[
        *(
            "at once",
            "single bytes",
            "CRLF",
            "single bytes with CRLF",
            "comments",
            "no blanks",
            "many data lines",
        ),
        *("other fields", "done", *(f"cut {number}" for number in range(5))),
    ],
)
def test_a_stream_arrives_event_by_event_however_it_is_cut(pieces):
    replied = replied_to(streams(*pieces))
    assert (replied.events, replied.error) == (EVENTS, None)


def test_letters_beyond_ascii_may_be_cut_in_two():
    text = (
        "data: " + json.dumps({"type": "content_block_delta", "text": "é東😀"}, ensure_ascii=False) + "\n\n"
    )
    data = text.encode() + b'data: {"type": "message_stop"}\n\n'
    replied = replied_to(streams(*(data[at : at + 1] for at in range(len(data)))))
    assert replied.events[0]["text"] == "é東😀"


def test_events_of_every_kind_go_on():
    odd = [
        {"type": "ping"},
        {"type": "of_tomorrow", "deep": [{"a": None}]},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "citations_delta", "citation": {"x": 1}},
        },
    ]
    known = [EVENTS[0], *odd, *EVENTS[1:]]
    named = b'event: nameless\ndata: {"deep": 1}\n\n'
    replied = replied_to(streams(sse_bytes(known[:4]) + named + sse_bytes(known[4:])))
    assert replied.events == [*known[:4], {"type": "nameless", "deep": 1}, *known[4:]]


def test_what_is_no_event_is_left_out():
    noise = b'data: nonsense\n\ndata: [1]\n\ndata: {"deep": 1}\n\ndata: {"type": 7}\n\nevent: x\n\n'
    noise += b'data: {"type": "a\\nb"}\n\n'
    replied = replied_to(streams(noise + DATA))
    assert (replied.events, replied.error) == (EVENTS, None)


@pytest.mark.parametrize("begin", [b"{{", b'"}'])
def test_a_damaged_event_is_no_part_of_an_answer_that_looks_whole(begin):
    at = 3
    damaged = sse_bytes(EVENTS[at : at + 1]).replace(b"data: {", b"data: " + begin)
    replied = replied_to(streams(sse_bytes(EVENTS[:at]) + damaged + sse_bytes(EVENTS[at + 1 :])))
    assert replied.events == EVENTS[:at]
    assert replied.refused.status == 502
    assert "sent an event that is no JSON" in replied.refused.message


def test_a_message_whose_usage_is_null_is_one():
    answer = {**MESSAGE, "usage": None}
    assert replied_to(says(200, answer), exchange(WHOLE)).events == [answer]


def test_a_message_without_a_stream_is_one_event():
    answer = says(200, MESSAGE)
    with Server(answer) as server:
        (replied,) = forward(key(server.url), exchange(WHOLE))
        assert server.asked[0].json == WHOLE
    assert replied.events == [MESSAGE]


def test_a_stream_where_none_was_asked_for_goes_on_as_events():
    assert replied_to(streams(DATA), exchange(WHOLE)).events == EVENTS


def test_a_whole_message_where_a_stream_was_asked_for_becomes_events():
    for answer in (says(200, MESSAGE), streams(b"data: " + json.dumps(MESSAGE).encode() + b"\n\n")):
        replied = replied_to(answer)
        assert replied.error is None
        assert replied.events[0]["type"] == "message_start"
        whole = Aggregate()
        for event in replied.events:
            whole.add(event)
        assert whole.complete
        assert whole.message == MESSAGE


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (says(200, b""), "with 200 and nothing"),
        (streams(), "no event"),
        (streams(b": nothing but comments\n\n"), "no event"),
        (streams(b"<html>"), "no event"),
        (streams(DATA[:20]), "no event"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_a_200_that_is_no_answer(answer, said, stream):
    replied = replied_to(answer, exchange({**WHOLE, "stream": stream}))
    assert replied.events == []
    assert (replied.refused.status, replied.refused.type) == (502, "api_error")
    assert said in replied.refused.message


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            says(
                200, b"<html><title>Log in</title><p>Caf\xc3\xa9 Wi-Fi</p></html>", "text/html; charset=utf-8"
            ),
            "200 and no message of the Messages API, but 52 bytes of text/html: Log in Caf\u00e9 Wi-Fi",
        ),
        (says(200, {"data": []}), 'but 12 bytes of application/json: {"data": []}'),
        (says(200, [MESSAGE]), "of application/json"),
        (says(200, {**MESSAGE, "content": ["text"]}), "of application/json"),
        (says(200, {**MESSAGE, "usage": 7}), "of application/json"),
        (says(200, b"\x1b[31m\0", ""), "but 6 bytes of no type: "),
        (says(302, b"", location="http://login.test/"), "answered with 302 to http://login.test/"),
        (says(204, b""), "answered with 204"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_what_answers_and_is_no_model_is_not_asked_again(answer, said, stream):
    with Server(answer) as server:
        (replied,) = forward(key(server.url), exchange({**WHOLE, "stream": stream}))
        assert len(server.asked) == 1
    error = replied.refused
    assert (error.status, error.type, error.headers) == (502, "api_error", {"x-should-retry": "false"})
    assert said in error.message
    assert f"is ANTHROPIC_BASE_URL ({server.url}) right" in error.message
    assert error.message.isprintable()


def test_what_is_larger_than_any_answer_is_not_held(monkeypatch):
    monkeypatch.setattr(forward_module, "MAX_EVENT_BYTES", 100_000)
    monkeypatch.setattr(forward_module, "MAX_MESSAGE_BYTES", 100_000)
    start = sse_bytes(EVENTS[:1])
    replied = replied_to(streams(start, b"data: ", *([b"x" * 50_000] * 3)))
    assert replied.events == EVENTS[:1]
    assert "an event of more than 100000 bytes" in replied.refused.message
    replied = replied_to(says(200, {**MESSAGE, "id": "x" * 200_000}), exchange(WHOLE))
    assert "larger than" in replied.refused.message


@pytest.mark.parametrize("end", [True, False], ids=["the body ends", "the connection breaks"])
def test_an_answer_without_an_end_breaks_off(end):
    replied = replied_to(streams(sse_bytes(EVENTS[:4]), DATA[:5], end=end))
    assert replied.events == EVENTS[:4]
    assert isinstance(replied.error, ConnectionDroppedError)


def test_silence_in_mid_stream_breaks_off():
    done = threading.Event()

    def answer(handler):
        handler.head(200, content_type="text/event-stream", transfer_encoding="chunked")
        handler.chunk(sse_bytes(EVENTS[:2]))
        done.wait(PATIENCE)

    replied = replied_to(answer, answer_seconds=2.0)  # time enough for what does come
    done.set()
    assert replied.events == EVENTS[:2]
    assert isinstance(replied.error, ConnectionDroppedError)


def test_a_server_that_keeps_the_body_open_after_the_last_event_holds_up_nobody(monkeypatch):
    monkeypatch.setattr(forward_module, "_END_SECONDS", 0.05)
    done = threading.Event()

    def answer(handler):
        handler.head(200, content_type="text/event-stream", transfer_encoding="chunked")
        handler.chunk(DATA)
        done.wait(PATIENCE)

    replied = replied_to(answer)
    done.set()
    assert (replied.events, replied.error) == (EVENTS, None)


def test_an_error_in_mid_stream_goes_out_as_one():
    error = {"type": "error", "error": {"type": "api_error", "message": "Internal"}, "request_id": "req_1"}
    replied = replied_to(streams(sse_bytes([*EVENTS[:3], error, EVENTS[3]])))
    assert replied.events == EVENTS[:3]
    assert replied.refused.body == {"type": "error", "error": error["error"]}


@pytest.mark.parametrize(
    "answer", [says(200, {"type": "error", "error": {"type": "not_found_error", "message": "x"}})]
)
def test_an_error_with_status_200_is_one(answer):
    assert (replied_to(answer).refused.status, replied_to(answer, exchange(WHOLE)).refused.type) == (
        404,
        "not_found_error",
    )


def test_a_subscription_is_for_claude_codes_own_requests():
    with Server(streams(DATA)) as server:
        trial, judge = forward(key(server.url, "subscription"), exchange(), exchange(by_claude_code=False))
        assert len(server.asked) == 1
        assert forward(key(server.url), exchange(by_claude_code=False))[0].events == EVENTS
    assert trial.events == EVENTS
    assert (judge.refused.status, judge.refused.type) == (403, "permission_error")
    assert judge.refused.headers == {"x-should-retry": "false"}
    assert "ANTHROPIC_API_KEY" in judge.refused.message


def test_a_refused_request_is_asked_again_while_its_trial_is_held():
    time, said, held = Time(), list[str](), list[float]()

    @contextmanager
    def holding():
        before = time.now
        yield
        held.append(time.now - before)

    answers = [
        refuses(429, "rate_limit_error", "slow down", retry_after="7"),
        refuses(529, "overloaded_error", "busy"),
    ]
    with Server(*answers, streams(DATA)) as server:
        (replied,) = forward(
            key(server.url), exchange(holding=holding), pacer=time.pacer(on_pause=said.append)
        )
        assert len(server.asked) == 3
    assert (replied.events, replied.error) == (EVENTS, None)
    assert said == [
        "the API asks to slow down: all trials wait 7 s",
        "the API is overloaded: all trials wait 2 s",
    ]
    assert held == pytest.approx([7.0, 2.0])


def test_one_refusal_holds_all_of_a_run():
    time = Time()
    with Server(refuses(429, "rate_limit_error", "slow down", retry_after="7"), streams(DATA)) as server:
        forward(key(server.url), exchange(), exchange(), pacer=time.pacer())
    assert sum(time.slept) == pytest.approx(7.0 + 0.125)


def test_what_stays_refused_is_told_for_good():
    time = Time()
    with Server(refuses(429, "rate_limit_error", "slow down", retry_after="1", request_id="req_9")) as server:
        (replied,) = forward(key(server.url), exchange(), pacer=time.pacer())
        assert len(server.asked) == MAX_ATTEMPTS
    assert (replied.refused.status, replied.refused.message) == (429, "slow down")
    assert replied.refused.headers == {"retry-after": "1", "request-id": "req_9", "x-should-retry": "false"}


@pytest.mark.parametrize(
    "headers",
    [{"retry_after": "3600"}, {"anthropic_ratelimit_unified_status": "rejected", "retry_after": "5"}],
)
def test_a_used_up_limit_is_told_at_once(headers):
    time = Time()
    with Server(refuses(429, "rate_limit_error", "used up", **headers)) as server:
        (replied,) = forward(key(server.url), exchange(), pacer=time.pacer())
        assert len(server.asked) == 1
    assert time.slept == []
    assert replied.refused.headers["x-should-retry"] == "false"


def test_an_overload_in_place_of_the_first_event_is_asked_again():
    time = Time()
    overload = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with Server(streams(sse_bytes([overload])), streams(DATA)) as server:
        (replied,) = forward(key(server.url), exchange(), pacer=time.pacer())
        assert len(server.asked) == 2
    assert replied.events == EVENTS


def test_an_overload_in_mid_stream_makes_the_others_wait():
    time = Time()
    overload = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with Server(streams(sse_bytes([*EVENTS[:2], overload])), streams(DATA)) as server:
        first, second = forward(key(server.url), exchange(), exchange(), pacer=time.pacer())
    assert (first.events, first.refused.status) == (EVENTS[:2], 529)
    assert second.events == EVENTS
    assert time.slept == [1.0]


def test_who_stops_listening_ends_the_request():
    left = threading.Event()

    def answer(handler):
        handler.head(200, content_type="text/event-stream", transfer_encoding="chunked")
        handler.chunk(sse_bytes(EVENTS[:1]))
        until_it_leaves(handler)
        left.set()

    async def listen_once(url):
        responder = ForwardResponder(Upstream(key(url)))
        events = responder.reply(exchange())
        await anext(events)
        await events.aclose()
        assert await asyncio.to_thread(left.wait, PATIENCE)
        await responder.aclose()

    with Server(answer) as server:
        asyncio.run(listen_once(server.url))


# The same through a real gateway, as a trial sees it.


@contextmanager
def link_to(server, **options):
    responder = ForwardResponder(Upstream(key(server.url)), **options)
    with (
        Gateway(responder) as gateway,
        gateway.open(Caller("garden.greets.01234567.main.1", "trial")) as link,
    ):
        yield link


def ask(connection, **more):
    connection.request("POST", "/v1/messages?beta=true", json.dumps(main_request("Go", stream=True, **more)))
    return connection.getresponse()


def test_through_the_gateway_each_event_passes_before_the_next_is_there():
    go_on = threading.Event()

    def answer(handler):
        handler.head(200, content_type="text/event-stream", transfer_encoding="chunked")
        handler.chunk(sse_bytes(EVENTS[:1]))
        assert go_on.wait(PATIENCE)
        handler.chunk(sse_bytes(EVENTS[1:]))
        handler.wfile.write(b"0\r\n\r\n")

    with Server(answer) as server, link_to(server) as link, connected(link) as connection:
        response = ask(connection)
        data = response.read1()
        assert events_of(data) == EVENTS[:1]
        go_on.set()
        data += response.read()
        assert events_of(data) == EVENTS
        assert server.asked[0].path == "/v1/messages?beta=true"
        traffic = link.traffic()
    assert (traffic.answers, traffic.message_ids) == (1, {"msg_upstream"})


def test_through_the_gateway_a_message_stays_as_it_is():
    with Server(says(200, MESSAGE)) as server, link_to(server) as link:
        status, _, body = post(link, main_request("Go"))
        assert (status, body) == (200, MESSAGE)
        assert link.traffic().answers == 1


def test_through_the_gateway_there_is_time_to_read_what_came_before_a_break(monkeypatch):
    monkeypatch.setattr(app_module, "READ_SECONDS", 10 * PATIENCE)
    with Server(streams(sse_bytes(EVENTS[:2]), end=False)) as server, link_to(server) as link:
        with connected(link) as connection:
            answer, data = ask(connection), b""
            while data.count(b"\n\n") < 2:
                data += answer.read1()
            assert events_of(data) == EVENTS[:2]
            assert link.traffic().open_requests == 1
        wait_until(lambda: link.traffic().open_requests == 0)
        assert link.traffic().last_error[1] == "connection_dropped"


def test_through_the_gateway_a_break_is_a_break():
    with Server(streams(sse_bytes(EVENTS[:2]), end=False)) as server, link_to(server) as link:
        with connected(link) as connection, pytest.raises(http.client.IncompleteRead) as caught:
            ask(connection).read()
        assert events_of(caught.value.partial) == EVENTS[:2]
        assert link.traffic().last_error[1] == "connection_dropped"


@pytest.mark.parametrize(
    ("answer", "unheard"),
    [
        (sends_raw(b""), 1),
        (sends_raw(b"HTTP/1.1 200 OK\r\ncontent-length: 90\r\n\r\n{"), 1),
        (sends_raw(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9\r\n\r\n:"), 1),
        (sends_raw(b"220 mail.test ESMTP\r\n"), 0),
        (refuses(500, "api_error", "no"), 0),
    ],
)
def test_through_the_gateway_a_request_that_got_no_answer_may_have_cost(answer, unheard):
    with Server(answer) as server, link_to(server) as link:
        assert post(link, main_request("Go"))[0] in (500, 502)
        assert link.traffic().unheard == unheard


def test_through_the_gateway_a_server_that_is_not_there_costs_nothing():
    with Server(streams(DATA)) as server, link_to(server) as link:
        server.shutdown()
        server.server_close()
        assert post(link, main_request("Go"))[0] == 502
        assert link.traffic().unheard == 0


def test_through_the_gateway_an_error_keeps_its_status_and_headers():
    given = refuses(429, "rate_limit_error", "used up", retry_after="3600", request_id="req_2")
    with Server(given) as server, link_to(server) as link:
        status, headers, body = post(link, main_request("Go"))
    assert (status, body["error"]) == (429, {"type": "rate_limit_error", "message": "used up"})
    assert (headers["retry-after"], headers["request-id"], headers["x-should-retry"]) == (
        "3600",
        "req_2",
        "false",
    )


def test_through_the_gateway_a_held_request_counts_as_held():
    answers = [refuses(429, "rate_limit_error", "slow down", retry_after_ms="1000"), streams(DATA)]
    with Server(*answers) as server, link_to(server) as link, connected(link) as connection:
        assert events_of(ask(connection).read()) == EVENTS
        assert link.traffic().held_seconds > 0


def test_through_the_gateway_who_leaves_while_it_is_held_has_cost_nothing():
    with Server(refuses(429, "rate_limit_error", "slow down", retry_after="60")) as server:
        with link_to(server) as link, connected(link) as connection:
            connection.request("POST", "/v1/messages", json.dumps(main_request("Go", stream=True)))
            wait_until(lambda: link.traffic().held_seconds)
        traffic = link.traffic()
    assert (traffic.requests, traffic.open_requests, traffic.unheard) == (1, 0, 0)


def test_through_the_gateway_a_client_that_leaves_ends_the_request():
    left = threading.Event()

    def answer(handler):
        handler.head(200, content_type="text/event-stream", transfer_encoding="chunked")
        handler.chunk(sse_bytes(EVENTS[:1]))
        until_it_leaves(handler)
        left.set()

    with Server(answer) as server, link_to(server) as link:
        with connected(link) as connection:
            ask(connection).read1()
        assert left.wait(PATIENCE)


def test_the_gateway_closes_the_connections_to_the_server():
    closed = threading.Event()

    def answer(handler):
        streams(DATA)(handler)
        until_it_leaves(handler)
        closed.set()
        handler.close_connection = True

    with Server(answer) as server:
        with link_to(server) as link, connected(link) as connection:
            assert events_of(ask(connection).read()) == EVENTS
            assert not closed.is_set()
        assert closed.wait(PATIENCE)


def test_a_request_goes_on_as_it_came_to_the_byte() -> None:
    asked = main_request("Go", stream=True, metadata={"ö": 1})
    body = json.dumps(asked, ensure_ascii=False, indent=3).encode()
    with (
        Server(streams(sse_bytes(answer_events()))) as upstream,
        Gateway(ForwardResponder(Upstream(key(upstream.url)))) as gateway,
        gateway.open(Caller("t", "trial")) as link,
        connected(link) as connection,
    ):
        connection.request("POST", "/v1/messages", body)
        assert connection.getresponse().read()
    assert upstream.asked[0].body == body
