"""Counting, and the lines of gateway.jsonl."""

import json
from pathlib import Path

import pytest
from attrs import evolve
from gateway_support import main_request, opened, post, request, script, user

from skillwalker.gateway import traffic as traffic_module
from skillwalker.gateway.conversations import Conversations
from skillwalker.gateway.listing import Listed, Listing, read_listing
from skillwalker.gateway.messages import OVER_BUDGET, message_events
from skillwalker.gateway.traffic import ERRORS_KEPT, Answered, Meter
from skillwalker.redaction import Redactor
from skillwalker.tokens import Tokens

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
    whole = Tokens(7, 40, 1, 3, cache_write_5m_tokens=3)
    assert traffic.answered == (Answered("main", "claude-sonnet-5-5", "m", whole),)
    assert (traffic.usage, traffic.unheard) == ({"m": whole}, 0)
    assert traffic.errors == ()
    assert traffic.last_error is None


def test_a_cut_answer_counts_with_what_it_told():
    meter = Meter("t", None)
    answered(meter)
    answered(meter, events=3)
    traffic = meter.snapshot()
    assert traffic.answers == 1
    cut = Tokens(7, 1, 1, 3, cache_write_5m_tokens=3)
    assert traffic.answered[1:] == (Answered("main", "claude-sonnet-5-5", "m", cut, cut=True),)


@pytest.mark.parametrize(
    ("error", "how", "unheard"),
    [
        (None, {"cancelled": True}, 1),
        ((0, "connection_dropped", "gone"), {"lost": True}, 1),
        ((502, "api_error", "no answer"), {"lost": True}, 1),
        ((502, "api_error", "no answer"), {"lost": True, "left_waiting": True}, 0),
        ((529, "overloaded_error", "full"), {}, 0),
    ],
)
def test_a_request_that_was_broken_off_before_any_word_is_no_answer_that_cost_nothing(error, how, unheard):
    meter = Meter("t", None)
    record = begin(meter)
    record.error = error
    for name, value in how.items():
        setattr(record, name, value)
    meter.end(record)
    traffic = meter.snapshot()
    assert (traffic.answered, traffic.unheard) == ((), unheard)


@pytest.mark.parametrize("told", [{}, {"cache_creation": None}])
@pytest.mark.parametrize(("ttl", "split"), [("5m", (3, 0)), ("1h", (None, None))])
def test_how_long_a_cache_keeps_is_taken_from_the_request_where_the_answer_tells_a_sum(ttl, split, told):
    body = main_request("Go", system=[{"type": "text", "text": "x", "cache_control": {"ttl": ttl}}])
    meter = Meter("t", None)
    record = begin(meter, body)
    usage = USAGE | told
    for event in message_events(id="msg_1", model="m", content=[TOOL], stop_reason="tool_use", usage=usage):
        record.answer.add(event)
    meter.end(record)
    (one,) = meter.snapshot().answered
    assert (one.tokens.cache_write_5m_tokens, one.tokens.cache_write_1h_tokens) == split


def test_answers_are_kept_apart_by_whose_conversation_it_is(tmp_path):
    calls = [
        {"type": "tool_use", "name": "Agent", "input": {"subagent_type": "acme:auditor", "prompt": "Audit"}},
        {"type": "tool_use", "name": "Skill", "input": {"skill": "acme:forked"}},
        {"type": "text", "text": "go on"},
    ]
    with opened(script([{"content": calls}], tmp_path)) as link:
        post(link, main_request("Go"))
        post(link, request(user("Audit")), {"x-claude-code-agent-id": "a1"})
        forked = "Base directory for this skill: /plugins/acme/skills/forked\n\nDo it."
        post(link, request(user(forked)), {"x-claude-code-agent-id": "a2"})
        post(link, request(user("Nobody called me")), {"x-claude-code-agent-id": "a3"})
        post(link, request(user("Sum up this page"), tools=[], model="claude-haiku-5-5"))
        found = link.traffic().answered
    assert [(one.conversation, one.asked) for one in found] == [
        ("main", "claude-sonnet-5-5"),
        ("agent:acme:auditor", "claude-sonnet-5-5"),
        ("skill:acme:forked", "claude-sonnet-5-5"),
        ("agent", "claude-sonnet-5-5"),
        ("side", "claude-haiku-5-5"),
    ]


