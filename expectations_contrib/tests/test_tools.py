"""tool-call and tool-not-used."""

from __future__ import annotations

import pytest

from skillwalker.expectations import Outcome, Reason
from skillwalker.testing import TranscriptBuilder


def events() -> TranscriptBuilder:
    return (
        TranscriptBuilder()
        .init()
        .tool("Read", {"file_path": "/workspace/a.py"})
        .tool("Bash", {"command": "git status"})
        .tool("Bash", {"command": "pytest -q", "timeout": 5}, error="exit 1")
        .tool("Edit", {"file_path": "/workspace/a.py", "old_string": "a", "new_string": "b"})
        .tool("mcp__github__list", {"repo": "a/b"})
        .text("Done.")
        .result()
    )


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ("Bash", "passed"),
        ("Write", "failed"),
        ("mcp__github__*", "passed"),
        ({"tool": ["Write", "Edit"]}, "passed"),
        ({"tool": "Bash", "input": "pytest"}, "passed"),
        ({"tool": "Bash", "input": {"command": "^git (status|diff)$"}}, "passed"),
        ({"tool": "Bash", "input": {"command": "^GIT"}}, "failed"),
        ({"tool": "Bash", "input": {"command": "^GIT"}, "flags": "i"}, "passed"),
        ({"tool": "Bash", "input": {"timeout": "^5$"}}, "passed"),
        ({"tool": "Bash", "input": {"nothing": ""}}, None),
        ({"tool": "Bash", "input": {"nothing": "."}}, "failed"),
        ({"tool": "Bash", "min": 2}, "passed"),
        ({"tool": "Bash", "min": 3}, "failed"),
        ({"tool": "Bash", "max": 2}, "passed"),
        ({"tool": "Bash", "max": 1}, "failed"),
        ({"tool": "Bash", "count": 2}, "passed"),
        ({"tool": "Bash", "count": 1}, "failed"),
        ({"tool": "Edit", "after": "Read"}, "passed"),
        ({"tool": "Read", "after": "Edit"}, "failed"),
        ({"tool": "Read", "before": "Edit"}, "passed"),
        ({"tool": "Edit", "before": "Read"}, "failed"),
        ({"tool": "Edit", "before": "Write"}, "failed"),
        ({"tool": "Bash", "input": {"command": "pytest"}, "after": "Read", "before": "Edit"}, "passed"),
    ],
)
def test_a_tool_was_called(judge, problems, value, outcome) -> None:
    if outcome is None:
        assert problems({"tool-call": value})
    else:
        assert judge({"tool-call": value}, events()).outcome == outcome


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "Write",
            "Write: 0 calls, expected 1 or more; called: Read (1), Bash (2), Edit (1), mcp__github__list (1)",
        ),
        (
            {"tool": "Bash", "input": {"command": "rm"}},
            'Bash with command /rm/: 0 calls, expected 1 or more; with other input: call 2, Bash {"command": '
            '"git status"}; call 3, Bash {"command": "pytest -q", "timeout": 5}',
        ),
        ({"tool": "Bash", "count": 1}, "Bash: 2 calls, expected exactly 1; the last is call 3, Bash {"),
        (
            {"tool": "Edit", "before": "Read"},
            "Edit: 1 call, but Read was called before the first (calls 1 and 4)",
        ),
        (
            {"tool": "Read", "after": "Edit"},
            "Read: 1 call, but Edit was called only after the first (calls 4 and 1)",
        ),
        ({"tool": "Edit", "before": "Write"}, "Edit: 1 call, but Write was never called"),
        ("Edit", "Edit: 1 call; the first is call 4, Edit {"),
    ],
)
def test_what_was_called_is_shown(judge, value, message) -> None:
    assert judge({"tool-call": value}, events()).message.startswith(message)


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ("Bash", "passed"),
        ({"tool": "Bash", "min": 2}, "passed"),
        ({"tool": "Edit", "after": "Read"}, "passed"),
        ({"tool": "Bash", "max": 1}, "failed"),
        ({"tool": "Bash", "max": 2}, "unmeasured"),
        ({"tool": "Bash", "count": 2}, "unmeasured"),
        ("Write", "unmeasured"),
        ({"tool": "Edit", "before": "Write"}, "unmeasured"),
    ],
)
def test_in_an_unhealthy_trial_only_what_was_seen_counts(judge, value, outcome) -> None:
    assert judge({"tool-call": value}, events(), reason=Reason.TIMEOUT).outcome == outcome
    contaminated = judge({"tool-call": value}, events(), reason=Reason.CONTAMINATED)
    assert contaminated.outcome is Outcome.UNMEASURED


