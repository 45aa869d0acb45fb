"""Tokens, answer, start and result of a stream."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from attrs import asdict
from transcripts import (
    Reader,
    added,
    answers,
    as_line,
    calls,
    init,
    loads,
    message,
    model_usage,
    result,
    says,
    system,
)

from skillwalker.stream_facts import Usage


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


class TestNumbers:
    def test_tokens_are_those_of_the_last_result(self, read: Reader) -> None:
        """Claude Code repeats a message's usage with each of its blocks."""
        usage = {"claude-sonnet-5-5": model_usage(100, 40), "claude-haiku-5-5": model_usage(5, 2)}
        transcript = read(
            init(),
            *(says(text, id="m1") for text in "abc"),
            says("from an agent", "a1", id="m2", model="claude-haiku-5-5"),
            result(total_cost_usd=0.005),
            result(modelUsage=usage, total_cost_usd=0.01),
        )
        assert transcript.usage == Usage(105, 42, 14, 6)
        assert transcript.cost_usd == 0.01
        assert transcript.turns == 1
        assert transcript.models == ("claude-sonnet-5-5", "claude-haiku-5-5")
        assert transcript.message_ids == {"m1", "m2"}
        assert transcript.usage_by_model == {
            "claude-sonnet-5-5": Usage(100, 40, 7, 3),
            "claude-haiku-5-5": Usage(5, 2, 7, 3),
        }

    def test_an_older_result_tells_the_main_conversation_only(self, read: Reader) -> None:
        old = result()
        del old["modelUsage"]
        transcript = read(init(), says("x"), old)
        assert (transcript.usage, transcript.usage_by_model) == (Usage(100, 40, None, None), None)
        assert read(init(), says("x"), old, old).usage is None

    def test_what_was_not_told_is_none(self, read: Reader) -> None:
        transcript = read(init(), says("x"))
        assert (transcript.usage, transcript.cost_usd, transcript.result, transcript.final_text) == (
            None,
        ) * 4
        assert read().turns is None
        assert read(init(), {"type": "result"}).usage is None
        part = read(result(modelUsage={"m": {"inputTokens": 5}}, total_cost_usd=float("nan")))
        assert (part.usage, part.cost_usd) == (Usage(5, None, None, None), None)

    def test_a_model_that_only_refused_told_no_tokens(self, read: Reader) -> None:
        refused = result("401", is_error=True, num_turns=1, modelUsage={})
        assert read(init(), refused).usage is None
        assert read(init(), result("local", num_turns=0, modelUsage={})).usage == Usage(0, 0, 0, 0)

    def test_no_answer_seen_is_not_none_given(self, read: Reader) -> None:
        assert read(init(), result("", num_turns=2)).turns is None
        assert read(init(), result("local", num_turns=0, modelUsage={})).turns == 0

    def test_turns_count_answers_of_the_model_in_the_main_conversation(self, read: Reader) -> None:
        transcript = read(
            init(),
            calls("a1", "Agent", subagent_type="acme:auditor"),
            says("inside", "a1"),
            says("after"),
            says("API Error: 400", model="<synthetic>", error="unknown"),
            result(),
        )
        assert transcript.turns == 2


class TestAnswer:
    CUT = "Output token limit hit. Resume directly — no apology"
    DROPPED = "Your response above was cut off mid-stream. Resume directly from where it stops"

    @pytest.mark.parametrize("how", [CUT, DROPPED])
    def test_a_continued_answer_is_joined(self, read: Reader, how: str) -> None:
        transcript = read(
            init(), says("cut o"), added(how), says("ff, twi"), added(how), says("ce"), result("ce")
        )
        assert transcript.final_text == "cut off, twice"

    def test_only_since_the_last_tool_result(self, read: Reader) -> None:
        transcript = read(
            init(),
            says("before"),
            calls("t1", "Bash", command="ls"),
            answers("t1"),
            says("cut o"),
            added(self.CUT),
            says("inside an agent", "a1"),
            says("ff"),
            result("ff"),
        )
        assert transcript.final_text == "cut off"

    def test_a_tool_result_after_the_cut_ends_the_answer(self, read: Reader) -> None:
        transcript = read(
            init(),
            says("cut o"),
            added(self.CUT),
            calls("t1", "Bash", command="ls"),
            answers("t1"),
            says("whole"),
            result("whole"),
        )
        assert transcript.final_text == "whole"

    def test_a_new_part_of_the_session_begins_a_new_answer(self, read: Reader) -> None:
        transcript = read(
            init(),
            says("cut o"),
            added(self.CUT),
            says("ff"),
            init(),
            says("new"),
            result("ff"),
            result("new"),
        )
        assert transcript.final_text == "new"

    def test_a_refused_answer_is_not_continued(self, read: Reader) -> None:
        stopped = "Your response above was stopped by a safety classifier"
        assert read(init(), says("I can"), added(stopped), says("done"), result("done")).final_text == "done"

    def test_an_error_is_told_as_it_is(self, read: Reader) -> None:
        error = "API Error: exceeded the output token maximum"
        transcript = read(
            init(),
            says("cut o"),
            added(self.CUT),
            says("ff"),
            says(error, model="<synthetic>", error="max_output_tokens"),
            result(error, is_error=True, terminal_reason="api_error"),
        )
        assert (transcript.final_text, transcript.api_error) == (error, "max_output_tokens")

    def test_an_empty_answer_is_empty_and_a_missing_one_is_none(self, read: Reader) -> None:
        assert read(init(), result("")).final_text == ""
        assert read(init(), result(None, subtype="error_max_turns", is_error=True)).final_text is None

    def test_half_a_character_of_the_model_can_be_written(self, read: Reader) -> None:
        line = as_line(result("a?b")).replace(b"a?b", rb"a\ud800b")
        assert read(init(), line).final_text == "a\ufffdb"


