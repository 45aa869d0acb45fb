"""The final work directory of a trial: saved as a tar, never unpacked, compared by content with the scaffold.

Everything in it is hostile data: names are only ever keys, links are never followed, and what is too much is
left out with a note. A file whose content was left out is still listed, with its size and hash, so that it is
not taken for a deleted one.
"""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import IO, BinaryIO, Literal, cast

from attrs import evolve, field, frozen

from skillwalker.archives import forget, members, reading
from skillwalker.errors import NotSavedError
from skillwalker.redaction import NOTHING_SECRET, RedactedContent, Redactor
from skillwalker.tree import Entry, Tree

MAX_MEMBERS = 100_000
"""More files and directories than this are not listed: the index of a work directory is held in memory."""

_SIZE, _HASH, _CUT = "SKILLWALKER.size", "SKILLWALKER.sha256", "SKILLWALKER.cut"
CUT_MARKS = frozenset({_SIZE, _CUT})
"""A member whose header has one of them stands for content that was left out."""
OVERWRITTEN = "SKILLWALKER.overwritten"
"""A member whose header has it is no file: it has the hash of the one before it, as that was before secrets
in it were overwritten."""
_NAME = "SKILLWALKER.name"
"""Likewise, with the hash of a member's own name."""

_BLOCK = 1 << 16


@frozen
class WorkspaceFile:
    """One thing in the work directory.

    Attributes:
        path: POSIX, relative to the work directory; bytes that are no UTF-8 are kept as surrogates.
        kind: `special` is a FIFO or a device.
        size: In bytes, of the file itself even where its content was left out.
        executable: Whether its owner may execute it.
        link: A link's text.
        saved: Whether `Workspace.read` can give its content.
    """

    path: str
    kind: Literal["file", "dir", "link", "special"]
    size: int = 0
    executable: bool = False
    link: str | None = None
    saved: bool = False
    _offset: int = field(default=0, repr=False)
    _sha256: str | None = field(default=None, repr=False)


@frozen
class Workspace:
    """What a trial left behind. Reading happens on first use.

    `.git` is no content, at any depth; directories are listed by `entries`, but only files, links and special
    files are created, changed or deleted.

    Attributes:
        tar: Written by `save`.
        scaffold: What the work directory held at the start; None means it was empty.
    """

    tar: Path
    scaffold: Tree | None = field(default=None, repr=False)

    @property
    def created(self) -> tuple[str, ...]:
        return tuple(path for path in self._things if path not in self._before)

    @property
    def changed(self) -> tuple[str, ...]:
        """Other content, kind, link text or executable bit than in the scaffold."""
        both = {path: thing for path, thing in self._things.items() if path in self._before}
        alike = [thing for path, thing in both.items() if _alike(self._before[path], thing)]
        hashes = self._hashes([thing for thing in alike if thing.kind == "file"])
        same = {one.path for one in alike if hashes.get(one.path) == self._before[one.path].sha256}
        return tuple(path for path in both if path not in same)

    @property
    def deleted(self) -> tuple[str, ...]:
        """Empty where the listing is not `complete`: what is not listed may still be there."""
        if not self.complete:
            return ()
        return tuple(path for path in self._before if path not in self._things)

    @property
    def complete(self) -> bool:
        """Whether everything is listed. If not, what is missing here is not known to be missing."""
        return not self._index.cut

    @property
    def notes(self) -> tuple[str, ...]:
        return self._index.notes

    def entries(self) -> tuple[WorkspaceFile, ...]:
        """Everything, directories too, sorted by path."""
        return tuple(self._index.things.values())

    def files(self) -> tuple[WorkspaceFile, ...]:
        """Regular files only, sorted by path."""
        return tuple(thing for thing in self._things.values() if thing.kind == "file")

    def read(self, path: str, limit: int | None = None) -> bytes:
        """The file's first `limit` bytes, or all.

        Raises:
            FileNotFoundError: no such file; a link, a directory or a special file is none.
            NotSavedError: its content was left out, or the listing is incomplete and it may be there.
        """
        thing = self._index.things.get(path)
        if thing is None and not self.complete:
            raise NotSavedError(f"{path!r} is not in what was saved, and not everything was saved")
        if thing is None or thing.kind != "file":
            raise FileNotFoundError(path)
        if not thing.saved:
            raise NotSavedError(
                f"the content of {path!r} ({thing.size} bytes) was left out because of its size"
            )
        with self.tar.open("rb") as file:
            file.seek(thing._offset)
            return file.read(thing.size if limit is None else min(limit, thing.size))

    @cached_property
    def _index(self) -> _Index:
        return _Index.read(self.tar, lambda digest: self._by_digest.get(digest))

    @cached_property
    def _things(self) -> Mapping[str, WorkspaceFile]:
        return {path: thing for path, thing in self._index.things.items() if thing.kind != "dir"}

    @cached_property
    def _before(self) -> Mapping[str, Entry]:
        entries = self.scaffold.entries if self.scaffold else ()
        return {entry.path: entry for entry in entries if entry.kind != "dir"}

    @cached_property
    def _by_digest(self) -> Mapping[str, str]:
        """The scaffold's paths by their hashes, which is how one comes back that holds a secret."""
        entries = self.scaffold.entries if self.scaffold else ()
        return {_digest(entry.path): entry.path for entry in entries}

    def _hashes(self, files: Collection[WorkspaceFile]) -> Mapping[str, str | None]:
        """By path; None where the content was left out and its hash is not told. The tar is opened once."""
        found = {one.path: one._sha256 for one in files}
        unread = [one for one in files if one.saved and one._sha256 is None]
        if unread:
            with self.tar.open("rb") as tar:
                for one in unread:
                    tar.seek(one._offset)
                    found[one.path] = _hash(tar, one.size)
        return found


