"""Which agents a stream shows at work, and how they ended."""

from __future__ import annotations

from pathlib import Path

import pytest
from transcripts import (
    Reader,
    answers,
    calls,
    ends,
    init,
    result,
    says,
    starts,
    system,
    told,
)

from skillwalker.agent_uses import AgentUse


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


LAUNCHED = {"isAsync": True, "status": "async_launched", "agentId": "k1"}
COMPLETED = {
    "status": "completed",
    "agentType": "acme:auditor",
    "content": [{"type": "text", "text": "report"}],
}


class TestAgents:
    @pytest.mark.parametrize("tool", ["Agent", "Task"])
    def test_an_agent_in_the_foreground(self, read: Reader, tool: str) -> None:
        transcript = read(
            init(),
            calls("a1", tool, subagent_type="acme:auditor", prompt="go"),
            starts("k1", "a1", "acme:auditor", is_backgrounded=False),
            says("looking", "a1"),
            ends("k1", "a1"),
            answers("a1", "report", COMPLETED),
            result(),
        )
        assert transcript.agents == (AgentUse("acme:auditor", 1, True, True, (), 1),)
        assert not transcript.background_open

    def test_an_agent_in_the_background_ends_with_its_notification(self, read: Reader) -> None:
        before = [
            init(),
            calls("a1", "Agent", subagent_type="acme:auditor"),
            starts("k1", "a1", "acme:auditor", is_backgrounded=True),
            answers("a1", "Async agent launched successfully.", LAUNCHED),
            says("waiting"),
            result("waiting"),
        ]
        launched = read(*before)
        assert [(use.started, use.completed) for use in launched.agents] == [(True, None)]
        assert launched.background_open
        ended = read(*before, ends("k1", "a1"), init(), says("final"), result("final"))
        assert [(use.started, use.completed) for use in ended.agents] == [(True, True)]
        assert not ended.background_open
        assert (ended.results, ended.final_text, ended.turns) == (2, "final", 3)

    @pytest.mark.parametrize("status", ["failed", "stopped", "killed"])
    def test_an_agent_that_failed(self, read: Reader, status: str) -> None:
        transcript = read(
            init(),
            calls("a1", "Agent", subagent_type="acme:auditor"),
            starts("k1", "a1", "acme:auditor"),
            ends("k1", "a1", status, "Agent terminated early due to an API error: 529"),
            result(),
        )
        [use] = transcript.agents
        assert (use.started, use.completed, len(use.errors)) == (True, False, 1)

    def test_an_error_result_of_an_agent_that_began(self, read: Reader) -> None:
        error = "Error: Agent terminated early due to an API error: API Error: 400"
        transcript = read(
            init(),
            calls("a1", "Agent", subagent_type="acme:auditor"),
            starts("k1", "a1", "acme:auditor"),
            answers("a1", error, error, error=True),
            result(),
        )
        assert transcript.agents == (AgentUse("acme:auditor", 1, True, False, (error,), 1),)

    @pytest.mark.parametrize(
        "error",
        [
            "Error: Agent type 'acme:auditor' not found. Available agents: other:helper",
            "InputValidationError: [",
            "User rejected tool use",
        ],
    )
    def test_a_refused_call_started_nothing(self, read: Reader, error: str) -> None:
        transcript = read(
            init(),
            calls("a1", "Agent", subagent_type="acme:auditor"),
            answers("a1", "no", error, error=True),
            result(),
        )
        assert transcript.agents == (AgentUse("acme:auditor", 1, False, False, (error,), 1),)
        assert not transcript.background_open

    def test_an_older_agent_that_an_api_error_ended_says_completed(self, read: Reader) -> None:
        broken = {**COMPLETED, "content": [{"type": "text", "text": "API Error: 400 no"}]}
        started = system("task_started", task_id="k1", tool_use_id="a1", subagent_type="acme:auditor")
        transcript = read(
            init(),
            calls("a1", "Agent", subagent_type="acme:auditor"),
            started,
            ends("k1", "a1"),
            answers("a1", "API Error: 400 no", broken),
            result(),
        )
        assert transcript.agents == (AgentUse("acme:auditor", 1, True, False, ("API Error: 400 no",), 1),)

    def test_an_older_agent_in_the_background_likewise(self, read: Reader) -> None:
        transcript = read(
            init(),
            calls("a1", "Agent", subagent_type="acme:auditor"),
            system("task_started", task_id="k1", tool_use_id="a1", subagent_type="acme:auditor"),
            answers("a1", "Async agent launched successfully.", LAUNCHED),
            says("API Error: 400 no", "a1", model="<synthetic>", error="unknown"),
            ends("k1", "a1"),
            result(),
        )
        assert transcript.agents == (AgentUse("acme:auditor", 1, True, False, ("API Error: 400 no",), 1),)

    def test_a_newer_agent_may_report_an_api_error_of_its_task(self, read: Reader) -> None:
        answer = {**COMPLETED, "content": [{"type": "text", "text": "API Error: is what the log says"}]}
        transcript = read(
            init(),
            calls("a1", "Agent", subagent_type="acme:auditor"),
            starts("k1", "a1", "acme:auditor"),
            ends("k1", "a1"),
            answers("a1", "report", answer),
            result(),
        )
        assert [use.completed for use in transcript.agents] == [True]

    def test_without_task_events_the_result_tells(self, read: Reader) -> None:
        transcript = read(
            init(), calls("a1", "Agent", prompt="go"), answers("a1", "report", COMPLETED), result()
        )
        assert transcript.agents == (AgentUse("acme:auditor", 1, True, True, (), 1),)

    def test_an_agent_of_which_only_the_task_is_seen(self, read: Reader) -> None:
        transcript = read(init(), starts("k1", "unseen", "acme:writer"), ends("k1", "unseen"), result())
        assert transcript.agents == (AgentUse("acme:writer", 1, True, True, (), 0),)

    def test_agents_in_agents(self, read: Reader) -> None:
        transcript = read(
            init(),
            calls("a1", "Agent", subagent_type="acme:auditor"),
            starts("k1", "a1", "acme:auditor"),
            calls("a2", "Agent", "a1", subagent_type="acme:writer"),
            starts("k2", "a2", "acme:writer", parent_task_id="k1"),
            ends("k2", "a2"),
            answers("a2", "inner report", parent="a1"),
            ends("k1", "a1"),
            answers("a1", "report", COMPLETED),
            result(),
        )
        assert [(use.name, use.completed, use.first_position) for use in transcript.agents] == [
            ("acme:auditor", True, 1),
            ("acme:writer", True, 2),
        ]

    def test_a_call_without_anything_after_it_is_not_known(self, read: Reader) -> None:
        [use] = read(init(), calls("a1", "Agent", subagent_type="acme:auditor")).agents
        assert (use.started, use.completed) == (None, None)

    def test_a_message_from_inside_shows_that_it_began(self, read: Reader) -> None:
        [use] = read(init(), calls("a1", "Agent", subagent_type="acme:auditor"), told("go", "a1")).agents
        assert (use.started, use.completed) == (True, None)

    def test_a_background_command_is_no_agent(self, read: Reader) -> None:
        transcript = read(
            init(),
            calls("t1", "Bash", command="sleep 9", run_in_background=True),
            system("task_started", task_id="b1", tool_use_id="t1", task_type="local_bash"),
            result(),
        )
        assert transcript.agents == ()
        assert not transcript.background_open

    def test_an_unknown_tool_with_an_agent_type_is_maybe_an_agent(self, read: Reader) -> None:
        call = calls("a1", "Delegate", subagent_type="acme:auditor")
        transcript = read(init(), call, answers("a1", "ok", {"what": "ever"}), result())
        assert transcript.agents == ()
        assert transcript.agents_hidden
        assert "the unknown tool Delegate was passed a `subagent_type`: maybe an agent" in transcript.notes
        started = read(init(), call, starts("k1", "a1", "acme:auditor"), ends("k1", "a1"), result())
        assert started.agents == (AgentUse("acme:auditor", 1, True, True, (), 1),)
        assert not started.agents_hidden
        refused = read(init(), call, answers("a1", "no such tool", error=True), result())
        assert (refused.agents, refused.agents_hidden) == ((), False)

    def test_a_task_that_starts_again_is_one_use_and_open_again(self, read: Reader) -> None:
        events = [
            init(),
            calls("a1", "Agent", subagent_type="acme:auditor"),
            starts("k1", "a1", "acme:auditor"),
            ends("k1", "a1"),
            calls("t2", "SendMessage", to="k1"),
            starts("k1", "t2", "acme:auditor"),
        ]
        assert read(*events).background_open
        assert read(*events, ends("k1", "t2"), result()).agents == (
            AgentUse("acme:auditor", 1, True, True, (), 1),
        )

    def test_a_change_of_the_task_tells_the_outcome_but_is_not_the_end(self, read: Reader) -> None:
        transcript = read(
            init(),
            calls("a1", "Agent", subagent_type="acme:auditor"),
            starts("k1", "a1", "acme:auditor"),
            system("task_updated", task_id="k1", patch={"status": "failed", "error": "terminated early"}),
        )
        assert transcript.agents == (AgentUse("acme:auditor", 1, True, False, ("terminated early",), 1),)
        assert transcript.background_open
