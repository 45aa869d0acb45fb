"""Which skills a stream shows in use, and which it does not show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from transcripts import (
    Reader,
    added,
    answers,
    body,
    calls,
    command,
    ends,
    init,
    loads,
    replays,
    result,
    says,
    starts,
    system,
)

from skillwalker.skill_uses import SkillUse


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


class TestSkills:
    @pytest.mark.parametrize("name", ["acme:tidy-csv", "acme:tidy", "tidy", "/tidy", "/acme:tidy-csv"])
    def test_every_name_of_a_skill_is_the_skill(self, read: Reader, name: str) -> None:
        transcript = read(init(), calls("t1", "Skill", skill=name), loads("t1", name.strip("/")), result())
        assert transcript.skills == (SkillUse("acme:tidy-csv", 1, True, ("tool",), (), 1),)

    @pytest.mark.parametrize("name", ["other:tidy-csv", "tidy-csv-pro", "tidy-csv"])
    def test_a_name_of_nobody_stays_what_it_is(self, read: Reader, name: str) -> None:
        transcript = read(init(), calls("t1", "Skill", skill=name), loads("t1", name), result())
        assert [use.name for use in transcript.skills] == [name]

    def test_a_bare_name_that_claude_code_has_itself_is_not_the_plugins(self, read: Reader) -> None:
        both = init(skills=["acme:tidy", "tidy", "loop"])
        own, bare = calls("t1", "Skill", skill="acme:tidy"), calls("t2", "Skill", skill="tidy")
        taken = read(both, own, loads("t1", "acme:tidy"), bare, loads("t2", "tidy"), result())
        assert [(use.name, use.calls) for use in taken.skills] == [("acme:tidy-csv", 1), ("tidy", 1)]
        # Where its text comes from the plugin, it was the plugin's all the same.
        taken = read(both, bare, loads("t2", "tidy"), body("acme/skills/tidy-csv"), result())
        assert [use.name for use in taken.skills] == ["acme:tidy-csv"]
        slash = read(both, replays(command("tidy")), says("done"), result(), prompt="/tidy")
        assert [use.name for use in slash.skills] == ["tidy"]

    def test_a_call_after_others_keeps_its_position(self, read: Reader) -> None:
        transcript = read(
            init(),
            calls("t1", "Bash", command="ls"),
            answers("t1"),
            calls("t2", "Read", file_path="notes.md"),
            answers("t2"),
            calls("t3", "Skill", skill="tidy"),
            loads("t3", "tidy"),
            result(),
        )
        assert transcript.skills[0].first_position == 3

    def test_a_refused_call_is_an_attempt_and_no_load(self, read: Reader) -> None:
        error = "Error: Skill acme:tidy cannot be used with Skill tool due to disable-model-invocation"
        transcript = read(
            init(), calls("t1", "Skill", skill="acme:tidy"), answers("t1", error, error, error=True), result()
        )
        assert transcript.skills == (SkillUse("acme:tidy-csv", 1, False, ("tool",), (error,), 1),)

    def test_a_refused_call_and_one_that_works_are_a_load_with_an_error(self, read: Reader) -> None:
        transcript = read(
            init(),
            calls("t1", "Skill", skill="tidy"),
            answers("t1", "denied", error=True),
            calls("t2", "Skill", skill="acme:tidy-csv"),
            loads("t2", "acme:tidy-csv"),
            result(),
        )
        assert transcript.skills == (SkillUse("acme:tidy-csv", 2, True, ("tool",), ("denied",), 1),)

    def test_a_call_without_a_result_is_not_known(self, read: Reader) -> None:
        assert read(init(), calls("t1", "Skill", skill="tidy")).skills[0].loaded is None

    def test_a_result_that_says_neither_is_not_known(self, read: Reader) -> None:
        transcript = read(init(), calls("t1", "Skill", skill="tidy"), answers("t1", "hm", {"x": 1}), result())
        assert transcript.skills[0].loaded is None

    def test_results_that_come_together_are_told_by_their_texts(self, read: Reader) -> None:
        both = {
            "type": "user",
            "message": {
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": "Launching skill: tidy"},
                    {"type": "tool_result", "tool_use_id": "t2", "content": "no", "is_error": True},
                ]
            },
            "tool_use_result": {"success": True},
        }
        transcript = read(
            init(), calls("t1", "Skill", skill="tidy"), calls("t2", "Skill", skill="report"), both, result()
        )
        assert [(use.name, use.loaded) for use in transcript.skills] == [
            ("acme:tidy-csv", True),
            ("acme:report", False),
        ]

    def test_a_call_under_the_wrong_key_is_a_refused_attempt(self, read: Reader) -> None:
        transcript = read(
            init(),
            calls("t1", "Skill", command="tidy"),
            answers("t1", "InputValidationError", "InputValidationError: [", error=True),
            result(),
        )
        assert [(use.name, use.loaded) for use in transcript.skills] == [("acme:tidy-csv", False)]

    def test_a_call_that_names_none_is_noted(self, read: Reader) -> None:
        transcript = read(init(), calls("t1", "Skill"), answers("t1", "no", error=True), result())
        assert transcript.skills == ()
        assert transcript.notes == ("a call of the Skill or Agent tool named none",)

    def test_the_directory_decides_between_two_owners_of_a_name(self, read: Reader) -> None:
        transcript = read(
            init(),
            calls("t1", "Skill", skill="shared"),
            loads("t1", "shared"),
            body("/plugins/other/skills/shared"),
            result(),
        )
        assert [(use.name, use.candidates) for use in transcript.skills] == [("other:shared", ())]

    def test_without_the_directory_both_owners_are_told(self, read: Reader) -> None:
        transcript = read(init(), calls("t1", "Skill", skill="shared"), loads("t1", "shared"), result())
        assert transcript.skills[0].candidates == ("acme:shared", "other:shared")

    def test_bodies_go_to_their_own_calls(self, read: Reader) -> None:
        transcript = read(
            init(),
            calls("t1", "Skill", skill="report"),
            calls("t2", "Skill", skill="shared"),
            loads("t1", "report"),
            loads("t2", "shared"),
            body("/plugins/acme/skills/shared"),
            body("/plugins/acme/skills/report"),
            result(),
        )
        assert [(use.name, use.calls) for use in transcript.skills] == [
            ("acme:report", 1),
            ("acme:shared", 1),
        ]

    def test_a_second_load_has_no_body(self, read: Reader) -> None:
        transcript = read(
            init(),
            calls("t1", "Skill", skill="tidy"),
            loads("t1", "tidy"),
            body("/plugins/acme/skills/tidy-csv"),
            calls("t2", "Skill", skill="tidy"),
            loads("t2", "tidy"),
            added("Skill /tidy is already loaded above; instructions unchanged."),
            result(),
        )
        assert [(use.name, use.calls, use.loaded) for use in transcript.skills] == [
            ("acme:tidy-csv", 2, True)
        ]

    def test_a_body_whose_call_is_out_of_sight_is_a_load(self, read: Reader) -> None:
        transcript = read(init(), body("/plugins/acme/skills/report", "a1"), result())
        assert [(use.name, use.loaded, use.via) for use in transcript.skills] == [
            ("acme:report", True, ("sub-agent",))
        ]

    def test_a_text_that_only_looks_like_a_body_is_none(self, read: Reader) -> None:
        transcript = read(
            init(),
            calls("a1", "Agent", subagent_type="acme:auditor"),
            starts("k1", "a1", "acme:auditor"),
            body("/plugins/acme/skills/report", "a1", synthetic=False),
            result(),
        )
        assert transcript.skills == ()

    def test_a_skill_in_a_sub_agent(self, read: Reader) -> None:
        transcript = read(
            init(),
            calls("a1", "Agent", subagent_type="acme:auditor"),
            starts("k1", "a1", "acme:auditor"),
            system("task_progress", task_id="k1", tool_use_id="a1", last_tool_name="Skill"),
            calls("t1", "Skill", "a1", skill="tidy"),
            loads("t1", "tidy", "a1"),
            ends("k1", "a1"),
            answers("a1"),
            result(),
        )
        assert transcript.skills == (SkillUse("acme:tidy-csv", 1, True, ("sub-agent",), (), 2),)
        assert not transcript.skills_hidden

    def test_a_skill_out_of_sight_is_hidden_not_absent(self, read: Reader) -> None:
        transcript = read(
            init(),
            calls("a1", "Agent", subagent_type="acme:auditor"),
            starts("k1", "a1", "acme:auditor"),
            calls("a2", "Agent", "a1", subagent_type="acme:writer"),
            starts("k2", "a2", "acme:writer"),
            system("task_progress", task_id="k2", tool_use_id="a2", last_tool_name="Skill"),
            ends("k2", "a2"),
            ends("k1", "a1"),
            answers("a1"),
            result(),
        )
        assert transcript.skills == ()
        assert transcript.skills_hidden
        assert any("does not show for what" in note for note in transcript.notes)

    def test_the_same_event_twice_is_one_call(self, read: Reader) -> None:
        call = calls("t1", "Skill", skill="tidy")
        assert read(init(), call, call, loads("t1", "tidy"), result()).skills[0].calls == 1


class TestSlashCommands:
    def test_a_replayed_command_is_a_load(self, read: Reader) -> None:
        transcript = read(
            init(), replays(command("acme:tidy-csv", "now")), says("fine"), result(), prompt="/tidy now"
        )
        assert transcript.skills == (SkillUse("acme:tidy-csv", 1, True, ("slash",), (), 0),)

    @pytest.mark.parametrize(
        "prompt", [command("acme:tidy-csv"), "Explain " + command("acme:tidy-csv"), " /tidy"]
    )
    def test_a_prompt_that_holds_the_markup_is_no_command(self, read: Reader, prompt: str) -> None:
        assert read(init(), replays(prompt), says("fine"), result(), prompt=prompt).skills == ()

    def test_a_prompt_that_came_back_as_it_was_is_no_command(self, read: Reader) -> None:
        transcript = read(init(), replays("/tidy x"), says("fine"), result(), prompt="/tidy x")
        assert transcript.skills == ()
        assert not transcript.skills_hidden

    def test_a_command_of_which_nothing_came_back_is_hidden(self, read: Reader) -> None:
        transcript = read(init(), says("fine"), result(), prompt="/acme:tidy x")
        assert transcript.skills == ()
        assert transcript.skills_hidden

    def test_a_command_that_never_reached_the_model_is_refused(self, read: Reader) -> None:
        local = says("This skill can only be invoked by Claude", model="<synthetic>")
        transcript = read(init(), local, result(modelUsage={}, num_turns=0), prompt="/tidy")
        assert [(use.name, use.loaded, use.via) for use in transcript.skills] == [
            ("acme:tidy-csv", False, ("slash",))
        ]
        assert not transcript.skills_hidden

    @pytest.mark.parametrize("prompt", ["/etc/passwd is a file", "/", "/ tidy", "tidy", ""])
    def test_other_prompts_hide_nothing(self, read: Reader, prompt: str) -> None:
        assert not read(init(), says("fine"), result(), prompt=prompt).skills_hidden


class TestForks:
    FORK: dict[str, Any] = {  # noqa: RUF012
        "description": "/acme:report",
        "ambient": True,
        "skip_transcript": True,
        "prompt": "Base directory for this skill: /plugins/acme/skills/report\n\nDo it.",
    }

    def test_a_fork_that_ends_well_is_a_load_and_no_agent(self, read: Reader) -> None:
        transcript = read(
            init(),
            calls("t1", "Skill", skill="report"),
            starts("k1", "t1", "general-purpose", **self.FORK),
            body("/plugins/acme/skills/report", "t1", synthetic=False),
            calls("t2", "Bash", "t1", command="ls"),
            answers("t2", parent="t1"),
            ends("k1", "t1"),
            answers("t1", "done", {"success": True, "status": "forked", "result": "a report"}),
            result(),
        )
        assert transcript.skills == (SkillUse("acme:report", 1, True, ("fork", "tool"), (), 1),)
        assert transcript.agents == ()
        assert not transcript.background_open

    @pytest.mark.parametrize("told_first", [True, False])
    def test_a_fork_that_broke_is_no_load_though_it_says_success(
        self, read: Reader, told_first: bool
    ) -> None:
        events = [
            ends("k1", "t1", "failed"),
            answers("t1", "x", {"success": True, "status": "forked", "result": "API Error: 400 no"}),
        ]
        transcript = read(
            init(),
            calls("t1", "Skill", skill="report"),
            starts("k1", "t1", "general-purpose", **self.FORK),
            *(events if told_first else reversed(events)),
            result(),
        )
        assert [use.loaded for use in transcript.skills] == [None]
        assert transcript.skills[0].errors

    def test_an_older_fork_shows_its_result_only(self, read: Reader) -> None:
        transcript = read(
            init(),
            calls("t1", "Skill", skill="report"),
            answers("t1", "x", {"success": True, "status": "forked", "result": "a report"}),
            result(),
        )
        assert transcript.skills == (SkillUse("acme:report", 1, True, ("fork", "tool"), (), 1),)

    def test_a_skill_called_inside_a_fork_does_not_rename_it(self, read: Reader) -> None:
        transcript = read(
            init(),
            calls("t1", "Skill", skill="report"),
            starts("k1", "t1", "general-purpose", **self.FORK),
            calls("t2", "Skill", "t1", skill="tidy"),
            loads("t2", "tidy", "t1"),
            body("/plugins/acme/skills/tidy-csv", "t1"),
            ends("k1", "t1"),
            result(),
        )
        assert [(use.name, use.loaded) for use in transcript.skills] == [
            ("acme:report", True),
            ("acme:tidy-csv", True),
        ]

    @pytest.mark.parametrize(("status", "loaded"), [("completed", True), ("failed", None)])
    def test_a_fork_by_slash_command_has_no_call_and_comes_before_the_start(
        self, read: Reader, status: str, loaded: bool | None
    ) -> None:
        transcript = read(
            starts("k1", None, "general-purpose", **self.FORK),
            ends("k1", None, status),
            init(),
            body("/plugins/acme/skills/report", "forked-command-acme:report", synthetic=False),
            says("a report", model="<synthetic>"),
            result("a report", num_turns=0),
            prompt="/report",
        )
        assert [(use.name, use.calls, use.loaded, use.via) for use in transcript.skills] == [
            ("acme:report", 1, loaded, ("fork", "slash"))
        ]
        assert transcript.agents == ()
        assert transcript.turns == 0

    def test_a_fork_out_of_sight_is_a_load_too(self, read: Reader) -> None:
        transcript = read(
            init(), starts("k1", "unseen", "general-purpose", **self.FORK), ends("k1", "unseen"), result()
        )
        assert [(use.name, use.loaded, use.via) for use in transcript.skills] == [
            ("acme:report", True, ("fork", "sub-agent"))
        ]
        assert transcript.agents == ()

    def test_an_agent_whose_description_looks_like_a_fork_is_an_agent(self, read: Reader) -> None:
        transcript = read(
            init(),
            calls("a1", "Agent", subagent_type="acme:auditor", description="/acme:report"),
            starts("k1", "a1", "acme:auditor", description="/acme:report"),
            ends("k1", "a1"),
            result(),
        )
        assert transcript.skills == ()
        assert [use.name for use in transcript.agents] == ["acme:auditor"]

    def test_a_fork_without_an_end_leaves_the_trial_open(self, read: Reader) -> None:
        transcript = read(
            init(), calls("t1", "Skill", skill="report"), starts("k1", "t1", "general-purpose", **self.FORK)
        )
        assert transcript.background_open
        assert transcript.skills[0].loaded is None
