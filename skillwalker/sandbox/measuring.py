"""How much a running trial's work directory holds, told by what the trial can neither stop nor fool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillwalker.sandbox.base import WorkspaceSize
from skillwalker.sandbox.engine_errors import engine_errors
from skillwalker.sandbox.start_script import RELAY, WORKSPACE

if TYPE_CHECKING:
    from docker import APIClient

_COMMAND = ["sh", "-c", 'du -skx "$0"; du -sx --inodes "$0"', WORKSPACE]
_SECONDS = 60
_MEMORY = 512 << 20


def measure(api: APIClient, container: str) -> WorkspaceSize | None:
    """None where it cannot be told.

    Raises:
        SandboxError: the engine failed.
    """
    with engine_errors("measuring the work directory"):
        # Not as the trial's own user, whose processes the trial may stop, trace and imitate.
        execution = api.exec_create(container, _COMMAND, user=f"{RELAY}:{RELAY}", workdir="/")
        said, complaints = api.exec_start(execution["Id"], demux=True)
        # Where something is closed to others, or the trial has left no room for another process.
        size = None if complaints else _size(said)
        return size or _size(_seen_by_root(api, container))


def _size(said: bytes | None) -> WorkspaceSize | None:
    numbers = [line.partition(b"\t")[0] for line in (said or b"").splitlines()]
    if len(numbers) != 2 or not all(number.isdigit() for number in numbers):
        return None
    return WorkspaceSize(int(numbers[0]) / 1024, int(numbers[1]))


def _seen_by_root(api: APIClient, container: str) -> bytes | None:
    """What `du` says in a container of its own that may read all of the directory and do nothing else;
    None once the trial is over."""
    facts = api.inspect_container(container)
    if not facts["State"]["Running"]:
        return None
    (volume,) = [one["Name"] for one in facts["Mounts"] if one["Destination"] == WORKSPACE]
    created = api.create_container_from_config(
        {
            "Image": facts["Image"],
            "Entrypoint": _COMMAND[:1],
            "Cmd": _COMMAND[1:],
            "User": "0:0",
            "Healthcheck": {"Test": ["NONE"]},
            "Labels": facts["Config"]["Labels"],
            "HostConfig": {
                "NetworkMode": "none",
                "ReadonlyRootfs": True,
                "CapDrop": ["ALL"],
                "CapAdd": ["DAC_READ_SEARCH"],
                "SecurityOpt": ["no-new-privileges"],
                "Memory": _MEMORY,
                "MemorySwap": _MEMORY,
                "PidsLimit": 64,
                "LogConfig": {"Type": "json-file", "Config": {"max-size": "64k"}},  # where `logs` reads
                "Mounts": [{"Type": "volume", "Source": volume, "Target": WORKSPACE, "ReadOnly": True}],
            },
        }
    )["Id"]
    try:
        api.start(created)
        api.wait(created, timeout=_SECONDS)
        said: bytes = api.logs(created, stdout=True, stderr=False)
        return said
    finally:
        # With the volumes that the image declares; the trial's, which has a name here, stays.
        api.remove_container(created, v=True, force=True)
