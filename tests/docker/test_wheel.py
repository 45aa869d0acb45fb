"""The installed wheel with a real engine: the same image as the checkout's, and the demo."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from wheel_support import Installed, build, copy_of_checkout, install

from skillwalker.sandbox.image import ImageInfo, read_inputs

if TYPE_CHECKING:
    from docker import DockerClient

TEST_IMAGE = os.environ.get("SKILLWALKER_TEST_IMAGE")  # before a fixture clears it


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    directory = tmp_path_factory.mktemp("wheel")
    checkout = copy_of_checkout(directory / "checkout")
    return install(build("wheel", checkout, directory / "dist"), directory / "venv")


def test_it_names_the_image_that_the_checkout_names(
    installed: Installed, docker_client: DockerClient, tmp_path: Path
) -> None:
    done = installed.run("skillwalker", "image", "info", "--format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["tag"] == read_inputs(docker_client).tag


def test_its_demo_passes(installed: Installed, image_info: ImageInfo, tmp_path: Path) -> None:
    image = ["--image", TEST_IMAGE] if TEST_IMAGE else []
    done = installed.run("skillwalker", "demo", "--format", "json", *image, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert (result["outcome"], result["image"]) == ("passed", image_info.id)
    assert result["model_source"] == "rehearsal"
    assert list(tmp_path.iterdir()) == []
