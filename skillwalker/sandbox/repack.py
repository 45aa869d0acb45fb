"""A stored work directory, made ready for another container: the engine unpacks what it is given as root."""

from __future__ import annotations

import posixpath
import tarfile
from pathlib import Path
from typing import BinaryIO

from skillwalker.errors import SandboxError
from skillwalker.workspace import CUT_MARKS, OVERWRITTEN

MAX_LINK_DEPTH = 64


def repack(saved: Path, target: BinaryIO, *, owner: int, root: str) -> None:
    """Writes the regular files, directories and links of a tar that `workspace.save` wrote.

    Everything belongs to `owner`. FIFOs and devices are left out, which nothing that is checked needs and the
    engine would make. A link that leads out of `root` by `..` is written as the absolute one that it stands
    for, since engines refuse the former.

    Args:
        root: Where it will be unpacked.

    Raises:
        SandboxError: the tar is damaged, or does not hold the whole work directory.
    """
    try:
        with (
            tarfile.open(saved, "r:", encoding="utf-8", errors="surrogateescape") as reader,
            tarfile.open(
                fileobj=target,
                mode="w|",
                format=tarfile.PAX_FORMAT,
                encoding="utf-8",
                errors="surrogateescape",
            ) as writer,
        ):
            kept: set[str] = set()
            while (member := reader.next()) is not None:
                reader.members.clear()  # type: ignore[attr-defined]  # 100,000 headers take 100 MB
                writer.members.clear()  # type: ignore[attr-defined]
                if not CUT_MARKS.isdisjoint(member.pax_headers):
                    raise SandboxError("the work directory was not saved whole: it is too large")
                if OVERWRITTEN in member.pax_headers:
                    continue
                header = _header(member, owner, root)
                if header is None or (header.islnk() and header.linkname not in kept):
                    continue
                if header.isreg():
                    kept.add(header.name)
                    writer.addfile(header, reader.extractfile(member))
                else:
                    if header.islnk():
                        kept.add(header.name)
                    writer.addfile(header)
    except (tarfile.TarError, OSError, ValueError) as error:
        raise SandboxError(f"the saved work directory cannot be read: {error}") from error


def _header(member: tarfile.TarInfo, owner: int, root: str) -> tarfile.TarInfo | None:
    name = member.name
    if name.startswith("/") or not _is_below(name):
        raise SandboxError(f"the saved work directory holds the name {name!r}")
    header = tarfile.TarInfo(name)
    header.uid = header.gid = owner
    header.mode, header.mtime = member.mode & 0o777, int(member.mtime)
    if member.isdir():
        header.type = tarfile.DIRTYPE
        header.mode |= 0o700
    elif member.issym():
        header.type, header.linkname = tarfile.SYMTYPE, _inner_link(name, member.linkname, root)
    elif member.islnk():
        header.type, header.linkname = tarfile.LNKTYPE, member.linkname
    elif member.isreg() and not member.issparse():
        header.size = member.size
    else:
        return None
    return header


def _is_below(name: str) -> bool:
    return not {"", ".", ".."}.intersection(name.rstrip("/").split("/"))


def _inner_link(name: str, link: str, root: str) -> str:
    if link.startswith("/"):
        return link
    inner = posixpath.normpath(posixpath.join(posixpath.dirname(name), link))
    return posixpath.normpath(posixpath.join(root, inner)) if inner.split("/")[0] == ".." else link
