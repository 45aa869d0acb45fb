"""Faults before and in the middle of anybody's answers, over real sockets."""

import asyncio
import http.client
import json
from contextlib import contextmanager

import pytest
from gateway_support import assistant, connected, events_of, main_request, post, request, script, user
from waiting import wait_until

from skillwalker.gateway.faults import FaultsResponder
from skillwalker.gateway.rehearsal import RehearsalResponder
from skillwalker.gateway.server import Caller, Gateway


class Noted:
    """A responder that notes which requests reach it."""

    def __init__(self):
        self.seen = []
        self.whole = 0
        self.closed = 0

    async def aclose(self):
        self.closed += 1

    async def reply(self, exchange):
        self.seen.append((exchange.thread.kind, exchange.turn, exchange.attempt))
        async for event in RehearsalResponder().reply(exchange):
            yield event
        self.whole += 1


@contextmanager
def served(given, folder, index=1):
    inner = Noted()
    caller = Caller("t", "trial", index=index, script=script(given, folder))
    with Gateway(FaultsResponder(inner)) as gateway, gateway.open(caller) as link:
        yield link, inner


def later(turn):
    return main_request("Go", *[message for _ in range(turn) for message in (assistant(), user("on"))])


def streamed(link, body):
    with connected(link) as connection:
        connection.request("POST", "/v1/messages", json.dumps({**body, "stream": True}))
        return events_of(connection.getresponse().read())


def test_a_fault_meets_its_turn_so_often_and_the_next_one_follows(tmp_path):
    faults = [
        {"turn": 2, "error": {"status": 529}, "times": 2},
        {"turn": 2, "error": {"status": 429, "retry_after": 3}},
    ]
    with served({"faults": faults}, tmp_path) as (link, inner):
        assert post(link, later(0))[0] == 200
        answers = [post(link, later(1)) for _ in range(4)]
    assert [status for status, _, _ in answers] == [529, 529, 429, 200]
    assert answers[2][1]["retry-after"] == "3"
    assert answers[0][2]["error"] == {"type": "overloaded_error", "message": "injected error 529"}
    assert inner.seen == [("main", 0, 1), ("main", 1, 1)]


def test_other_turns_and_conversations_are_left_alone(tmp_path):
    with served({"faults": [{"turn": 3, "error": {"status": 500}}]}, tmp_path) as (link, _):
        agent = request(user("Work"))
        headers = {"x-claude-code-agent-id": "a1"}
        assert post(link, later(0))[0] == 200
        assert (
            post(link, {**agent, "messages": [*agent["messages"], *later(2)["messages"]]}, headers)[0] == 200
        )


def test_a_fault_of_an_agent_meets_only_that_agent(tmp_path):
    turns = [
        {
            "content": [
                {"type": "tool_use", "name": "Agent", "input": {"subagent_type": kind, "prompt": kind}}
                for kind in ("acme:auditor", "acme:other")
            ]
        }
    ]
    given = {"main": turns, "faults": [{"turn": 1, "agent": "acme:auditor", "error": {"status": 529}}]}
    with served(given, tmp_path) as (link, _):
        post(link, later(0))
        statuses = [
            post(link, request(user(kind)), {"x-claude-code-agent-id": number})[0]
            for number, kind in (("a1", "acme:auditor"), ("a2", "acme:other"), ("a1", "acme:auditor"))
        ]
    assert statuses == [529, 200, 200]


def test_a_cut_answer_has_so_many_events_and_was_asked_for(tmp_path):
    given = {"main": [{"content": "hello"}], "faults": [{"turn": 1, "fault": "drop", "after_events": 2}]}
    with served(given, tmp_path) as (link, inner):
        with pytest.raises(http.client.IncompleteRead) as caught:
            streamed(link, later(0))
        assert [event["type"] for event in events_of(caught.value.partial)] == [
            "message_start",
            "content_block_start",
        ]
        assert streamed(link, later(0))[-1]["type"] == "message_stop"
    assert inner.seen == [("main", 0, 1), ("main", 0, 2)]


def test_an_error_in_the_middle_is_an_event(tmp_path):
    given = {
        "main": [{"content": "hello"}],
        "faults": [{"turn": 1, "error": {"status": 529}, "after_events": 1}],
    }
    with served(given, tmp_path) as (link, _):
        assert [event["type"] for event in streamed(link, later(0))] == ["message_start", "error"]
        assert link.traffic().last_error == (200, "overloaded_error", "injected error 529")


def test_a_fault_that_would_come_after_the_end_comes_before_it(tmp_path):
    given = {
        "main": [{"content": "hello"}],
        "faults": [{"turn": 1, "error": {"status": 529}, "after_events": 99}],
    }
    with served(given, tmp_path) as (link, inner):
        kinds = [event["type"] for event in streamed(link, later(0))]
        assert kinds[-2:] == ["message_delta", "error"]
        assert link.traffic().answers == 0
    assert inner.whole == 0


def test_a_delay_comes_before_the_answer_and_keeps_it(tmp_path, monkeypatch):
    slept = []
    sleep = asyncio.sleep

    async def noted(seconds):
        slept.append((seconds, len(inner.seen)))
        await sleep(0)

    given = {"main": [{"content": "hello"}], "faults": [{"turn": 1, "delay_seconds": 0.2}]}
    with served(given, tmp_path) as (link, inner), monkeypatch.context() as patched:
        patched.setattr("skillwalker.gateway.faults.asyncio.sleep", noted)
        assert [post(link, later(0))[0] for _ in range(2)] == [200, 200]
    assert slept == [(0.2, 0)]
    assert inner.seen == [("main", 0, 1), ("main", 0, 2)]


def test_a_hanging_answer_ends_when_nobody_listens_any_more(tmp_path):
    with served({"faults": [{"turn": 1, "fault": "hang"}]}, tmp_path) as (link, inner):
        with connected(link, timeout=0.3) as connection:
            connection.request("POST", "/v1/messages", json.dumps(later(0)))
            wait_until(lambda: link.traffic().open_requests)
            with pytest.raises(TimeoutError):
                connection.getresponse()
        assert post(link, later(0))[0] == 200
    assert inner.seen == [("main", 0, 1)]


@pytest.mark.parametrize(("index", "statuses"), [(1, [529, 200]), (2, [200, 200]), (3, [500, 200])])
def test_a_trial_may_have_its_own_faults_or_none(tmp_path, index, statuses):
    given = {
        "faults": [{"turn": 1, "error": {"status": 529}}],
        "trials": {"2": {"faults": []}, "3": {"faults": [{"turn": 1, "error": {"status": 500}}]}},
    }
    with served(given, tmp_path, index) as (link, _):
        assert [post(link, later(0))[0] for _ in range(2)] == statuses


def test_what_the_responder_behind_keeps_open_is_closed(tmp_path):
    with served({"faults": [{"turn": 1, "fault": "drop"}]}, tmp_path) as (_, inner):
        assert inner.closed == 0
    assert inner.closed == 1


def test_without_a_script_nothing_is_injected():
    with (
        Gateway(FaultsResponder(RehearsalResponder())) as gateway,
        gateway.open(Caller("t", "trial")) as link,
    ):
        assert post(link, later(0))[0] == 200