@pytest.mark.parametrize(
    ("value", "outcome", "unhealthy"),
    [
        ("Write", "passed", "unmeasured"),
        ("Bash", "failed", "failed"),
        (["Write", "WebFetch"], "passed", "unmeasured"),
        (["Write", "mcp__*"], "failed", "failed"),
        ({"tool": "Bash", "input": {"command": r"\brm\b"}}, "passed", "unmeasured"),
        ({"tool": "Bash", "input": {"command": "pytest"}}, "failed", "failed"),
    ],
)
def test_a_tool_was_not_used(judge, value, outcome, unhealthy) -> None:
    assert judge({"tool-not-used": value}, events()).outcome == outcome
    assert judge({"tool-not-used": value}, events(), reason=Reason.STALLED).outcome == unhealthy
    assert judge({"tool-not-used": value}, events(), reason=Reason.CONTAMINATED).outcome == "unmeasured"


def test_messages_of_a_tool_that_was_not_used(judge) -> None:
    assert judge({"tool-not-used": "Edit"}, events()).message.startswith("Edit was called: call 4, Edit {")
    assert judge({"tool-not-used": ["Write", "Glob"]}, events()).message == (
        "Write or Glob was not called; called: Read (1), Bash (2), Edit (1), mcp__github__list (1)"
    )


def test_calls_of_sub_agents_count(judge) -> None:
    said = TranscriptBuilder().init().agent("acme:helper")
    said.tool("Bash", {"command": "ls"}, parent=said.last_call).text("Done.").result()
    assert judge({"tool-call": "Bash"}, said).outcome is Outcome.PASSED
    assert judge({"tool-not-used": "Bash"}, said).outcome is Outcome.FAILED
    for name in ("Agent", "Task"):
        assert judge({"tool-call": name}, said).outcome is Outcome.PASSED
        assert judge({"tool-not-used": name}, said).outcome is Outcome.FAILED


def test_what_an_agent_did_out_of_sight_is_not_taken_for_absent(judge) -> None:
    said = TranscriptBuilder().init().tool("Agent", {"prompt": "x"}, "Done", extra={"toolsUsed": ["Write"]})
    said.event({"type": "system", "subtype": "task_progress", "last_tool_name": "Grep"}).text(
        "Done."
    ).result()
    for name in ("Write", "Grep"):
        assert judge({"tool-not-used": name}, said).outcome is Outcome.UNMEASURED
        assert judge({"tool-call": name}, said).outcome is Outcome.UNMEASURED
    assert judge({"tool-not-used": "Bash"}, said).outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"tool-call": "bash"}, "tool-call: has bash, but the tool's name is Bash"),
        ({"tool-not-used": ["webfetch"]}, "tool-not-used: has webfetch, but the tool's name is WebFetch"),
        ({"tool-not-used": []}, "tool-not-used: must name a tool"),
        ({"tool-not-used": " "}, "tool-not-used: must name a tool"),
        ({"tool-call": 5}, "tool-call: expected "),
        ({"tool-call": {"tool": "Bash", "input": {}}}, "tool-call.input: must name a part of the input"),
        (
            {"tool-call": {"tool": "Bash", "input": {"command": "("}}},
            "tool-call.input: command: is no regular",
        ),
        ({"tool-call": {"tool": "Bash", "count": 1, "min": 1}}, "tool-call: count says it exactly"),
        ({"tool-call": {"tool": "Bash", "min": 3, "max": 2}}, "tool-call: min is 3 and max 2"),
        ({"tool-call": {"tool": "Bash", "min": 0}}, "tool-call.min: must be at least 1, not 0"),
        (
            {"tool-call": {"tool": "Bash", "after": "read"}},
            "tool-call.after: has read, but the tool's name is Read",
        ),
    ],
)
def test_wrong_options_are_told_before_the_run(problems, entry, problem) -> None:
    assert [one[: len(problem)] for one in problems(entry)] == [problem]
