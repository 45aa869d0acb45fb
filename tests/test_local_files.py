"""Trees onto the disk and a work directory back, whatever a trial has put there."""

from __future__ import annotations

import io
import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from skillwalker.errors import SandboxError
from skillwalker.redaction import Redactor
from skillwalker.sandbox.base import Limits, WorkspaceSize
from skillwalker.sandbox.local_files import save_directory, size, unpack
from skillwalker.tree import MTIME, Tree
from skillwalker.workspace import Workspace


def packing() -> list[str]:
    """Threads of ours that are still at work."""
    return [thread.name for thread in threading.enumerate() if thread.name == "packing"]


def saved(directory: Path, file: Path, *, limit: int = 1 << 20, read_limit: int = 1 << 30) -> Workspace:
    with file.open("wb") as target:
        save_directory(directory, target, limit=limit, read_limit=read_limit)
    return Workspace(file)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_tree_is_the_same_on_the_disk(tmp_path):
    source = tmp_path / "source"
    (source / "bin" / "deep").mkdir(parents=True)
    (source / "bin" / "run").write_bytes(b"#!/bin/sh\n")
    (source / "bin" / "run").chmod(0o700)
    (source / "bin" / "deep" / os.fsdecode(b"caf\xe9\n")).write_bytes(b"x")
    (source / "link").symlink_to("bin/run")
    (source / "nowhere").symlink_to("/no/such")
    tree = Tree.of_directory(source, root=source)

    unpack(tree, tmp_path / "out")

    assert Tree.of_directory(tmp_path / "out", root=tmp_path / "out") == tree
    assert {path.lstat().st_mtime for path in (tmp_path / "out").rglob("*")} == {MTIME}
    assert mode(tmp_path / "out" / "bin" / "run") == 0o755


def test_a_plugin_is_read_only(tmp_path):
    unpack(Tree.of_files({"a/b": b"x", "run": b"y"}, executable=["run"]), tmp_path / "p", read_only=True)

    modes = {path.name: mode(path) for path in (tmp_path / "p").rglob("*")}
    assert modes == {"a": 0o555, "b": 0o444, "run": 0o555}
    assert mode(tmp_path / "p") == 0o555


def test_a_file_that_has_changed_since_is_not_taken_for_the_one_that_was(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "a").write_bytes(b"then" * 500_000)
    tree = Tree.of_directory(source, root=source)
    (source / "a").write_bytes(b"now!" * 500_000)

    with pytest.raises(SandboxError, match="has changed"):
        unpack(tree, tmp_path / "out")


def test_what_is_saved_follows_no_link_and_opens_no_pipe(tmp_path):
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (work / "to-file").symlink_to(outside / "secret")
    (work / "to-directory").symlink_to(outside)
    (work / "loop").symlink_to(".")
    os.mkfifo(work / "pipe")
    with socket.socket(socket.AF_UNIX) as sock:
        here = Path.cwd()
        os.chdir(work)  # its name may be long, a socket's may not
        try:
            sock.bind("socket")
        finally:
            os.chdir(here)
        workspace = saved(work, tmp_path / "saved.tar")

    kinds = {entry.path: entry.kind for entry in workspace.entries()}
    assert kinds == {"to-file": "link", "to-directory": "link", "loop": "link", "pipe": "special"}
    assert b"secret" not in (tmp_path / "saved.tar").read_bytes().replace(
        str(outside / "secret").encode(), b""
    )


def test_what_its_owner_closed_is_read_all_the_same(tmp_path):
    work = tmp_path / "work"
    (work / "shut" / "deeper").mkdir(parents=True)
    (work / "shut" / "deeper" / "file").write_text("x")
    for path in (work / "shut" / "deeper" / "file", work / "shut" / "deeper", work / "shut"):
        path.chmod(0)

    workspace = saved(work, tmp_path / "saved.tar")

    assert workspace.read("shut/deeper/file") == b"x"
    assert workspace.complete


def test_too_much_is_left_out_with_a_note(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    for number in range(4):
        (work / f"{number}").write_bytes(b"x" * 3_000_000)

    some = saved(work, tmp_path / "some.tar", limit=7_000_000)
    assert [file.saved for file in some.files()] == [True, True, False, False]
    assert some.notes == ("2 files are listed without their content (6000000 bytes): over the size limit",)
    part = saved(work, tmp_path / "part.tar", read_limit=7_000_000)
    assert (part.complete, len(part.files())) == (False, 2)
    assert not packing()


def test_a_directory_that_cannot_be_listed_to_its_end_is_an_error(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    name = "d" * 200
    handles = [os.open(work, os.O_RDONLY)]
    for _ in range(30):  # deeper than any path can be written
        os.mkdir(name, dir_fd=handles[-1])
        handles.append(os.open(name, os.O_RDONLY, dir_fd=handles[-1]))
    try:
        with pytest.raises(SandboxError, match="saving the work directory"):
            saved(work, tmp_path / "saved.tar")
    finally:
        for parent in reversed(handles[:-1]):
            os.rmdir(name, dir_fd=parent)
        for handle in handles:
            os.close(handle)


def test_a_target_that_cannot_be_written_is_an_error_and_ends_the_packing(tmp_path):
    class Full(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            raise OSError(28, "No space left on device")

    work = tmp_path / "work"
    work.mkdir()
    (work / "big").write_bytes(b"x" * 3_000_000)
    with pytest.raises(OSError, match="No space left"):
        save_directory(work, Full(), limit=1 << 30, read_limit=1 << 30)
    assert not packing()


def test_the_size_is_what_is_taken_on_the_disk(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a").write_bytes(os.urandom(3 << 20))
    (tmp_path / "link").symlink_to("/")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)

    found = size(tmp_path, Limits())
    assert 3.0 <= found.mib < 3.1
    assert found.files == 4
    assert found.beyond(Limits()) is None
    assert size(tmp_path / "gone", Limits()) == WorkspaceSize(0, 0)
    few = Limits(workspace_mib=1)
    assert "1 MiB" in str(size(tmp_path, few).beyond(few))
    few = Limits(workspace_files=2)
    assert "the limit is 2" in str(size(tmp_path, few).beyond(few))


def test_a_link_in_the_place_of_the_work_directory_is_not_followed(tmp_path):
    theirs = tmp_path / "theirs"
    (theirs / "closed").mkdir(parents=True)
    (theirs / "private").write_text("x" * 100_000)
    (tmp_path / "workspace").symlink_to(theirs)

    with pytest.raises(SandboxError, match="put something else in its place"):
        saved(tmp_path / "workspace", tmp_path / "saved.tar")
    assert size(tmp_path / "workspace", Limits()) == WorkspaceSize(0.0, 0)
    assert packing() == []


def test_a_secret_is_not_saved(tmp_path):
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "a").write_text("my-secret-4711")
    with (tmp_path / "saved.tar").open("wb") as target:
        redactor = Redactor(("my-secret-4711",))
        save_directory(tmp_path / "workspace", target, limit=100, read_limit=100, redactor=redactor)
    assert Workspace(tmp_path / "saved.tar").read("a") == b"*" * 14
