"""What all tests share: a clean environment, and the command line as a function."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import frozen
from hypothesis import HealthCheck, settings

from skillwalker.cli.main import exit_code

pytest.register_assert_rewrite("sandbox_contract")

# The same examples in every run and on every machine, however slow: what passed here passes there.
_SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
settings.register_profile(
    "steady", deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW
)
settings.load_profile("steady")


@frozen
class Called:
    """What one call of the command line did."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No credential and no setting of this machine reaches a test."""
    for name in os.environ:
        if name.startswith(("ANTHROPIC_", "CLAUDE", "DOCKER_", "SKILLWALKER_")):
            monkeypatch.delenv(name)


@pytest.fixture
def run_cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Called]:
    """Calls the command line in this process."""

    def call(*arguments: str | Path) -> Called:
        capsys.readouterr()
        code = exit_code([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Called(code, captured.out, captured.err)

    return call


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where all temporary directories are made."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """A program that stands in for Claude Code, see there."""
    source = (Path(__file__).parent / "data" / "fake_claude.py").read_text("utf-8")
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\n{source}", "utf-8")
    program.chmod(0o755)
    return program
