"""The wheel, built from a copy of this checkout and installed where the checkout cannot be seen."""

from __future__ import annotations

import os
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
    """An environment that has the wheel's Skillwalker, and all else from the environment of the tests."""

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

    def _environment(self) -> Mapping[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return {**kept, "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}"}


def install(wheel: Path, directory: Path) -> Installed:
    """Downloads nothing: what Skillwalker needs is seen through a path file.

    Path files in a directory that is named by one are not read, so an editable Skillwalker stays unseen.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory], check=True)
    [library] = directory.glob("lib/*/site-packages")
    libraries = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    (library / "others.pth").write_text("".join(f"{path}\n" for path in libraries))
    options = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "--python", directory, "install", *options, "--force-reinstall"]
    subprocess.run([*pip, wheel], check=True)
    return Installed(directory, directory / "bin", library)
