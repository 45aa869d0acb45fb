"""Which conversation a request belongs to. The forms are those of Claude Code 2.1.332."""

import pytest
from gateway_support import assistant, main_request, request, user

from skillwalker.gateway.conversations import Conversations, first_texts, last_texts, texts_of

REMINDER = "<system-reminder>\nsaid always\n</system-reminder>\n"


def agent_call(id_, kind, prompt):
    return {
        "type": "tool_use",
        "id": id_,
        "name": "Agent",
        "input": {"subagent_type": kind, "prompt": prompt},
    }


def skill_call(id_, name):
    return {"type": "tool_use", "id": id_, "name": "Skill", "input": {"skill": name}}


def agent_request(prompt, *later):
    return request(user(REMINDER, prompt), *later)


@pytest.fixture
def talk():
    conversations = Conversations("trial")
    conversations.place(main_request("Water the seedlings"), {})
    return conversations


def main_thread(talk):
    return talk.place(main_request("Water the seedlings"), {}).thread


def test_the_first_conversation_without_a_header_is_the_main_one(talk):
    place = talk.place(main_request("Water the seedlings", assistant(), user("go on")), {})
    assert (place.thread.kind, place.thread.label, place.thread.agent) == ("main", "main", None)
    assert (place.turn, place.attempt) == (1, 1)


def test_a_retry_has_the_same_turn_and_the_next_attempt(talk):
    again = talk.place(main_request("Water the seedlings"), {})
    assert (again.turn, again.attempt) == (0, 2)
    later = talk.place(main_request("Water the seedlings", assistant(), user("go on")), {})
    assert (later.turn, later.attempt) == (1, 1)


def test_an_agents_type_is_that_of_the_call_with_its_prompt(talk):
    main = main_thread(talk)
    talk.served(main, agent_call("toolu_1", "garden:pruner", "Prune the hedge"))
    talk.served(main, agent_call("toolu_2", "garden:digger", "Dig a hole\n"))
    digger = talk.place(agent_request("Dig a hole"), {"x-claude-code-agent-id": "a1"})
    pruner = talk.place(agent_request("Prune the hedge"), {"x-claude-code-agent-id": "a2"})
    assert (digger.thread.agent, digger.thread.key, digger.thread.label) == (
        "garden:digger",
        "toolu_2",
        "agent:a1",
    )
    assert (pruner.thread.agent, pruner.thread.fork) == ("garden:pruner", False)
    again = talk.place(agent_request("Dig a hole", assistant(), user("x")), {"x-claude-code-agent-id": "a1"})
    assert (again.thread, again.turn) == (digger.thread, 1)


def test_two_agents_with_one_prompt_are_given_to_the_calls_in_their_order(talk):
    main = main_thread(talk)
    talk.served(main, agent_call("toolu_1", "garden:pruner", "Have a look"))
    talk.served(main, agent_call("toolu_2", "garden:digger", "Have a look"))
    found = [
        talk.place(agent_request("Have a look"), {"x-claude-code-agent-id": id_}).thread.agent
        for id_ in ("a1", "a2", "a1")
    ]
    assert found == ["garden:pruner", "garden:digger", "garden:pruner"]


def test_an_agent_inside_an_agent_belongs_to_its_parents_call(talk):
    main = main_thread(talk)
    talk.served(main, agent_call("toolu_1", "garden:pruner", "Same words"))
    outer = talk.place(agent_request("Same words"), {"x-claude-code-agent-id": "a1"}).thread
    talk.served(main, agent_call("toolu_2", "garden:digger", "Same words"))
    talk.served(outer, agent_call("toolu_3", "garden:helper", "Same words"))
    headers = {"x-claude-code-agent-id": "a2", "x-claude-code-parent-agent-id": "a1"}
    assert talk.place(agent_request("Same words"), headers).thread.key == "toolu_3"


def test_a_call_without_a_type_starts_the_general_agent(talk):
    call = {"type": "tool_use", "id": "toolu_1", "name": "Task", "input": {"prompt": "Dig"}}
    talk.served(main_thread(talk), call)
    found = talk.place(agent_request("Dig"), {"x-claude-code-agent-id": "a1"})
    assert found.thread.agent == "general-purpose"


def test_a_forked_skill_is_known_by_its_directory(talk):
    main = main_thread(talk)
    talk.served(main, skill_call("toolu_1", "garden:compost"))
    talk.served(main, skill_call("toolu_2", "/garden:water"))
    body = "Base directory for this skill: /plugins/0/garden/skills/compost\n\n# Compost\n"
    thread = talk.place(agent_request(body), {"x-claude-code-agent-id": "a1"}).thread
    assert (thread.agent, thread.key, thread.fork) == ("garden:compost", "toolu_1", True)
    alias = "Base directory for this skill: /plugins/0/garden/skills/wtr\n\n# Water\n"
    assert talk.place(agent_request(alias), {"x-claude-code-agent-id": "a2"}).thread.agent == "garden:water"


