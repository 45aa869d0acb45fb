"""Whose a container or volume is, by labels: what a dead run left is found, a live run's is not touched."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from attrs import frozen

if TYPE_CHECKING:
    from docker import DockerClient

RUN, OWNER, CREATED = "skillwalker.run", "skillwalker.owner", "skillwalker.created"
CONTENT = "skillwalker.content"
"""On volumes that hold plugins and scaffolds: caches that later runs use again."""

_CONTENT_SECONDS = 7 * 86_400
"""Older ones are removed where nothing uses them: uploading again takes less than a second."""

KEPT = "skillwalker-kept-"
"""How the names of containers begin that somebody wants to look at (`--keep`); only `prune` removes them."""


_PID = re.compile(r"[0-9]{1,10}")


@frozen
class Owner:
    """A process that runs trials.

    Attributes:
        host: Names this machine as seen from here: host name, and a hash over machine, network card and
            process namespace, so that a second machine of that name or a container does not mistake the ids.
        pid: Process id.
        started: When the process started, in whatever form the system tells it; empty where it does not.
    """

    host: str
    pid: int
    started: str

    @classmethod
    def current(cls) -> Owner:
        return cls(_host(), os.getpid(), _started(os.getpid()) or "")

    @classmethod
    def parse(cls, label: str) -> Owner | None:
        host, _, rest = label.partition(" ")
        pid, _, started = rest.partition(" ")
        return cls(host, int(pid), started) if host and _PID.fullmatch(pid) else None

    def __str__(self) -> str:
        return f"{self.host} {self.pid} {self.started}".rstrip()

    def labels(self, run_id: str) -> dict[str, str]:
        return {RUN: run_id, OWNER: str(self), CREATED: str(int(time.time()))}

    def is_dead(self) -> bool | None:
        """Whether the process is gone; None where this cannot be told from here (another host)."""
        if self.host != _host() or not self.started:
            return None
        started = _started(self.pid)
        if started is None:
            return None
        return started != self.started


@frozen
class Leftover:
    """Something with our labels on the engine.

    Attributes:
        age_seconds: Since it was made, by this machine's clock; None where the label cannot be read.
    """

    kind: Literal["container", "volume"]
    name: str
    run_id: str
    owner: str
    age_seconds: float | None


@frozen
class Reaped:
    """What was removed, what is not ours to judge (other hosts), and what could not be removed and why."""

    removed: tuple[Leftover, ...] = ()
    elsewhere: tuple[Leftover, ...] = ()
    failed: tuple[tuple[Leftover, str], ...] = ()


def reap(client: DockerClient, *, kept: bool = False, content: bool = False) -> Reaped:
    """Removes containers and volumes whose owner was a process of this host and is dead.

    Args:
        kept: Also containers that were kept on purpose.
        content: Also volumes with plugins and scaffolds that no container uses, whoever made them.

    Raises:
        docker.errors.DockerException, requests.exceptions.RequestException: the engine cannot be asked.
    """
    removed: list[Leftover] = []
    elsewhere: list[Leftover] = []
    failed: list[tuple[Leftover, str]] = []
    theirs = frozenset() if kept else kept_volumes(client)
    for leftover, labels in (*_containers(client), *_volumes(client)):
        if CONTENT in labels and leftover.kind == "volume":
            old = leftover.age_seconds is not None and leftover.age_seconds > _CONTENT_SECONDS
            dead: bool | None = content or old
        elif leftover.name in theirs or (leftover.name.startswith(KEPT) and not kept):
            continue
        else:
            owner = Owner.parse(leftover.owner)
            dead = owner.is_dead() if owner else None
        if dead is None:
            elsewhere.append(leftover)
        elif dead and (problem := _remove(client, leftover)) is None:
            removed.append(leftover)
        elif dead and CONTENT not in labels:
            failed.append((leftover, problem or ""))
    return Reaped(tuple(removed), tuple(elsewhere), tuple(failed))


def kept_volumes(client: DockerClient) -> frozenset[str]:
    """The volumes of containers that were kept on purpose; without them there would be nothing to look at."""
    return frozenset(
        mount["Name"]
        for item in client.api.containers(all=True, filters={"label": OWNER})
        if any(name.lstrip("/").startswith(KEPT) for name in item.get("Names") or ())
        for mount in item.get("Mounts") or ()
        if mount.get("Name")
    )


def _containers(client: DockerClient) -> Iterator[tuple[Leftover, Mapping[str, str]]]:
    for item in client.api.containers(all=True, filters={"label": OWNER}):
        labels = item.get("Labels") or {}
        name = (item.get("Names") or [item["Id"]])[0].lstrip("/")
        yield _leftover("container", name, labels), labels


def _volumes(client: DockerClient) -> Iterator[tuple[Leftover, Mapping[str, str]]]:
    for item in client.api.volumes(filters={"label": OWNER}).get("Volumes") or ():
        labels = item.get("Labels") or {}
        yield _leftover("volume", item["Name"], labels), labels


def _leftover(kind: Literal["container", "volume"], name: str, labels: Mapping[str, Any]) -> Leftover:
    created = str(labels.get(CREATED, ""))
    age = max(0.0, time.time() - int(created)) if created.isdigit() else None
    return Leftover(kind, name, labels.get(RUN, ""), labels.get(OWNER, ""), age)


def _remove(client: DockerClient, leftover: Leftover) -> str | None:
    """Why it could not be removed; None when it is gone, whoever removed it."""
    from docker.errors import APIError, NotFound

    try:
        if leftover.kind == "container":
            client.api.remove_container(leftover.name, force=True, v=True)
        else:
            client.api.remove_volume(leftover.name)
    except NotFound:
        return None
    except APIError as error:
        # Two that clean up at the same time: the other one is at it.
        return None if "already in progress" in str(error) else str(error.explanation or error)
    return None


@cache
def _host() -> str:
    card = uuid.getnode()
    parts = [
        platform.node(),
        _text("/etc/machine-id"),
        "" if card >> 40 & 1 else f"{card:x}",  # the bit says that the number was made up
    ]
    try:
        parts.append(os.readlink("/proc/self/ns/pid"))
    except OSError:
        parts.append("")
    name = platform.node().replace(" ", "-") or "unnamed"
    return f"{name}-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:8]}"


def _started(pid: int) -> str | None:
    """When a process started; empty if there is none with this id, None where the system does not tell.

    Linux: boot id and clock ticks since boot (`man 5 proc_pid_stat`, field 22). Elsewhere: what `ps` says, to
    the second, which macOS and the BSDs have.
    """
    if sys.platform == "linux":
        try:
            stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        except (FileNotFoundError, ProcessLookupError):
            return None if _is_hidden(pid) else ""
        except OSError:
            return None
        fields = stat.rpartition(")")[2].split()
        if fields[0] in "ZX":  # it has ended, only its parent has not asked yet
            return ""
        return f"{_text('/proc/sys/kernel/random/boot_id')[:8]}-{fields[19]}"
    if sys.platform == "win32":
        return None
    try:
        result = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)],
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return "-".join(result.stdout.split())


def _is_hidden(pid: int) -> bool:
    """Whether there is such a process of which `/proc` does not tell: another user's, with `hidepid`."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def _text(path: str) -> str:
    try:
        return Path(path).read_text("utf-8").strip()
    except OSError:
        return ""
