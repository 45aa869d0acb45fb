"""What an eval names lies in its folder, whatever links and spellings say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillwalker.folders import find_inside, path_fault


@pytest.fixture
def base(tmp_path: Path) -> Path:
    base = tmp_path / "base"
    (base / "prompts" / "deep").mkdir(parents=True)
    (base / "prompts" / "greet.md").write_text("Hello")
    (base / "prompts" / "deep" / "bow.md").write_text("Good day")
    (base / "secret.md").write_text("secret")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("secret")
    return base


@pytest.mark.parametrize("name", ["greet.md", "./greet.md", "deep/bow.md", "deep//bow.md", "deep/./bow.md"])
def test_a_file_in_its_folder_is_found(base: Path, name: str) -> None:
    assert find_inside(base, "prompts", name) == base / "prompts" / os.path.normpath(name)


def test_a_directory_is_found(base: Path) -> None:
    assert find_inside(base, "prompts", "deep/", "directory") == base / "prompts" / "deep"
    assert find_inside(base, "", "prompts", "directory") == base / "prompts"
    assert find_inside(base, "", ".", "directory") == base


@pytest.mark.parametrize(
    ("link", "target", "name"),
    [
        ("prompts/out.md", "../secret.md", "out.md"),
        ("prompts/out.md", "../../outside/secret.md", "out.md"),
        ("prompts/out.md", "{tmp}/outside/secret.md", "out.md"),
        ("prompts/out.md", "deep/../../secret.md", "out.md"),
        ("prompts/hop.md", "../secret.md", "hop.md"),
        ("prompts/out", "../../outside", "out/secret.md"),
        ("prompts/deep/out", "{tmp}/outside", "deep/out/secret.md"),
        ("prompts/out", "../../outside", "out/no-such-file"),
        ("prompts/out.md", "/proc/self/environ", "out.md"),
    ],
)
def test_a_link_that_leads_out_is_refused(base: Path, link: str, target: str, name: str) -> None:
    (base / link).symlink_to(target.format(tmp=base.parent))
    with pytest.raises(ValueError, match="leads out of its folder"):
        find_inside(base, "prompts", name)


def test_a_link_through_the_outside_is_judged_by_its_end(base: Path) -> None:
    (base.parent / "outside" / "back").symlink_to(base / "prompts" / "greet.md")
    (base / "prompts" / "round.md").symlink_to("../../outside/back")
    assert find_inside(base, "prompts", "round.md").read_text() == "Hello"


def test_a_folder_that_is_itself_a_link_leads_out(base: Path) -> None:
    (base / "rubrics").symlink_to("../outside")
    with pytest.raises(ValueError, match=r"rubrics/secret\.md is a link that leads out"):
        find_inside(base, "rubrics", "secret.md")


def test_links_inside_and_on_the_way_to_the_base_are_followed(base: Path) -> None:
    (base / "prompts" / "alias.md").symlink_to("deep/bow.md")
    (base / "prompts" / "alias").symlink_to("deep")
    (base.parent / "project").symlink_to("base")
    for name in ("alias.md", "alias/bow.md"):
        assert find_inside(base.parent / "project", "prompts", name).read_text() == "Good day"


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("gone.md", "file", r"^prompts/gone.md is a link that leads nowhere$"),
        ("gret.md", "file", r"^prompts/gret.md does not exist \(did you mean greet.md\?\)$"),
        ("deep/bo.md", "file", r"^prompts/deep/bo.md does not exist \(did you mean deep/bow.md\?\)$"),
        (
            "prompts/greet.md",
            "file",
            r"^prompts/prompts/greet.md does not exist \(did you mean greet.md\?\); "
            r"the name is relative to prompts/$",
        ),
        ("deep", "file", r"^prompts/deep is a directory, not a file$"),
        ("pipe", "file", r"^prompts/pipe is not a regular file$"),
        ("greet.md", "directory", r"^prompts/greet.md is not a directory$"),
        ("dep", "directory", r"^prompts/dep does not exist \(did you mean deep\?\)$"),
        ("greet.md/x", "file", r"^prompts/greet.md/x does not exist$"),
        ("loop", "file", r"^prompts/loop cannot be read: Too many levels of symbolic links$"),
        ("x" * 256, "file", r"cannot be read: File name too long$"),
        (".", "file", r"^must name something in prompts/$"),
        ("greet.md/", "file", r"^must name a file, without a slash at its end: greet.md/$"),
        ("greet.md/.", "file", r"^must name a file, without a slash at its end: greet.md/.$"),
    ],
)
def test_what_is_not_there_or_no_such_thing_is_explained(
    base: Path, name: str, kind: str, message: str
) -> None:
    (base / "prompts" / "gone.md").symlink_to("nowhere.md")
    (base / "prompts" / "loop").symlink_to("loop")
    os.mkfifo(base / "prompts" / "pipe")
    with pytest.raises(ValueError, match=message):
        find_inside(base, "prompts", name, kind)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "is empty"),
        (" ", "is empty"),
        ("/etc/passwd", "must be relative, not /etc/passwd"),
        ("c:x.md", "must be relative, not c:x.md"),
        ("\\\\server\\share", "must be relative, not \\\\server\\share"),
        ("..", "must not lead upwards (..): .."),
        ("a/../b.md", "must not lead upwards (..): a/../b.md"),
        ("a\\..\\b.md", "must not lead upwards (..): a\\..\\b.md"),
        ("a\\b.md", "holds a backslash; write a/b.md"),
        ("a\0.md", "holds control characters: a\\x00.md"),
        ("a\ud800.md", "holds control characters: a\\ud800.md"),
    ],
)
def test_a_spelling_that_is_no_path_below_is_refused(base: Path, name: str, message: str) -> None:
    assert path_fault(name) == message
    with pytest.raises(ValueError):
        find_inside(base, "prompts", name)


@pytest.mark.parametrize("name", ["...", "a..b", "..a/b", "-x", "~", "$HOME", "a b", "ü.md", "ab:c"])
def test_unusual_names_are_names(name: str) -> None:
    assert path_fault(name) is None


def test_a_path_that_is_too_long_as_a_whole_is_nowhere(base: Path) -> None:
    with pytest.raises(ValueError, match=r"prompts/deep/.* does not exist"):
        find_inside(base, "prompts", "/".join(["deep"] * 1000))