def test_a_fork_that_a_slash_command_called_is_the_main_conversation():
    body = "Base directory for this skill: /plugins/0/garden/skills/compost\n\n# Compost\n"
    thread = Conversations("trial").place(agent_request(body), {}).thread
    assert (thread.kind, thread.agent, thread.fork) == ("main", "compost", True)


def test_a_slash_command_is_no_fork():
    command = (
        "<command-message>garden:compost</command-message>\n<command-name>/garden:compost</command-name>"
    )
    body = "Base directory for this skill: /plugins/0/garden/skills/compost\n\n# Compost\n"
    thread = Conversations("trial").place(request(user(REMINDER, command, body)), {}).thread
    assert (thread.kind, thread.agent, thread.fork) == ("main", None, False)


def test_an_agent_that_copies_its_parent_counts_from_the_copy(talk):
    talk.served(main_thread(talk), agent_call("toolu_1", "fork", "Go on alone"))
    copied = main_request("Water the seedlings", assistant(), user("Go on alone"))
    first = talk.place(copied, {"x-claude-code-agent-id": "a1"})
    assert (first.thread.agent, first.turn) == ("fork", 0)
    copied["messages"] += [assistant(), user("x")]
    assert talk.place(copied, {"x-claude-code-agent-id": "a1"}).turn == 1


def test_older_versions_send_no_header(talk):
    talk.served(main_thread(talk), agent_call("toolu_1", "garden:pruner", "Prune the hedge"))
    first = talk.place(agent_request("Prune the hedge"), {})
    again = talk.place(agent_request("Prune the hedge", assistant(), user("x")), {})
    assert first.thread.agent == again.thread.agent == "garden:pruner"
    assert (first.turn, again.turn) == (0, 1)


def test_an_agent_nobody_called_is_still_a_conversation_of_its_own(talk):
    thread = talk.place(agent_request("Out of nowhere"), {"x-claude-code-agent-id": "a9"}).thread
    assert (thread.kind, thread.agent) == ("agent", None)


def test_a_request_without_tools_is_no_turn_of_the_main_conversation(talk):
    aside = talk.place(request(user("Sum up this web page"), tools=()), {})
    assert aside.thread.kind == "side"
    assert talk.place(main_request("Water the seedlings"), {}).attempt == 2


def test_each_new_question_to_a_judge_is_the_next_turn():
    talk = Conversations("judge")
    first, second = request(user("Rubric A"), tools=()), request(user("Rubric B"), tools=())
    again = request(user("Rubric A"), assistant("no JSON"), user("Once more"), tools=())
    turns = [
        (place.turn, place.attempt) for place in (talk.place(r, {}) for r in (first, second, first, again))
    ]
    assert turns == [(0, 1), (1, 1), (0, 2), (2, 1)]


def test_the_same_question_of_another_judge_is_the_next_turn_and_its_repetition_is_not():
    talk = Conversations("judge")
    asked = request(user("Rubric A"), tools=())
    retries = [{"x-stainless-lang": "python", "x-stainless-retry-count": n} for n in ("0", "1", "0", "1")]
    places = [talk.place(asked, headers) for headers in retries]
    assert [(place.turn, place.attempt) for place in places] == [(0, 1), (0, 2), (1, 1), (1, 2)]


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [5, None, "x"],
        [{"role": "user"}, {"role": "user", "content": 5}],
        [{"role": "user", "content": [5, {"type": "text", "text": 5}, {"text": "x"}]}],
        [{"role": ["user"], "content": {}}, {"role": "assistant"}],
    ],
)
def test_anything_can_come_over_a_connection(messages):
    for headers in ({}, {"x-claude-code-agent-id": "a1"}):
        talk = Conversations("trial")
        talk.served(main_thread(talk), {"type": "tool_use", "name": "Agent", "input": "x"})
        talk.served(main_thread(talk), {"type": "tool_use", "name": "Skill", "input": {"skill": 5}})
        assert talk.place({"messages": messages}, headers).attempt >= 1


def test_texts():
    assert texts_of("plain") == ["plain"]
    assert first_texts(request(user(REMINDER, "a", "b"), user("c"))) == ["a", "b"]
    assert last_texts(request(user(REMINDER, "a"), assistant(), user("c"))) == ["c"]
    assert first_texts({}) == last_texts({}) == []
