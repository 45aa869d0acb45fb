"""What is recorded: everything that was answered, nothing that changes by itself, and no secret."""

from __future__ import annotations

import contextlib
import json
import re
from http.client import HTTPException
from pathlib import Path
from typing import Any

from cassette_support import LATER, LONG, TRIAL, Upstream, answer, bash, linked, recording, result, text
from gateway_support import connected, events_of, main_request, post, request, user

from skillwalker.gateway.cassettes.files import read
from skillwalker.gateway.cassettes.recording import RecordingResponder
from skillwalker.gateway.messages import ApiError, cassette_miss
from skillwalker.gateway.responders import ConnectionDroppedError, Exchange
from skillwalker.gateway.server import Caller, Gateway
from skillwalker.outcomes import Outcome

HEADERS = {"user-agent": "claude-cli/2.1.332 (external, cli)", "authorization": "Bearer upstream-secret-1234"}
TOOLS = [{"name": name, "description": LONG} for name in ("Agent", "Skill")]
GO = request(user("go"), tools=TOOLS, metadata={"user_id": "who-i-am"}, stream=False)
MORE = request(
    user("go"), {"role": "assistant", "content": [bash("ls -l")]}, result("-rw Nov 30 14:23 a"), tools=TOOLS
)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def names(directory: Path) -> list[str]:
    return sorted(one.name for one in directory.iterdir() if one.name != "parts")


def record(directory: Path, *answers: Any, bodies: Any = (GO, MORE), **how: Any) -> Path:
    with linked(recording(directory, *answers, **how)) as link:
        for body in bodies:
            post(link, body, HEADERS)
    return directory / f"{TRIAL}.jsonl"


def test_a_cassette_holds_each_part_once_and_each_answer_whole(tmp_path: Path) -> None:
    path = record(tmp_path / "new", answer(bash("ls -l")), answer(text("There is a."), id="msg_2"))

    found = lines(path)

    assert found[0] == {
        "cassette": 1,
        "claude_code": "2.1.332",
        "exchanges": 2,
        "models": ["claude-sonnet-5-5"],
        "purpose": "trial",
        "skillwalker": found[0]["skillwalker"],
        "trial": TRIAL,
    }
    parts = [line["part"] for line in found if "part" in line]
    assert len(parts) == len(set(parts)) == 3  # messages
    shared = sorted((tmp_path / "new" / "parts").iterdir())
    assert {json.loads(one.read_text())["name"] for one in shared} == {"Agent", "Skill"}
    first, second = (line for line in found if "answer" in line)
    assert first["turn"] == "main 1"
    assert first["answer"]["message"]["content"] == [bash("ls -l")]
    assert first["answer"]["message"]["id"] == "msg_1"
    assert first["answer"]["message"]["usage"] == {"input_tokens": 900, "output_tokens": 40}
    assert second["turn"] == "main 2"
    assert second["request"] == {"from": 1, "messages": parts[-2:]}
    assert second["answer"]["message"]["content"] == [text("There is a.")]


def test_nothing_in_it_says_when_or_by_whom_it_was_recorded(tmp_path: Path) -> None:
    answers = answer(bash("ls -l")), answer(text("x"))
    one = record(tmp_path / "one", *answers)
    other = [MORE["messages"][0], MORE["messages"][1], result("-rw Mar  1 09:12 a")]
    changed = GO | {"metadata": {"user_id": "somebody"}}, MORE | {"messages": other}
    two = record(tmp_path / "two", *answers, bodies=changed, when=LATER)

    assert one.read_bytes() == two.read_bytes()
    assert b"who-i-am" not in one.read_bytes()
    assert b"14:23" not in one.read_bytes()
    assert b"Bearer" not in one.read_bytes()


