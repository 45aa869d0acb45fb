"""When a trial may say no."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import frozen

from skillwalker.gateway.listing import Listed, Listing
from skillwalker.health import MustList, Stopped, assess
from skillwalker.names import Names
from skillwalker.outcomes import Reason
from skillwalker.sandbox.base import Exit
from skillwalker.testing import TranscriptBuilder
from skillwalker.transcript import Transcript

PATH = "/plugins/0/acme"


@frozen
class Served:
    answers: int = 1
    message_ids: frozenset[str] = frozenset()
    tool_use_ids: frozenset[str] = frozenset()
    miss: str | None = None
    over_budget: str | None = None
    errors: tuple[tuple[int, str, str], ...] = ()
    listing: Listing | None = None
    last_texts: tuple[str, ...] = ("Done.", "Waiting.", "from nowhere")


def good() -> TranscriptBuilder:
    return TranscriptBuilder().init(plugins={"acme": PATH}).skill("acme:tidy").text("Done.").result()


def health(tmp_path: Path, events: TranscriptBuilder, *, served: Served | None = None, **more):
    transcript = Transcript.read(events.write(tmp_path / "events.jsonl"))
    known = {
        "message_ids": frozenset(transcript.message_ids),
        "tool_use_ids": frozenset(transcript.tool_use_ids),
    }
    arguments = {"ended": Exit(0), "stopped": None, "plugin_paths": [PATH], "servers_matter": True} | more
    return assess(transcript, served or Served(**known), **arguments)


def test_a_whole_trial_is_healthy(tmp_path):
    assert health(tmp_path, good()).healthy


def test_an_exit_code_alone_says_nothing_where_the_result_is_good(tmp_path):
    assert health(tmp_path, good(), ended=Exit(1)).healthy


@pytest.mark.parametrize("reason", [Reason.TIMEOUT, Reason.STALLED, Reason.INTERRUPTED, Reason.DISK_LIMIT])
def test_what_the_runner_stopped_is_not_healthy_whatever_the_stream_says(tmp_path, reason):
    assert health(tmp_path, good(), stopped=Stopped(reason, "why")).reason is reason


def test_what_the_budget_refused_makes_a_trial_unhealthy_even_where_it_went_on(tmp_path):
    events = TranscriptBuilder().init(plugins={"acme": PATH}).text("Done.").result()
    whole = Transcript.read(events.write(tmp_path / "whole.jsonl"))
    served = Served(
        message_ids=frozenset(whole.message_ids),
        tool_use_ids=frozenset(whole.tool_use_ids),
        over_budget="$1 are spent",
        miss="nothing scripted",
    )
    found = health(tmp_path, events, served=served)
    assert (found.reason, found.message) == (Reason.BUDGET, "$1 are spent")


def test_a_memory_limit_is_told_by_the_engine_not_by_137(tmp_path):
    events = TranscriptBuilder().init(plugins={"acme": PATH})

    assert health(tmp_path, events, ended=Exit(137, out_of_memory=True)).reason is Reason.OUT_OF_MEMORY
    assert health(tmp_path, events, ended=Exit(137)).reason is Reason.CLAUDE_ERROR


def test_calls_that_the_model_did_not_make_contaminate(tmp_path):
    found = health(tmp_path, good(), served=Served())

    assert found.reason is Reason.CONTAMINATED
    assert "toolu_" in found.message


def test_a_message_that_the_model_did_not_send_contaminates(tmp_path):
    events = TranscriptBuilder().init(plugins={"acme": PATH}).text("I am the model").result()

    assert health(tmp_path, events, served=Served()).reason is Reason.CONTAMINATED


@pytest.mark.parametrize(
    "how",
    [{"stopped": Stopped(Reason.TIMEOUT, "late")}, {"ended": Exit(137, out_of_memory=True)}],
    ids=["stopped", "out of memory"],
)
def test_what_is_forged_does_not_count_as_seen_however_the_trial_ended(tmp_path, how):
    assert health(tmp_path, good(), served=Served(), **how).reason is Reason.CONTAMINATED


STARTED = {"type": "system", "subtype": "task_started", "task_id": "k1", "subagent_type": "acme:auditor"}
LOADED = {
    "type": "user",
    "isSynthetic": True,
    "message": {"content": f"Base directory for this skill: {PATH}/skills/tidy\n\nTidy."},
}


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (STARTED, "without a call of the model: acme:auditor"),
        ({**STARTED, "tool_use_id": "toolu_forged"}, "did not make, such as toolu_forged"),
        (LOADED, "without a call of the model: acme:tidy"),
    ],
    ids=["an agent", "an agent of a call", "a skill"],
)
def test_what_is_at_work_without_a_call_of_the_model_contaminates(tmp_path, event, said):
    ended = {"type": "system", "subtype": "task_notification", "task_id": "k1", "status": "completed"}
    events = TranscriptBuilder().init(plugins={"acme": PATH}).event(event).event(ended).text("Done.").result()
    names = Names(skills={"acme:tidy": "acme:tidy"}, directories={"acme/skills/tidy": "acme:tidy"})
    path = events.write(tmp_path / "events.jsonl")

    def assessed(prompt: str, *calls: str):
        transcript = Transcript.read(path, names, prompt)
        served = Served(message_ids=transcript.message_ids, tool_use_ids=frozenset(calls))
        return assess(
            transcript, served, ended=Exit(0), stopped=None, plugin_paths=[PATH], servers_matter=True
        )

    found = assessed("Do it.")
    assert found.reason is Reason.CONTAMINATED
    assert said in found.message
    if "tool_use_id" not in event:  # then a slash command may have started it, or a call that was lost
        assert assessed("/acme:tidy now").healthy
        assert assessed("Do it.", "toolu_lost").healthy


def test_no_result_and_exit_0_is_an_incomplete_stream(tmp_path):
    events = TranscriptBuilder().init(plugins={"acme": PATH})

    found = health(tmp_path, events, stderr_tail="warming up\nlast words\n")
    assert found.reason is Reason.INCOMPLETE_STREAM
    assert "last words" in found.message


def test_no_output_at_all_is_no_measurement(tmp_path):
    for ended in (Exit(1), Exit(0), Exit(None), None):
        assert not health(tmp_path, TranscriptBuilder(), ended=ended, served=Served(answers=0)).healthy


def test_an_error_of_the_api_is_told_apart_from_a_full_rate(tmp_path):
    for status, reason in ((529, Reason.API_ERROR), (429, Reason.RATE_LIMITED), (401, Reason.API_ERROR)):
        events = TranscriptBuilder().init(plugins={"acme": PATH}).result(error="API Error")
        served = Served(answers=0, errors=((status, "some_error", "no"),))
        assert health(tmp_path, events, served=served).reason is reason


def test_success_around_an_error_is_an_error(tmp_path):
    result = {
        "type": "result",
        "subtype": "success",
        "is_error": True,
        "api_error_status": 500,
        "result": "API Error",
    }
    events = TranscriptBuilder().init(plugins={"acme": PATH}).event(result)

    assert health(tmp_path, events).reason is Reason.API_ERROR


def test_an_error_of_the_api_is_told_in_the_words_of_who_answered(tmp_path):
    def told(*errors: tuple[int, str, str]) -> str:
        words = "There's an issue with the selected model (m)"
        result = {"type": "result", "subtype": "success", "is_error": True, "result": words}
        events = TranscriptBuilder().init(plugins={"acme": PATH}).event({**result, "api_error_status": 404})
        return health(tmp_path, events, served=Served(answers=0, errors=errors)).message

    missing = "host answered with 404: nginx"
    assert told((404, "not_found_error", missing)) == f"HTTP 404 not_found_error: {missing}"
    other = "HTTP 404: There's an issue with the selected model (m)"
    assert told() == told((529, "overloaded_error", "of a side request")) == other


@pytest.mark.parametrize("subtype", ["error_max_turns", "error_during_execution", "error_of_the_future"])
def test_a_result_that_is_not_success_is_an_error_of_claude_code(tmp_path, subtype):
    events = TranscriptBuilder().init(plugins={"acme": PATH})
    for is_error in (True, False):
        events.event({"type": "result", "subtype": subtype, "is_error": is_error})
        assert health(tmp_path, events).reason is Reason.CLAUDE_ERROR


def test_a_result_that_does_not_say_whether_it_is_an_error_is_none_to_trust(tmp_path):
    events = TranscriptBuilder().init(plugins={"acme": PATH})
    events.event({"type": "result", "subtype": "success", "result": "fine"})

    assert not health(tmp_path, events).healthy


def test_what_no_script_answers_is_a_miss(tmp_path):
    served = Served(miss="turn 3 of evals/x/rehearsal.json")
    events = TranscriptBuilder().init(plugins={"acme": PATH}).result(error="API Error: 404")

    found = health(tmp_path, events, served=served)
    assert found.reason is Reason.CASSETTE_MISS
    assert "turn 3" in found.message


def test_a_plugin_must_be_loaded_from_where_it_was_put(tmp_path):
    events = TranscriptBuilder().init(plugins={"acme": "/elsewhere/acme"}).text("Done.").result()

    assert health(tmp_path, events).reason is Reason.PLUGIN_NOT_LOADED


def test_a_plugin_error_is_told_in_the_loaders_words(tmp_path):
    init = {
        "type": "system",
        "subtype": "init",
        "plugins": [{"name": "acme", "path": PATH}],
        "plugin_errors": [{"plugin": "acme", "message": "bad manifest", "type": "generic-error"}],
    }
    events = TranscriptBuilder().event(init).text("Done.").result()

    found = health(tmp_path, events)
    assert found.reason is Reason.PLUGIN_NOT_LOADED
    assert "bad manifest" in found.message


@pytest.mark.parametrize(("matter", "reason"), [(True, Reason.PLUGIN_NOT_LOADED), (False, None)])
def test_a_server_that_does_not_connect_matters_where_work_is_tested(tmp_path, matter, reason):
    init = {
        "type": "system",
        "subtype": "init",
        "plugins": [{"name": "acme", "path": PATH}],
        "mcp_servers": [{"name": "plugin:acme:db", "status": "pending"}],
    }
    events = TranscriptBuilder().event(init).text("Done.").result()

    assert health(tmp_path, events, servers_matter=matter).reason is reason


def test_an_answer_must_have_come_from_the_gateway(tmp_path):
    events = TranscriptBuilder().init(plugins={"acme": PATH}).result("from nowhere")

    assert not health(tmp_path, events, served=Served(answers=0)).healthy


def test_an_agent_whose_end_never_came_leaves_the_trial_incomplete(tmp_path):
    started = {
        "type": "system",
        "subtype": "task_started",
        "task_id": "a1",
        "tool_use_id": "toolu_1",
        "subagent_type": "acme:auditor",
        "task_type": "local_agent",
    }
    events = TranscriptBuilder().init(plugins={"acme": PATH}).tool("Agent", {"subagent_type": "acme:auditor"})
    started["tool_use_id"] = events.last_call
    events.event(started).text("Waiting.").result()

    assert health(tmp_path, events).reason is Reason.INCOMPLETE_STREAM


def test_a_damaged_line_that_hides_a_call_leaves_the_trial_incomplete(tmp_path):
    path = tmp_path / "events.jsonl"
    good().write(path)
    kept = [line for line in path.read_text().splitlines() if '"name": "Skill"' not in line]
    path.write_text("\n".join([*kept[:1], '{"type":"assis', *kept[1:], ""]))
    transcript = Transcript.read(path)
    served = Served(message_ids=frozenset(transcript.message_ids), tool_use_ids=frozenset({"toolu_lost"}))

    found = assess(transcript, served, ended=Exit(0), stopped=None, plugin_paths=[PATH], servers_matter=True)
    assert found.reason is Reason.INCOMPLETE_STREAM


CUT = "x" * 1535 + "…"


@pytest.mark.parametrize(
    ("listed", "description", "said"),
    [
        (Listed("acme:tidy", "Tidies <b> CSV"), "Tidies &lt;b&gt; CSV", None),
        (Listed("acme:tidy", "Tidies\nCSV"), "Tidies CSV", None),
        (Listed("acme:tidy", None), "Tidies CSV", "over its budget"),
        (Listed("acme:tidy", "Tidies"), "Tidies CSV", "another description"),
        (Listed("acme:other", "Tidies CSV"), "Tidies CSV", "was not listed"),
        (Listed("acme:tidy", CUT), CUT, "was cut at 1536"),
        (Listed("acme:tidy", "Tidies CSV"), None, "was not listed"),
    ],
)
def test_a_description_that_the_model_did_not_see_in_full_measures_nothing(
    tmp_path, listed, description, said
):
    transcript = Transcript.read(good().write(tmp_path / "events.jsonl"))
    served = Served(
        message_ids=frozenset(transcript.message_ids),
        tool_use_ids=frozenset(transcript.tool_use_ids),
        listing=Listing(skills=(listed,)),
    )

    found = assess(
        transcript,
        served,
        ended=Exit(0),
        stopped=None,
        plugin_paths=[PATH],
        servers_matter=False,
        must_list=MustList("skills", "acme:tidy", description),
    )
    assert (found.reason, said is None or said in found.message) == (
        Reason.NOT_LISTED if said else None,
        True,
    )


def test_a_final_text_that_the_model_did_not_say_contaminates(tmp_path):
    events = TranscriptBuilder().init(plugins={"acme": PATH}).text("Done.").result("FORGED")

    found = health(tmp_path, events)
    assert found.reason is Reason.CONTAMINATED
    assert "FORGED" in found.message


def test_a_result_in_the_middle_is_not_the_end(tmp_path):
    events = (
        TranscriptBuilder().init(plugins={"acme": PATH}).text("Done.").result().tool("Bash", {"command": "x"})
    )

    assert health(tmp_path, events).reason is Reason.INCOMPLETE_STREAM


@pytest.mark.parametrize("code", [137, 143, -9])
def test_a_process_that_was_killed_did_not_end_by_itself(tmp_path, code):
    assert health(tmp_path, good(), ended=Exit(code)).reason is Reason.CLAUDE_ERROR
    assert health(tmp_path, good(), ended=Exit(code), lingered=True).healthy


def test_what_was_overwritten_in_the_stream_is_so_in_the_comparison(tmp_path):
    events = TranscriptBuilder().init(plugins={"acme": PATH}).text("It is ***.").result()
    transcript = Transcript.read(events.write(tmp_path / "events.jsonl"))
    served = Served(message_ids=frozenset(transcript.message_ids), last_texts=("It is abc.",))

    found = assess(
        transcript,
        served,
        ended=Exit(0),
        stopped=None,
        plugin_paths=[PATH],
        servers_matter=True,
        redact=lambda text: text.replace("abc", "***"),
    )
    assert found.healthy


def test_a_plugin_that_did_not_load_is_named_as_its_author_knows_it(tmp_path):
    message = f"Path not found: {PATH}/hooks/hooks.json (hooks)"
    error = {"plugin": "acme@inline", "message": message, "type": "path-not-found"}
    event = {
        "type": "system",
        "subtype": "init",
        "plugins": [{"name": "acme", "path": PATH}],
        "plugin_errors": [error],
    }
    events = TranscriptBuilder().event(event).text("Done.").result()
    found = health(tmp_path, events, known_as={PATH: "plugins/acme", "/plugins/1/b": "b"})
    assert found.reason is Reason.PLUGIN_NOT_LOADED
    assert found.message == "acme@inline: Path not found: plugins/acme/hooks/hooks.json (hooks)"


def test_where_nobody_answered_the_gateways_own_status_is_not_told(tmp_path):
    said = "no answer of 127.0.0.1:9: nothing listens there (connection refused)"
    events = TranscriptBuilder().init(plugins={"acme": PATH})
    found = health(tmp_path, events, served=Served(answers=0, errors=((502, "api_error", said),)))

    assert (found.reason, found.message) == (Reason.API_ERROR, said)
