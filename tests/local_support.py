"""Runs on this machine with a scripted Claude Code; see the fixture `claude`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from roots import an_eval, plugin, text

DONE = {"result-contains": "done"}


def a_root(directory: Path, behaviours: Sequence[str]) -> Path:
    """An eval with a test for each of the fake's behaviours."""
    plugin(directory)
    tests = [{"name": one, "expect": [DONE]} for one in behaviours]
    scripts = {one: [text("done")] for one in behaviours}
    an_eval(directory, tests, prompts={one: one for one in behaviours}, script=scripts)
    return directory


def run(run_cli: Callable[..., Any], root: Path, claude: Path, *options: str) -> Any:
    command = ["run", "--rehearse", "--yes", "--claude", claude, "--format", "json", *options]
    return run_cli("--root", root, *command)
