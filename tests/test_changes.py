"""Changes in a work directory, as diffs."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwalker.reports.changes import Changes, FileChange, diff_lines, file_changes
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


def test_files_for_which_there_is_no_room_are_counted(changed) -> None:
    found = changed({}, {f"{n}.txt": b"" for n in range(60)})
    assert (len(found.files), found.number, found.complete) == (50, 60, True)


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

    other = b"".join(b"no %d\n" % n for n in range(1001))
    assert (
        only(changed({"a": many}, {"a": other})).note == "1,000 lines became 1,001: too many to be compared"
    )
    assert only(changed({}, {"a": b"x" * 70_000})).note == "70,000 bytes, too large to be shown"
    assert changed({}, {f"{n}": b"" for n in range(60)}).notes == ("10 more files in workspace.tar",)


def test_a_long_file_with_a_small_change_shows_it(changed) -> None:
    old = [b"%d\n" % n for n in range(5000)]
    new = [*old[:2500], b"here\n", *old[2501:]]
    file = only(changed({"a": b"".join(old)}, {"a": b"".join(new)}))
    assert marked(file) == ["@line 2499", " 2498", " 2499", "-2500", "+here", " 2501", " 2502"]
    assert file.note is None


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_a_diff_leads_from_one_file_to_the_other(old: list[str], new: list[str]) -> None:
    lines, note = diff_lines(*("".join(f"{one}\n" for one in side) for side in (old, new)), Budget(10_000))
    assert note is None
    assert bool(lines) is (old != new)
    at, made = 0, list[str]()
    for line in lines:
        if line.mark == "@":
            skipped = int(line.text.split()[1]) - 1 - len(made)
            made += old[at : at + skipped]
            at += skipped
        elif line.mark == "+":
            made.append(line.text)
        else:
            assert old[at] == line.text
            at += 1
            made += [line.text] if line.mark == " " else []
    assert made + old[at:] == new


def test_no_room_is_no_content(changed) -> None:
    file = only(changed({}, {"a": b"x\ny\n"}, room=0))
    assert file.lines == ()
    assert file.note == "2 more lines of the diff"


def test_harmful_characters_are_visible(changed) -> None:
    file = only(changed({}, {"a\x1b\u202e": b"\x1b[2J \xe2\x80\xae\n"}))

    assert file.path == r"a\x1b\u202e"
    assert marked(file) == [r"+\x1b[2J \u202e"]