class TestSession:
    def test_the_first_start_is_kept(self, read: Reader) -> None:
        errors = [{"plugin": "acme", "type": "generic-error", "message": "no name", "path": "/plugins/acme"}]
        servers = [{"name": "db", "status": "pending"}]
        transcript = read(
            system("hook_started", hook_name="SessionStart"),
            init(plugin_errors=errors, mcp_servers=servers),
            init(model="later"),
            result(),
        )
        start = transcript.init
        assert start is not None
        assert (start.version, start.model, start.skills) == (
            "2.1.332",
            "claude-sonnet-5-5",
            ("acme:tidy-csv",),
        )
        assert [(plugin.name, plugin.path) for plugin in start.plugins or ()] == [("acme", "/plugins/acme")]
        assert [str(error) for error in start.plugin_errors] == ["acme: no name"]
        assert start.mcp_servers == {"db": "pending"}

    def test_a_start_that_says_little_is_none_in_the_rest(self, read: Reader) -> None:
        start = read({"type": "system", "subtype": "init"}).init
        assert start is not None
        assert asdict(start) == {**dict.fromkeys(asdict(start)), "plugin_errors": ()}

    def test_the_last_result_counts(self, read: Reader) -> None:
        denied = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {}}
        last = result(
            None,
            subtype="error_max_turns",
            is_error=True,
            terminal_reason="max_turns",
            errors=["Reached maximum number of turns (1)"],
            permission_denials=[denied, "odd"],
            duration_ms=5,
        )
        transcript = read(init(), result("first"), last, system("status", status="x"))
        assert transcript.results == 2
        assert transcript.result is not None
        assert (transcript.result.is_error, transcript.result.subtype) == (True, "error_max_turns")
        assert transcript.result.errors == ("Reached maximum number of turns (1)",)
        assert transcript.result.permission_denials == (denied,)

    def test_an_api_error_stands_behind_a_success(self, read: Reader) -> None:
        transcript = read(
            init(),
            says("API Error: 429", model="<synthetic>", error="rate_limit", is_api_error_message=True),
            result("API Error: 429", is_error=True, api_error_status=429, terminal_reason="api_error"),
        )
        assert transcript.api_error == "rate_limit"
        assert transcript.result is not None
        assert transcript.result.api_error_status == 429
        assert transcript.message_ids == frozenset()

    def test_an_api_error_that_was_overcome_is_none(self, read: Reader) -> None:
        failed = says("API Error: 500", model="<synthetic>", error="server_error")
        assert read(init(), failed, says("fine"), result()).api_error is None

    def test_notes(self, read: Reader) -> None:
        transcript = read(
            b"Warning: something\n",
            init(),
            system("api_retry", attempt=1, max_retries=4, error_status=529, error="overloaded"),
            system("api_retry", attempt=2, max_retries=4, error_status=429, error="rate_limit"),
            {
                "type": "rate_limit_event",
                "rate_limit_info": {"status": "rejected", "rateLimitType": "five_hour"},
            },
            system("permission_denied", tool_name="Bash"),
            {"type": "hologram"},
            {"type": "hologram"},
            result(),
            b'{"type":"res',
        )
        assert transcript.retries == 2
        assert transcript.not_events == 2
        assert transcript.cut_off
        assert transcript.notes == (
            "2 lines that are no events (the first: not JSON: Warning: something)",
            "the last line is cut off",
            "unknown events: hologram (2)",
            "Claude Code repeated requests to the API 2 times (last: 429 rate_limit)",
            "rate limit five_hour: rejected",
            "denied for want of permission: Bash",
        )

    def test_a_hook_that_failed_is_told(self, read: Reader) -> None:
        good = system("hook_response", hook_name="Stop", outcome="success", exit_code=0, stderr="fine")
        bad = system(
            "hook_response",
            hook_name="SessionStart:startup",
            outcome="error",
            exit_code=2,
            stderr="no \x1b[31mdatabase\n",
        )
        [note] = read(good, bad, init(), result()).notes
        assert note.startswith("the hook SessionStart:startup failed (exit code 2): no ")
        assert "\x1b" not in note

    def test_a_healthy_stream_has_no_notes(self, read: Reader) -> None:
        assert read(init(), says("fine"), result()).notes == ()

    def test_many_unknown_kinds_stay_few(self, read: Reader) -> None:
        [note] = read(*({"type": f"kind {number}"} for number in range(200))).notes
        assert note.count(", ") == 20
        assert note.endswith("others (180)")

    def test_pickles(self, read: Reader) -> None:
        transcript = read(init(), calls("t1", "Skill", skill="tidy"), loads("t1", "tidy"), result())
        assert pickle.loads(pickle.dumps(transcript)) == transcript


def test_message_of_a_text_content_counts_as_one_block(read: Reader) -> None:
    plain = message()
    plain["message"]["content"] = "plain"
    assert read(init(), says("cut "), added(TestAnswer.CUT), plain, result("plain")).final_text == "cut plain"