def test_what_the_budget_refused_is_no_other_error():
    meter = Meter("t", None)
    record = begin(meter)
    record.error = (409, OVER_BUDGET, "spent")
    meter.end(record)
    traffic = meter.snapshot()
    assert (traffic.over_budget, traffic.miss) == ("spent", None)


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


def test_a_line_holds_no_secret_whatever_a_trial_asks_for(tmp_path):
    log = tmp_path / "gateway.jsonl"
    meter = Meter("garden.1", log, Redactor(("hunter2hunter2",)).value)
    record = begin(meter)
    record.error = (404, "not_found_error", "model: hunter2hunter2")
    meter.end(evolve(record, request={**record.request, "model": "hunter2hunter2"}))
    meter.close()
    (line,) = map(json.loads, log.read_text().splitlines())
    assert (line["asked"], line["error"]["message"]) == ("*" * 14, "model: " + "*" * 14)


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
    assert line.pop("listed").keys() == {"skills", "agents"}
    assert line == {
        "caller": "garden.1",
        "thread": "main",
        "agent": None,
        "asked": "claude-sonnet-5-5",
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


def test_what_the_model_is_told_it_may_call_is_logged_by_name_where_it_changes(tmp_path):
    def told(*names):
        listed = "\n".join(f"- {name}: its secret description" for name in names)
        return main_request(
            "Go", listing=f"The following skills are available for use with the Skill tool:\n\n{listed}"
        )

    meter = Meter("t", tmp_path / "gateway.jsonl")
    for body in (
        main_request("Go", listing=""),
        told("acme:tidy", "acme:hello"),
        told("acme:tidy", "acme:hello"),
        told("acme:tidy"),
    ):
        meter.end(begin(meter, body))
    text = (tmp_path / "gateway.jsonl").read_text()

    assert "secret" not in text
    assert [json.loads(line).get("listed") for line in text.splitlines()] == [
        None,
        {"skills": ["acme:tidy", "acme:hello"], "agents": []},
        None,
        {"skills": ["acme:tidy"], "agents": []},
    ]
    meter.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_told_and_changes_nothing_else():
    meter = Meter("t", Path("/dev/full"))
    answered(meter)
    traffic = meter.snapshot()
    assert traffic.log_problem == "gateway.jsonl: No space left on device"
    assert traffic.answers == 1
    meter.close()


def test_a_trial_cannot_fill_the_disk_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr(traffic_module, "MAX_LOG_BYTES", 2 << 20)
    log = tmp_path / "gateway.jsonl"
    meter = Meter("garden.1", log)
    for number in range(30):
        listing = Listing(skills=(Listed(f"{number}" + "x" * 200_000, None),))
        record = meter.begin({"model": "m"}, begin(meter).place, listing)
        meter.end(record)
    meter.close()
    assert 1 << 20 < log.stat().st_size <= 2 << 20
    assert log.read_bytes().endswith(b"}\n")
    assert meter.snapshot().log_problem == "gateway.jsonl: more than 2 MiB; the rest is not in it"
    assert meter.snapshot().requests == 60


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
    record = begin(meter)
    with meter.holding(record):
        clock[0] = 103.0
        with meter.holding(record):
            clock[0] = 105.0
            assert meter.snapshot().held_seconds == 5.0
            assert meter.snapshot().last_activity == 105.0  # held is not stalled
    clock[0] = 200.0
    assert meter.snapshot().held_seconds == 5.0
    with meter.holding(record):
        clock[0] = 201.0
    assert meter.snapshot().held_seconds == 6.0