def _alike(before: Entry, now: WorkspaceFile) -> bool:
    """Whether nothing but the content of a file can still differ."""
    if before.kind != now.kind:
        return False
    if before.kind == "link":
        return before.link == now.link
    return before.size == now.size and (before.mode == 0o755) == now.executable


@frozen
class _Index:
    things: Mapping[str, WorkspaceFile]
    notes: tuple[str, ...]
    cut: bool

    @classmethod
    def read(cls, path: Path, known: Callable[[str], str | None]) -> _Index:
        """Args: known: Gives the name of a hash, if the scaffold has it."""
        things: dict[str, WorkspaceFile] = {}
        hidden: dict[str, WorkspaceFile] = {}  # files in `.git`, which others may be links to
        renamed: dict[str, str] = {}
        notes: list[str] = []
        cut = False
        try:
            end = path.stat().st_size
            with reading(path, "r:") as tar:
                for member in members(tar):
                    if _CUT in member.pax_headers:
                        cut = True
                        notes.append(member.pax_headers[_CUT])
                        continue
                    if member.isreg() and member.offset_data + member.size > end:
                        raise tarfile.ReadError("it ends in the middle of a file")
                    name = known(member.pax_headers.get(_NAME, "")) or member.name
                    if name != member.name:
                        renamed[member.name] = name
                    place = hidden if ".git" in name.split("/") else things
                    if OVERWRITTEN in member.pax_headers:
                        if name in place:
                            place[name] = evolve(place[name], sha256=member.pax_headers[OVERWRITTEN])
                    elif member.islnk():
                        link = renamed.get(member.linkname, member.linkname)
                        target = things.get(link) or hidden.get(link) or WorkspaceFile(link, "file")
                        place[name] = evolve(target, path=name)
                    elif place is things or member.isreg():
                        place[name] = _thing(member, name)
                    if len(things) + len(hidden) > MAX_MEMBERS:
                        cut = True
                        notes.append(f"more than {MAX_MEMBERS} files, the others are not listed")
                        break
        except (tarfile.TarError, OSError, ValueError) as error:
            cut = True
            notes.append(f"the saved work directory cannot be read to its end: {error}")
        sizes = [thing.size for thing in things.values() if thing.kind == "file" and not thing.saved]
        notes.extend(_left_out(sizes))
        return cls(dict(sorted(things.items())), tuple(notes), cut)


def _thing(member: tarfile.TarInfo, name: str) -> WorkspaceFile:
    executable = bool(member.mode & 0o100)
    if member.issym():
        return WorkspaceFile(name, "link", link=member.linkname)
    if member.isdir():
        return WorkspaceFile(name, "dir")
    if not member.isreg() or member.issparse():
        return WorkspaceFile(name, "special")
    if _SIZE in member.pax_headers:
        size = int(member.pax_headers[_SIZE])
        return WorkspaceFile(name, "file", size, executable, sha256=member.pax_headers.get(_HASH))
    return WorkspaceFile(name, "file", member.size, executable, saved=True, offset=member.offset_data)


