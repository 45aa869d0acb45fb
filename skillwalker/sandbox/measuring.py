"""How much a running trial's work directory holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillwalker.sandbox.base import WorkspaceSize
from skillwalker.sandbox.engine_errors import engine_errors
from skillwalker.sandbox.start_script import AGENT, WORKSPACE

if TYPE_CHECKING:
    from docker import APIClient

_COMMAND = ["sh", "-c", 'du -skx "$0"; du -sx --inodes "$0"', WORKSPACE]
_DENIED = b"Permission denied"
_SECONDS = 60


def measure(api: APIClient, container: str) -> WorkspaceSize | None:
    """None where it cannot be told.

    Raises:
        SandboxError: the engine failed.
    """
    with engine_errors("measuring the work directory"):
        execution = api.exec_create(container, _COMMAND, user=str(AGENT), workdir="/")
        said, complaints = api.exec_start(execution["Id"], demux=True)
        if _DENIED in (complaints or b""):
            # Closed to its own user; what is hidden there fills the disk all the same.
            said = _seen_by_root(api, container)
    numbers = [line.partition(b"\t")[0] for line in (said or b"").splitlines()]
    if len(numbers) != 2 or not all(number.isdigit() for number in numbers):
        return None
    return WorkspaceSize(int(numbers[0]) / 1024, int(numbers[1]))


def _seen_by_root(api: APIClient, container: str) -> bytes:
    """What `du` says in a container of its own that may read all of the directory and do nothing else."""
    facts = api.inspect_container(container)
    (volume,) = [one["Name"] for one in facts["Mounts"] if one["Destination"] == WORKSPACE]
    created = api.create_container_from_config(
        {
            "Image": facts["Image"],
            "Entrypoint": _COMMAND[:1],
            "Cmd": _COMMAND[1:],
            "User": "0:0",
            "Labels": facts["Config"]["Labels"],
            "HostConfig": {
                "NetworkMode": "none",
                "ReadonlyRootfs": True,
                "CapDrop": ["ALL"],
                "CapAdd": ["DAC_READ_SEARCH"],
                "SecurityOpt": ["no-new-privileges"],
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
        api.remove_container(created, force=True)  # the volume is the trial's
