"""A directory's content as a frozen value: hashed, packed into a deterministic tar, compared with another."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Literal

from attrs import field, frozen

from skillwalker.errors import SandboxError
from skillwalker.text import safe

COMPLETE = ".complete"
"""Name of the last member of a marked tar: where it is missing, the upload was cut."""

MTIME = 1_000_000_000
"""Modification time of everything in a tar (2001-09-09): builds inside see the same times in every run."""

_PRIVATE = frozenset({".git", ".skillwalker"})

CONFIGURATION = "skillwalker.toml"

_KEPT_FILE = 1 << 20
_KEPT_TREE = 32 << 20
"""Bytes of a file and of a tree that are read once and kept: what changes later changes no trial."""


@frozen
class Entry:
    """One file, directory or symbolic link.

    Attributes:
        path: POSIX, relative, without `..`; bytes that are no UTF-8 are kept as surrogates.
        mode: 0o755 for directories and executable files, else 0o644.
        sha256: Of a file's content, in hex; None for others.
        link: A link's text as written.
        source: Where a file's bytes are, unless they are in `data`.
    """

    path: str
    kind: Literal["file", "dir", "link"]
    mode: int = 0o644
    sha256: str | None = None
    size: int = 0
    link: str | None = None
    source: Path | None = field(default=None, eq=False, repr=False)
    data: bytes | None = field(default=None, eq=False, repr=False)


@frozen
class Tree:
    """Entries sorted by path, each with all its parent directories.

    A tree never holds `.git`, `.skillwalker`, FIFOs, sockets or devices, nor an eval (`evals/<name>/` with a
    `tests.json`); only a tree that is taken from inside an eval, a scaffold, may hold evals of its own. All
    its links stay in it by their text: engines refuse a whole archive for one that does not.

    Attributes:
        notes: What was left out or changed, one sentence each; no part of the content.
        withheld: What was left out since it gives answers away: path and what it is.
    """

    entries: tuple[Entry, ...] = ()
    notes: tuple[str, ...] = field(default=(), eq=False)
    withheld: tuple[tuple[str, str], ...] = field(default=(), eq=False)

    @classmethod
    def of_files(cls, files: Mapping[str, bytes], executable: Collection[str] = ()) -> Tree:
        entries: dict[str, Entry] = {}
        for path, data in files.items():
            mode = 0o755 if path in executable else 0o644
            entries[path] = Entry(path, "file", mode, hashlib.sha256(data).hexdigest(), len(data), data=data)
            for parent in PurePosixPath(path).parents[:-1]:
                entries.setdefault(str(parent), Entry(str(parent), "dir", 0o755))
        return cls(_in_order(entries))

    @classmethod
    def of_directory(
        cls,
        directory: Path,
        *,
        root: Path,
        leave_out: Callable[[PurePosixPath], bool] = lambda path: False,
        private: Collection[Path] = (),
        withhold_file: Callable[[PurePosixPath, BinaryIO], str | None] = lambda path, content: None,
        withhold_directory: Callable[[Path], str | None] = lambda path: None,
    ) -> Tree:
        """Reads every file once, for its hash; small ones are kept.

        A link to something inside `directory` stays a link (an absolute one becomes relative). A link to
        something else below `root` is replaced by what it points to. Any other link that leads out of
        `directory` is left out.

        Args:
            leave_out: Asked with every path relative to `directory`; True leaves it out with all below it.
            private: Files and directories that are left out, however they are reached.
            withhold_file: Asked with every file's path and content; a word on what it is leaves it out.
            withhold_directory: Likewise, with every directory below `directory`.

        Raises:
            OSError: something cannot be read; a part of a tree is never taken for the whole.
        """
        scan = _Scan(
            directory.resolve(), root.resolve(), leave_out, private, withhold_file, withhold_directory
        )
        if scan.is_private(scan.top, scan.top.stat()):
            scan.notes.append("left out as a whole, it is an eval")
        else:
            scan.directory(scan.top, "", (scan.top,))
        return cls(_in_order(scan.entries), tuple(scan.notes), tuple(scan.withheld))

    @cached_property
    def digest(self) -> str:
        """SHA-256 in hex over names, kinds, modes and content."""
        total = hashlib.sha256()
        for entry in self.entries:
            text = "\0".join((entry.path, entry.kind, f"{entry.mode:o}", entry.sha256 or entry.link or ""))
            total.update(_encode(text) + b"\0\0")
        return total.hexdigest()

    @cached_property
    def _by_path(self) -> Mapping[str, Entry]:
        return {entry.path: entry for entry in self.entries}

    def get(self, path: str) -> Entry | None:
        return self._by_path.get(path)

    def read(self, path: str, limit: int | None = None) -> bytes:
        """The file's first `limit` bytes, or all.

        Raises:
            FileNotFoundError: no such file; a link is none.
        """
        entry = self.get(path)
        if entry is None or entry.kind != "file":
            raise FileNotFoundError(path)
        with _open(entry) as file:
            return file.read(-1 if limit is None else limit)

    def write_tar(self, out: BinaryIO, *, prefix: str = "", mark_complete: bool = False) -> None:
        """The same bytes for the same content, whatever the machine: order, times, owner and modes are fixed.

        Args:
            prefix: A directory name to put everything below.
            mark_complete: Ends the archive with the empty file `.complete`, beside `prefix`.

        Raises:
            SandboxError: a file has changed since the tree was made.
        """
        with tarfile.open(
            fileobj=out, mode="w|", format=tarfile.GNU_FORMAT, encoding="utf-8", errors="surrogateescape"
        ) as tar:
            if prefix:
                tar.addfile(_header(Entry(prefix, "dir", 0o755), ""))
            for entry in self.entries:
                header = _header(entry, prefix)
                if entry.kind == "file":
                    with _open(entry) as file:
                        checked = _Checked(file, entry)
                        tar.addfile(header, checked)
                        checked.finish()
                else:
                    tar.addfile(header)
            if mark_complete:
                tar.addfile(_header(Entry(COMPLETE, "file"), ""))


class _Checked(io.RawIOBase):
    """Reads a file's bytes and refuses those that are no longer what was hashed."""

    def __init__(self, file: BinaryIO, entry: Entry) -> None:
        self._file, self._entry, self._hash = file, entry, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        if len(data) < size:
            raise self._changed()
        self._hash.update(data)
        return data

    def finish(self) -> None:
        if self._file.read(1) or self._hash.hexdigest() != self._entry.sha256:
            raise self._changed()

    def _changed(self) -> SandboxError:
        return SandboxError(
            f"{self._entry.source or self._entry.path} has changed since the run began, and it lies in a "
            "plugin or scaffold; write such files elsewhere, or run when nothing writes there"
        )


