"""Telling an untouched work directory without fetching it.

Packing a directory costs the engine a tenth of a second of CPU, a tenth of a short trial; looking at one,
nothing. In most trials nothing is written.
"""

from __future__ import annotations

import io
import tarfile
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillwalker.sandbox.start_script import AGENT, WORKSPACE

if TYPE_CHECKING:
    from docker import DockerClient


class Pristine:
    """What the image's empty work directory looks like, found out once per run."""

    def __init__(self, client: DockerClient, image: str, labels: Mapping[str, str]) -> None:
        self._client, self._image, self._labels = client, image, dict(labels)
        self._lock = threading.Lock()
        self._stamp: str | None = None
        self._known = False

    def is_untouched(self, container: str) -> bool:
        """True only if nothing was ever made in the work directory of a container that had no scaffold.

        Making, renaming or removing anything in a directory changes its modification time, and only its owner
        can set it back. So where the trial's user owns the directory, or where it is not empty at the start,
        the time proves nothing and the answer is False.

        Raises:
            docker.errors.DockerException, requests.exceptions.RequestException: the engine failed.
        """
        with self._lock:
            if not self._known:
                self._stamp, self._known = self._find_stamp(), True
        return self._stamp is not None and self._modified(container) == self._stamp

    def _find_stamp(self) -> str | None:
        volume = {"Type": "volume", "Target": WORKSPACE, "VolumeOptions": {"Labels": self._labels}}
        created = self._client.api.create_container_from_config(
            {
                "Image": self._image,
                "Cmd": ["true"],
                "Labels": self._labels,
                "HostConfig": {"NetworkMode": "none", "Mounts": [volume]},
            }
        )
        try:
            pieces, status = self._client.api.get_archive(created["Id"], WORKSPACE)
            with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as tar:
                members = tar.getmembers()
        finally:
            self._client.api.remove_container(created["Id"], force=True, v=True)
        if len(members) != 1 or members[0].uid == AGENT:
            return None
        stamp: str = status["mtime"]
        return stamp

    def _modified(self, container: str) -> str:
        """The SDK has no call that only looks: `HEAD` instead of `GET` on the archive."""
        from docker.utils import decode_json_header

        api = self._client.api
        answer = api.head(
            f"{api.base_url}/v{api.api_version}/containers/{container}/archive",
            params={"path": WORKSPACE},
            timeout=api.timeout,
        )
        answer.raise_for_status()
        status: dict[str, Any] = decode_json_header(answer.headers["X-Docker-Container-Path-Stat"])
        modified: str = status["mtime"]
        return modified
