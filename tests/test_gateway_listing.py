"""What a request lists, wherever a version of Claude Code puts it."""

import pytest
from gateway_support import LISTING, main_request, request, user

from skillwalker.gateway.listing import Listed, Listing, read_listing

SKILLS = (
    Listed("garden:compost", "Plans a compost heap: layers, moisture and turning of the heap."),
    Listed("garden:wtr", "Works out how much water seedlings need in a dry week.", "garden:water"),
    Listed("garden:bare", None),
    Listed("plugin-authoring", "Use this skill to plan, create or edit a plugin."),
)
AGENTS = ("claude", "garden:pruner", "Plan")


@pytest.mark.parametrize(
    "message",
    [
        {"role": "system", "content": LISTING},
        {"role": "system", "content": [{"type": "text", "text": LISTING}]},
        user(f"<system-reminder>\n{LISTING}\n</system-reminder>"),
    ],
    ids=["system text", "system block", "reminder"],
)
def test_the_listing_is_found_in_messages(message):
    listing = read_listing(request(message, user("hi")))
    assert listing.skills == SKILLS
    assert tuple(agent.id for agent in listing.agents) == AGENTS
    assert listing.agents[1].description == "Prunes fruit trees and hedges, and says when to stop."


def test_the_listing_is_found_in_the_descriptions_of_tools():
    tools = [{"name": "Skill", "description": LISTING}, {"name": "Agent"}, 5]
    assert read_listing(request(user("hi"), tools=tools)).skills == SKILLS


def test_a_tool_that_only_speaks_of_listings_lists_nothing():
    words = (
        "Available agent types are listed in messages from the system.\n\n- The result is for you: read it.\n"
    )
    assert not read_listing(request(user("hi"), tools=[{"name": "Agent", "description": words}]))


def test_the_text_is_the_listing_as_it_was_sent_and_no_more():
    text = read_listing(main_request("hi")).text
    assert "- garden:bare\n- plugin-authoring: Use this skill" in text
    for other in ("Platform: linux", "When you launch", "Ada"):
        assert other not in text


def test_a_user_cannot_list_anything():
    assert not read_listing(request(user(LISTING)))


def test_descriptions_may_have_line_breaks_and_agents_blanks_in_their_names():
    text = """Available agent types for the Agent tool:
- garden:Tree Doctor: Looks at trees.
  <example>
  - a leaf
  </example> (Tools: All tools)
- garden:digger: Digs (holes). (Tools: All tools except Agent, Bash)

Something else:
- not: an agent"""
    agents = read_listing(request({"role": "system", "content": text})).agents
    assert [agent.id for agent in agents] == ["garden:Tree Doctor", "garden:digger"]
    assert agents[0].description == "Looks at trees.\n  <example>\n  - a leaf\n  </example>"
    assert agents[1].description == "Digs (holes)."


def test_the_first_of_two_entries_counts():
    later = LISTING.replace("compost heap", "rubbish heap")
    listing = read_listing(main_request("hi", {"role": "system", "content": later}))
    assert listing.skills == SKILLS


@pytest.mark.parametrize("value", [{}, {"messages": 5, "tools": 5}, {"messages": [{"role": "system"}]}])
def test_no_listing(value):
    assert read_listing(value) == Listing()


def test_an_agents_description_may_hold_paragraphs_and_lists():
    described = "Audits.\n\nUse it when:\n- totals differ: check them\n\nNever otherwise."
    text = (
        "Available agent types for the Agent tool:\n"
        f"- acme:auditor: {described} (Tools: Read, Bash)\n"
        "- my agent: Helps (Tools: All tools)\n\n"
        "When you launch multiple agents, send them in one message.\n\n"
        "The following skills are available for use with the Skill tool:\n\n- acme:tidy: Tidies \n"
    )
    listing = read_listing({"messages": [{"role": "system", "content": text}]})

    assert [(one.id, one.description) for one in listing.agents] == [
        ("acme:auditor", described),
        ("my agent", "Helps"),
    ]
    assert [(one.id, one.description) for one in listing.skills] == [("acme:tidy", "Tidies ")]
