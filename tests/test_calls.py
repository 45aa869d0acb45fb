"""skill-call and agent-call: one rule for both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from skillwalker.evals import Eval, ExpectationSpec, Test, TestType
from skillwalker.expectations.base import Verdict
from skillwalker.expectations.registry import Bound, Registry, judge_trial
from skillwalker.names import Names
from skillwalker.outcomes import Outcome, Reason
from skillwalker.testing import TranscriptBuilder, trial

REGISTRY = Registry.scan()
NAMES = Names(
    skills={"tidy": "acme:tidy", "acme:tidy": "acme:tidy", "other:tidy": "other:tidy"},
    agents={"acme:auditor": "acme:auditor"},
    ambiguous={"both": ("acme:tidy", "acme:second")},
)
DENIED = "Skill acme:tidy cannot be used with Skill tool"


def builder() -> TranscriptBuilder:
    return TranscriptBuilder().init()


def verdict(
    directory: Path, events: TranscriptBuilder, expected: bool, *, kind: str = "skill", **more: Any
) -> Verdict:
    target = {"skill": "acme:tidy", "agent": "acme:auditor"}[kind]
    on = trial(directory, events, names=NAMES, **{f"{kind}_file": target}, **more)
    bound = REGISTRY.bind(ExpectationSpec(f"{kind}-call", expected, "x"), on.eval, on.test)
    assert bound.problems == ()
    return judge_trial(bound, on)


def test_a_call_that_was_seen_passes_true_and_fails_false(tmp_path: Path) -> None:
    events = builder().tool("Bash").tool("Read").skill("acme:tidy").result("done")
    passed = verdict(tmp_path, events, True)
    assert (passed.outcome, passed.message) == (Outcome.PASSED, "acme:tidy was called (tool call 3)")
    failed = verdict(tmp_path, events, False)
    assert failed.outcome is Outcome.FAILED
    assert failed.message == "expected acme:tidy not to be called; it was (tool call 3)"


@pytest.mark.parametrize("used", ["tidy", "/tidy", "acme:tidy", "/acme:tidy"])
def test_every_accepted_name_counts(tmp_path: Path, used: str) -> None:
    assert verdict(tmp_path, builder().skill(used).result("x"), True).outcome is Outcome.PASSED


@pytest.mark.parametrize("used", ["other:tidy", "acme:tidy-pro", "TIDY", "acme"])
def test_names_that_only_look_alike_do_not(tmp_path: Path, used: str) -> None:
    events = builder().skill(used).result("x")
    assert verdict(tmp_path, events, False).outcome is Outcome.PASSED
    missing = verdict(tmp_path, events, True)
    assert missing.outcome is Outcome.FAILED
    assert missing.message == f"expected acme:tidy to be called; called: {used}"


def test_no_call_in_a_healthy_trial_is_a_no(tmp_path: Path) -> None:
    events = builder().text("I can do that alone.").result()
    assert verdict(tmp_path, events, True).message == "expected acme:tidy to be called; called: none"
    assert verdict(tmp_path, events, True).outcome is Outcome.FAILED
    assert verdict(tmp_path, events, False).outcome is Outcome.PASSED


@pytest.mark.parametrize("expected", [True, False])
@pytest.mark.parametrize("kind", ["skill", "agent"])
def test_no_call_in_an_unhealthy_trial_is_unknown(tmp_path: Path, kind: str, expected: bool) -> None:
    found = verdict(tmp_path, builder(), expected, kind=kind, reason=Reason.CLAUDE_ERROR)
    assert found.outcome is Outcome.UNMEASURED
    assert "claude-error" in found.message


@pytest.mark.parametrize("kind", ["skill", "agent"])
def test_a_call_that_was_seen_is_a_fact_in_an_unhealthy_trial(tmp_path: Path, kind: str) -> None:
    events = builder().skill("tidy").agent("acme:auditor")
    assert verdict(tmp_path, events, True, kind=kind, reason=Reason.TIMEOUT).outcome is Outcome.PASSED
    assert verdict(tmp_path, events, False, kind=kind, reason=Reason.TIMEOUT).outcome is Outcome.FAILED


def test_a_call_whose_result_never_came_was_seen(tmp_path: Path) -> None:
    events = builder().tool("Skill", {"skill": "tidy"}, None)
    found = verdict(tmp_path, events, True, reason=Reason.STALLED)
    assert found.outcome is Outcome.PASSED
    assert found.message == "acme:tidy was called (tool call 1, its result was not seen)"


def test_a_refused_call_fails_both_and_says_why(tmp_path: Path) -> None:
    events = builder().skill("acme:tidy", refused=DENIED).text("Then by hand.").result()
    expected = verdict(tmp_path, events, True)
    assert expected.outcome is Outcome.FAILED
    assert f"expected acme:tidy to be called; it was, and was refused: Error: {DENIED}" in expected.message
    unexpected = verdict(tmp_path, events, False)
    assert unexpected.outcome is Outcome.FAILED
    assert "the model did call it (tool call 1) and was refused" in unexpected.message


def test_a_refused_call_may_be_repeated_in_what_an_unhealthy_trial_does_not_show(tmp_path: Path) -> None:
    events = builder().skill("acme:tidy", refused=DENIED)
    assert verdict(tmp_path, events, True, reason=Reason.TIMEOUT).outcome is Outcome.UNMEASURED
    assert verdict(tmp_path, events, False, reason=Reason.TIMEOUT).outcome is Outcome.FAILED


def test_a_refused_call_that_succeeds_later_was_a_call(tmp_path: Path) -> None:
    events = builder().skill("acme:tidy", refused=DENIED).skill("acme:tidy").result("x")
    found = verdict(tmp_path, events, True)
    assert (found.outcome, found.message) == (
        Outcome.PASSED,
        "acme:tidy was called (tool call 1 and 1 more)",
    )


def test_what_was_called_before_is_told(tmp_path: Path) -> None:
    events = builder().skill("hello:anything").skill("acme:tidy").skill("late:one").result("x")
    expected = "acme:tidy was called (tool call 2, preceded by hello:anything)"
    assert verdict(tmp_path, events, True).message == expected


def test_a_name_with_two_owners_decides_nothing(tmp_path: Path) -> None:
    events = builder().skill("both").result("x")
    for expected in (True, False):
        found = verdict(tmp_path, events, expected)
        assert found.outcome is Outcome.UNMEASURED
        assert "both was called, a name of acme:tidy and acme:second" in found.message


def test_a_slash_command_is_a_call(tmp_path: Path) -> None:
    events = builder().slash_command("acme:tidy").text("Tidied.").result()
    found = verdict(tmp_path, events, True, prompt="/tidy")
    assert found.message == "acme:tidy was called (by the prompt itself)"


def test_what_the_stream_hides_is_not_taken_for_none(tmp_path: Path) -> None:
    on = trial(tmp_path, builder().result("x"), skill_file="acme:tidy", agent_file="acme:auditor")
    on = evolve(on, transcript=evolve(on.transcript, skills_hidden=True, agents_hidden=True))
    for name in ("skill-call", "agent-call"):
        bound = REGISTRY.bind(ExpectationSpec(name, False, "x"), on.eval, on.test)
        found = judge_trial(bound, on)
        assert found.outcome is Outcome.UNMEASURED
        assert "the stream may hide" in found.message


@pytest.mark.parametrize(
    "started",
    [
        builder().agent("acme:auditor").result("x"),
        builder().agent("acme:auditor", failed="API Error: 400").result("x"),
        builder().agent("acme:auditor", report=None).result("x"),
    ],
    ids=["finished", "failed", "still running"],
)
def test_an_agent_that_started_was_called_however_it_ended(
    tmp_path: Path, started: TranscriptBuilder
) -> None:
    assert verdict(tmp_path, started, True, kind="agent").outcome is Outcome.PASSED
    assert verdict(tmp_path, started, False, kind="agent").outcome is Outcome.FAILED


def test_an_agent_that_does_not_exist_was_not_called(tmp_path: Path) -> None:
    unknown = "Agent type 'acme:auditor' not found. Available agents: general-purpose"
    events = builder().agent("acme:auditor", refused=unknown).result("x")
    assert verdict(tmp_path, events, False, kind="agent").outcome is Outcome.PASSED
    assert verdict(tmp_path, events, True, kind="agent").outcome is Outcome.FAILED


@pytest.mark.parametrize("kind", ["skill", "agent"])
def test_a_bare_name_that_claude_code_does_not_take_was_an_attempt(tmp_path: Path, kind: str) -> None:
    names = Names(
        {"acme:tidy": "acme:tidy"},
        {"acme:auditor": "acme:auditor"},
        unknown_skills={"tidy": "acme:tidy"},
        unknown_agents={"auditor": "acme:auditor"},
    )
    events = TranscriptBuilder().init()
    events.skill("tidy", refused="Unknown skill: tidy. Did you mean acme:tidy?")
    events.agent("auditor", refused="Agent type 'auditor' not found. Available agents: acme:auditor")
    on = trial(tmp_path, events.result("x"), skill_file="acme:tidy", agent_file="acme:auditor", names=names)
    for expected, said in ((True, "it was, and was refused: Error: "), (False, "the model did call it")):
        found = judge_trial(
            REGISTRY.bind(ExpectationSpec(f"{kind}-call", expected, "x"), on.eval, on.test), on
        )
        assert found.outcome is Outcome.FAILED
        assert said in found.message
        assert "tidy" in found.message if kind == "skill" else "'auditor' not found" in found.message


def test_an_agent_that_was_refused_for_its_input_was_attempted(tmp_path: Path) -> None:
    events = builder().agent("acme:auditor", refused="InputValidationError: description").result("x")
    assert verdict(tmp_path, events, False, kind="agent").outcome is Outcome.FAILED
    assert "InputValidationError" in verdict(tmp_path, events, True, kind="agent").message


# What can be known before a run.


@pytest.fixture
def evaluation(tmp_path: Path) -> Eval:
    """An eval over a plugin whose name is not its directory's."""
    plugin = tmp_path / "tools"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": "acme"}))
    for name in ("tidy", "report"):
        (plugin / "skills" / name).mkdir(parents=True)
        (plugin / "skills" / name / "SKILL.md").write_text(
            f"---\nname: {name}\ndescription: To {name}.\n---\nDo it.\n"
        )
    (plugin / "agents").mkdir()
    (plugin / "agents" / "auditor.md").write_text("---\nname: auditor\ndescription: Audits.\n---\nAudit.\n")
    return Eval("e", tmp_path, tmp_path / "evals" / "e", ("tools",), ())


