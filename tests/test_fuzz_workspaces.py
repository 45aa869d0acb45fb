"""Hostile and broken work directories: names are data, and what is cut off is not taken for deleted."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from fuzzing import HOSTILE, Blob, broken, fuzzed, in_time
from hypothesis import given
from hypothesis import strategies as st

from skillwalker.tree import Tree
from skillwalker.workspace import NotSavedError, Workspace, save

Answer = TypeVar("Answer")

SCAFFOLD = Tree.of_files({"same.txt": b"same", "old.txt": b"old", "gone.txt": b"gone", "d/e.txt": b"e"})
NAMES = st.sampled_from(
    ("same.txt", "old.txt", "d/e.txt", "new", "d", "../up", "/etc/passwd", ".git/x", "x" * 300)
) | (HOSTILE.map(lambda name: os.fsdecode(name.replace("\0", "").encode("utf-8", "replace")) or "empty"))
KINDS = st.sampled_from(
    (tarfile.REGTYPE,) * 4
    + (
        tarfile.DIRTYPE,
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.FIFOTYPE,
        tarfile.CHRTYPE,
        tarfile.GNUTYPE_SPARSE,
    )
)


@st.composite
def tars(draw: st.DrawFn, below: str = "") -> bytes:
    """A work directory as an engine packs it, or as it is stored where `below` is empty."""
    out = io.BytesIO()
    style = draw(st.sampled_from((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)))
    with tarfile.open(
        fileobj=out, mode="w|", format=style, encoding="utf-8", errors="surrogateescape"
    ) as tar:
        if below:
            top = tarfile.TarInfo(below)
            top.type = tarfile.DIRTYPE
            tar.addfile(top)
        for name in draw(st.lists(NAMES, max_size=5, unique=True)):
            header = tarfile.TarInfo(f"{below}/{name}" if below else name)
            header.type, header.mode = draw(KINDS), draw(st.sampled_from((0o644, 0o755, 0o7777, 0)))
            data = draw(st.sampled_from((b"same", b"", b"e", b"\0" * 600, b"x" * 700)))
            if header.type == tarfile.REGTYPE:
                header.size = len(data)
            if header.type in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                header.linkname = draw(NAMES)
            tar.addfile(header, io.BytesIO(data) if header.size else None)
    return Blob(out.getvalue())


def opened(data: bytes, ask: Callable[[Workspace], Answer]) -> Answer:
    """What a work directory that is stored as `data` answers."""
    with tempfile.TemporaryDirectory() as name, in_time():
        path = Path(name, "workspace.tar")
        path.write_bytes(data)
        return ask(Workspace(path, SCAFFOLD))


def contents(found: Workspace) -> dict[str, bytes | None]:
    """Every file with its content; None where it was not saved. Asks for everything else on the way."""
    created, changed, deleted = set(found.created), set(found.changed), set(found.deleted)
    assert not created & changed
    assert not deleted & (created | changed)
    assert found.complete or not found.deleted
    assert found.complete or found.notes
    read: dict[str, bytes | None] = {}
    for file in found.files():
        try:
            read[file.path] = found.read(file.path)
            assert len(read[file.path] or b"") == file.size
            assert found.read(file.path, 2) == (read[file.path] or b"")[:2]
        except NotSavedError:
            read[file.path] = None
    for thing in found.entries():
        if thing.kind != "file":
            with pytest.raises(FileNotFoundError):
                found.read(thing.path)
    return read


STORED = tars()


@fuzzed(50)
@given(STORED.flatmap(broken) | st.binary(max_size=1500))
def test_no_bytes_of_a_tar_raise(data: bytes) -> None:
    opened(data, contents)


@fuzzed(50)
@given(STORED, st.integers(0, 10**6), st.booleans())
def test_what_is_cut_off_is_neither_deleted_nor_changed(data: bytes, place: int, blocks: bool) -> None:
    def ask(found: Workspace) -> tuple[bool, set[str], set[str], dict[str, bytes | None]]:
        return found.complete, set(found.changed), set(found.deleted), contents(found)

    whole = opened(data, ask)
    assert whole[0]
    cut = data[: place % (len(data) + 1)]
    complete, changed, deleted, read = opened(cut[: len(cut) // 512 * 512] if blocks else cut, ask)
    if complete:
        assert (changed, deleted, read) == whole[1:]
    assert not deleted - whole[2]
    assert complete or not deleted
    assert read.keys() <= whole[3].keys()


LONG_CHAIN = io.BytesIO()
with tarfile.open(fileobj=LONG_CHAIN, mode="w|", format=tarfile.GNU_FORMAT) as _tar:
    _tar.addfile(tarfile.TarInfo("n" * 200))
CHAIN = LONG_CHAIN.getvalue()[:1024] * 2000


def test_a_chain_of_headers_without_an_end_is_a_broken_tar() -> None:
    assert opened(CHAIN, lambda found: (found.complete, found.created)) == (False, ())


PACKED = tars("workspace")


@fuzzed(50)
@given(PACKED | PACKED.flatmap(broken), st.integers(0, 2000))
def test_what_an_engine_sends_is_saved_or_refused(data: bytes, limit: int) -> None:
    target = io.BytesIO()
    try:
        with in_time():
            save(io.BytesIO(data), target, limit=limit, read_limit=10**6)
    except (tarfile.TarError, OSError):
        return
    found = opened(target.getvalue(), contents)
    assert sum(len(content) for content in found.values() if content) <= limit


@fuzzed(30)
@given(PACKED, st.integers(0, 10**6))
def test_a_stream_that_breaks_off_is_not_a_whole_directory(data: bytes, place: int) -> None:
    """An archive is over at a block of zeros, and nowhere else."""
    end = place % (len(data) + 1)
    target = io.BytesIO()
    try:
        with in_time():
            save(io.BytesIO(data[:end]), target, limit=10**6, read_limit=10**6)
    except (tarfile.TarError, OSError):
        return
    whole = io.BytesIO()
    save(io.BytesIO(data), whole, limit=10**6, read_limit=10**6)
    assert opened(target.getvalue(), contents) == opened(whole.getvalue(), contents)
