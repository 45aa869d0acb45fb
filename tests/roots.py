"""Roots for tests: a plugin with two skills and an agent, and evals made from Python values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

TIDY = "Tidies CSV files: removes duplicate rows and repairs quoting"
HELLO = "Greets a person by name"
AUDITOR = "Audits the totals of a spreadsheet"


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def skill(directory: Path, name: str, description: str, body: str = "", more: str = "") -> Path:
    head = f"---\nname: {name}\ndescription: {description}\n{more}---\n"
    return write(directory / "skills" / name / "SKILL.md", head + (body or f"# How to {name}\n\nDo it.\n"))


def agent(directory: Path, name: str, description: str) -> Path:
    return write(
        directory / "agents" / f"{name}.md", f"---\nname: {name}\ndescription: {description}\n---\nWork.\n"
    )


def plugin(root: Path, name: str = "acme") -> Path:
    """`acme:tidy`, `acme:hello`, `acme:forked`, and the agent `acme:auditor`."""
    directory = root / name
    write(directory / ".claude-plugin" / "plugin.json", json.dumps({"name": name, "version": "1.0.0"}))
    skill(directory, "tidy", TIDY)
    skill(directory, "hello", HELLO)
    skill(directory, "forked", "Runs apart from everything else", more="context: fork\n")
    agent(directory, "auditor", AUDITOR)
    return directory


def an_eval(
    root: Path,
    tests: Sequence[Mapping[str, Any]],
    *,
    name: str = "csv",
    plugins: Sequence[str] = ("acme",),
    prompts: Mapping[str, str | bytes] | None = None,
    rubrics: Mapping[str, str] | None = None,
    scaffolds: Mapping[str, str] | None = None,
    script: Mapping[str, Any] | None = None,
) -> Path:
    """Writes `evals/{name}/`. A test without `promptFile` gets its own, from `prompts` by the test's name."""
    directory = root / "evals" / name
    filled = []
    for index, test in enumerate(tests):
        one = {"type": "skill-prompt", "promptFile": f"p{index}.md", **test}
        prompt = (prompts or {}).get(one["name"], "Please do the task.")
        write(directory / "prompts" / one["promptFile"], prompt)
        filled.append(one)
    write(directory / "tests.json", json.dumps({"plugins": list(plugins), "tests": filled}, indent=2))
    for file, text in (rubrics or {}).items():
        write(directory / "rubrics" / file, text)
    for file, text in (scaffolds or {}).items():
        write(directory / "scaffolds" / file, text)
    if script is not None:
        write(directory / "rehearsal.json", json.dumps({"tests": script}, indent=2))
    return directory


def text(words: str) -> dict[str, Any]:
    """A turn of a script that answers in text."""
    return {"content": words}


def call(name: str, **given: Any) -> dict[str, Any]:
    """A turn of a script that calls a tool."""
    return {"content": [{"type": "tool_use", "name": name, "input": given}]}


def bash(command: str) -> dict[str, Any]:
    """A turn of a script that runs a command in the sandbox."""
    return call("Bash", command=command, description="for the test")
