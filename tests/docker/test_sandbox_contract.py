"""The docker sandbox keeps what every sandbox promises."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sandbox_contract import SandboxContract
from sandbox_support import Lab, open_lab


@pytest.fixture(scope="module")
def lab(docker_client, sandbox_image, tmp_path_factory) -> Iterator[Lab]:
    with open_lab(docker_client, sandbox_image, tmp_path_factory.mktemp("lab")) as lab:
        yield lab


class TestDockerSandbox(SandboxContract):
    pass
