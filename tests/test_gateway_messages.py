"""Events and errors of the Messages API."""

import json
import pickle

import pytest

from skillwalker.gateway.messages import (
    Aggregate,
    ApiError,
    cassette_miss,
    encode_event,
    encode_json,
    events_of,
    message_events,
)

USAGE = {
    "input_tokens": 7,
    "output_tokens": 40,
    "cache_read_input_tokens": 0,
    "cache_creation_input_tokens": 3,
}
CONTENT = [
    {"type": "thinking", "thinking": "Which one?", "signature": "c2ln"},
    {"type": "text", "text": "Ünï \u2028 \ud83d"},
    {"type": "tool_use", "name": "Read", "input": {"file_path": "a b.md", "deep": [1, {"x": None}]}},
    {"type": "tool_use", "name": "Bash", "input": {}, "id": "toolu_own"},
]


def events(content=CONTENT, stop_reason="tool_use"):
    made = message_events(id="msg_ab12", model="m", content=content, stop_reason=stop_reason, usage=USAGE)
    return list(made)


def test_events_add_up_to_the_message_they_were_made_of():
    answer = Aggregate()
    for event in events():
        assert not answer.complete
        answer.add(json.loads(encode_json(event)))
    assert answer.complete
    tools = [{**CONTENT[2], "id": "toolu_ab1202"}, CONTENT[3]]
    assert answer.message == {
        "id": "msg_ab12",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [*CONTENT[:2], *tools],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": USAGE,
    }
    assert answer.tool_uses == tools
    assert (answer.id, answer.model, answer.stop_reason) == ("msg_ab12", "m", "tool_use")


def test_the_true_number_of_output_tokens_comes_with_the_end():
    made = events()
    assert made[0]["message"]["usage"]["output_tokens"] == 1
    assert made[-2]["usage"] == {"output_tokens": 40}


def test_null_or_zero_at_the_end_takes_back_nothing_that_was_told():
    start = {"input_tokens": 7, "cache_read_input_tokens": 0, "cache_creation_input_tokens": None}
    end = {"input_tokens": 0, "cache_read_input_tokens": None, "cache_creation_input_tokens": 0}
    answer = Aggregate()
    answer.add({"type": "message_start", "message": {"usage": {**start, "output_tokens": 1}}})
    answer.add({"type": "message_delta", "usage": {**end, "output_tokens": 40, "server_tool_use": None}})
    assert answer.usage == {
        "input_tokens": 7,
        "output_tokens": 40,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "server_tool_use": None,
    }


def test_an_answer_without_content_has_three_events():
    made = events([], "end_turn")
    assert [event["type"] for event in made] == ["message_start", "message_delta", "message_stop"]


@pytest.mark.parametrize("sent", range(len(events())))
def test_a_cut_answer_is_known_as_far_as_it_came(sent):
    answer = Aggregate()
    for event in events()[:sent]:
        answer.add(event)
    assert not answer.complete
    if sent:
        assert answer.usage["input_tokens"] == 7
    # A tool call whose input is not whole is still told: its id may have reached the client.
    for block in answer.tool_uses:
        assert isinstance(block["input"], dict)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "ping"},
        {"type": "content_block_delta", "index": 5, "delta": {"type": "text_delta", "text": "x"}},
        {"type": "content_block_delta", "delta": None},
        {"type": "content_block_start", "index": "0", "content_block": 5},
        {"type": "something_new", "message": {}},
        {},
    ],
)
def test_unknown_events_change_nothing(event):
    answer = Aggregate()
    answer.add(event)
    assert answer == Aggregate()


def test_an_unknown_block_is_kept_as_it_came():
    answer = Aggregate()
    answer.add({"type": "content_block_start", "index": 0, "content_block": {"type": "novel", "data": "x"}})
    assert answer.message["content"] == [{"type": "novel", "data": "x"}]


def test_an_event_is_ascii_on_one_line():
    data = encode_event({"type": "content_block_delta", "text": "a\n\u2028\ud800é"})
    assert data.startswith(b"event: content_block_delta\ndata: {")
    assert data.endswith(b"}\n\n")
    assert data.count(b"\n") == 3
    data.decode("ascii")


@pytest.mark.parametrize("status", [401, 403, 404])
def test_where_a_retry_is_useless_the_client_is_told(status):
    assert ApiError(status, "x", "y").headers == {"x-should-retry": "false"}
    assert ApiError(status, "x", "y", {"x-should-retry": "true"}).headers == {"x-should-retry": "true"}


@pytest.mark.parametrize("status", [400, 413, 429, 500, 529])
def test_other_errors_leave_the_retry_to_the_client(status):
    assert "x-should-retry" not in ApiError(status, "x", "y").headers


def test_an_error_is_shaped_like_the_apis_and_pickles():
    error = ApiError(429, "rate_limit_error", "slow down", {"retry-after": "7"})
    assert error.body == {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.headers) == ("429 rate_limit_error: slow down", {"retry-after": "7"})


def test_a_miss_is_not_tried_again():
    assert cassette_miss("no turn").headers["x-should-retry"] == "false"


def test_blocks_of_any_type_survive_the_way_to_events_and_back():
    citation = {"type": "char_location", "cited_text": "x", "document_index": 0}
    content = [
        {"type": "redacted_thinking", "data": "ZGF0YQ=="},
        {"type": "text", "text": "cited", "citations": [citation, {**citation, "cited_text": "y"}]},
        {"type": "text", "text": "", "citations": None},
        {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "find", "server_name": "s", "input": {"a": [1]}},
        {"type": "block_of_tomorrow", "text": {"not": "text"}, "more": ["x"]},
    ]
    message = {"id": "msg_1", "model": "m", "content": content, "stop_reason": "pause_turn", "usage": {}}

    made, answer = list(events_of({**message, "container": {"id": "c"}})), Aggregate()
    for event in made:
        answer.add(json.loads(encode_json(event)))

    assert answer.message == {**message, "container": {"id": "c"}, "stop_sequence": None}
    starts = [event["content_block"] for event in made if event["type"] == "content_block_start"]
    assert (starts[0], starts[4]) == (content[0], content[4])


def test_deltas_of_unknown_kinds_are_kept():
    answer = Aggregate()
    answer.add({"type": "message_start", "message": {"id": "msg_1"}})
    answer.add({"type": "content_block_start", "index": 0, "content_block": {"type": "compaction"}})
    for part in ("first ", "second"):
        delta = {"type": "compaction_delta", "content": part}
        answer.add({"type": "content_block_delta", "index": 0, "delta": delta})
    assert answer.block(0) == {"type": "compaction", "content": "first second"}


def test_a_whole_message_is_an_answer_in_one():
    text, call = (
        {"type": "text", "text": "done"},
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}},
    )
    whole = Aggregate()
    whole.add(
        {
            "type": "message",
            "id": "msg_1",
            "model": "m",
            "content": [text, call],
            "usage": {"input_tokens": 3},
        }
    )
    assert whole.complete
    assert (whole.id, whole.model, whole.usage, whole.texts) == ("msg_1", "m", {"input_tokens": 3}, ["done"])
    assert whole.tool_uses == [call]
    assert whole.message["content"] == [text, call]
