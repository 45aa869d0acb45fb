"""The rule that answers where nothing is scripted."""

import pytest
from gateway_support import assistant, main_request, request, user

from skillwalker.gateway.conversations import Thread
from skillwalker.gateway.listing import Listed
from skillwalker.gateway.rule import answer, best_match, stems

MAIN = Thread("main", "main", "main")
AGENT = Thread("agent", "toolu_1", "agent:a1", "garden:pruner")
FORK = Thread("agent", "toolu_1", "agent:a1", "garden:compost", fork=True)
BODY = "Base directory for this skill: /plugins/0/garden/skills/compost\n\nFirst.\n\n## Heaps ##\n# Later\n"


def called(prompt, thread=MAIN, **more):
    (block,) = answer(main_request(prompt, **more), thread, 0)
    given = block.get("input", {})
    return given.get("skill") or given.get("subagent_type")


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("How much water do my seedlings need this week?", "garden:wtr"),
        ("I am planning a heap, in layers. How do I turn it?", "garden:compost"),
        ("Could you prune the two hedges?", "garden:pruner"),
        ("Compost, please.", "garden:compost"),  # the name alone
        ("Write a poem about the moon.", None),
        ("Is the week dry?", "garden:wtr"),
        ("Which tree is this?", None),  # one word of a description is chance
        ("Plan, create or edit a plugin; design an implementation plan.", None),  # built in
        ("", None),
    ],
)
def test_the_best_fitting_skill_or_agent_of_a_plugin_is_called(prompt, expected):
    assert called(prompt) == expected


def test_nothing_is_called_where_two_fit_alike():
    twins = "The following skills are available for use with the Skill tool:\n\n- a:x: Folds paper boats.\n"
    assert called("Fold a paper boat", listing=twins) == "a:x"
    assert called("Fold a paper boat", listing=twins + "- b:y: Folds paper boats.\n") is None


def test_what_the_request_has_no_tool_for_is_not_called():
    skill_only = [{"name": "Skill"}]
    assert called("Could you prune the two hedges?", tools=skill_only) is None
    assert called("How much water do my seedlings need?", tools=()) is None


def test_an_agent_may_use_a_skill_but_starts_no_agent():
    assert called("Could you prune the two hedges?", AGENT) is None
    assert called("How much water do my seedlings need?", AGENT) == "garden:wtr"


def test_a_fork_follows_its_skill_and_does_not_call_it_again():
    (block,) = answer(request(user(BODY)), FORK, 0)
    assert block == {"type": "text", "text": 'Rehearsed answer, following "Heaps".'}


@pytest.mark.parametrize("tool", ["Agent", "Task"])
def test_an_agent_prompt_calls_that_agent_with_the_task(tool):
    prompt = "Use the garden:Tree Doctor agent to accomplish the following task:\n\nLook at\n\nmy tree\n"
    (block,) = answer(main_request(prompt, tools=[{"name": tool}]), MAIN, 0)
    assert (block["name"], block["input"]["subagent_type"], block["input"]["prompt"]) == (
        tool,
        "garden:Tree Doctor",
        "Look at\n\nmy tree",
    )


def test_a_slash_command_is_answered_with_its_heading():
    command = (
        "<command-message>garden:compost</command-message>\n<command-name>/garden:compost</command-name>"
    )
    (block,) = answer(request(user(command, BODY)), MAIN, 0)
    assert block["text"] == 'Rehearsed answer to /garden:compost, following "Heaps".'


def result(content, *texts):
    blocks = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": content}]
    return {"role": "user", "content": [*blocks, *({"type": "text", "text": text} for text in texts)]}


@pytest.mark.parametrize(
    ("last", "quoted"),
    [
        (result("Launching skill: garden:compost", BODY), "Heaps"),
        (result([{"type": "text", "text": "\n  All pruned.\nBye"}]), "All pruned."),
        (result("# Title #"), "Title"),
        (result(""), ""),
    ],
)
def test_after_a_tool_the_answer_quotes_what_came_back(last, quoted):
    (block,) = answer(main_request("x", assistant(), last), MAIN, 1)
    assert block["text"] == f'Rehearsed answer, following "{quoted}".'


def test_words_are_compared_without_their_endings():
    assert stems("Planning plans, planned") == stems("plan")
    assert stems("tidied tidies") == stems("tidy")
    assert stems("the of and 2026 a") == frozenset()
    assert stems("Äpfel schälen") == {"äpfel", "schälen"}


def test_the_order_of_the_listing_does_not_matter():
    listed = [
        Listed("a:x", "Folds paper boats."),
        Listed("a:y", "Paints wooden boats."),
        Listed("z", "boats"),
    ]
    assert best_match("fold paper", listed) == best_match("fold paper", listed[::-1]) == listed[0]
