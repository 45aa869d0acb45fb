"""What is replayed: the recorded answers, to the requests they belong to, in the words of the present run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cassette_support import TRIAL, answer, bash, linked, recording, replaying, result, text
from gateway_support import connected, events_of, main_request, post, request, user

from skillwalker.gateway.messages import ApiError, Event
from skillwalker.gateway.responders import ConnectionDroppedError
from skillwalker.gateway.server import Caller, Gateway, Link

UUIDS = ("0f4e1c52-90e7-4a6f-8a70-1d6f3a1f1b11", "5b0c2fd4-7e1e-4fd5-9be4-aa2c5f0f7c22")
GO = request(user("go"))


def said(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def record(directory: Path, *pairs: tuple[dict[str, Any], Any], purpose: str = "trial") -> None:
    with linked(recording(directory, *(given for _, given in pairs)), purpose=purpose) as link:
        for body, _ in pairs:
            post(link, body)


def streamed(link: Link, body: dict[str, Any]) -> list[Event]:
    with connected(link) as connection:
        connection.request("POST", "/v1/messages", json.dumps({**body, "stream": True}))
        return events_of(connection.getresponse().read())


def content(link: Link, body: dict[str, Any]) -> Any:
    status, _, message = post(link, body)
    assert status == 200, message
    return message["content"]


BLOCKS: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"},
    {"type": "redacted_thinking", "data": "ZGF0YQ=="},
    {"type": "text", "text": "x", "citations": [{"type": "char_location", "cited_text": "y"}]},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "z"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [{"type": "web_search_result"}],
    },
    {"type": "block_of_tomorrow", "whatever": {"it": ["holds"]}, "text": "its own"},
    {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls", "timeout": 5}},
]


def test_an_answer_comes_back_whole_with_blocks_of_any_type(tmp_path: Path) -> None:
    usage = {"input_tokens": 9, "output_tokens": 40, "cache_read_input_tokens": 7, "service_tier": "standard"}
    record(tmp_path, (GO, answer(*BLOCKS, usage=usage, model="claude-opus-5-5", id="msg_here")))

    with linked(replaying(tmp_path)) as link:
        _, _, message = post(link, GO)
        events = streamed(link, GO)

    assert message["content"] == BLOCKS
    assert message["usage"] == usage
    assert (message["id"], message["model"], message["stop_reason"]) == (
        "msg_here",
        "claude-opus-5-5",
        "tool_use",
    )
    started = [event["content_block"] for event in events if event["type"] == "content_block_start"]
    assert started[1] == BLOCKS[1]
    assert started[5] == BLOCKS[5]
    assert started[6]["input"] == {}


def test_requests_are_answered_by_content_whatever_their_order(tmp_path: Path) -> None:
    pairs = [(request(user(word)), answer(text(word.upper()), id=f"msg_{word}")) for word in ("a", "b", "c")]
    record(tmp_path, *pairs)

    with linked(replaying(tmp_path)) as link:
        found = [content(link, body)[0]["text"] for body, _ in reversed(pairs)]

    assert found == ["C", "B", "A"]


def test_equal_requests_get_their_answers_in_order_and_then_the_last_again(tmp_path: Path) -> None:
    busy = [ApiError(529, "overloaded_error", "busy", {"retry-after": "9", "x-should-retry": "false"})]
    record(tmp_path, (GO, busy), (GO, answer(text("one"))), (GO, answer(text("two"))))

    with linked(replaying(tmp_path)) as link:
        status, headers, body = post(link, GO)
        rest = [content(link, GO)[0]["text"] for _ in range(3)]

    assert (status, body["error"]) == (529, {"type": "overloaded_error", "message": "busy"})
    assert headers["x-should-retry"] == "false"
    assert "retry-after" not in headers
    assert rest == ["one", "two", "two"]


def test_each_run_begins_with_the_first_answer(tmp_path: Path) -> None:
    record(tmp_path, (GO, answer(text("one"))), (GO, answer(text("two"))))
    responder = replaying(tmp_path)

    for _ in range(2):
        with linked(responder) as link:
            assert content(link, GO) == [text("one")]


def test_what_broke_off_breaks_off_again(tmp_path: Path) -> None:
    begun = answer(text("half of it"))[:3]
    record(tmp_path, (GO, [*begun, ApiError(500, "api_error", "broke")]))
    with (
        linked(recording(tmp_path, [*begun, ConnectionDroppedError()]), "dropped") as link,
        connected(link) as connection,
    ):
        connection.request("POST", "/v1/messages", json.dumps({**GO, "stream": True}))
        connection.getresponse().read1()

    with linked(replaying(tmp_path)) as link:
        events = streamed(link, GO)
    with linked(replaying(tmp_path), "dropped") as link, connected(link) as connection:
        connection.request("POST", "/v1/messages", json.dumps({**GO, "stream": True}))
        with pytest.raises(Exception, match="IncompleteRead|reset|closed"):
            connection.getresponse().read()

    assert [event["type"] for event in events][-1] == "error"
    assert not {"content_block_stop", "message_stop"} & {event["type"] for event in events}
    assert {"type": "text_delta", "text": "half of it"} in [event.get("delta") for event in events]


def turns(uuid: str, agent: str) -> list[dict[str, Any]]:
    """The requests of a run whose tools told these ids, and whose model repeats them."""
    first = [user("go"), said(bash("where")), result(f"/tmp/{uuid}/x {agent}")]
    second = [*first, said(bash(f"cat /tmp/{uuid}/x", "toolu_2")), result("x", "toolu_2")]
    return [request(*messages) for messages in (first[:1], first, second)]


def test_answers_speak_of_the_ids_of_the_present_run(tmp_path: Path) -> None:
    then, now = turns(UUIDS[0], "a3be6e6e8501a216a"), turns(UUIDS[1], "ab148bfa9ae4e20e2")
    answers = (
        answer(bash("where")),
        answer(bash(f"cat /tmp/{UUIDS[0]}/x", "toolu_2"), id="msg_2"),
        answer(text("a3be6e6e8501a216a was right"), id="msg_3"),
    )
    record(tmp_path, *zip(then, answers, strict=True))

    with linked(replaying(tmp_path)) as link:
        found = [content(link, body) for body in now]

    assert found == [
        [bash("where")],
        [bash(f"cat /tmp/{UUIDS[1]}/x", "toolu_2")],
        [text("ab148bfa9ae4e20e2 was right")],
    ]


def test_secrets_in_requests_do_not_count(tmp_path: Path) -> None:
    secret = "hush-hush-secret"
    body = request(user(f"it is {secret}"))
    with linked(recording(tmp_path, answer(text("ok")), secrets=(secret,))) as link:
        post(link, body)

    with linked(replaying(tmp_path, secrets=(secret,))) as link:
        assert content(link, body) == [text("ok")]
    with linked(replaying(tmp_path, secrets=("that-of-another-machine",))) as link:
        assert content(link, request(user("it is that-of-another-machine"))) == [text("ok")]
    with linked(replaying(tmp_path)) as link:
        assert 'now "it is seven *******"' in miss(link, request(user("it is seven *******")))


def miss(link: Link, body: dict[str, Any]) -> str:
    status, headers, found = post(link, body)
    assert (status, found["error"]["type"], headers["x-should-retry"]) == (409, "cassette_miss", "false")
    assert link.traffic().miss == found["error"]["message"]
    return str(found["error"]["message"])


def test_a_miss_names_the_part_that_differs_and_the_line(tmp_path: Path) -> None:
    record(
        tmp_path,
        (main_request("go"), answer(bash("./tidy"))),
        (main_request("go", said(bash("./tidy")), result("rows: 5\nok")), answer(text("done"), id="msg_2")),
    )

    with linked(replaying(tmp_path)) as link:
        found = miss(link, main_request("go", said(bash("./tidy")), result("rows: 6\nok")))

    assert found == (
        f"{TRIAL}.jsonl: in turn 2 the result of Bash (call 1) differs: "
        'line 1, recorded "rows: 5", now "rows: 6"'
    )


def test_a_missing_cassette_is_named_with_what_makes_it(tmp_path: Path) -> None:
    with linked(replaying(tmp_path)) as link:
        found = miss(link, GO)

    assert found == f"there is no cassette {tmp_path / TRIAL}.jsonl: record it with --record"


def test_a_damaged_cassette_is_a_miss_with_its_line(tmp_path: Path) -> None:
    record(tmp_path, (GO, answer(text("x"))))
    path = tmp_path / f"{TRIAL}.jsonl"
    path.write_bytes(path.read_bytes()[:-20])

    with linked(replaying(tmp_path)) as link:
        assert miss(link, GO).startswith(f"{path}:")


def test_a_judge_has_a_cassette_of_its_own(tmp_path: Path) -> None:
    question = request(
        user("<evidence-" + "ab" * 12 + ">Mon Nov 30 14:23:05 UTC 2026</evidence-" + "ab" * 12 + ">"),
        tools=(),
    )
    record(tmp_path, (GO, answer(text("done"))))
    record(tmp_path, (question, answer(text("passed"))), purpose="judge")
    later = json.loads(
        json.dumps(question)
        .replace("ab" * 12, "cd" * 12)
        .replace("Nov 30 14:23:05 UTC 2026", "Mar  1 09:12:05 UTC 2027")
    )

    with Gateway(replaying(tmp_path)) as gateway:
        with gateway.open(Caller(TRIAL, "trial")) as link:
            assert content(link, GO) == [text("done")]
        with gateway.open(Caller(TRIAL, "judge")) as link:
            assert content(link, later) == [text("passed")]
            assert "the judge's turn 2" in miss(link, GO)


def test_what_a_tool_is_given_keeps_its_order(tmp_path: Path) -> None:
    given = {"zeta": 1, "alpha": {"y": 1, "b": 2}}
    call = {"type": "tool_use", "id": "toolu_1", "name": "Odd", "input": given}
    record(tmp_path, (GO, answer(call)))

    with linked(replaying(tmp_path)) as link:
        assert json.dumps(content(link, GO)) == json.dumps([call])


@pytest.mark.parametrize("sent", range(1, 8))
def test_an_answer_breaks_off_where_it_did(tmp_path: Path, sent: int) -> None:
    begun = answer(text("half"), bash("ls"))[:sent]
    record(tmp_path, (GO, [*begun, ApiError(500, "api_error", "broke")]))

    with linked(replaying(tmp_path)) as link:
        events = [event["type"] for event in streamed(link, GO)]

    # Of a tool's input that did not come to its end, nothing is left.
    expected = [event["type"] for event in begun]
    assert events == [*(expected[:-1] if sent == 6 else expected), "error"]
