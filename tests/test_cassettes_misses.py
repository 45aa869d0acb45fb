"""A miss says which part differs and how, shortly and safely."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from cassette_support import bash, result
from gateway_support import LISTING, assistant, main_request, request, user

from skillwalker.gateway.cassettes.misses import differences, nearest, tell
from skillwalker.gateway.cassettes.normalise import Normal, normalise
from skillwalker.gateway.cassettes.varying import Window

NOW = datetime(2026, 11, 30, 14, 23, 4, tzinfo=UTC)
BILLING = "x-anthropic-billing-header: cc_version={}; cc_entrypoint=sdk-cli;"
SYSTEM = "You help.\nBe brief.\nUse tools."


def normal(body: dict[str, Any]) -> Normal:
    return normalise(body, Window(NOW, NOW))[0]


def body(prompt: str = "Tidy it", **more: Any) -> dict[str, Any]:
    version = more.pop("version", "2.1.332.abc")
    system = [
        {"type": "text", "text": text} for text in (BILLING.format(version), more.pop("system", SYSTEM))
    ]
    later = more.pop("later", [{"role": "assistant", "content": [bash("./tidy")]}, result("rows: 5\nok")])
    return main_request(prompt, *later, system=system, max_tokens=5, **more)


RENAMED = LISTING.replace("Plans a compost heap", "Plans any heap")
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "version": (
        body(version="2.1.340.def", system="You serve."),
        'the version of Claude Code differs: recorded "2.1.332", now "2.1.340" '
        "(also: block 2 of the system prompt)",
    ),
    "model": (
        body(model="claude-opus-5-5"),
        'the model differs: recorded "claude-sonnet-5-5", now "claude-opus-5-5"',
    ),
    "prompt": (body("Tidy this"), 'the prompt differs: recorded "Tidy it", now "Tidy this"'),
    "hash of the prompt": (
        body("Tidy this", version="2.1.332.def"),
        'the prompt differs: recorded "Tidy it", now "Tidy this"',
    ),
    "description": (
        body(listing=RENAMED),
        "the description of skill garden:compost differs: "
        'recorded "Plans a compost heap: layers, moisture and turning of the he…", '
        'now "Plans any heap: layers, moisture and turning of the heap." '
        "(also: message 2 (Claude Code), block 1)",
    ),
    "skill gone": (
        body(listing=LISTING.replace("- garden:bare\n", "")),
        "the description of skill garden:bare differs: it is not listed any more "
        "(also: message 2 (Claude Code), block 1)",
    ),
    "tool": (
        body(tools=[{"name": "Agent", "description": "Other", "input_schema": {"type": "object"}}]),
        'the description of tool Agent differs: new "Other" (also: tool Skill)',
    ),
    "system": (
        body(system=SYSTEM.replace("brief", "long")),
        'block 2 of the system prompt differs: line 2, recorded "Be brief.", now "Be long."',
    ),
    "line more": (
        body(system=SYSTEM.replace("Be", "Be kind.\nBe")),
        'block 2 of the system prompt differs: line 2, new "Be kind."',
    ),
    "line less": (
        body(system="You help.\nUse tools."),
        'block 2 of the system prompt differs: line 2, gone "Be brief."',
    ),
    "result": (
        body(later=[{"role": "assistant", "content": [bash("./tidy")]}, result("rows: 6\nok")]),
        'the result of Bash (call 1) differs: line 1, recorded "rows: 5", now "rows: 6"',
    ),
    "hostile result": (
        body(later=[{"role": "assistant", "content": [bash("./tidy")]}, result("\x1b[31mrows: 5\nok")]),
        'the result of Bash (call 1) differs: line 1, recorded "rows: 5", now "\\x1b[31mrows: 5"',
    ),
    "option": (body(temperature=1), 'the field temperature differs: new "1"'),
    "reminder": (
        body(
            later=[
                {"role": "assistant", "content": [bash("./tidy")]},
                {
                    **result("rows: 5\nok"),
                    "content": [*result("rows: 5\nok")["content"], {"type": "text", "text": "Mind."}],
                },
            ]
        ),
        'message 4 (user), block 2 differs: new "Mind."',
    ),
    "longer": (
        body(
            later=[
                {"role": "assistant", "content": [bash("./tidy")]},
                result("rows: 5\nok"),
                assistant("more"),
            ]
        ),
        'the conversation differs: it has 1 message more, from "more" on',
    ),
    "shorter": (
        body(later=[]),
        'the conversation differs: it lacks 2 messages, from "Bash {"command":"./tidy"}" on',
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_first_difference_is_told_with_its_line(case: str) -> None:
    changed, expected = CASES[case]

    assert tell(differences(normal(changed), normal(body()))) == expected


def test_long_lines_are_shown_around_the_difference() -> None:
    long = "x" * 3_000
    one, two = body(f"{long}old{long}"), body(f"{long}new{long}")

    text = tell(differences(normal(two), normal(one)))

    assert "old" in text
    assert "new" in text
    assert len(text) < 260


def test_the_nearest_request_is_the_one_with_the_longest_common_conversation() -> None:
    recorded = [
        normal(request(user("a"))),
        normal(request(user("a"), assistant("1"), user("b"))),
        normal(request(user("a"), assistant("1"), user("b"), assistant("2"), user("c"))),
        normal(request(user("other"), assistant("1"), user("b"), assistant("2"), user("c"))),
    ]

    assert nearest(normal(request(user("a"), assistant("1"), user("B"))), recorded) == recorded[1]
    assert nearest(normal(request(user("A"))), recorded) == recorded[0]
    assert (
        nearest(normal(request(user("a"), assistant("1"), user("b"), assistant("2"), user("C"))), recorded)
        == recorded[2]
    )
    assert nearest(recorded[0], []) is None
    assert tell([]) == "nothing recorded comes near it"


def reminded(commit: str, instructions: str) -> Normal:
    """What Claude Code tells of a work directory with a scaffold, before the prompt."""
    texts = (
        f"<system-reminder>\nContents of /workspace/CLAUDE.md (project instructions):\n\n{instructions}\n",
        f"<system-reminder>\n# gitStatus\nCurrent branch: main\n\nRecent commits:\n{commit} Scaffold\n",
        "<system-reminder>\nAttribution for git commits\n",
        "Tidy it",
    )
    content = [{"type": "text", "text": text} for text in texts]
    return normal(request({"role": "user", "content": content}))


def test_a_changed_scaffold_is_named() -> None:
    before = reminded("70a9916", "Be nice.")

    (commit,) = differences(reminded("7fe309c", "Be nice."), before)
    words, also = differences(reminded("7fe309c", "Be kind."), before)

    told = 'the scaffold (its files make its commit) differs: line 6, recorded "70a9916 Scaffold", now '
    assert str(commit) == str(also) == told + '"7fe309c Scaffold"'
    assert str(words) == 'what CLAUDE.md says differs: line 4, recorded "Be nice.", now "Be kind."'