class _Scan:
    """Collects the entries of one directory; `notes` say what did not come along."""

    def __init__(
        self,
        top: Path,
        root: Path,
        leave_out: Callable[[PurePosixPath], bool],
        private: Collection[Path],
        withhold_file: Callable[[PurePosixPath, BinaryIO], str | None],
        withhold_directory: Callable[[Path], str | None],
    ) -> None:
        self.top, self.root, self.leave_out = top, root, leave_out
        self.withhold_file, self.withhold_directory = withhold_file, withhold_directory
        self.in_eval = any(_is_eval(parent) for parent in top.parents)
        self.private = set(_identities(private))  # not by path, since links give a directory several
        self.entries: dict[str, Entry] = {}
        self.notes: list[str] = []
        self.withheld: list[tuple[str, str]] = []
        self.room = _KEPT_TREE

    def directory(self, directory: Path, prefix: str, inside: tuple[Path, ...]) -> None:
        """Adds what is in `directory`; `inside` are the real directories this path leads through."""
        for item in sorted(os.scandir(directory), key=lambda item: item.name):
            path = f"{prefix}{item.name}"
            if item.name in _PRIVATE:
                if prefix:
                    self.notes.append(f"{path}: left out, as every {item.name}")
            elif not self.leave_out(PurePosixPath(path)):
                self.item(Path(item.path), path, inside)

    def item(self, file: Path, path: str, inside: tuple[Path, ...]) -> None:
        status = file.lstat()
        if stat.S_ISLNK(status.st_mode):
            self.link(file, path, inside)
        elif self.is_private(file, status):
            return
        elif stat.S_ISDIR(status.st_mode):
            if what := self.withhold_directory(file):
                self.withheld.append((f"{path}/", what))
                return
            self.entries[path] = Entry(path, "dir", 0o755)
            self.directory(file, f"{path}/", (*inside, file.resolve()))
        elif stat.S_ISREG(status.st_mode):
            self.file(file, path, 0o755 if status.st_mode & stat.S_IXUSR else 0o644)
        else:
            self.notes.append(f"{path}: left out, it is neither file, directory nor link")

    def file(self, file: Path, path: str, mode: int) -> None:
        with file.open("rb") as content:
            if what := self.withhold_file(PurePosixPath(path), content):
                self.withheld.append((path, what))
                return
            content.seek(0)
            limit = min(_KEPT_FILE, self.room)
            data: bytes | None = content.read(limit + 1)
            if data is not None and len(data) <= limit:
                digest, size = hashlib.sha256(data).hexdigest(), len(data)
                self.room -= size
            else:
                content.seek(0)
                data, digest = None, hashlib.file_digest(content, "sha256").hexdigest()
                size = content.tell()
        self.entries[path] = Entry(path, "file", mode, digest, size, source=file, data=data)

    def link(self, file: Path, path: str, inside: tuple[Path, ...]) -> None:
        text = os.readlink(file)
        parent = PurePosixPath(path).parent
        try:
            target = file.resolve(strict=True)
        except (OSError, RuntimeError):  # dangling, or a loop of links
            if _leaves(text, parent):
                self.notes.append(f"{path}: left out, a link that leads out of the directory and to nothing")
            else:
                self.entries[path] = Entry(path, "link", 0o644, link=text)
                self.notes.append(f"{path}: a link that leads nowhere")
            return
        if target.is_relative_to(self.top):
            if file != self.top / path or _leaves(text, parent):
                text = Path(os.path.relpath(target, self.top / parent)).as_posix()
            self.entries[path] = Entry(path, "link", 0o644, link=text)
        elif not target.is_relative_to(self.root):
            self.notes.append(f"{path}: left out, a link that leads out of {safe(self.root.name)}/")
        elif self.leads_to_private(target):
            self.notes.append(f"{path}: left out, it links to an eval or to private files")
        elif target in inside:
            self.notes.append(f"{path}: left out, it links to a directory it lies in")
        else:
            self.item(target, path, inside)

    def is_private(self, file: Path, status: os.stat_result) -> bool:
        if (status.st_dev, status.st_ino) in self.private:
            return True
        return not self.in_eval and stat.S_ISDIR(status.st_mode) and _is_eval(file)

    def leads_to_private(self, target: Path) -> bool:
        below = target.relative_to(self.root)
        if _PRIVATE.intersection(below.parts):
            return True
        ways = [self.root / way for way in (below, *below.parents)]
        return any(_is_eval(way) for way in ways) or not self.private.isdisjoint(_identities(ways))