def test_secrets_are_overwritten_in_requests_answers_and_errors(tmp_path: Path) -> None:
    secret = "hush-hush-secret"
    error = ApiError(529, "overloaded_error", f"not for {secret}")
    path = record(
        tmp_path,
        answer(text(f"it is {secret}")),
        [error],
        bodies=(request(user(secret)), MORE),
        secrets=(secret,),
    )

    assert secret not in path.read_text("utf-8")
    assert len(re.findall(r"\*{8,}", path.read_text("utf-8"))) == 3


def test_errors_are_kept_as_they_went_to_the_client(tmp_path: Path) -> None:
    overloaded = ApiError(529, "overloaded_error", "busy", {"retry-after": "7", "x-should-retry": "true"})
    broken = [*answer(text("half of it"))[:3], ApiError(500, "api_error", "broke")]

    path = record(tmp_path, [overloaded], broken, bodies=(GO, GO))

    first, second = (line["answer"] for line in lines(path) if "answer" in line)

    busy = {"status": 529, "type": "overloaded_error", "message": "busy", "should_retry": True}
    assert first == {"error": busy}
    assert second["error"] == {"status": 500, "type": "api_error", "message": "broke"}
    assert second["message"]["content"] == [text("half of it")]


def test_a_dropped_connection_is_kept_as_one(tmp_path: Path) -> None:
    broken: list[Any] = [*answer(text("half"))[:3], ConnectionDroppedError()]
    with linked(recording(tmp_path, broken)) as link, connected(link) as connection:
        connection.request("POST", "/v1/messages", json.dumps({**GO, "stream": True}))
        with contextlib.suppress(OSError, HTTPException):  # how it breaks off is the client's matter
            connection.getresponse().read()

    assert read(tmp_path / f"{TRIAL}.jsonl").exchanges[0].answer.dropped


def test_what_no_script_has_an_answer_for_is_no_answer(tmp_path: Path) -> None:
    path = record(tmp_path, answer(text("x")), [cassette_miss("the script is over")])

    assert len(read(path).exchanges) == 1


def test_events_are_passed_on_one_by_one_and_unchanged(tmp_path: Path) -> None:
    events = answer({"type": "thinking", "thinking": "hm", "signature": "c2ln"}, text("x"), bash("ls"))
    with linked(recording(tmp_path, events)) as link, connected(link) as connection:
        connection.request("POST", "/v1/messages", json.dumps({**GO, "stream": True}))
        assert events_of(connection.getresponse().read()) == events


def test_parallel_conversations_are_written_in_one_order(tmp_path: Path) -> None:
    def agent(id: str) -> dict[str, Any]:
        given = {"subagent_type": "a", "prompt": id, "description": "d"}
        return {"type": "tool_use", "id": id, "name": "Agent", "input": given}

    calls = answer(agent("toolu_1"), agent("toolu_2"))
    answers = {"toolu_1": answer(text("one"), id="msg_2"), "toolu_2": answer(text("two"), id="msg_3")}

    def recorded(directory: Path, first: str, second: str) -> bytes:
        with linked(recording(directory, calls, answers[first], answers[second])) as link:
            post(link, main_request("go"))
            for prompt in (first, second):
                post(link, request(user(prompt)), {"x-claude-code-agent-id": prompt})
        return (directory / f"{TRIAL}.jsonl").read_bytes()

    assert recorded(tmp_path / "1", "toolu_1", "toolu_2") == recorded(tmp_path / "2", "toolu_2", "toolu_1")


def test_a_new_recording_replaces_the_old_one_and_its_judge(tmp_path: Path) -> None:
    judge = tmp_path / f"{TRIAL}.judge.jsonl"
    record(tmp_path, answer(text("old")), bodies=(GO,))
    with linked(recording(tmp_path, answer(text("passed"))), purpose="judge") as link:
        post(link, GO)
    assert read(judge).purpose == "judge"

    path = record(tmp_path, answer(text("new")), bodies=(GO,))

    assert b"old" not in path.read_bytes()
    assert not judge.exists()
    assert names(tmp_path) == [path.name]


