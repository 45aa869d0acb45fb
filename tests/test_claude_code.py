"""How a trial calls Claude Code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillwalker.claude_code import (
    FLAGS,
    arguments,
    environment,
    missing_flags,
    parse_version,
    prompt_line,
    prompt_text,
)
from skillwalker.evals import Test, TestType


def a_test(kind: TestType, *, prompt: str = "Tidy it", scaffold: Path | None = None) -> Test:
    return Test(
        name="n",
        type=kind,
        prompt_file=Path("/e/prompts/p.md"),
        prompt=prompt,
        expect=(),
        path="tests[0]",
        agent_file="acme:auditor",
        scaffold=scaffold,
    )


def call(kind: TestType, **more):
    return arguments(a_test(kind, **more), model="opus", plugin_paths=["/p/0/acme"], version="2.1.332")


@pytest.mark.parametrize("kind", TestType)
def test_the_stream_is_asked_for_and_the_prompt_is_no_argument(kind):
    found = call(kind)

    assert {"--print", "--verbose", "--output-format=stream-json", "--input-format=stream-json"} <= set(found)
    assert "--plugin-dir=/p/0/acme" in found
    assert "--model=opus" in found
    assert not any("Tidy" in argument for argument in found)


@pytest.mark.parametrize(
    ("kind", "scaffold", "sources"),
    [
        (TestType.SKILL_PROMPT, Path("/s"), "project"),
        (TestType.AGENT_PROMPT, Path("/s"), "project"),
        (TestType.SKILL_PROMPT, None, ""),
        (TestType.SKILL_CALL, Path("/s"), ""),
        (TestType.AGENT_CALL, Path("/s"), ""),
    ],
)
def test_a_scaffolds_settings_count_only_where_the_work_is_tested(kind, scaffold, sources):
    assert f"--setting-sources={sources}" in call(kind, scaffold=scaffold)


@pytest.mark.parametrize(
    ("version", "there"), [("2.1.332", True), ("2.1.197", False), (None, False), ("2.2", True)]
)
def test_a_flag_that_an_old_version_refuses_is_left_out(version, there):
    found = arguments(a_test(TestType.SKILL_CALL), model="opus", plugin_paths=[], version=version)

    assert ("--forward-subagent-text" in found) is there


def test_bundled_skills_stay_for_real_work_only():
    for kind, off in ((TestType.SKILL_CALL, True), (TestType.SKILL_PROMPT, False)):
        found = environment(a_test(kind), background=False, timeout_seconds=60)
        assert ("CLAUDE_CODE_DISABLE_BUNDLED_SKILLS" in found) is off


def test_background_tasks_are_off_unless_asked_for():
    test = a_test(TestType.SKILL_PROMPT)

    assert "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS" in environment(test, background=False, timeout_seconds=60)
    assert "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS" not in environment(
        test, background=True, timeout_seconds=60
    )


def test_an_agent_prompt_names_the_agent_by_its_full_id():
    test = a_test(TestType.AGENT_PROMPT, prompt="Audit it\n")

    expected = "Use the tools:auditor agent to accomplish the following task:\n\nAudit it\n"
    assert prompt_text(test, "tools:auditor") == expected
    assert prompt_text(a_test(TestType.SKILL_PROMPT, prompt="/x\r\n"), None) == "/x\r\n"


@pytest.mark.parametrize("text", ["--help", "/tidy a\nb\r\n", "nul \0 \u2028 é 😀 $(id)", "x" * 300_000])
def test_the_prompt_is_one_line_and_arrives_to_the_byte(text):
    line = prompt_line(text)

    assert line.count(b"\n") == 1
    assert line.isascii()
    assert json.loads(line)["message"] == {"role": "user", "content": text}


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("2.1.332 (Claude Code)\n", "2.1.332"),
        ("2.2 (Claude Code)", "2.2"),
        ("2.1.400-beta.1 (Claude Code)\n", "2.1.400"),
        ("2.1.332\n", None),
        ("Claude 2.1.332 (Claude Code)", None),
        ("(Claude Code)", None),
        ("", None),
    ],
)
def test_only_claude_code_has_a_version(said, version):
    assert parse_version(said) == version


@pytest.mark.parametrize("kind", TestType)
def test_every_flag_that_is_always_given_is_asked_for(kind):
    given = {argument.partition("=")[0] for argument in call(kind, scaffold=Path("/s"))}

    assert given - {"--forward-subagent-text"} == set(FLAGS)


def test_a_flag_that_the_help_does_not_show_is_missing():
    shown = "  -p, --print  Print\n  --model <m>, see --print\n  --output-format=x --plugin-dirs --x--verbose"

    assert missing_flags(shown) == [
        flag for flag in FLAGS if flag not in ("--print", "--model", "--output-format")
    ]
    assert missing_flags(" ".join(FLAGS)) == []
