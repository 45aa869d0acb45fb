"""Where local trials live on this machine: a temporary directory per run, and what dead runs left there."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from skillwalker.sandbox.owner import Owner

RUNS, KEPT = "skillwalker-run-", "skillwalker-kept-"
"""How the directories of runs begin, and those that somebody wants to look at; only `prune` removes these."""

OWNER_FILE = "owner"

_KILL_SECONDS = 5.0
"""How long what was killed may take to be gone."""

_UNSIGNED_SECONDS = 60.0
"""A run's directory that has no owner's name after this time was made by a process that died over it."""


@frozen
class LeftDirectory:
    """A run's directory that is not this process's.

    Attributes:
        owner: As in the owner's file; empty where it has none.
    """

    path: Path
    owner: str
    age_seconds: float


@frozen
class Cleared:
    """What was removed, what is not ours to judge (another host's), and what could not be removed."""

    removed: tuple[LeftDirectory, ...] = ()
    elsewhere: tuple[LeftDirectory, ...] = ()
    failed: tuple[LeftDirectory, ...] = ()


def make_run_directory(owner: Owner) -> Path:
    """A new directory that only this user can look into, with its owner's name."""
    # Resolved, since Claude Code tells of paths without links, and they are compared.
    path = Path(tempfile.mkdtemp(prefix=RUNS)).resolve()
    (path / OWNER_FILE).write_text(f"{owner}\n", "utf-8")
    return path


@contextlib.contextmanager
def temporary_directory() -> Iterator[Path]:
    """An empty directory for this process alone; the next start removes it should this one be killed."""
    clear()
    place = make_run_directory(Owner.current())
    try:
        inner = place / "content"
        inner.mkdir()
        yield inner
    finally:
        remove(place)


def clear(*, kept: bool = False) -> Cleared:
    """Removes the directories of dead runs of this user, after killing what still runs in them.

    Args:
        kept: Also those that were kept on purpose.
    """
    removed: list[LeftDirectory] = []
    elsewhere: list[LeftDirectory] = []
    failed: list[LeftDirectory] = []
    for directory in _directories():
        dead = True if directory.path.name.startswith(KEPT) else _is_dead(directory)
        if dead is None:
            elsewhere.append(directory)
        elif dead and (kept or not directory.path.name.startswith(KEPT)):
            kill_strays(directory.path)
            (removed if remove(directory.path) else failed).append(directory)
    return Cleared(tuple(removed), tuple(elsewhere), tuple(failed))


def remove(directory: Path) -> bool:
    """Removes a directory with all that a trial may have put there: read-only, unreadable, endlessly deep.

    Returns:
        Whether it is gone.
    """
    # Neither program follows links, and both manage depths at which Python runs out of stack and descriptors.
    for command in (["rm", "-rf"], ["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        if os.path.lexists(directory):
            subprocess.run(
                [*command, "--", str(directory)],
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
    return not os.path.lexists(directory)


def kill_strays(directory: Path) -> None:
    """Kills the processes of this user whose HOME is below `directory`, as that of every trial is.

    For what was left when the guard of a trial died too. Only Linux tells of other processes' environments.
    Returns when none is left, what they had just started neither, or nothing more can be done.
    """
    if sys.platform != "linux":
        return
    deadline = time.monotonic() + _KILL_SECONDS
    while _kill_found(os.fsencode(f"HOME={directory}/")) and time.monotonic() < deadline:
        time.sleep(0.005)


def _kill_found(mark: bytes) -> bool:
    """Kills each process whose environment has a variable that begins so; whether there was one."""
    found = False
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            with contextlib.suppress(OSError):
                if any(one.startswith(mark) for one in (process / "environ").read_bytes().split(b"\0")):
                    found = True
                    os.kill(int(process.name), signal.SIGKILL)
    return found


def _directories() -> Iterator[LeftDirectory]:
    for path in sorted(Path(tempfile.gettempdir()).resolve().glob("skillwalker-*-*")):
        with contextlib.suppress(OSError):
            status = path.lstat()
            # What somebody else has put under such a name is not ours to remove.
            if (
                path.name.startswith((RUNS, KEPT))
                and stat.S_ISDIR(status.st_mode)
                and status.st_uid == os.getuid()
            ):
                age = max(0.0, time.time() - status.st_mtime)
                yield LeftDirectory(path, _owner(path), age)


def _owner(path: Path) -> str:
    try:
        return (path / OWNER_FILE).read_text("utf-8", "replace").strip()
    except FileNotFoundError:
        return ""


def _is_dead(directory: LeftDirectory) -> bool | None:
    if not directory.owner:
        return directory.age_seconds > _UNSIGNED_SECONDS
    owner = Owner.parse(directory.owner)
    return owner.is_dead() if owner else None