def test_who_asked_for_nothing_leaves_everything_as_it_was(tmp_path: Path) -> None:
    path = record(tmp_path, answer(text("old")), bodies=(GO,))
    before = path.read_bytes()

    record(tmp_path, bodies=())

    assert path.read_bytes() == before


def test_nothing_is_written_before_the_end(tmp_path: Path) -> None:
    with linked(recording(tmp_path, answer(text("x")))) as link:
        post(link, GO)
        link.close()
        assert list(tmp_path.iterdir()) == []
    assert names(tmp_path) == [f"{TRIAL}.jsonl"]


class Hanging:
    """Says one word after the first answer, and then no more."""

    def __init__(self) -> None:
        self.inner = Upstream([answer(text("x"))])

    async def reply(self, exchange: Exchange) -> Any:
        import asyncio

        if not self.inner.asked:
            async for event in self.inner.reply(exchange):
                yield event
            return
        yield answer(text("y"))[0]
        await asyncio.Event().wait()


def test_a_trial_that_was_stopped_in_mid_answer_is_told_apart(tmp_path: Path) -> None:
    with linked(RecordingResponder(Hanging(), tmp_path)) as link:
        post(link, GO)
        with connected(link) as connection:
            connection.request("POST", "/v1/messages", json.dumps({**MORE, "stream": True}))
            connection.getresponse().read(1)
            link.close()

    found = read(tmp_path / f"{TRIAL}.jsonl")
    assert found.cut
    assert len(found.exchanges) == 1


def test_a_directory_that_cannot_be_written_is_told_and_harms_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    responder = recording(tmp_path / "file", answer(text("x")))

    with linked(responder) as link:
        assert post(link, GO)[0] == 200

    (problem,) = responder.close()
    assert f"{TRIAL}.jsonl could not be written" in problem


def test_links_of_many_callers_are_recorded_apart(tmp_path: Path) -> None:
    responder = recording(tmp_path, answer(text("a")), answer(text("b")))
    with Gateway(responder) as gateway:
        one, two = (gateway.open(Caller(name, "trial")) for name in ("one", "two"))
        post(one, GO)
        post(two, GO)
        two.close()
        responder.settle("two", Outcome.PASSED)
        assert names(tmp_path) == ["two.jsonl"]
        one.close()
        responder.settle("one", Outcome.FAILED)
    assert names(tmp_path) == ["one.jsonl", "two.jsonl"]


def test_shared_parts_go_with_the_last_cassette_that_names_them(tmp_path: Path) -> None:
    def parts() -> int:
        return sum(1 for _ in (tmp_path / "parts").iterdir())

    odd = {**GO, "tools": [{"name": "Odd", "description": LONG}]}
    record(tmp_path, answer(text("x")), bodies=(odd,))
    (tmp_path / "parts" / "README").touch()
    with linked(recording(tmp_path, answer(text("x"))), "other") as link:
        post(link, odd)
    responder = recording(tmp_path, answer(text("x")))
    with linked(responder) as link:
        post(link, GO)
    responder.close()
    assert parts() == 1 + 1 + 2  # the file of somebody else, Odd, Agent and Skill

    (tmp_path / "other.jsonl").unlink()
    responder.close()

    assert parts() == 1 + 2
    assert read(tmp_path / f"{TRIAL}.jsonl").exchanges


def test_a_request_that_is_nested_too_deeply_is_refused_and_no_fault(tmp_path: Path, caplog: Any) -> None:
    deep = json.dumps(GO).replace('"go"', "[" * 800 + '"go"' + "]" * 800).encode()
    with linked(recording(tmp_path, answer(text("x")))) as link:
        status, _, body = post(link, deep, HEADERS)
        assert link.traffic().errors[-1][0] == 400
    assert (status, body["error"]["message"]) == (400, "the request is nested too deeply")
    assert caplog.records == []
