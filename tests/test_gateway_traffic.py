"""Counting, and the lines of gateway.jsonl."""

import json
from pathlib import Path

import pytest
from gateway_support import main_request, request, user

from skillwalker.gateway.conversations import Conversations
from skillwalker.gateway.listing import read_listing
from skillwalker.gateway.messages import message_events
from skillwalker.gateway.traffic import ERRORS_KEPT, Meter, Tokens

USAGE = {
    "input_tokens": 7,
    "output_tokens": 40,
    "cache_read_input_tokens": 1,
    "cache_creation_input_tokens": 3,
}
TOOL = {"type": "tool_use", "name": "Read", "input": {"file_path": "secret.txt"}}


def begin(meter, body=None, headers=None):
    body = body or main_request("My secret prompt")
    talk = Conversations("trial")
    talk.place(main_request("My secret prompt"), {})
    return meter.begin(body, talk.place(body, headers or {}), read_listing(body))


def answered(meter, events=None, usage=USAGE):
    record = begin(meter)
    made = message_events(id="msg_1", model="m", content=[TOOL], stop_reason="tool_use", usage=usage)
    for event in list(made)[:events]:
        record.answer.add(event)
    meter.end(record)


def test_a_whole_answer_counts():
    meter = Meter("t", None)
    record = begin(meter)
    assert meter.snapshot().open_requests == 1
    meter.end(record)
    answered(meter)
    traffic = meter.snapshot()
    assert (traffic.requests, traffic.answers, traffic.open_requests) == (2, 1, 0)
    assert traffic.usage == {"m": Tokens(7, 40, 1, 3)}
    assert traffic.errors == ()
    assert traffic.last_error is None


def test_a_cut_answer_counts_with_what_it_told():
    meter = Meter("t", None)
    answered(meter)
    answered(meter, events=3)
    traffic = meter.snapshot()
    assert traffic.answers == 1
    assert traffic.usage == {"m": Tokens(14, 41, 2, 6)}


def test_what_an_answer_does_not_tell_is_not_zero():
    usage = Tokens().plus(USAGE).plus({"input_tokens": 5, "output_tokens": 5})
    assert usage == Tokens(12, 45, None, None)
    assert usage.plus(USAGE).cache_read_input_tokens is None


def test_ids_are_known_before_they_are_sent():
    meter = Meter("t", None)
    meter.announce(message_id="msg_1")
    meter.announce(tool_use_id="toolu_1")
    traffic = meter.snapshot()
    assert (traffic.message_ids, traffic.tool_use_ids) == ({"msg_1"}, {"toolu_1"})


def test_the_listing_is_that_of_the_main_conversation():
    meter = Meter("t", None)
    assert meter.snapshot().listing is None
    begin(meter)
    begin(meter, request(user("Prune")), {"x-claude-code-agent-id": "a1"})
    assert [skill.id for skill in meter.snapshot().listing.skills][:1] == ["garden:compost"]


def test_the_last_errors_are_kept():
    meter = Meter("t", None)
    for number in range(ERRORS_KEPT + 5):
        record = begin(meter)
        record.error = (500, "api_error", str(number))
        meter.end(record)
    errors = meter.snapshot().errors
    assert (len(errors), errors[-1][2]) == (ERRORS_KEPT, str(ERRORS_KEPT + 4))


def test_a_line_per_request_without_any_of_its_words(tmp_path):
    log = tmp_path / "gateway.jsonl"
    log.write_text('{"earlier": true}\n')
    meter = Meter("garden.1", log)
    answered(meter)
    record = begin(meter)
    record.error = (529, "overloaded_error", "full")
    meter.end(record)
    record = begin(meter)
    record.cancelled = True
    meter.end(record)
    text = log.read_text()
    assert "secret" not in text
    earlier, line, error, cancelled = map(json.loads, text.splitlines())
    assert earlier == {"earlier": True}
    assert line.pop("time").endswith("+00:00")
    assert line.pop("ms") >= 0
    assert line == {
        "caller": "garden.1",
        "thread": "main",
        "agent": None,
        "model": "m",
        "turn": 0,
        "attempt": 2,
        "status": 200,
        "error": None,
        "message_id": "msg_1",
        "stop_reason": "tool_use",
        "usage": USAGE,
        "tool_uses": [{"id": "toolu_100", "name": "Read"}],
    }
    assert (error["status"], error["error"]) == (529, {"type": "overloaded_error", "message": "full"})
    assert (error["message_id"], error["usage"]) == (None, None)
    assert cancelled["status"] is None
    meter.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_told_and_changes_nothing_else():
    meter = Meter("t", Path("/dev/full"))
    answered(meter)
    traffic = meter.snapshot()
    assert traffic.log_problem == "gateway.jsonl: No space left on device"
    assert traffic.answers == 1
    meter.close()


def test_after_closing_it_still_counts(tmp_path):
    meter = Meter("t", tmp_path / "gateway.jsonl")
    meter.close()
    meter.close()
    answered(meter)
    assert meter.snapshot().answers == 1
    assert (tmp_path / "gateway.jsonl").read_text() == ""


def test_requests_that_are_held_at_the_same_time_count_once(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("skillwalker.gateway.traffic.time.monotonic", lambda: clock[0])
    meter = Meter("t", None)
    with meter.holding():
        clock[0] = 103.0
        with meter.holding():
            clock[0] = 105.0
            assert meter.snapshot().held_seconds == 5.0
            assert meter.snapshot().last_activity == 105.0  # held is not stalled
    clock[0] = 200.0
    assert meter.snapshot().held_seconds == 5.0
    with meter.holding():
        clock[0] = 201.0
    assert meter.snapshot().held_seconds == 6.0
