"""The second distribution beside the first, both installed from what is uploaded."""

from __future__ import annotations

import json
import shutil
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from roots import an_eval, plugin
from wheel_support import TOP, Installed, build, copy_of_checkout, install

SOURCES = TOP / "expectations_contrib"
PROJECT = tomllib.loads((SOURCES / "pyproject.toml").read_text("utf-8"))["project"]
TYPES = set(PROJECT["entry-points"]["skillwalker.expectations"])


@pytest.fixture(scope="module")
def contrib(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("contrib")
    ignored = shutil.ignore_patterns("__pycache__", ".*_cache")
    shutil.copytree(SOURCES, directory / "sources", ignore=ignored)
    return build("wheel", directory / "sources", directory / "wheel")


@pytest.fixture(scope="module")
def installed(contrib: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Skillwalker from its source distribution, the types from their wheel."""
    directory = tmp_path_factory.mktemp("both")
    checkout = copy_of_checkout(directory / "checkout")
    found = install(build("sdist", checkout, directory / "sdist"), directory / "venv")
    found.pip("install", "--force-reinstall", contrib)
    return found


def test_a_wheel_made_from_the_source_distribution_is_the_same(contrib: Path, tmp_path: Path) -> None:
    shutil.copytree(SOURCES, tmp_path / "sources", ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
    with tarfile.open(build("sdist", tmp_path / "sources", tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    [unpacked] = (tmp_path / "unpacked").iterdir()

    assert build("wheel", unpacked, tmp_path / "again").read_bytes() == contrib.read_bytes()


def test_the_wheel_has_its_package_and_no_more(contrib: Path) -> None:
    with zipfile.ZipFile(contrib) as archive:
        names = archive.namelist()
    top = {name.partition("/")[0] for name in names}

    package = "skillwalker_expectations_contrib"
    assert top == {package, f"{package}-{PROJECT['version']}.dist-info"}
    assert f"{package}/py.typed" in names
    assert not [name for name in names if "__pycache__" in name]


def test_all_types_are_found_once_and_load(installed: Installed, tmp_path: Path) -> None:
    done = installed.run("skillwalker", "expectations", "list", "--format", "json", cwd=tmp_path)
    found = json.loads(done.stdout)["expectations"]
    theirs = [one for one in found if one["distribution"] == PROJECT["name"]]

    assert sorted(one["type"] for one in theirs) == sorted(TYPES)
    assert not [one for one in theirs if one["problem"]]


def test_an_eval_can_name_them(installed: Installed, tmp_path: Path) -> None:
    plugin(tmp_path)
    an_eval(tmp_path, [{"name": "t", "expect": [{"result-matches": "^ok"}, {"max-turns": 5}]}])
    done = installed.run("skillwalker", "validate", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (0, "1 test in 1 eval is valid\n"), done.stderr


def test_both_are_for_the_same_versions_of_python() -> None:
    own = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]

    def versions(project: dict) -> list[str]:
        return [line for line in project["classifiers"] if "Python :: 3." in line]

    assert own["requires-python"] == PROJECT["requires-python"]
    assert versions(own) == versions(PROJECT)
