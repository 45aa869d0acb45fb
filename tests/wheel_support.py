"""The wheel, built from a copy of this checkout and installed where the checkout cannot be seen."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

TOP = Path(__file__).parent.parent
SOURCES = ("skillwalker", "examples", "docs")


def copy_of_checkout(target: Path) -> Path:
    """What a clone has that a wheel is made from, with what using it leaves in the way."""
    target.mkdir()
    for name in SOURCES:
        shutil.copytree(TOP / name, target / name)
    for path in TOP.iterdir():
        if path.is_file():
            shutil.copy2(path, target)
    shutil.copytree(TOP / "tests", target / "tests", ignore=shutil.ignore_patterns("data"))
    for dirt in (
        "skillwalker/__pycache__/dirt.cpython-311.pyc",
        "skillwalker/.mypy_cache/dirt.json",
        "examples/csv-toolbox/.skillwalker/runs/20261130T101500Z-0a0b0c/run.json",
        "examples/csv-toolbox/tables/skills/tidy-csv/scripts/__pycache__/dirt.cpython-311.pyc",
        "dist/dirt.whl",
    ):
        (target / dirt).parent.mkdir(parents=True, exist_ok=True)
        (target / dirt).write_text("dirt")
    return target


def build(kind: str, sources: Path, target: Path) -> Path:
    """A `wheel` or `sdist`; needs no network."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", target]
    subprocess.run(command, cwd=sources, check=True, capture_output=True)
    [built] = target.iterdir()
    return built


@frozen
class Installed:
    """An environment of its own, in which all that is not installed there comes from that of the tests."""

    directory: Path
    bin: Path
    library: Path

    def run(self, *command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.bin / command[0], *command[1:]],
            cwd=cwd,
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    def pip(self, command: str, *arguments: str | Path) -> None:
        """Offline, and with what is there."""
        subprocess.run([*self._pip(command), *arguments], check=True, capture_output=True)

    def add_programs(self) -> None:
        """`pip` and `pytest`, as they would stand in an environment of somebody's own."""
        cases = "".join(
            f'{name}) exec {shlex.join(map(str, self._pip(name)))} "$@";; ' for name in ("install", "wheel")
        )
        programs = {
            "pip": f"called=$1; shift; case $called in {cases}esac; exit 64",
            "pytest": f'exec {shlex.quote(str(self.bin / "python"))} -m pytest -p no:cacheprovider "$@"',
        }
        for name, text in programs.items():
            (self.bin / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.bin / name).chmod(0o755)

    def shell(self, command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """A command line as a reader types it."""
        return subprocess.run(
            command,
            shell=True,
            cwd=cwd,
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    def _pip(self, command: str) -> list[str | Path]:
        pip = [sys.executable, "-m", "pip", "--python", self.directory, "--disable-pip-version-check"]
        options = ["--yes"] if command == "uninstall" else ["--no-build-isolation", "--no-deps", "--no-index"]
        return [*pip, command, "--quiet", *options]

    def _environment(self) -> Mapping[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return {**kept, "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}"}


def environment(directory: Path, *more: Path) -> Installed:
    """An environment that sees what the tests see, but for what is editable, and `more`.

    Path files in a directory that is named by one are not read, so an editable Skillwalker stays unseen.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory], check=True)
    [library] = directory.glob("lib/*/site-packages")
    libraries = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    (library / "others.pth").write_text("".join(f"{path}\n" for path in (*libraries, *more)))
    return Installed(directory, directory / "bin", library)


def install(wheel: Path, directory: Path) -> Installed:
    """Downloads nothing: what Skillwalker needs is seen through a path file."""
    installed = environment(directory)
    installed.pip("install", "--force-reinstall", wheel)
    return installed