def private_of(root: Path) -> tuple[Path, ...]:
    """What would tell a trial its own answers, or is no part of a plugin that is the root itself.

    All of `evals/`, and what links in it lead to; other tools keep their answers and results there as well.
    And beside it the configuration. What else tells answers is known by what it holds.
    """
    return (*_evals_of(root), root / CONFIGURATION)


def _evals_of(root: Path) -> Iterator[Path]:
    evals = root / "evals"
    if evals.is_dir():
        yield evals
    for each in (evals / name for name in _names(evals)):
        if (each / "tests.json").is_file():
            yield each
        yield from (each / name for name in ("tests.json", "rehearsal.json", "rubrics"))


def _names(directory: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return sorted(os.listdir(directory))
    return []


def _is_eval(directory: Path) -> bool:
    return directory.parent.name == "evals" and (directory / "tests.json").is_file()


def _identities(paths: Iterable[Path]) -> Iterator[tuple[int, int]]:
    """What is the same for all names of a file; nothing for one that is not there."""
    for path in paths:
        with contextlib.suppress(OSError):
            status = path.stat()
            yield status.st_dev, status.st_ino


def _leaves(link: str, parent: PurePosixPath) -> bool:
    """Whether a link's text is absolute or goes above the tree on its way, even if it comes back."""
    depth = len(parent.parts)
    for part in PurePosixPath(link).parts:
        depth += {"..": -1, "/": -depth - 1}.get(part, 1)
        if depth < 0:
            return True
    return False


def _in_order(entries: Mapping[str, Entry]) -> tuple[Entry, ...]:
    """Parents before what is in them, and the same order on every machine."""
    return tuple(
        sorted(entries.values(), key=lambda entry: [_encode(part) for part in entry.path.split("/")])
    )


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _open(entry: Entry) -> BinaryIO:
    if entry.data is not None:
        return io.BytesIO(entry.data)
    assert entry.source is not None
    return entry.source.open("rb")


def _header(entry: Entry, prefix: str) -> tarfile.TarInfo:
    header = tarfile.TarInfo(f"{prefix}/{entry.path}" if prefix else entry.path)
    header.type = {"file": tarfile.REGTYPE, "dir": tarfile.DIRTYPE, "link": tarfile.SYMTYPE}[entry.kind]
    header.mode = 0o777 if entry.kind == "link" else entry.mode
    header.size, header.mtime, header.linkname = entry.size, MTIME, entry.link or ""
    return header
