"""Changes in a work directory, as diffs."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from skillwalker.reports.changes import Changes, FileChange, file_changes
from skillwalker.reports.excerpt import Budget
from skillwalker.reports.saved import Scaffold
from skillwalker.tree import Tree


@pytest.fixture
def changed(tmp_path: Path):
    def make(
        before: dict[str, bytes] | None, after: dict[str, bytes], *links: str, room: int = 100_000
    ) -> Changes:
        saved = tmp_path / "workspace.tar"
        with tarfile.open(saved, "w") as tar:
            for name, content in after.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
            for name in links:
                member = tarfile.TarInfo(name)
                member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
                tar.addfile(member)
        scaffold = None if before is None else Scaffold(Tree.of_files(before) if before else None)
        return file_changes(saved, scaffold, Budget(room))

    return make


def only(changes: Changes) -> FileChange:
    (file,) = changes.files
    return file


def marked(file: FileChange) -> list[str]:
    return [line.mark + line.text for line in file.lines]


def test_a_changed_file_is_a_diff_with_some_lines_around(changed) -> None:
    old = b"".join(b"%d\n" % n for n in range(20))
    file = only(changed({"a.txt": old}, {"a.txt": old.replace(b"10\n", b"ten\n")}))

    assert file.what == "changed"
    assert marked(file) == ["@line 9", " 8", " 9", "-10", "+ten", " 11", " 12"]


def test_created_and_deleted_files_show_their_content(changed) -> None:
    files = changed({"gone.txt": b"a\nb\n"}, {"new.txt": b"c\n"}).files

    assert [(file.path, file.what, marked(file)) for file in files] == [
        ("new.txt", "created", ["+c"]),
        ("gone.txt", "deleted", ["-a", "-b"]),
    ]


def test_where_the_start_is_not_known_nothing_is_called_new(changed) -> None:
    found = changed(None, {"a.txt": b"c\n"})

    assert not found.known
    assert only(found).what == "found"


def test_what_is_no_text_is_not_shown(changed) -> None:
    for content in (b"\0\1", b"\xff\xfe"):
        assert only(changed({}, {"a": content})).note == "not text"


def test_links_are_not_followed(changed) -> None:
    assert only(changed({}, {}, "l")).note == "a link to /etc/passwd"


def test_line_ends_and_modes_are_differences_too(changed) -> None:
    assert marked(only(changed({"a": b"x\n"}, {"a": b"x\r\n"}))) == ["-x", r"+x\r"]
    assert only(changed({"a": b"x\n"}, {"a": b"x"})).note == "only line ends differ"
    file = (
        only(changed({"a": b"x\n"}, {"a": b"x\n"})) if changed({"a": b"x\n"}, {"a": b"x\n"}).files else None
    )
    assert file is None


def test_what_is_too_much_is_counted(changed) -> None:
    many = b"".join(b"%d\n" % n for n in range(1000))
    file = only(changed({}, {"a": many}))
    assert len(file.lines) == 200
    assert file.note == "800 more lines of the diff"

    assert (
        only(changed({"a": many}, {"a": many * 2})).note
        == "1,000 lines became 2,000: too many to be compared"
    )
    assert only(changed({}, {"a": b"x" * 70_000})).note == "70,000 bytes, too large to be shown"
    assert changed({}, {f"{n}": b"" for n in range(60)}).notes == ("10 more files in workspace.tar",)


def test_no_room_is_no_content(changed) -> None:
    file = only(changed({}, {"a": b"x\ny\n"}, room=0))
    assert file.lines == ()
    assert file.note == "2 more lines of the diff"


def test_harmful_characters_are_visible(changed) -> None:
    file = only(changed({}, {"a\x1b\u202e": b"\x1b[2J \xe2\x80\xae\n"}))

    assert file.path == r"a\x1b\u202e"
    assert marked(file) == [r"+\x1b[2J \u202e"]
