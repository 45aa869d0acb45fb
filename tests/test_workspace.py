from __future__ import annotations

import io
import os
import tarfile
import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import pytest

from skillwalker import workspace
from skillwalker.redaction import Redactor
from skillwalker.tree import Tree
from skillwalker.workspace import NotSavedError, Workspace, save

ODD = os.fsdecode(b"caf\xe9\n\x1b[31m")


def member(
    name: str, data: bytes = b"", *, mode: int = 0o644, kind: bytes = tarfile.REGTYPE, link: str = ""
) -> tuple[tarfile.TarInfo, bytes]:
    header = tarfile.TarInfo(name)
    header.size, header.mode, header.type, header.linkname = len(data), mode, kind, link
    return header, data


def packed(members: Iterable[tuple[tarfile.TarInfo, bytes]]) -> io.BytesIO:
    """As an engine packs a directory: everything below its name."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w|", errors="surrogateescape", encoding="utf-8") as tar:
        tar.addfile(member("workspace", kind=tarfile.DIRTYPE, mode=0o755)[0])
        for header, data in members:
            header.name = f"workspace/{header.name}"
            tar.addfile(header, io.BytesIO(data))
    out.seek(0)
    return out


def saved(
    path: Path,
    *members: tuple[tarfile.TarInfo, bytes],
    scaffold: Tree | None = None,
    limit: int = 1 << 20,
    **limits: int | Redactor,
) -> Workspace:
    limits.setdefault("read_limit", 1 << 30)
    with (path / "workspace.tar").open("wb") as target:
        save(packed(members), target, limit=limit, **limits)  # type: ignore[arg-type]
    return Workspace(path / "workspace.tar", scaffold)


def test_what_was_created_changed_and_deleted_is_found_by_content(tmp_path: Path) -> None:
    scaffold = Tree.of_files(
        {
            "same.txt": b"same",
            "edited.txt": b"old!",
            "gone.txt": b"x",
            "run.sh": b"#!",
            "dir/deep.txt": b"d",
            "f": b"f",
        }
    )
    result = saved(
        tmp_path,
        member("same.txt", b"same"),
        member("edited.txt", b"new!"),
        member("run.sh", b"#!", mode=0o755),
        member("dir", kind=tarfile.DIRTYPE, mode=0o755),
        member("dir/deep.txt", b"d"),
        member("f", kind=tarfile.SYMTYPE, link="/etc/passwd"),
        member(".gitignore", b"build\n"),
        member("build", kind=tarfile.DIRTYPE, mode=0o755),
        member("build/ignored.txt", b"found all the same"),
        member(".git", kind=tarfile.DIRTYPE, mode=0o755),
        member(".git/HEAD", b"ref"),
        member("sub/.git/HEAD", b"ref"),
        member(ODD, b"odd"),
        scaffold=scaffold,
    )
    assert result.created == (".gitignore", "build/ignored.txt", ODD)
    assert result.changed == ("edited.txt", "f", "run.sh")
    assert result.deleted == ("gone.txt",)
    assert result.complete
    assert result.notes == ()
    assert result.read(ODD) == b"odd"
    assert result.read("build/ignored.txt", limit=5) == b"found"


def test_without_a_scaffold_everything_is_created(tmp_path: Path) -> None:
    result = saved(tmp_path, member("a", b"1"))
    assert (result.created, result.changed, result.deleted) == (("a",), (), ())
    assert [file.path for file in result.files()] == ["a"]


def test_an_untouched_scaffold_is_unchanged(tmp_path: Path) -> None:
    scaffold = Tree.of_files({"a/b.sh": b"1", "c": b""}, executable=["a/b.sh"])
    out = io.BytesIO()
    scaffold.write_tar(out, prefix="workspace")
    out.seek(0)
    with (tmp_path / "t.tar").open("wb") as target:
        assert save(out, target, limit=1 << 20, read_limit=1 << 20) == ()
    result = Workspace(tmp_path / "t.tar", scaffold)
    assert (result.created, result.changed, result.deleted) == ((), (), ())


def test_contents_are_compared_with_one_look_into_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"file{number}": f"content {number}".encode() for number in range(20)}
    members = [member(name, b"CONTENT 7" if name == "file7" else data) for name, data in files.items()]
    found = saved(tmp_path, *members, scaffold=Tree.of_files(files))
    assert len(found.entries()) == 20
    opened: list[Path] = []
    really = Path.open
    monkeypatch.setattr(Path, "open", lambda path, *how: opened.append(path) or really(path, *how))

    assert found.changed == ("file7",)
    assert opened == [found.tar]


def test_links_are_never_followed(tmp_path: Path) -> None:
    result = saved(
        tmp_path,
        member("secret", b"inside"),
        member("link", kind=tarfile.SYMTYPE, link="secret"),
        member("hard", kind=tarfile.LNKTYPE, link="workspace/secret"),
        member("lost", kind=tarfile.LNKTYPE, link="workspace/elsewhere"),
    )
    with pytest.raises(FileNotFoundError):
        result.read("link")
    assert result.read("hard") == b"inside"
    with pytest.raises(NotSavedError):
        result.read("lost")


def test_names_that_lead_elsewhere_are_only_keys(tmp_path: Path) -> None:
    outside = tmp_path / "inner"
    outside.mkdir()
    result = saved(
        outside,
        member("../../up.txt", b"1"),
        member("/etc/cron.d/x", b"2"),
        member("pipe", kind=tarfile.FIFOTYPE),
        member("device", kind=tarfile.CHRTYPE),
    )
    assert set(result.created) == {"../../up.txt", "/etc/cron.d/x", "pipe", "device"}
    assert result.read("../../up.txt") == b"1"
    with pytest.raises(FileNotFoundError):
        result.read("pipe")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["inner", "workspace.tar"]


def test_special_permissions_and_owners_do_not_come_along(tmp_path: Path) -> None:
    header, data = member("root.sh", b"x", mode=0o6755)
    header.uid, header.uname = 1000, "agent"
    result = saved(tmp_path, (header, data))
    with tarfile.open(result.tar) as tar:
        (kept,) = tar.getmembers()
    assert (oct(kept.mode), kept.uid, kept.uname) == ("0o755", 0, "")


def test_a_file_over_the_limit_is_listed_and_compared_but_not_kept(tmp_path: Path) -> None:
    scaffold = Tree.of_files({"big": b"b" * 1000, "other": b"o" * 1000})
    result = saved(
        tmp_path,
        member("big", b"b" * 1000),
        member("other", b"O" * 1000),
        member("small", b"s" * 10),
        scaffold=scaffold,
        limit=100,
    )
    assert (result.created, result.changed, result.deleted) == (("small",), ("other",), ())
    assert result.complete
    assert result.notes == ("2 files are listed without their content (2000 bytes): over the size limit",)
    assert result.read("small") == b"s" * 10
    with pytest.raises(NotSavedError):
        result.read("big")
    assert [(file.path, file.size, file.saved) for file in result.files()] == [
        ("big", 1000, False),
        ("other", 1000, False),
        ("small", 10, True),
    ]


@pytest.mark.parametrize("limits", [{"read_limit": 1500}, {"max_members": 1, "read_limit": 1 << 30}])
def test_a_cut_listing_says_nothing_about_deletions(tmp_path: Path, limits: dict[str, int]) -> None:
    scaffold = Tree.of_files({"a": b"a" * 1000, "b": b"b" * 1000})
    result = saved(tmp_path, member("a", b"a" * 1000), member("b", b"b" * 1000), scaffold=scaffold, **limits)
    assert not result.complete
    assert (result.changed, result.deleted) == ((), ())
    assert "not listed" in " ".join(result.notes)
    with pytest.raises(NotSavedError):
        result.read("b")


def test_a_broken_archive_is_an_incomplete_one(tmp_path: Path) -> None:
    result = saved(
        tmp_path, member("a", b"a" * 5000), member("b", b"b" * 5000), scaffold=Tree.of_files({"c": b""})
    )
    whole = result.tar.read_bytes()
    result.tar.write_bytes(whole[:7000])
    cut = Workspace(result.tar, result.scaffold)
    assert not cut.complete
    assert cut.deleted == ()
    with pytest.raises(NotSavedError):
        cut.read("c")
    missing = Workspace(tmp_path / "missing.tar")
    assert not missing.complete


def test_too_many_files_are_capped_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "MAX_MEMBERS", 500)
    result = saved(tmp_path, *(member(f"f{n}") for n in range(1000)))
    assert not result.complete
    assert len(result.entries()) <= 501


def test_saving_takes_constant_memory(tmp_path: Path) -> None:
    source = packed(member(f"directory/with/a/long/name/{n:06}") for n in range(3_000))
    tracemalloc.start()
    try:
        with (tmp_path / "t.tar").open("wb") as target:
            save(source, target, limit=1 << 20, read_limit=1 << 20)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def stored(path: Path, data: bytes, scaffold: Tree | None = None) -> Workspace:
    path.write_bytes(data)
    return Workspace(path, scaffold)


def test_an_archive_that_ends_in_mid_air_is_not_a_whole_one(tmp_path: Path) -> None:
    """Even where it ends behind a file: only a block of zeros ends an archive."""
    scaffold = Tree.of_files({"a": b"a", "b": b"b"})
    saved(tmp_path, member("a", b"a"), member("b", b"b"))
    data = (tmp_path / "workspace.tar").read_bytes()
    for end in (1024, 1024 + 512, 1024 + 100):
        found = stored(tmp_path / "cut.tar", data[:end], scaffold)
        assert (found.complete, found.deleted, found.read("a")) == (False, (), b"a")
        assert "cannot be read to its end" in found.notes[0]
        with pytest.raises(NotSavedError):
            found.read("b")
    damaged = stored(tmp_path / "damaged.tar", data[:1024] + b"x" * 512 + data[1536:], scaffold)
    assert (damaged.complete, damaged.deleted) == (False, ())
    with pytest.raises(tarfile.TarError):
        save(io.BytesIO(packed([member("a", b"a")]).getvalue()[:1536]), io.BytesIO(), limit=9, read_limit=9)


def test_a_file_whose_end_is_missing_is_not_a_short_one(tmp_path: Path) -> None:
    saved(tmp_path, member("a", b"x" * 600))
    found = stored(
        tmp_path / "cut.tar",
        (tmp_path / "workspace.tar").read_bytes()[:700],
        Tree.of_files({"a": b"x" * 600}),
    )
    assert (found.complete, found.changed) == (False, ())
    with pytest.raises(NotSavedError):
        found.read("a")


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    "data",
    [
        header("a", -1024) * 4,
        header("././@LongLink", 1 << 40, tarfile.GNUTYPE_LONGNAME),
        (header("././@LongLink", 2, tarfile.GNUTYPE_LONGNAME) + b"n".ljust(512, b"\0")) * 1000,
        header("sparse", 0, tarfile.GNUTYPE_SPARSE)[:482] + b"\1" + bytes(29),
    ],
    ids=["a size that leads back", "a name of a terabyte", "names without end", "a cut map"],
)
def test_an_archive_made_to_harm_is_a_broken_one(tmp_path: Path, data: bytes) -> None:
    found = stored(tmp_path / "hostile.tar", data)
    assert (found.complete, found.entries()) == (False, ())
    with pytest.raises(tarfile.TarError):
        save(io.BytesIO(data), io.BytesIO(), limit=1 << 20, read_limit=1 << 20)


def test_a_link_to_a_file_of_git_is_that_file(tmp_path: Path) -> None:
    found = saved(
        tmp_path,
        member(".git/objects/ab", b"content"),
        member("copy", kind=tarfile.LNKTYPE, link="workspace/.git/objects/ab"),
        scaffold=Tree.of_files({"copy": b"content"}),
    )
    assert [(one.path, one.size) for one in found.entries()] == [("copy", 7)]
    assert found.read("copy") == b"content"
    assert (found.created, found.changed, found.deleted, found.notes) == ((), (), (), ())


WORD = "my-project-4711"
REDACTOR = Redactor((WORD,))


def test_what_is_overwritten_is_compared_as_it_was(tmp_path: Path) -> None:
    scaffold = Tree.of_files(
        {"a.txt": WORD.encode(), f"{WORD}/b.txt": b"b", "edited.txt": b"before", "gone.txt": b"x"}
    )
    found = saved(
        tmp_path,
        member("a.txt", WORD.encode()),
        member(WORD, kind=tarfile.DIRTYPE),
        member(f"{WORD}/b.txt", b"b"),
        member("edited.txt", f"is {WORD}".encode()),
        member(f"{WORD}.log", WORD.encode() * 10),
        member("same", kind=tarfile.LNKTYPE, link=f"workspace/{WORD}/b.txt"),
        scaffold=scaffold,
        redactor=REDACTOR,
    )
    stars = "*" * len(WORD)
    assert (found.created, found.changed, found.deleted) == (
        (f"{stars}.log", "same"),
        ("edited.txt",),
        ("gone.txt",),
    )
    assert found.complete
    assert found.read("a.txt") == stars.encode()
    assert found.read(f"{WORD}/b.txt") == found.read("same") == b"b"
    assert WORD.encode() not in (tmp_path / "workspace.tar").read_bytes()


def test_what_was_overwritten_is_told(tmp_path: Path) -> None:
    packed_up = packed([member("a.txt", WORD.encode()), member(WORD), member("b.txt", b"b")])
    (note,) = save(packed_up, io.BytesIO(), limit=1 << 20, read_limit=1 << 20, redactor=REDACTOR)
    assert note.startswith("2 files or names held a secret")


def test_content_that_is_left_out_is_compared_as_it_was(tmp_path: Path) -> None:
    content = WORD.encode() * 100
    found = saved(
        tmp_path,
        member(f"{WORD}.txt", content),
        scaffold=Tree.of_files({f"{WORD}.txt": content}),
        limit=10,
        redactor=REDACTOR,
    )
    assert (found.created, found.changed, found.deleted) == ((), (), ())