def save(
    source: BinaryIO,
    target: BinaryIO,
    *,
    limit: int,
    read_limit: int,
    redactor: Redactor = NOTHING_SECRET,
    max_members: int = MAX_MEMBERS,
) -> tuple[str, ...]:
    """Copies a tar stream of one directory to `target`, members relative to it; memory stays constant.

    Args:
        source: A tar whose members all lie below one directory, as an engine packs it.
        limit: Content to keep, in bytes; a file that no longer fits is listed with size and hash only.
        read_limit: Content to read at all, in bytes; beyond it nothing more is listed.
        redactor: Knows what is overwritten in names and contents, which are compared as they were.

    Returns:
        What was left out or overwritten, a sentence each.

    Raises:
        tarfile.TarError, OSError: `source` broke off or `target` cannot be written.
    """
    with (
        reading(source, "r|") as reader,
        tarfile.open(
            fileobj=target, mode="w|", format=tarfile.PAX_FORMAT, encoding="utf-8", errors="surrogateescape"
        ) as writer,
    ):
        notes: list[str] = []
        left_out: list[int] = []
        overwritten = 0
        for number, member in enumerate(members(reader)):
            read_limit -= member.size
            if number > max_members or read_limit < 0:
                what = f"{max_members} files" if number > max_members else "what may be read"
                notes.append(f"the work directory holds more than {what}; the rest is not listed")
                writer.addfile(_marker(notes[-1]))
                break
            header = _relative(member, redactor)
            if header is None:
                continue
            overwritten += _NAME in header.pax_headers
            content = reader.extractfile(member) if member.isreg() else None
            if content is None:
                writer.addfile(header)
            elif member.size <= limit:
                limit -= member.size
                if not redactor.secrets:
                    writer.addfile(header, content)
                else:
                    redacted = RedactedContent(content, redactor)
                    writer.addfile(header, cast("IO[bytes]", redacted))
                    if redacted.found:
                        overwritten += 1
                        writer.addfile(_mark(header, redacted.sha256))
            else:
                digest = _hash(content, member.size)
                header.pax_headers = {**header.pax_headers, _SIZE: str(member.size), _HASH: digest}
                header.size = 0
                writer.addfile(header)
                left_out.append(member.size)
            forget(writer)
    if overwritten:
        notes.append(
            f"{overwritten} files or names held a secret of this environment, overwritten with stars"
        )
    return (*_left_out(left_out), *notes)


def _left_out(sizes: Collection[int]) -> tuple[str, ...]:
    if not sizes:
        return ()
    return (f"{len(sizes)} files are listed without their content ({sum(sizes)} bytes): over the size limit",)


def _hash(content: IO[bytes], size: int) -> str:
    digest = hashlib.sha256()
    while size > 0 and (block := content.read(min(size, _BLOCK))):
        digest.update(block)
        size -= len(block)
    return digest.hexdigest()


def _relative(member: tarfile.TarInfo, redactor: Redactor) -> tarfile.TarInfo | None:
    """The header without its first directory, owner and special permissions; None for that directory."""
    name = _below(member.name)
    if not name:
        return None
    header = tarfile.TarInfo(redactor.text(name))
    if header.name != name:
        header.pax_headers = {_NAME: _digest(name)}
    header.type, header.size, header.mtime = member.type, member.size, int(member.mtime)
    header.mode = member.mode & 0o777
    header.devmajor, header.devminor = member.devmajor, member.devminor
    header.linkname = redactor.text(_below(member.linkname) if member.islnk() else member.linkname)
    return header


def _mark(header: tarfile.TarInfo, sha256: str) -> tarfile.TarInfo:
    mark = tarfile.TarInfo(header.name)
    mark.pax_headers = {**header.pax_headers, OVERWRITTEN: sha256}
    return mark


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()


def _below(name: str) -> str:
    return name.partition("/")[2]


def _marker(text: str) -> tarfile.TarInfo:
    header = tarfile.TarInfo(".")
    header.type, header.pax_headers = tarfile.DIRTYPE, {_CUT: text}
    return header