def bind(evaluation: Eval, type: str, value: Any, test_type: TestType, **files: str) -> Bound:
    test = Test("t", test_type, Path("p.md"), "p", (), "tests[0]", **files)
    return REGISTRY.bind(ExpectationSpec(type, value, type), evaluation, test)


def problems(evaluation: Eval, type: str, value: Any, test_type: TestType, **files: str) -> list[str]:
    bound = bind(evaluation, type, value, test_type, **files)
    assert bound.broken is None
    return [str(problem) for problem in bound.problems]


@pytest.mark.parametrize("reference", ["acme:tidy", "tools:tidy"])
def test_the_long_form_names_a_skill_by_plugin_or_directory(evaluation: Eval, reference: str) -> None:
    value = {"skill": reference, "expected": True}
    bound = bind(evaluation, "skill-call", value, TestType.SKILL_PROMPT)
    assert bound.problems == ()
    events = builder().skill("acme:tidy").result("x")
    on = evolve(trial(evaluation.root / "evals", events), eval=evaluation)
    assert judge_trial(bound, on).message == "acme:tidy was called (tool call 1)"


@pytest.mark.parametrize(
    ("type", "value", "expected"),
    [
        ("skill-call", {"skill": "acme:tody", "expected": False}, "did you mean tidy?"),
        ("skill-call", {"skill": "acne:tidy", "expected": False}, "did you mean acme?"),
        ("agent-call", {"agent": "acme:auditer", "expected": False}, "did you mean auditor?"),
        ("skill-call", {"skill": "acme:tidy"}, "skill-call: missing option expected"),
        ("skill-call", {"expected": True}, "skill-call: missing option skill"),
        ("skill-call", {"skill": "acme:tidy", "expected": "false"}, "expected true or false, got \"false\""),
        ("skill-call", {"skill": "tidy", "expected": True}, "must have the form plugin:skill, got 'tidy'"),
        ("agent-call", {"agent": ":x", "expected": True}, "must have the form plugin:agent, got ':x'"),
        ("skill-call", {"agent": "acme:auditor", "expected": True}, 'unknown option "agent"'),
        ("skill-call", "acme:tidy", "expected true or false, or an object with the options skill, expected"),
        ("skill-call", 1, "expected true or false, or an object with the options skill, expected, got 1"),
        ("skill-call", None, "or an object with the options skill, expected, got null"),
    ],
)  # fmt: skip
def test_wrong_options_are_problems(evaluation: Eval, type: str, value: Any, expected: str) -> None:
    found = problems(evaluation, type, value, TestType.SKILL_PROMPT)
    assert any(expected in text for text in found), found


