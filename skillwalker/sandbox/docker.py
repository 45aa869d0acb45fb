"""The docker sandbox: one container per trial, without any network; the way to the model is the relay."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from attrs import evolve

from skillwalker.errors import SandboxError
from skillwalker.sandbox import start_script as script
from skillwalker.sandbox.base import Connector, Limits, SandboxRequest
from skillwalker.sandbox.docker_process import DockerProcess, IncompleteVolumeError
from skillwalker.sandbox.engine_errors import engine_errors
from skillwalker.sandbox.owner import CONTENT, KEPT, RUN, Owner, reap
from skillwalker.sandbox.pristine import Pristine
from skillwalker.sandbox.volumes import ContentVolumes

if TYPE_CHECKING:
    from docker import DockerClient

_MIB = 1 << 20


class DockerSandbox:
    """Opened for one run; its methods may be called from many threads.

    Attributes:
        notes: What `close` could not clean up (the next start will) and what is kept, a sentence each.
    """

    name = "docker"

    def __init__(
        self,
        client: DockerClient,
        image_id: str,
        owner: Owner,
        run_id: str,
        program: str,
        passed: Mapping[str, str],
    ) -> None:
        self._client, self._image, self._program, self._passed = client, image_id, program, dict(passed)
        self._owner, self._run_id = owner, run_id
        labels = owner.labels(run_id)
        self._volumes = ContentVolumes(client, image_id, labels)
        self._pristine = Pristine(client, image_id, labels)
        self._cpus: int | None = None
        # Removing takes a tenth of a second that the next trial need not wait for.
        self._cleaners = ThreadPoolExecutor(4, thread_name_prefix="cleaner")
        self._kept: set[str] = set()
        self.notes: list[str] = []

    @classmethod
    def open(
        cls,
        client: DockerClient,
        image_id: str,
        owner: Owner,
        run_id: str,
        *,
        passed: Mapping[str, str] | None = None,
        program: str = "claude",
    ) -> DockerSandbox:
        """Removes what dead runs of this host left, too.

        Args:
            passed: Variables of this process's environment that every trial gets.
            program: What is executed instead of Claude Code; for tests.

        Raises:
            SandboxError: the engine cannot be asked.
        """
        with engine_errors("looking for what dead runs left"):
            reap(client)
        return cls(client, image_id, owner, run_id, program, passed or {})

    @property
    def image(self) -> str | None:
        return self._image

    def plugin_path(self, trial_id: str, index: int, name: str) -> str:
        return f"/plugins/{index}/{name}"

    def default_jobs(self, memory_mib: int) -> int:
        with engine_errors("asking for the engine's size"):
            info = self._client.api.info()
        return max(1, min(int(info["NCPU"]), int(info["MemTotal"]) // (memory_mib * _MIB)))

    def _fitting(self, limits: Limits) -> Limits:
        """The engine refuses more CPUs than it has."""
        if limits.cpus is None:
            return limits
        if self._cpus is None:
            self._cpus = int(self._client.api.info()["NCPU"])
        return evolve(limits, cpus=None) if limits.cpus >= self._cpus else limits

    def start(
        self, request: SandboxRequest, gateway: Connector, network: Connector | None = None
    ) -> DockerProcess:
        try:
            return self._start(request, gateway, network, again=False)
        except IncompleteVolumeError:
            return self._start(request, gateway, network, again=True)

    def close(self) -> None:
        """Waits until everything of this run is removed, but for what was kept and content volumes."""
        self._cleaners.shutdown(wait=True)
        try:
            with engine_errors("cleaning up"):
                self._sweep()
        except SandboxError as error:
            self.notes.append(f"{error}; `skillwalker prune` removes what is left")
        if self._kept:
            self.notes.append(
                f"the containers are kept as {KEPT}{self._run_id}-...; `skillwalker prune` removes them"
            )

    def _start(
        self, request: SandboxRequest, gateway: Connector, network: Connector | None, *, again: bool
    ) -> DockerProcess:
        with engine_errors("starting a trial's container"):
            volumes = [
                (self._volumes.ensure(tree, name, again=again), f"/plugins/{index}")
                for index, (name, tree) in enumerate(request.plugins)
            ]
            if request.scaffold is not None:
                name = self._volumes.ensure(request.scaffold, script.SCAFFOLD_NAME, again=again)
                volumes.append((name, script.SCAFFOLD))
            configuration = script.configuration(
                image=self._image,
                command=(self._program, *request.arguments),
                given={**(self._passed if request.passed else {}), **request.environment},
                volumes=volumes,
                scaffold=request.scaffold is not None,
                limits=self._fitting(request.limits),
                labels=self._owner.labels(self._run_id),
                proxy=network is not None,
            )
            name = f"skillwalker-{self._run_id[-6:]}-{request.trial_id}-{secrets.token_hex(3)}"
            created = self._client.api.create_container_from_config(configuration, name)
            process = DockerProcess(
                self._client,
                created["Id"],
                request.limits,
                self._remove,
                self._pristine.is_untouched if request.scaffold is None else lambda container: False,
            )
            try:
                process.start(request.line, gateway, network)
            except BaseException:
                process.close()
                raise
            return process

    def _remove(self, container: str, keep: bool) -> None:
        if keep:
            self._kept.add(container)
        try:
            self._cleaners.submit(self._clean, container, keep)
        except RuntimeError:  # the sandbox is closed; a straggler is removed here and now
            self._clean(container, keep)

    def _clean(self, container: str, keep: bool) -> None:
        """What fails here is tried again by `close`."""
        with contextlib.suppress(SandboxError), engine_errors("cleaning up"):
            if keep:
                self._client.api.stop(container, timeout=0)
                self._client.api.rename(container, f"{KEPT}{self._run_id}-{container[:12]}")
            else:
                self._client.api.remove_container(container, force=True, v=True)

    def _sweep(self) -> None:
        from docker.errors import NotFound

        mine = {"label": f"{RUN}={self._run_id}"}
        for item in self._client.api.containers(all=True, filters=mine):
            if item["Id"] not in self._kept:
                with contextlib.suppress(NotFound):
                    self._client.api.remove_container(item["Id"], force=True, v=True)
        for item in self._client.api.volumes(filters={**mine, "dangling": True}).get("Volumes") or ():
            if CONTENT not in (item.get("Labels") or {}):
                with contextlib.suppress(NotFound):
                    self._client.api.remove_volume(item["Name"])
