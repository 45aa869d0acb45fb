"""What authors of expectation types test with behaves like the real thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillwalker.errors import JudgeError
from skillwalker.judging import answer_schema
from skillwalker.names import Names
from skillwalker.outcomes import Outcome, Reason
from skillwalker.testing import FakeJudge, TranscriptBuilder, judge, trial
from skillwalker.transcript import AgentUse, SkillUse, Transcript

SCHEMA = answer_schema(["c1", "c2"])


def read(directory: Path, builder: TranscriptBuilder, prompt: str | None = None) -> Transcript:
    return Transcript.read(builder.write(directory / "events.jsonl"), Names(), prompt)


def test_a_whole_session_is_read_as_it_was_built(tmp_path: Path) -> None:
    builder = (
        TranscriptBuilder()
        .init(plugins={"acme": "/plugins/acme"}, skills=["acme:tidy"], agents=["acme:aud"])
        .text("First I look.")
        .tool("Bash", {"command": "ls"}, "a.py")
        .skill("acme:tidy")
        .agent("acme:aud", report="All is well.")
        .text("Done: café 😀 東京")
        .result(cost_usd=0.25, input_tokens=70, output_tokens=30)
    )
    transcript = read(tmp_path, builder)
    assert transcript.notes == ()
    assert transcript.final_text == "Done: café 😀 東京"
    assert transcript.init is not None
    assert [plugin.path for plugin in transcript.init.plugins or ()] == ["/plugins/acme"]
    assert transcript.skills == (SkillUse("acme:tidy", 1, True, ("tool",), (), 2),)
    assert transcript.agents == (AgentUse("acme:aud", 1, True, True, (), 3),)
    assert next((call.name, call.result) for call in transcript.tool_calls()) == ("Bash", "a.py")
    assert (transcript.cost_usd, transcript.turns, transcript.background_open) == (0.25, 5, False)
    assert transcript.usage is not None
    assert (transcript.usage.input_tokens, transcript.usage.output_tokens) == (70, 30)


def test_what_a_sub_agent_does_belongs_to_it(tmp_path: Path) -> None:
    builder = TranscriptBuilder().init().agent("acme:aud", report=None)
    builder.tool("Read", {"file_path": "a"}, parent=builder.last_call).text("hm", parent=builder.last_call)
    transcript = read(tmp_path, builder)
    assert transcript.background_open
    assert [call.parent for call in transcript.tool_calls()] == [None, "toolu_1"]


def test_refusals_and_failures(tmp_path: Path) -> None:
    builder = TranscriptBuilder().skill("acme:tidy", refused="disabled").agent("a:b", refused="not found")
    builder.agent("c:d", failed="API Error: 400")
    transcript = read(tmp_path, builder)
    assert [(use.name, use.loaded) for use in transcript.skills] == [("acme:tidy", False)]
    assert [(use.name, use.started, use.completed) for use in transcript.agents] == [
        ("a:b", False, False),
        ("c:d", True, False),
    ]


def test_a_slash_command_counts_for_its_prompt(tmp_path: Path) -> None:
    builder = TranscriptBuilder().slash_command("acme:tidy", "a.csv").result("x")
    assert [use.via for use in read(tmp_path, builder, "/tidy a.csv").skills] == [("slash",)]
    assert read(tmp_path, builder, "No command.").skills == ()


def test_a_session_that_ends_in_an_error_or_not_at_all(tmp_path: Path) -> None:
    failed = read(tmp_path, TranscriptBuilder().init().result(error="API Error: 529"))
    assert failed.result is not None
    assert failed.result.is_error
    unfinished = read(tmp_path, TranscriptBuilder().init().text("half"))
    assert (unfinished.result, unfinished.final_text, unfinished.cost_usd) == (None, None, None)


def test_a_trial_has_a_work_directory(tmp_path: Path) -> None:
    on = trial(
        tmp_path,
        TranscriptBuilder().result("x"),
        scaffold={"kept": "1", "changed": "1", "gone": "1"},
        files={"kept": "1", "changed": "2", "dir/new": b"\xff"},
    )
    workspace = on.workspace
    assert (workspace.created, workspace.changed, workspace.deleted) == (
        ("dir/new",),
        ("changed",),
        ("gone",),
    )
    assert workspace.read("dir/new") == b"\xff"


def test_a_trial_without_files_changed_nothing(tmp_path: Path) -> None:
    workspace = trial(tmp_path, TranscriptBuilder(), scaffold={"a": "1"}).workspace
    assert (workspace.created, workspace.changed, workspace.deleted) == ((), (), ())


def test_a_reason_makes_a_trial_unhealthy(tmp_path: Path) -> None:
    assert trial(tmp_path, TranscriptBuilder()).health.healthy
    assert trial(tmp_path, TranscriptBuilder(), reason=Reason.BUDGET).health.reason is Reason.BUDGET


def test_the_judge_answers_in_turn_and_remembers_what_it_was_asked() -> None:
    judge = FakeJudge([[True, False], {"criteria": []}, JudgeError("gone")])

    def ask() -> object:
        return judge.ask(model="opus", system="s", prompt="p", schema=SCHEMA).data

    assert ask() == {
        "criteria": [
            {"id": "c1", "evidence": "", "reasoning": "As seen.", "passed": True},
            {"id": "c2", "evidence": "", "reasoning": "As seen.", "passed": False},
        ]
    }
    assert ask() == {"criteria": []}
    with pytest.raises(JudgeError, match="gone"):
        ask()
    with pytest.raises(AssertionError, match="more often than there are answers"):
        ask()
    assert [request.prompt for request in judge.requests] == ["p"] * 4


def test_the_judge_can_go_on_answering() -> None:
    judge = FakeJudge([[False, False]], otherwise=True)
    answers = [judge.ask(model="opus", system="", prompt="", schema=SCHEMA).data for _ in range(3)]
    assert [[each["passed"] for each in answer["criteria"]] for answer in answers] == [
        [False, False],
        [True, True],
        [True, True],
    ]
    own = FakeJudge(otherwise={"score": 1})
    assert own.ask(model="opus", system="", prompt="", schema={"type": "object"}).data == {"score": 1}


def test_usage_and_turns_are_read_as_they_were_built(tmp_path: Path) -> None:
    builder = TranscriptBuilder().init().turns(3)
    builder.result(cache_read_tokens=7, cache_creation_tokens=8, duration_ms=99)
    transcript = read(tmp_path, builder)
    assert transcript.turns == 3
    assert transcript.usage is not None
    assert transcript.usage.cache_read_input_tokens == 7
    assert transcript.usage.cache_creation_input_tokens == 8
    assert transcript.result is not None
    assert transcript.result.duration_ms == 99


def test_a_type_judges_a_trial_as_tests_json_would_have_it(tmp_path: Path) -> None:
    on = trial(tmp_path, TranscriptBuilder().init().text("# Report").result(), eval_files={"schemas/a": "x"})
    assert judge("result-contains", "# Report", on).outcome is Outcome.PASSED
    assert (on.eval.directory / "schemas" / "a").read_text() == "x"
    with pytest.raises(AssertionError, match="expected text, or an object with the option text, got 5"):
        judge("result-contains", 5, on)
    with pytest.raises(AssertionError, match="no installed package has the expectation type nobody-has-this"):
        judge("nobody-has-this", 5, on)


def test_the_judge_notices_an_answer_for_another_rubric() -> None:
    with pytest.raises(ValueError, match="zip"):
        FakeJudge([[True]]).ask(model="opus", system="", prompt="", schema=SCHEMA)
