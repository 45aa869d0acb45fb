"""docs/expectations.md; what starts a container on it is done in `docker/test_expectations_page.py`."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest
from page_support import PAGE, files, follow, steps
from wheel_support import Installed, build, copy_of_checkout, install

from skillwalker.expectations.registry import Registry
from skillwalker.packaged import packaged
from skillwalker.testing import RULES

WORDS = {"type": "says", "cls": "Says", "distribution": "skillwalker-says", "module": "skillwalker_says"}


@pytest.fixture
def reader(tmp_path: Path) -> Installed:
    checkout = copy_of_checkout(tmp_path / "checkout")
    installed = install(build("wheel", checkout, tmp_path / "dist"), tmp_path / "venv")
    installed.add_programs()
    return installed


def test_a_reader_can_do_all_that_it_says(reader: Installed, tmp_path: Path) -> None:
    follow(reader, tmp_path / "project", with_containers=False)
    found = reader.run("skillwalker", "expectations", "list", cwd=tmp_path)
    assert re.search(r"^says +skillwalker-says 0\.1\.0 +The final text", found.stdout, re.MULTILINE)
    assert (tmp_path / "project" / "dist" / "skillwalker_says-0.1.0-py3-none-any.whl").exists()


def test_the_code_it_shows_is_what_is_written() -> None:
    shown = re.findall(r"<!-- template: (\S+) -->\n```python\n(.*?)```\n", PAGE, re.DOTALL)
    assert [name for name, _ in shown] == ["package.py", "test_package.py"]
    for name, text in shown:
        template = (packaged("new_expectation") / f"{name}.txt").read_text("utf-8")
        assert text == string.Template(template).substitute(WORDS)


def test_it_names_every_rule_of_the_conformance_test() -> None:
    table = PAGE.partition("`conformance` makes a test")[2].partition("## Publish")[0]
    rows = [
        cell
        for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
        for cell in re.findall(r"`(.*?)`", row)
    ]
    assert rows == [rule.__name__.replace("_", "-") for rule in RULES]


def test_it_finds_what_it_tests() -> None:
    commands = [step.command for step in steps()]
    assert commands[0] == "skillwalker expectations new says"
    assert sum(step.output is not None for step in steps()) == 2
    assert "evals/greeting/tests.json" in files()
    assert "says" not in Registry.scan().names()
