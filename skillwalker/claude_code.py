"""The one place that knows Claude Code's flags, environment and quirks (seen with 2.1.197 and 2.1.332)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from skillwalker.evals import Test, TestType

CALL_TYPES = frozenset({TestType.SKILL_CALL, TestType.AGENT_CALL})
"""The types that ask whether a description is enough; what else Claude Code brings along is switched off."""

MAX_RETRIES = 4
"""Tries after the first, 0.5 s * 2^n apart: an overload of a few seconds is ridden out, a lasting one ends
a trial after about ten seconds instead of the default's three minutes."""

HELD_SECONDS = 300
"""Longer than the gateway holds any request back; a trial's clock stands still meanwhile."""

PLACEHOLDER_KEY = "no-key-in-the-sandbox"
"""Claude Code asks nothing without a key. This is none; the gateway knows who asks by the connection."""

FLAGS = (
    "--print",
    "--verbose",
    "--input-format",
    "--output-format",
    "--replay-user-messages",
    "--dangerously-skip-permissions",
    "--no-session-persistence",
    "--setting-sources",
    "--model",
    "--plugin-dir",
)
"""What a version must have to run trials; each stands in `claude --help`."""

_FORWARDS_SUBAGENT_TEXT = (2, 1, 332)
"""First version known to have --forward-subagent-text; 2.1.197 exits with an error on it."""


def arguments(test: Test, *, model: str, plugin_paths: Sequence[str], version: str | None) -> tuple[str, ...]:
    """The arguments of `claude` for one trial; the prompt follows on standard input.

    Args:
        version: Claude Code's version where it is known, such as `2.1.332`.
    """
    sources = "project" if test.type not in CALL_TYPES and test.scaffold else ""
    found = [
        "--print",
        "--verbose",  # stream-json refuses to work without it
        "--input-format=stream-json",  # delivers every byte, leading dashes and slashes too
        "--output-format=stream-json",
        "--replay-user-messages",  # the only trace of a slash command in the stream
        "--dangerously-skip-permissions",
        "--no-session-persistence",
        f"--setting-sources={sources}",
        f"--model={model}",
    ]
    if _as_tuple(version) >= _FORWARDS_SUBAGENT_TEXT:
        found.append("--forward-subagent-text")  # makes calls of nested agents visible
    for path in plugin_paths:
        found.append(f"--plugin-dir={path}")
    return tuple(found)


def environment(test: Test, *, background: bool, timeout_seconds: float) -> dict[str, str]:
    """What Claude Code is told by its environment, beside the gateway's address.

    Args:
        background: Whether agents and commands may run in the background, as they do for users; a trial
            then ends later and is not repeatable.
        timeout_seconds: The trial's limit; no single request may wait longer.
    """
    found = {
        "ANTHROPIC_API_KEY": PLACEHOLDER_KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": str(MAX_RETRIES),
        "API_TIMEOUT_MS": str(int((timeout_seconds + HELD_SECONDS) * 1000)),
        "DISABLE_AUTOUPDATER": "1",
    }
    if test.type in CALL_TYPES:
        found["CLAUDE_CODE_DISABLE_BUNDLED_SKILLS"] = "1"
    if not background:
        found["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] = "1"
    return found


def judge_arguments(*, model: str, system: str, schema: str) -> tuple[str, ...]:
    """The arguments of a `claude` that answers one question in the form of `schema` and can do nothing else.

    Seen with 2.1.332: beside a placeholder that does nothing, its only tool is the one that takes the answer,
    which comes back as `structured_output` of the result.
    """
    return (
        "--print",
        "--verbose",
        "--input-format=stream-json",
        "--output-format=stream-json",
        "--no-session-persistence",
        "--setting-sources=",
        "--strict-mcp-config",
        "--disable-slash-commands",
        "--tools=",
        f"--model={model}",
        f"--system-prompt={system}",
        f"--json-schema={schema}",
    )


def judge_environment(*, timeout_seconds: float) -> dict[str, str]:
    """What such a `claude` is told by its environment."""
    return {
        "ANTHROPIC_API_KEY": PLACEHOLDER_KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": str(MAX_RETRIES),
        "API_TIMEOUT_MS": str(int(timeout_seconds * 1000)),
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1",
        "CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS": "1",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    }


def prompt_text(test: Test, agent_id: str | None) -> str:
    """The prompt as it is sent.

    Args:
        agent_id: The full id of the test's agent, the only name by which Claude Code finds a plugin's agent.
    """
    if test.type is TestType.AGENT_PROMPT:
        agent = agent_id or test.agent_file
        return f"Use the {agent} agent to accomplish the following task:\n\n{test.prompt}"
    return test.prompt


def prompt_line(text: str) -> bytes:
    """The prompt as one line of stream-json; pure ASCII, so that no shell or terminal can break it."""
    message = {"type": "user", "message": {"role": "user", "content": text}}
    return json.dumps(message, ensure_ascii=True).encode("ascii") + b"\n"


def parse_version(text: str) -> str | None:
    """The version in what `claude --version` prints; None where the program is something else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)+)\S* \(Claude Code\)\s*", text)
    return match[1] if match else None


def missing_flags(help_text: str) -> list[str]:
    """Those of `FLAGS` that a version does not know, by what `claude --help` prints."""
    known = set(re.findall(r"(?<![\w-])--[a-z-]+", help_text))
    return [flag for flag in FLAGS if flag not in known]


def _as_tuple(version: str | None) -> tuple[int, ...]:
    parts = (version or "").split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()
