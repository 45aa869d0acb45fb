"""Somebody who has never seen this checkout: types of three packages, and what is left when one goes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from roots import an_eval, plugin, text
from wheel_support import TOP, Installed, build, copy_of_checkout, install

from skillwalker.sandbox.image import ImageInfo

TEST_IMAGE = os.environ.get("SKILLWALKER_TEST_IMAGE")  # before a fixture clears it
IMAGE = ["--image", TEST_IMAGE] if TEST_IMAGE else []
CONTRIB = "expectations_contrib"


@pytest.fixture
def stranger(tmp_path: Path) -> Installed:
    """An environment with the wheels of both distributions, outside of the checkout."""
    checkout = copy_of_checkout(tmp_path / "checkout")
    installed = install(build("wheel", checkout, tmp_path / "dist"), tmp_path / "venv")
    ignored = shutil.ignore_patterns("__pycache__", "dist", ".*")
    contrib = shutil.copytree(TOP / CONTRIB, tmp_path / CONTRIB, ignore=ignored)
    installed.pip("install", "--force-reinstall", build("wheel", contrib, tmp_path / "contrib-dist"))
    shutil.rmtree(checkout)
    return installed


def test_types_of_three_packages_work_together_and_a_missing_one_is_told(
    stranger: Installed, image_info: ImageInfo, tmp_path: Path
) -> None:
    root = tmp_path / "project"
    plugin(root)
    made = stranger.run("skillwalker", "expectations", "new", "says", "--into", root, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    stranger.pip("install", root / "skillwalker-says")
    name = "greets"
    an_eval(
        root,
        [
            {
                "name": name,
                "expect": [
                    {"result-contains": "Ada"},
                    {"result-matches": "^hello, \\w+$"},
                    {"says": {"text": "hello", "times": 1}},
                ],
            },
        ],
        script={name: [text("hello, Ada")]},
    )
    plain = {"name": "plain", "expect": [{"result-contains": "Ada"}]}
    an_eval(root, [plain], name="other", script={"plain": [text("hello, Ada")]})

    listed = answer(stranger, root, "expectations", "list", "--format", "json")
    origins = {row["type"]: row["distribution"] for row in listed["expectations"] if row["problem"] is None}
    types = ("result-contains", "result-matches", "says")
    assert [origins[one] for one in types] == [
        "skillwalker",
        "skillwalker-expectations-contrib",
        "skillwalker-says",
    ]
    result = answer(stranger, root, "run", "--isolated", "--rehearse", "--format", "json", *IMAGE)
    verdicts = verdicts_of(result, name)
    assert [(verdict["type"], verdict["outcome"]) for verdict in verdicts] == [
        (one, "passed") for one in types
    ]

    stranger.pip("uninstall", "skillwalker-says")
    for command in (["validate"], ["run", "--isolated", "--rehearse", *IMAGE]):
        done = stranger.run("skillwalker", *command, cwd=root)
        assert done.returncode == 4, done.stdout + done.stderr
        assert "tests[0].expect[2].says: no installed package has the expectation type says" in done.stderr
        assert "result-matches" in done.stderr  # what is installed
        assert "Traceback" not in done.stderr
    other = answer(stranger, root, "run", "other", "--isolated", "--rehearse", "--format", "json", *IMAGE)
    assert other["outcome"] == "passed"
    assert verdicts_of(answer(stranger, root, "show", result["run_id"], "--format", "json"), name) == verdicts
    shown = stranger.run("skillwalker", "show", result["run_id"], "csv::greets", cwd=root)
    assert shown.returncode == 0, shown.stderr
    assert 'occurrences of "hello" in the final text: 1' in shown.stdout


def answer(stranger: Installed, root: Path, *arguments: str) -> Any:
    done: subprocess.CompletedProcess[str] = stranger.run("skillwalker", *arguments, cwd=root)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def verdicts_of(result: Any, test: str) -> Any:
    [trial] = next(each["trials"] for each in result["tests"] if each["name"] == test)
    return trial["expectations"]
