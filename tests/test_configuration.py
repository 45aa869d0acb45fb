"""Whole files, valid and invalid, lie in `data/configuration` with what is expected of them beside.

With `REWRITE_EXPECTED=1` the `.expected` files are written anew: read the difference. A file whose name
begins with `pyproject` is read as `pyproject.toml`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from attrs import asdict
from roots import write

from skillwalker.configuration import Configuration, load_configuration, read_configuration
from skillwalker.errors import ConfigurationError
from skillwalker.request import RunRequest
from skillwalker.sandbox.base import Limits
from skillwalker.settings import OPTIONS, option_faults
from skillwalker.sources import FIELDS, NO_FIELDS

DATA = Path(__file__).parent / "data" / "configuration"


def cases(kind: str) -> list[Path]:
    return sorted((DATA / kind).glob("*.toml"))


def root_of(case: Path, root: Path) -> Path:
    name = "pyproject.toml" if case.stem.startswith("pyproject") else "skillwalker.toml"
    write(root / name, case.read_bytes())
    write(root / "sandbox" / "Dockerfile", "ARG BASE\nFROM $BASE\n")
    write(root / "Dockerfile", "ARG BASE\nFROM $BASE\n")
    (root / "leads-out").symlink_to("/etc/hostname")
    return root


def check_expected(case: Path, actual: str) -> None:
    expected = case.with_suffix(".expected")
    if os.environ.get("REWRITE_EXPECTED"):
        expected.write_text(actual, "utf-8")
    assert actual == expected.read_text("utf-8")


@pytest.mark.parametrize("case", cases("invalid"), ids=lambda case: case.stem)
def test_an_invalid_configuration_is_explained(case: Path, tmp_path: Path) -> None:
    root = root_of(case, tmp_path)
    found = read_configuration(root)
    assert found.problems
    check_expected(case, "".join(f"{problem}\n" for problem in found.problems))
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(root)
    assert caught.value.problems == found.problems


@pytest.mark.parametrize("case", cases("valid"), ids=lambda case: case.stem)
def test_a_valid_configuration_is_read_as_written(case: Path, tmp_path: Path) -> None:
    found = read_configuration(root_of(case, tmp_path))
    assert found.problems == ()
    check_expected(case, described(found, tmp_path))


def described(found: Configuration, root: Path) -> str:
    plain = ("options", "env", "allow", "subscription", "prices")
    limits = {name: getattr(found.limits, name) for name in ("memory_mib", "cpus", "pids")}
    dockerfile = found.dockerfile and found.dockerfile.relative_to(root).as_posix()
    lines = [f"{key}: {value!r}" for key, value in asdict(found).items() if key in plain]
    lines += [f"limits: {limits}", f"dockerfile: {dockerfile!r}"]
    lines += [f"{key} at {place}" for key, place in found.places.items()]
    return "\n".join(lines) + "\n"


def test_without_a_file_nothing_is_said(tmp_path: Path) -> None:
    assert read_configuration(tmp_path) == Configuration()


def test_two_files_with_settings_are_a_problem_that_names_both(tmp_path: Path) -> None:
    write(tmp_path / "skillwalker.toml", "[run]\njobs = 4\n")
    write(tmp_path / "pyproject.toml", "[tool.skillwalker.run]\njobs = 4\n")
    (problem,) = read_configuration(tmp_path).problems
    assert str(problem) == (
        "skillwalker.toml: skillwalker.toml and [tool.skillwalker] in pyproject.toml both have settings: "
        "keep one of them"
    )


@pytest.mark.parametrize("empty", ["", "# to come\n", "[tool.skillwalker]\n"])
def test_a_file_without_settings_stands_beside_another(tmp_path: Path, empty: str) -> None:
    write(tmp_path / "skillwalker.toml", "[run]\njobs = 4\n")
    write(tmp_path / "pyproject.toml", empty)
    assert load_configuration(tmp_path).options == {"jobs": 4}


@pytest.mark.parametrize("name", ["skillwalker.toml", "pyproject.toml"])
def test_what_cannot_be_read_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (problem,) = read_configuration(tmp_path).problems
    assert str(problem) == f"{name}: is a directory, not a file"


def test_a_link_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    (tmp_path / "skillwalker.toml").symlink_to("nowhere.toml")
    (problem,) = read_configuration(tmp_path).problems
    assert str(problem) == "skillwalker.toml: is a link that leads nowhere"


def test_limits_that_nobody_names_are_the_usual_ones(tmp_path: Path) -> None:
    write(tmp_path / "skillwalker.toml", "[sandbox]\ncpus = 1.5\n")
    assert load_configuration(tmp_path).limits == Limits(cpus=1.5)


def test_every_option_has_its_field_in_a_request() -> None:
    known = {attribute.name for attribute in RunRequest.__attrs_attrs__}
    assert {FIELDS.get(name, name) for name in OPTIONS if name not in NO_FIELDS} <= known


@pytest.mark.parametrize(
    ("name", "value", "faults"),
    [
        ("jobs", 4, ()),
        ("jobs", 0, ("must be at least 1, not 0",)),
        ("image", " ", ("is blank",)),
        ("format", "xml", ('expected one of "console", "json", got "xml"',)),
        ("timeout", 604_801.0, ("must be at most 604800, not 604801.0",)),
    ],
)
def test_the_rules_hold_for_single_values(name: str, value: object, faults: tuple[str, ...]) -> None:
    assert option_faults(name, value) == faults
