"""Plugins and scaffolds on the engine: volumes named by content, uploaded once, read-only for trials."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from skillwalker.errors import SandboxError
from skillwalker.sandbox.owner import CONTENT, OWNER, Owner
from skillwalker.tree import COMPLETE, Tree

if TYPE_CHECKING:
    from docker import DockerClient

_TARGET = "/content"
_WAIT_SECONDS = 120.0


class ContentVolumes:
    """The volumes that one run needs. Safe from many threads, and beside other runs on the same engine."""

    def __init__(self, client: DockerClient, image: str, labels: Mapping[str, str]) -> None:
        self._client, self._image, self._labels = client, image, dict(labels)
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._known: set[str] = set()

    def ensure(self, tree: Tree, name: str, *, again: bool = False) -> str:
        """The volume that holds `tree` below the directory `name`, and beside it the mark of completeness.

        A volume that exists is taken for complete; the trial's start script is what checks it.

        Args:
            again: Look into an existing volume, and upload if its mark is missing.

        Raises:
            SandboxError: a file of the tree has changed, or another run does not end its upload.
            docker.errors.DockerException, requests.exceptions.RequestException: the engine failed.
        """
        volume = f"skillwalker-content-{hashlib.sha256(f'{tree.digest} {name}'.encode()).hexdigest()[:32]}"
        with self._locks[volume]:
            if again or (volume not in self._known and not self._exists(volume)):
                self._upload(volume, tree, name)
            self._known.add(volume)
        return volume

    def _exists(self, volume: str) -> bool:
        from docker.errors import NotFound

        try:
            self._client.api.inspect_volume(volume)
        except NotFound:
            return False
        return True

    def _upload(self, volume: str, tree: Tree, name: str) -> None:
        self._client.api.create_volume(volume, labels={**self._labels, CONTENT: volume})
        helper = self._helper(volume)
        try:
            if self._complete(helper):
                return
            with tempfile.TemporaryFile() as file:
                tree.write_tar(file, prefix=name, mark_complete=True)
                file.seek(0)
                self._client.api.put_archive(helper, _TARGET, file)
        finally:
            self._client.api.remove_container(helper, force=True, v=True)

    def _helper(self, volume: str) -> str:
        """A container that is never started, only there to reach the volume.

        Its name is the lock between runs: the engine gives it to one at a time. Uploading over what a trial
        of another run has mounted would take files away from it for a moment.
        """
        from docker.errors import APIError

        name = f"{volume}-upload"
        labels = {**self._labels, CONTENT: volume}
        configuration = {
            "Image": self._image,
            "Cmd": ["true"],
            "NetworkDisabled": True,
            "Labels": self._labels,
            "HostConfig": {
                "NetworkMode": "none",
                "Mounts": [
                    {
                        "Type": "volume",
                        "Source": volume,
                        "Target": _TARGET,
                        # Labels for the case that somebody removed it just now: the engine makes it anew.
                        "VolumeOptions": {"NoCopy": True, "Labels": labels},
                    }
                ],
            },
        }
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                created = self._client.api.create_container_from_config(configuration, name)
            except APIError as error:
                if error.status_code != 409:
                    raise
                if time.monotonic() > deadline:
                    raise SandboxError(f"another run does not end its upload ({name})") from error
                self._remove_if_dead(name)
                time.sleep(0.1)
            else:
                helper: str = created["Id"]
                return helper

    def _remove_if_dead(self, name: str) -> None:
        from docker.errors import APIError

        with contextlib.suppress(APIError):  # gone meanwhile, which is what is wanted
            labels = self._client.api.inspect_container(name)["Config"]["Labels"] or {}
            owner = Owner.parse(labels.get(OWNER, ""))
            if owner is not None and owner.is_dead():
                self._client.api.remove_container(name, force=True, v=True)

    def _complete(self, helper: str) -> bool:
        from docker.errors import NotFound

        try:
            stream, _ = self._client.api.get_archive(helper, f"{_TARGET}/{COMPLETE}")
        except NotFound:
            return False
        for _ in stream:  # to its end, so that the connection is free again
            pass
        return True
