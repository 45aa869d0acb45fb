"""`expectations new`: what it writes can be installed, tested and published as it stands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from wheel_support import TOP, build, environment

from skillwalker.errors import ConfigurationError
from skillwalker.expectations.new import LONGEST, write_package
from skillwalker.expectations.registry import Registry

NOTHING = Registry({})


@pytest.mark.parametrize("name", ["says", "x" * LONGEST, "test-2-words"])
def test_it_passes_its_own_tests_and_checks_as_written(name: str, tmp_path: Path) -> None:
    made = write_package(name, tmp_path, NOTHING)
    own = environment(tmp_path / "venv", TOP)
    own.pip("install", "--editable", made.directory)
    tools = [
        ["pytest", "-q", "-p", "no:cacheprovider"],
        ["ruff", "format", "--check", "--no-cache"],
        ["ruff", "check", "--no-cache"],
    ]
    if name == "says":  # names change nothing about types, and this takes long
        tools.append(["mypy", "--cache-dir", str(tmp_path / "mypy")])
    for tool in tools:
        done = own.run("python", "-m", *tool, cwd=made.directory)
        assert done.returncode == 0, f"{tool}\n{done.stdout}\n{done.stderr}"


def test_its_wheel_has_the_type_and_nothing_else(tmp_path: Path) -> None:
    import zipfile

    made = write_package("says", tmp_path, NOTHING)
    wheel = build("wheel", made.directory, tmp_path / "dist")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        entries = archive.read("skillwalker_says-0.1.0.dist-info/entry_points.txt").decode()
    assert {name for name in names if ".dist-info/" not in name} == {
        "skillwalker_says/__init__.py",
        "skillwalker_says/py.typed",
    }
    assert entries == "[skillwalker.expectations]\nsays = skillwalker_says:Says\n"


def test_it_says_what_it_wrote(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    done = run_cli("expectations", "new", "says", "--into", tmp_path / "deep" / "er")
    assert (done.code, done.err) == (0, "")
    directory = tmp_path / "deep" / "er" / "skillwalker-says"
    named = [line.strip() for line in done.out.splitlines()[1:-1]]
    assert done.out.splitlines()[0] == f"{directory}/"
    assert sorted(named) == sorted(
        path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()
    )
    assert f"pip install -e {directory}" in done.out.splitlines()[-1]
    text = "".join(path.read_text("utf-8") for path in directory.rglob("*") if path.is_file())
    assert "$" not in text
    assert "skillwalker_says" in text


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Says",
        "says_it",
        "-says",
        "says-",
        "says--it",
        "2says",
        "säys",
        "../says",
        "says it",
        "a\x1b[2J",
        "x" * 41,
    ],
)
def test_a_name_that_cannot_be_one_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be a type's name") as caught:
        write_package(name, tmp_path, NOTHING)
    assert str(caught.value).isprintable()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["verdict", "none", "class-var", "trial"])
def test_a_name_with_another_meaning_in_the_code_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="has another meaning"):
        write_package(name, tmp_path, NOTHING)


def test_a_taken_name_is_refused_with_its_owner(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    done = run_cli("expectations", "new", "llm-judge", "--into", tmp_path)
    assert done.code == 4
    assert "skillwalker 0.1.0 has the expectation type llm-judge" in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["max-turns", "expectations-contrib"])
def test_a_name_of_a_known_package_is_refused_though_it_is_not_installed(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="^skillwalker-expectations-contrib "):
        write_package(name, tmp_path, NOTHING)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "skillwalker-says").mkdir()
    done = run_cli("expectations", "new", "says", "--into", tmp_path, "--format", "json")
    assert done.code == 4  # it has no such option: nothing was made either
    done = run_cli("expectations", "new", "says", "--into", tmp_path)
    assert done.code == 4
    assert "is there already and stays as it is" in done.err
    assert list((tmp_path / "skillwalker-says").iterdir()) == []
    (tmp_path / "file").write_text("")
    done = run_cli("expectations", "new", "says", "--into", tmp_path / "file")
    assert (done.code, "is there already" in done.err) == (4, True)
    done = run_cli("expectations", "new", "says", "--into", tmp_path / "file" / "deeper")
    assert (done.code, "cannot be written" in done.err) == (4, True)
