"""Trees onto this machine's disk, and a trial's work directory back from it. Links are never followed."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from skillwalker.errors import SandboxError
from skillwalker.redaction import NOTHING_SECRET, Redactor
from skillwalker.sandbox.base import Limits, WorkspaceSize
from skillwalker.tree import MTIME, Tree
from skillwalker.workspace import save

_TOP = "workspace"


def unpack(tree: Tree, directory: Path, *, read_only: bool = False) -> None:
    """Puts the content of `tree` into `directory`, which is made, with the times that it has everywhere.

    Raises:
        SandboxError: a file has changed since the tree was made.
        OSError: the disk is full, or a name is none here.
    """
    directory.mkdir(parents=True)
    mask = 0o222 if read_only else 0
    made: list[tuple[Path, int]] = []
    with tempfile.TemporaryFile() as file:
        tree.write_tar(file)
        file.seek(0)
        with tarfile.open(fileobj=file, mode="r:", encoding="utf-8", errors="surrogateescape") as tar:
            for member in tar:
                path = directory / member.name
                if member.issym():
                    path.symlink_to(member.linkname)
                elif member.isdir():
                    path.mkdir()
                else:
                    content = tar.extractfile(member)
                    assert content is not None
                    with path.open("xb") as target:
                        shutil.copyfileobj(content, target)
                made.append((path, member.mode & ~mask))
    for path, mode in reversed(made):  # what is in a directory before the directory
        follow = not path.is_symlink()
        with contextlib.suppress(NotImplementedError):  # times of links, which not every system sets
            os.utime(path, (MTIME, MTIME), follow_symlinks=follow)
        if follow:
            path.chmod(mode)
    if read_only:
        directory.chmod(0o555)


def size(directory: Path, limits: Limits) -> WorkspaceSize:
    """What `directory` holds; counting ends above the limits.

    Files that come and go meanwhile are counted or not.
    """
    total = files = 0
    waiting = [] if directory.is_symlink() else [os.fspath(directory)]
    while waiting and total <= limits.workspace_mib << 20 and files <= limits.workspace_files:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as items:
            for item in items:
                with contextlib.suppress(OSError):
                    status = item.stat(follow_symlinks=False)
                    total += status.st_blocks * 512
                    files += 1
                    if stat.S_ISDIR(status.st_mode):
                        waiting.append(item.path)
    return WorkspaceSize(total / (1 << 20), files)


def save_directory(
    directory: Path,
    target: BinaryIO,
    *,
    limit: int,
    read_limit: int,
    redactor: Redactor = NOTHING_SECRET,
) -> tuple[str, ...]:
    """As `workspace.save`, from a directory that nobody changes any more.

    Raises:
        SandboxError: something in it cannot be read, so that its absence would tell nothing.
    """
    if directory.is_symlink() or not directory.is_dir():
        raise SandboxError("saving the work directory: the trial has put something else in its place")
    reader, writer = os.pipe()
    problems: list[Exception] = []

    def pack() -> None:
        try:
            with (
                os.fdopen(writer, "wb") as out,
                tarfile.open(
                    fileobj=out,
                    mode="w|",
                    format=tarfile.GNU_FORMAT,
                    encoding="utf-8",
                    errors="surrogateescape",
                ) as tar,
            ):
                _pack(directory, tar)
        except BrokenPipeError:  # enough was read
            pass
        except Exception as error:  # noqa: BLE001 -- raised again by whoever reads
            problems.append(error)

    thread = threading.Thread(target=pack, name="packing", daemon=True)
    thread.start()
    try:
        with os.fdopen(reader, "rb") as source:
            notes = save(source, target, limit=limit, read_limit=read_limit, redactor=redactor)
    except (tarfile.TarError, EOFError) as error:
        problems.append(error)
    finally:
        thread.join()
    if problems:
        raise SandboxError(f"saving the work directory: {problems[0]}") from problems[0]
    return notes


def _pack(directory: Path, tar: tarfile.TarFile) -> None:
    for path, name in _walk(directory):
        status = os.lstat(path)
        header = _header(f"{_TOP}/{name}", path, status)
        if header is None:
            continue
        if header.isreg():
            with _readable(path, status.st_mode) as content:
                tar.addfile(header, content)
        else:
            tar.addfile(header)
        tar.members.clear()  # type: ignore[attr-defined]  # the stubs hide it; they would pile up


def _walk(directory: Path) -> Iterator[tuple[str, str]]:
    """Path and name of everything below `directory`, a directory before what is in it."""
    waiting = [(os.fspath(directory), "")]
    while waiting:
        top, prefix = waiting.pop()
        for item in sorted(_entries(top), key=lambda item: os.fsencode(item.name)):
            name = f"{prefix}{item.name}"
            yield item.path, name
            if item.is_dir(follow_symlinks=False):
                waiting.append((item.path, f"{name}/"))


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as items:
            return list(items)
    except PermissionError:
        os.chmod(directory, 0o700)  # the trial's directory is ours, and its own mode was told already
        with os.scandir(directory) as items:
            return list(items)


def _readable(path: str, mode: int) -> BinaryIO:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.fdopen(os.open(path, flags), "rb")
    except PermissionError:
        os.chmod(path, stat.S_IMODE(mode) | 0o400)
        return os.fdopen(os.open(path, flags), "rb")


def _header(name: str, path: str, status: os.stat_result) -> tarfile.TarInfo | None:
    """None for a socket, which a tar cannot hold."""
    header = tarfile.TarInfo(name)
    header.mode, header.mtime = stat.S_IMODE(status.st_mode), int(status.st_mtime)
    if stat.S_ISREG(status.st_mode):
        header.size = status.st_size
    elif stat.S_ISDIR(status.st_mode):
        header.type = tarfile.DIRTYPE
    elif stat.S_ISLNK(status.st_mode):
        header.type, header.linkname = tarfile.SYMTYPE, os.readlink(path)
    elif stat.S_ISSOCK(status.st_mode):
        return None
    else:
        header.type = tarfile.FIFOTYPE
    return header
