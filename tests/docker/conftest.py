"""Real containers: the engine and the image they use. Without Docker they fail, or are skipped on purpose."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from skillwalker.errors import CannotStartError
from skillwalker.sandbox.engine import connect
from skillwalker.sandbox.image import ImageInfo, ensure_image

if TYPE_CHECKING:
    from docker import DockerClient

# Read before any fixture clears them: the way to the engine, and what its image is built with.
BUILD = ("CA_FILE", "NPM_REGISTRY", "PIP_INDEX_URL", "DEBIAN_MIRROR", "DEBIAN_SECURITY_MIRROR")
ENGINE = {
    name: value
    for name, value in os.environ.items()
    if name.startswith("DOCKER_") or name.removeprefix("SKILLWALKER_") in BUILD
}
TEST_IMAGE = os.environ.get("SKILLWALKER_TEST_IMAGE")
NO_DOCKER = os.environ.get("SKILLWALKER_NO_DOCKER") == "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.docker)
            if NO_DOCKER:
                item.add_marker(pytest.mark.skip(reason="SKILLWALKER_NO_DOCKER=1"))


@pytest.fixture(autouse=True)
def engine_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives back what the other tests must not see."""
    for name, value in ENGINE.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def docker_client() -> Iterator[DockerClient]:
    try:
        client = connect({**os.environ, **ENGINE})
    except CannotStartError as error:
        problem = f"{error} Or leave out these tests: SKILLWALKER_NO_DOCKER=1"
    else:
        yield client
        client.close()
        return
    pytest.fail(problem, pytrace=False)  # outside of the handler, whose errors would be shown too


@pytest.fixture(scope="session")
def image_info(docker_client: DockerClient) -> ImageInfo:
    return ensure_image(docker_client, TEST_IMAGE, progress=print)


@pytest.fixture(scope="session")
def sandbox_image(image_info: ImageInfo) -> str:
    """Id of the image, built by the product's own code."""
    return image_info.id
