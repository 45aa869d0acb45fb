"""Shell scripts in containers, and what is left of them on the engine."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import sandbox_lab
from docker.errors import APIError
from sandbox_lab import LINE as LINE
from sandbox_lab import Result as Result
from sandbox_lab import until as until

from skillwalker.sandbox.docker import DockerSandbox
from skillwalker.sandbox.owner import RUN, Owner

if TYPE_CHECKING:
    from docker import DockerClient


class Lab(sandbox_lab.Lab[DockerSandbox]):
    """A lab of containers."""

    def __init__(self, client: DockerClient, image: str, directory: Path) -> None:
        self.client = client
        self.run_id = f"20261130T101500Z-{secrets.token_hex(3)}"
        sandbox = DockerSandbox.open(client, image, Owner.current(), self.run_id, program="sh")
        super().__init__(sandbox, directory)

    def close(self) -> None:
        self.sandbox.close()
        assert [note for note in self.sandbox.notes if "are kept as" not in note] == []
        mine = self.client.api.volumes(filters={"label": f"{RUN}={self.run_id}"}).get("Volumes") or []
        for volume in mine:  # contents that no other test will ask for
            with contextlib.suppress(APIError):
                self.client.api.remove_volume(volume["Name"])


@contextlib.contextmanager
def open_lab(client: DockerClient, image: str, directory: Path) -> Iterator[Lab]:
    lab = Lab(client, image, directory)
    try:
        yield lab
    finally:
        lab.close()


def left(client: DockerClient, label: str) -> set[str]:
    """Names of all containers and volumes with a label, but for content volumes."""
    containers = client.api.containers(all=True, filters={"label": label})
    volumes = client.api.volumes(filters={"label": label}).get("Volumes") or []
    return {item["Names"][0].lstrip("/") for item in containers} | {
        item["Name"] for item in volumes if "skillwalker.content" not in item["Labels"]
    }