@pytest.mark.parametrize("kind", ["skill", "agent"])
@pytest.mark.parametrize("value", [True, False])
def test_the_short_form_needs_the_tests_own_file(evaluation: Eval, kind: str, value: bool) -> None:
    (problem,) = problems(evaluation, f"{kind}-call", value, TestType.SKILL_PROMPT)
    assert f"is about the {kind} of {kind}File, and this test has none" in problem
    assert f'{{"{kind}": "plugin:{kind}", "expected": {json.dumps(value)}}}' in problem


def test_the_short_form_works_in_every_test_that_has_the_file(evaluation: Eval) -> None:
    assert problems(evaluation, "agent-call", True, TestType.AGENT_PROMPT, agent_file="acme:auditor") == []
    assert problems(evaluation, "skill-call", True, TestType.SKILL_PROMPT, skill_file="acme:tidy") == []


def test_what_a_call_test_does_not_hold_cannot_be_called_in_it(evaluation: Eval) -> None:
    files = {"skill_file": "acme:tidy"}
    same = {"skill": "tools:tidy", "expected": True}
    assert problems(evaluation, "skill-call", same, TestType.SKILL_CALL, **files) == []
    for name, value in (
        ("skill-call", {"skill": "acme:report", "expected": False}),
        ("agent-call", {"agent": "acme:auditor", "expected": False}),
    ):
        (problem,) = problems(evaluation, name, value, TestType.SKILL_CALL, **files)
        assert "a skill-call test holds nothing but acme:tidy" in problem


