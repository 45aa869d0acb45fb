"""The base image's name and its script; tests/docker has what needs an engine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from skillwalker.errors import CannotStartError
from skillwalker.sandbox.base_image import BASE_SCRIPT, engine_architecture, made_tag, packages_of
from skillwalker.sandbox.image import sandbox_dockerfile


def test_the_packages_are_those_of_the_dockerfile() -> None:
    packages = packages_of(sandbox_dockerfile().decode())
    assert {"git", "ripgrep", "jq", "curl", "ca-certificates", "nodejs", "python3", "python3-venv"} <= set(
        packages
    )
    with pytest.raises(CannotStartError, match="PACKAGES"):
        packages_of("FROM debian")


def test_a_made_base_is_named_after_what_it_is_made_from() -> None:
    tag = made_tag("amd64", ("git",))
    assert tag.startswith("skillwalker-base:")
    assert len({tag, made_tag("arm64", ("git",)), made_tag("amd64", ("git", "jq"))}) == 3
    assert made_tag("amd64", ("git",)) == tag


class Engine:
    def __init__(self, machine: str) -> None:
        self.machine = machine

    def version(self) -> dict[str, str]:
        return {"Arch": self.machine}


def test_other_processors_are_refused() -> None:
    assert engine_architecture(Engine("amd64")) == "amd64"  # type: ignore[arg-type]
    assert engine_architecture(Engine("aarch64")) == "arm64"  # type: ignore[arg-type]
    with pytest.raises(CannotStartError, match="riscv64"):
        engine_architecture(Engine("riscv64"))  # type: ignore[arg-type]


def test_a_machine_without_means_says_so(tmp_path: Path) -> None:
    for name in ("sh", "tr", "mktemp", "chmod", "rm", "id", "mkdir"):
        (tmp_path / name).symlink_to(shutil.which(name) or "")
    result = subprocess.run(
        ["sh", str(BASE_SCRIPT), str(tmp_path / "base.tar"), "amd64", "bookworm", "git"],
        env={"PATH": str(tmp_path), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 3
    assert "neither mmdebstrap" in result.stderr
    assert not (tmp_path / "base.tar").exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("tmp.")]


def test_the_script_is_executable_shell() -> None:
    assert BASE_SCRIPT.read_text().startswith("#!/bin/sh\n")
    assert os.access(BASE_SCRIPT, os.X_OK)
