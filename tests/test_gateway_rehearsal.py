"""A rehearsed model, asked over real sockets."""

import asyncio
import json
import threading

import pytest
from gateway_support import (
    assistant,
    connected,
    events_of,
    main_request,
    opened,
    post,
    request,
    script,
    user,
)
from waiting import wait_until

from skillwalker import judging
from skillwalker.judge_client import AnthropicJudge

TOOL = {"type": "tool_use", "name": "Skill", "input": {"skill": "garden:compost"}}


def texts(body):
    return [block["text"] for block in body["content"] if block["type"] == "text"]


def test_the_turn_is_chosen_by_the_answers_in_the_conversation(tmp_path):
    with opened(script([{"content": "one"}, {"content": "two"}], tmp_path)) as link:
        later = main_request("Go", assistant(), user("on"))
        assert [texts(post(link, body)[2]) for body in (later, main_request("Go"), later)] == [
            ["two"],
            ["one"],
            ["two"],
        ]


def test_failures_come_as_often_as_scripted_and_then_the_answer(tmp_path):
    turns = [
        {"error": {"status": 529}, "times": 2},
        {"error": {"status": 429, "retry_after": 7}, "times": 1},
        {"content": "at last"},
        {"error": {"status": 500, "message": "broken"}},
    ]
    with opened(script(turns, tmp_path)) as link:
        answers = [post(link, main_request("Go")) for _ in range(4)]
        assert [status for status, _, _ in answers] == [529, 529, 429, 200]
        assert answers[2][1]["retry-after"] == "7"
        assert answers[0][2]["error"]["type"] == "overloaded_error"
        later = main_request("Go", assistant(), user("on"))
        assert [post(link, later)[2]["error"]["message"] for _ in range(3)] == ["broken"] * 3
        traffic = link.traffic()
        assert (traffic.requests, traffic.answers, len(traffic.errors)) == (7, 1, 6)
        assert traffic.last_error == (500, "api_error", "broken")


def test_past_the_end_of_the_script_is_a_miss_that_says_where(tmp_path):
    with opened(
        script({"agents": {"a:b": [{"content": "x"}]}, "main": [{"content": "x"}]}, tmp_path)
    ) as link:
        status, headers, body = post(link, main_request("Go", assistant(), user("on")))
        assert (status, headers["x-should-retry"]) == (409, "false")
        has = "has 1 turn, and turn 2 was asked for: add turn 2; the last one is usually a text"
        message = f"rehearsal.json: tests.Greets.main {has}"
        assert body["error"] == {"type": "cassette_miss", "message": message}
        assert link.traffic().miss == message


def test_sub_agents_and_forks_have_their_own_scripts(tmp_path):
    agent = {
        "type": "tool_use",
        "name": "Agent",
        "input": {"subagent_type": "garden:pruner", "prompt": "Prune"},
    }
    parts = {
        "main": [{"content": [agent, TOOL]}, {"content": "main done"}],
        "agents": {"garden:pruner": [{"content": "pruned"}], "garden:compost": [{"content": "heaped"}]},
    }
    with opened(script(parts, tmp_path)) as link:
        post(link, main_request("Go"))
        body = "Base directory for this skill: /plugins/0/garden/skills/compost\n\n# Heap"
        asked = [
            ("a1", request(user("Prune"))),
            ("a2", request(user(body))),
            ("a3", request(user("Who called me?"))),
        ]
        said = [texts(post(link, body, {"X-Claude-Code-Agent-Id": id_})[2])[0] for id_, body in asked]
        assert said[:2] == ["pruned", "heaped"]
        assert said[2].startswith("Rehearsed answer")  # what is not scripted is the rule's
        assert texts(post(link, main_request("Go", assistant(), user("x")))[2]) == ["main done"]


def test_a_request_aside_takes_no_turn(tmp_path):
    with opened(script([{"content": "one"}], tmp_path)) as link:
        post(link, main_request("Go"))
        assert texts(post(link, request(user("Sum up this page"), tools=()))[2])[0].startswith("Rehearsed")


