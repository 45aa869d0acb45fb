"""What is in the wheel, and that it works without the checkout it was built from."""

from __future__ import annotations

import configparser
import json
import re
import shutil
import tarfile
import tomllib
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest
from wheel_support import TOP, Installed, build, copy_of_checkout, install

import skillwalker

CACHES = {"__pycache__", ".skillwalker", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis"}
EXAMPLE = "skillwalker/data/examples/csv-toolbox"
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_checkout(tmp_path_factory.mktemp("sources") / "checkout")


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", checkout, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(wheel, tmp_path_factory.mktemp("venv"))


@pytest.fixture
def example(installed: Installed, tmp_path: Path) -> Path:
    return Path(shutil.copytree(installed.library / EXAMPLE, tmp_path / "csv-toolbox"))


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def read(wheel: Path, ending: str) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(ending)]
        return archive.read(name)


def test_the_wheel_has_what_the_checkout_has(wheel: Path) -> None:
    def files(directory: str, prefix: str) -> set[str]:
        found = (path for path in (TOP / directory).rglob("*") if path.is_file())
        relative = {path.relative_to(TOP / directory) for path in found}
        kept = {path for path in relative if CACHES.isdisjoint(path.parts)}
        return {f"{prefix}/{path.as_posix()}" for path in kept}

    expected = files("skillwalker", "skillwalker") | files("examples", "skillwalker/data/examples")
    packed = {name for name in names(wheel) if ".dist-info/" not in name}
    assert packed == expected | {"skillwalker/data/Dockerfile.sandbox"}
    assert {"skillwalker/py.typed", "skillwalker/data/make-base.sh", f"{EXAMPLE}/README.md"} <= packed
    assert read(wheel, "/Dockerfile.sandbox") == (TOP / "Dockerfile.sandbox").read_bytes()


def test_the_wheel_has_no_tests_caches_or_runs(wheel: Path) -> None:
    assert all(CACHES.isdisjoint(Path(name).parts) for name in names(wheel))
    assert not [name for name in names(wheel) if "dirt" in name]
    assert {name.partition("/")[0] for name in names(wheel)} == {
        "skillwalker",
        f"skillwalker-{skillwalker.__version__}.dist-info",
    }


def test_its_entry_points_are_those_of_the_project(wheel: Path) -> None:
    found = configparser.ConfigParser(delimiters="=")
    found.optionxform = str  # type: ignore[assignment, method-assign]
    found.read_string(read(wheel, "/entry_points.txt").decode())
    assert {section: dict(found[section]) for section in found.sections()} == {
        "console_scripts": PROJECT["scripts"],
        **PROJECT["entry-points"],
    }


def test_its_metadata_tells_what_it_is(wheel: Path) -> None:
    metadata = HeaderParser().parsestr(read(wheel, "/METADATA").decode())
    assert metadata["Name"] == "skillwalker"
    assert metadata["Version"] == skillwalker.__version__ == PROJECT["version"]
    assert metadata["License-Expression"] == "MIT"
    required = {line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line}
    assert required == set(PROJECT["dependencies"])
    assert metadata["Provides-Extra"] == "ssh"
    assert read(wheel, "/LICENSE") == (TOP / "LICENSE").read_bytes()


def test_a_wheel_made_from_the_source_distribution_is_the_same(
    checkout: Path, wheel: Path, tmp_path: Path
) -> None:
    sources = build("sdist", checkout, tmp_path / "sdist")
    with tarfile.open(sources) as archive:
        archive.extractall(tmp_path / "sources", filter="data")
    [unpacked] = (tmp_path / "sources").iterdir()
    assert build("wheel", unpacked, tmp_path / "again").read_bytes() == wheel.read_bytes()


def test_what_is_installed_is_the_wheel(installed: Installed, tmp_path: Path) -> None:
    code = (
        "import json, sys, skillwalker; from skillwalker.packaged import packaged;"
        "names = ('Dockerfile.sandbox', 'examples/csv-toolbox');"
        "places = [skillwalker.__file__, *map(str, map(packaged, names))];"
        "print(json.dumps([places, sys.path]))"
    )
    done = installed.run("python", "-W", "error", "-c", code, cwd=tmp_path)
    places, path = json.loads(done.stdout)
    assert all(Path(place).is_relative_to(installed.directory) for place in places), places
    assert str(TOP) not in path


def test_the_installed_program_says_its_version(installed: Installed, tmp_path: Path) -> None:
    done = installed.run("skillwalker", "--version", cwd=tmp_path)
    first, image, _ = done.stdout.splitlines()
    assert (done.returncode, first) == (0, f"skillwalker {skillwalker.__version__}")
    assert re.fullmatch(r"Claude Code \d+\.\d+\.\d+ \(in the sandbox image\)", image)


def test_the_installed_program_checks_the_example(installed: Installed, example: Path) -> None:
    done = installed.run("skillwalker", "validate", cwd=example)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("13 tests in 3 evals")


def test_the_installed_program_finds_the_built_in_types_once(installed: Installed, tmp_path: Path) -> None:
    done = installed.run("skillwalker", "expectations", "list", "--format", "json", cwd=tmp_path)
    found = json.loads(done.stdout)["expectations"]
    own = [each for each in found if each["distribution"] == "skillwalker"]
    assert sorted(each["type"] for each in own) == sorted(PROJECT["entry-points"]["skillwalker.expectations"])
    assert not any(each["problem"] for each in own)