def test_a_plugin_that_is_missing_is_told_once_and_not_by_every_expectation(evaluation: Eval) -> None:
    broken = evolve(evaluation, plugins=("absent",))
    assert (
        problems(broken, "skill-call", {"skill": "absent:x", "expected": True}, TestType.SKILL_PROMPT) == []
    )


@pytest.mark.parametrize(
    ("frontmatter", "expected"),
    [
        ("description: To hide.\ndisable-model-invocation: true\n", "has disable-model-invocation"),
        ("name: hidden\n", "has no description that Claude Code lists"),
    ],
)
def test_a_skill_that_the_model_cannot_call_can_never_pass(
    evaluation: Eval, frontmatter: str, expected: str
) -> None:
    hidden = evaluation.root / "tools" / "skills" / "hidden"
    hidden.mkdir()
    (hidden / "SKILL.md").write_text(f"---\n{frontmatter}---\nDo it.\n")
    files = {"skill_file": "acme:hidden"}

    (problem,) = problems(evaluation, "skill-call", True, TestType.SKILL_CALL, **files)
    assert expected in problem
    assert problems(evaluation, "skill-call", False, TestType.SKILL_CALL, **files) == []
    # By slash command, users can still call it.
    assert problems(evaluation, "skill-call", True, TestType.SKILL_PROMPT, **files) == []


def test_a_stream_with_forged_events_shows_no_call(tmp_path: Path) -> None:
    for expected in (True, False):
        found = verdict(
            tmp_path, builder().skill("acme:tidy").result("x"), expected, reason=Reason.CONTAMINATED
        )
        assert found.outcome is Outcome.UNMEASURED