def test_a_trial_may_have_answers_of_its_own(tmp_path):
    own = script({"main": [{"content": "all"}], "trials": {"2": [{"content": "second"}]}}, tmp_path)
    said = []
    for index in (1, 2, 3):
        with opened(own, index=index) as link:
            said += texts(post(link, main_request("Go"))[2])
    assert said == ["all", "second", "all"]


def test_usage_model_and_stop_reason_are_as_scripted_else_small_and_the_same(tmp_path):
    scripted = {"content": "x", "model": "other", "stop_reason": "max_tokens", "usage": {"input_tokens": 900}}
    with opened(script([scripted, {"content": [TOOL]}], tmp_path)) as link:
        first = post(link, main_request("Go"))[2]
        second = post(link, main_request("Go", assistant(), user("x")))[2]
        assert (first["model"], first["stop_reason"]) == ("other", "max_tokens")
        assert first["usage"]["input_tokens"] == 900
        assert (second["model"], second["stop_reason"]) == ("claude-sonnet-5-5", "tool_use")
        assert second["usage"]["input_tokens"] == 10
        used = link.traffic().usage
        assert (used["other"].input_tokens, used["claude-sonnet-5-5"].output_tokens) == (900, 5)


def ids(trial_id="t", index=1, **caller):
    """All ids that a caller sees over two turns, two attempts and a sub-agent."""
    found = []
    tool = [{"name": "Skill"}, {"name": "Agent"}]
    with opened(None, trial_id=trial_id, index=index, **caller) as link:
        for messages in ([], [], [assistant(), user("x")]):
            body = post(link, main_request("How much water do my seedlings need?", *messages, tools=tool))[2]
            found += [body["id"], *(block["id"] for block in body["content"] if "id" in block)]
        found.append(post(link, request(user("Prune")), {"x-claude-code-agent-id": "a1"})[2]["id"])
        traffic = link.traffic()
        assert traffic.message_ids | traffic.tool_use_ids == set(found)
    return found


def test_equal_runs_have_equal_ids_and_everything_else_has_its_own():
    assert ids() == ids()
    everything = [*ids(), *ids("u"), *ids(index=2)]
    assert len(set(everything)) == len(everything)


def test_a_judge_passes_every_criterion_unless_the_script_says_otherwise(tmp_path):
    asked = request(
        user("Rubric A"), tools=(), output_config=judging.output_config(judging.answer_schema(["c1", "c2"]))
    )

    def passed(body):
        return [item["passed"] for item in json.loads(texts(body)[0])["criteria"]]

    with opened(None, purpose="judge") as link:
        assert passed(post(link, asked)[2]) == [True, True]
    turns = [{"error": {"status": 529}, "times": 1}, {"passed": [True, False]}, {"content": "no JSON"}]
    with opened(script({"judge": turns}, tmp_path), purpose="judge") as link:
        assert post(link, asked)[0] == 529
        assert passed(post(link, asked)[2]) == [True, False]
        assert texts(post(link, {**asked, "messages": [user("Rubric B")]})[2]) == ["no JSON"]
        assert post(link, {**asked, "messages": [user("Rubric C")]})[0] == 409


def test_two_judges_that_ask_the_same_get_an_answer_each(tmp_path):
    turns = [{"error": {"status": 529}, "times": 1}, {"passed": [True, False]}, {"passed": [False, True]}]
    schema = judging.answer_schema(["c1", "c2"])
    with opened(script({"judge": turns}, tmp_path), purpose="judge") as link:
        judge = AnthropicJudge(link)
        answers = [
            judge.ask(model="opus", system="Be strict.", prompt="Rubric A", schema=schema) for _ in range(2)
        ]
    passed = [[item["passed"] for item in answer.data["criteria"]] for answer in answers]
    assert passed == [[True, False], [False, True]]


def test_a_script_for_another_rubric_is_a_miss(tmp_path):
    schema = judging.answer_schema(["c1", "c2"])
    with opened(script({"judge": [{"passed": [True]}]}, tmp_path), purpose="judge") as link:
        body = request(user("R"), tools=(), output_config=judging.output_config(schema))
        assert post(link, body)[0] == 409
        said = (
            "rehearsal.json: tests.Greets.judge[0].passed has 1 answer, and in turn 1 the judge is asked for"
        )
        assert link.traffic().miss == f"{said} 2 criteria"


