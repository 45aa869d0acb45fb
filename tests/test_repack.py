"""A stored work directory made ready for another container."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from skillwalker.errors import SandboxError
from skillwalker.redaction import NOTHING_SECRET, Redactor
from skillwalker.sandbox.repack import repack
from skillwalker.workspace import save


def header(name: str, kind: bytes = tarfile.REGTYPE, **more: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.mode = 0o644
    for key, value in more.items():
        setattr(info, key, value)
    return info


def saved(
    path: Path,
    *members: tuple[tarfile.TarInfo, bytes],
    limit: int = 1 << 20,
    redactor: Redactor = NOTHING_SECRET,
) -> Path:
    """As an engine packs a directory, and as it is stored."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.addfile(header("workspace", tarfile.DIRTYPE, mode=0o755))
        for info, data in members:
            info.name = f"workspace/{info.name}"
            if info.islnk():
                info.linkname = f"workspace/{info.linkname}"
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    packed.seek(0)
    with path.open("wb") as target:
        save(packed, target, limit=limit, read_limit=1 << 30, redactor=redactor)
    return path


def repacked(path: Path) -> dict[str, tuple[tarfile.TarInfo, bytes | None]]:
    out = io.BytesIO()
    repack(path, out, owner=1000, root="/workspace")
    out.seek(0)
    with tarfile.open(fileobj=out) as tar:
        return {
            info.name: (info, file.read() if info.isreg() and (file := tar.extractfile(info)) else None)
            for info in tar.getmembers()
        }


def test_files_directories_and_links_come_along_with_their_owner(tmp_path: Path) -> None:
    found = repacked(
        saved(
            tmp_path / "w.tar",
            (header("src", tarfile.DIRTYPE, mode=0o500), b""),
            (header("src/a.py", mode=0o4755, mtime=123), b"print()"),
            (header("hard", tarfile.LNKTYPE, linkname="src/a.py"), b""),
            (header("soft", tarfile.SYMTYPE, linkname="src/a.py"), b""),
            (header("käse\udcff"), b"x"),
            (header(".git/HEAD"), b"ref"),
        )
    )
    assert list(found) == ["src", "src/a.py", "hard", "soft", "käse\udcff", ".git/HEAD"]
    assert {(info.uid, info.gid) for info, _ in found.values()} == {(1000, 1000)}
    info, data = found["src/a.py"]
    assert (info.mode, info.mtime, data) == (0o755, 123, b"print()")
    assert found["src"][0].mode == 0o700
    assert (found["hard"][0].islnk(), found["hard"][0].linkname) == (True, "src/a.py")
    assert (found["soft"][0].issym(), found["soft"][0].linkname) == (True, "src/a.py")


def test_what_an_engine_would_make_as_root_is_left_out(tmp_path: Path) -> None:
    found = repacked(
        saved(
            tmp_path / "w.tar",
            (header("fifo", tarfile.FIFOTYPE), b""),
            (header("null", tarfile.CHRTYPE, devmajor=1, devminor=3), b""),
            (header("disk", tarfile.BLKTYPE, devmajor=8, devminor=0), b""),
            (header("hard", tarfile.LNKTYPE, linkname="null"), b""),
            (header("a"), b"a"),
        )
    )
    assert list(found) == ["a"]


@pytest.mark.parametrize(
    ("name", "link", "written"),
    [
        ("a", "b", "b"),
        ("d/a", "../b", "../b"),
        ("d/a", "../../etc/passwd", "/etc/passwd"),
        ("a", "../workspace/b", "/workspace/b"),
        ("a", "/usr/bin/python3", "/usr/bin/python3"),
        ("a", "x/../../../..", "/"),
    ],
)
def test_links_that_lead_out_become_absolute(tmp_path: Path, name: str, link: str, written: str) -> None:
    found = repacked(saved(tmp_path / "w.tar", (header(name, tarfile.SYMTYPE, linkname=link), b"")))
    assert found[name][0].linkname == written


def test_a_work_directory_that_was_not_saved_whole_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "w.tar", (header("a"), b"small"), (header("b"), b"x" * 100), limit=50)
    with pytest.raises(SandboxError, match="not saved whole"):
        repacked(path)


@pytest.mark.parametrize("name", ["../a", "/a", "a/../../b"])
def test_a_tar_with_names_that_lead_out_is_refused(tmp_path: Path, name: str) -> None:
    with tarfile.open(tmp_path / "w.tar", "w") as tar:
        tar.addfile(header(name))
    with pytest.raises(SandboxError, match="holds the name"):
        repacked(tmp_path / "w.tar")


@pytest.mark.parametrize("content", [b"no tar", b""])
def test_a_damaged_tar_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "w.tar").write_bytes(content)
    with pytest.raises(SandboxError, match="cannot be read"):
        repacked(tmp_path / "w.tar")


def test_a_file_in_which_a_secret_was_overwritten_comes_along_once(tmp_path: Path) -> None:
    redactor = Redactor(("my-secret-4711",))
    path = saved(tmp_path / "w.tar", (header("a"), b"my-secret-4711"), (header("b"), b"b"), redactor=redactor)
    assert {name: data for name, (_, data) in repacked(path).items()} == {"a": b"*" * 14, "b": b"b"}
