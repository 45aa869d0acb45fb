"""Whether the trial produced a file that criteria are about."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from attrs import evolve

from skillwalker.expectations.base import NotObservedError, Trial
from skillwalker.expectations.judged_files import JudgedFile, judged_files
from skillwalker.outcomes import Reason
from skillwalker.testing import TranscriptBuilder, trial
from skillwalker.workspace import Workspace, save


def a_trial(directory: Path, **more: object) -> Trial:
    return trial(directory, TranscriptBuilder().result("Done."), **more)  # type: ignore[arg-type]


def with_tar(directory: Path, members: list[tarfile.TarInfo], **limits: int) -> Trial:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(b"x" * member.size) if member.isreg() else None)
    packed.seek(0)
    kept = {"limit": 1_000, "read_limit": 10_000} | limits
    with (directory / "w.tar").open("wb") as file:
        save(packed, file, **kept)
    return evolve(a_trial(directory), workspace=Workspace(directory / "w.tar"))


def member(name: str, kind: bytes = tarfile.REGTYPE, *, size: int = 0, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(f"workspace/{name}")
    info.type, info.size, info.linkname = kind, size, link
    return info


def test_a_file_is_told_with_what_became_of_it(tmp_path: Path) -> None:
    on = a_trial(
        tmp_path,
        scaffold={"same.md": "a", "other.md": "a", "gone.md": "a"},
        files={"same.md": "a", "other.md": "b", "new/x.md": "c"},
    )
    assert judged_files(on, ("same.md", "other.md", "new/x.md", "gone.md", "never.md", "new")) == (
        JudgedFile("same.md", "same.md", "unchanged"),
        JudgedFile("other.md", "other.md", "changed"),
        JudgedFile("new/x.md", "new/x.md", "created"),
        JudgedFile("gone.md", missing="is not there any more"),
        JudgedFile("never.md", missing="is not there"),
        JudgedFile("new", missing="is a directory"),
    )


def test_a_link_is_followed_within_the_work_directory_only(tmp_path: Path) -> None:
    on = with_tar(
        tmp_path,
        [
            member("out/2.md", size=3),
            member("latest.md", tarfile.SYMTYPE, link="out/next.md"),
            member("out/next.md", tarfile.SYMTYPE, link="2.md"),
            member("passwd", tarfile.SYMTYPE, link="/etc/passwd"),
            member("up", tarfile.SYMTYPE, link="../x"),
            member("ring", tarfile.SYMTYPE, link="ring"),
            member("pipe", tarfile.FIFOTYPE),
        ],
    )
    assert judged_files(on, ("latest.md", "passwd", "up", "ring", "pipe")) == (
        JudgedFile("latest.md", "out/2.md", "created"),
        JudgedFile("passwd", missing="is a link that leads to no file of the work directory"),
        JudgedFile("up", missing="is a link that leads to no file of the work directory"),
        JudgedFile("ring", missing="is a link without an end"),
        JudgedFile("pipe", missing="is a special file"),
    )


def test_a_file_in_a_linked_directory_is_there(tmp_path: Path) -> None:
    on = with_tar(
        tmp_path,
        [
            member("data/v2/out.md", size=3),
            member("data/current", tarfile.SYMTYPE, link="v2"),
            member("latest", tarfile.SYMTYPE, link="./data/current"),
            member("out", tarfile.SYMTYPE, link="/workspace/data"),
        ],
    )
    assert judged_files(on, ("latest/out.md", "data/current/other.md", "out/v2/out.md")) == (
        JudgedFile("latest/out.md", "data/v2/out.md", "created"),
        JudgedFile("data/current/other.md", missing="is a link that leads to no file of the work directory"),
        JudgedFile("out/v2/out.md", missing="is a link that leads to no file of the work directory"),
    )


def test_what_was_not_saved_is_not_known_to_be_missing(tmp_path: Path) -> None:
    on = with_tar(tmp_path, [member("a.md", size=3), member("b.md", size=2_000)])
    with pytest.raises(NotObservedError, match=r"the content of b\.md, which is too large to be kept"):
        judged_files(on, ("a.md", "b.md"))
    on = with_tar(tmp_path, [member("a.md", size=3), member("b.md", size=2_000)], read_limit=100)
    with pytest.raises(NotObservedError, match=r"whether b\.md is in the work directory"):
        judged_files(on, ("a.md", "b.md"))


def test_an_unhealthy_trial_has_produced_nothing_that_counts(tmp_path: Path) -> None:
    with pytest.raises(NotObservedError):
        judged_files(a_trial(tmp_path, reason=Reason.TIMEOUT), ("a.md",))
    assert judged_files(a_trial(tmp_path, reason=Reason.TIMEOUT), ()) == ()