def test_a_judges_question_of_another_form_is_answered_with_yes(tmp_path):
    schema = {"type": "object", "properties": {"fine": {"type": "boolean"}}}
    asked = request(user("Is it?"), tools=(), output_config=judging.output_config(schema))
    with opened(None, purpose="judge") as link:
        assert json.loads(texts(post(link, asked)[2])[0]) == {"fine": True}
    with opened(script({"judge": [{"passed": [True]}]}, tmp_path), purpose="judge") as link:
        assert post(link, asked)[0] == 409


def stream(link, prompt="Go"):
    """(status, events, whether the answer was whole)"""
    with connected(link) as connection:
        connection.request("POST", "/v1/messages", json.dumps(main_request(prompt, stream=True)))
        response = connection.getresponse()
        data = b""
        while chunk := response.read1(65536):
            data += chunk
        return response.status, [event["type"] for event in events_of(data)]


def test_a_stream_can_fail_in_the_middle(tmp_path):
    turns = [
        {"content": "cut", "error": {"status": 529}, "after_events": 3, "times": 1},
        {"content": "whole"},
    ]
    with opened(script(turns, tmp_path)) as link:
        status, events = stream(link)
        assert (status, events[-2:]) == (200, ["content_block_delta", "error"])
        assert link.traffic().errors == ((200, "overloaded_error", "rehearsed error 529"),)
        assert link.traffic().answers == 0
        assert stream(link)[1][-1] == "message_stop"
        assert link.traffic().answers == 1


@pytest.mark.parametrize("after", [0, 3])
def test_a_connection_can_break_off(after, tmp_path):
    early = {"fault": "drop", "times": 1}
    cut = {**early, "content": "cut", "after_events": after} if after else early
    with opened(script([cut, {"content": "whole"}], tmp_path)) as link:
        with connected(link) as connection:
            connection.request("POST", "/v1/messages", json.dumps(main_request("Go", stream=True)))
            data = b""
            while chunk := connection.sock.recv(65536):
                data += chunk
        assert data.count(b"event:") == after
        assert not data.endswith(b"0\r\n\r\n")
        traffic = link.traffic()
        assert (traffic.errors[0][:2], traffic.open_requests) == ((0, "connection_dropped"), 0)
        assert len(traffic.message_ids) == (1 if after else 0)
        assert stream(link)[0] == 200


@pytest.mark.parametrize("reply", [{"fault": "hang"}, {"content": "x", "delay_seconds": 3600}])
def test_a_hang_ends_when_the_client_leaves_or_the_link_closes(reply, tmp_path):
    with opened(script([reply], tmp_path)) as link:
        with connected(link, timeout=0.2) as connection:
            connection.request("POST", "/v1/messages", json.dumps(main_request("Go", stream=True)))
            wait_until(lambda: link.traffic().open_requests == 1)
            with pytest.raises(TimeoutError):
                connection.getresponse()
            assert link.traffic().open_requests == 1
        wait_until(lambda: link.traffic().open_requests == 0)
        with connected(link) as connection:
            connection.request("POST", "/v1/messages", json.dumps(main_request("Go", stream=True)))
            wait_until(lambda: link.traffic().open_requests == 1)
            link.close()
            assert connection.sock.recv(100) == b""
        wait_until(lambda: link.traffic().open_requests == 0)
        assert link.traffic().answers == 0


def test_a_delay_is_kept_and_holds_nobody_else_up(tmp_path, monkeypatch):
    slept, over = [], threading.Event()
    sleep = asyncio.sleep

    async def until_over(seconds):
        slept.append(seconds)
        while not over.is_set():
            await sleep(0.005)

    with opened(script([{"content": "x", "delay_seconds": 0.4}], tmp_path)) as link:
        threads = [threading.Thread(target=post, args=(link, main_request("Go"))) for _ in range(4)]
        with monkeypatch.context() as patched:
            patched.setattr("skillwalker.gateway.rehearsal.asyncio.sleep", until_over)
            for thread in threads:
                thread.start()
            wait_until(lambda: len(slept) == 4)
        assert link.traffic().answers == 0
        over.set()
        for thread in threads:
            thread.join()
        assert slept == [0.4] * 4
        assert link.traffic().answers == 4
