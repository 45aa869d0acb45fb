from __future__ import annotations

import hashlib
import io
import os
import pickle
import tarfile
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import pytest

from skillwalker.errors import SandboxError
from skillwalker.tree import COMPLETE, MTIME, Tree, private_of


def tar_of(tree: Tree, **options: object) -> bytes:
    out = io.BytesIO()
    tree.write_tar(out, **options)  # type: ignore[arg-type]
    return out.getvalue()


def members(data: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(data), encoding="utf-8", errors="surrogateescape") as tar:
        return {member.name: member for member in tar.getmembers()}


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")


def paths(tree: Tree) -> list[str]:
    return [entry.path for entry in tree.entries]


def kinds(tree: Tree) -> dict[str, str]:
    return {entry.path: entry.kind for entry in tree.entries}


def test_files_bring_their_directories() -> None:
    tree = Tree.of_files({"skills/tidy/SKILL.md": b"hello", "run.sh": b"#!/bin/sh\n"}, executable={"run.sh"})
    assert kinds(tree) == {
        "run.sh": "file",
        "skills": "dir",
        "skills/tidy": "dir",
        "skills/tidy/SKILL.md": "file",
    }
    assert tree.read("skills/tidy/SKILL.md") == b"hello"
    assert tree.read("skills/tidy/SKILL.md", limit=2) == b"he"
    with pytest.raises(FileNotFoundError):
        tree.read("skills")


def test_the_same_content_has_the_same_digest_and_tar_wherever_it_comes_from(tmp_path: Path) -> None:
    write(tmp_path, {"a/b.txt": "B", "c.sh": "C"})
    (tmp_path / "c.sh").chmod(0o700)
    (tmp_path / "a/b.txt").chmod(0o600)
    of_disk = Tree.of_directory(tmp_path, root=tmp_path)
    of_memory = Tree.of_files({"c.sh": b"C", "a/b.txt": b"B"}, executable=["c.sh"])
    assert of_disk.digest == of_memory.digest
    assert tar_of(of_disk) == tar_of(of_memory)


@pytest.mark.parametrize(
    "other",
    [
        {"a.txt": b"other"},
        {"b.txt": b"text"},
        {"a.txt": b"text", "b": b""},
        {},
    ],
)
def test_another_content_has_another_digest(other: dict[str, bytes]) -> None:
    assert Tree.of_files(other).digest != Tree.of_files({"a.txt": b"text"}).digest


def test_the_executable_bit_is_content() -> None:
    assert Tree.of_files({"a": b""}, executable=["a"]).digest != Tree.of_files({"a": b""}).digest


def test_the_tar_has_fixed_times_owners_and_modes_and_its_mark_at_the_end() -> None:
    data = tar_of(Tree.of_files({"d/x": b"1"}), prefix="acme", mark_complete=True)
    found = members(data)
    assert list(found) == ["acme", "acme/d", "acme/d/x", COMPLETE]
    assert {(m.mtime, m.uid, m.gid, m.uname, m.gname) for m in found.values()} == {(MTIME, 0, 0, "", "")}
    assert [oct(m.mode) for m in found.values()] == ["0o755", "0o755", "0o644", "0o644"]
    assert COMPLETE not in members(tar_of(Tree.of_files({"x": b""})))


def test_a_name_that_is_no_utf8_and_a_long_one_survive(tmp_path: Path) -> None:
    odd = os.fsdecode(b"caf\xe9")
    write(tmp_path, {odd: "x", "n" * 180 + "/" + "m" * 180: "y"})
    tree = Tree.of_directory(tmp_path, root=tmp_path)
    assert odd in members(tar_of(tree))
    assert f"{'n' * 180}/{'m' * 180}" in members(tar_of(tree))


def test_private_things_evals_and_what_the_caller_names_stay_out(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "skills/a/SKILL.md": "a",
            ".git/config": "x",
            "sub/.git": "gitdir: elsewhere",
            ".skillwalker/runs/1/run.json": "x",
            "evals/one/tests.json": "{}",
            "evals/one/rubrics/r.md": "secret",
            "evals/other-tool/prompt.md": "kept",
            "node_modules/x/y": "big",
        },
    )
    tree = Tree.of_directory(tmp_path, root=tmp_path, leave_out=lambda path: path.name == "node_modules")
    files = [entry.path for entry in tree.entries if entry.kind == "file"]
    assert files == ["evals/other-tool/prompt.md", "skills/a/SKILL.md"]
    assert tree.notes == ("sub/.git: left out, as every .git",)


def test_no_answer_of_the_root_comes_along_whatever_way_leads_to_it(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "SKILL.md": "a",
            "real/min/tests.json": "{}",
            "real/min/rubrics/r.md": "secret",
            "shared/tests.json": "{secret}",
            "rubrics/r.md": "secret",
            "evals/other-tool/answers.json": "secret",
            "evals/own/prompts/p.md": "p",
            "vendor/evals/x/tests.json": "{secret}",
            "vendor/evals/y/notes.md": "kept",
            "p/SKILL.md": "p",
        },
    )
    (tmp_path / "evals/min").symlink_to("../real/min")
    (tmp_path / "evals/own/tests.json").symlink_to("../../shared/tests.json")
    (tmp_path / "evals/own/rubrics").symlink_to("../../rubrics")
    (tmp_path / "p/all").symlink_to("../evals")
    (tmp_path / "p/one").symlink_to("../real/min/rubrics")
    (tmp_path / "p/two").symlink_to("../rubrics/r.md")
    private = private_of(tmp_path)
    tree = Tree.of_directory(tmp_path, root=tmp_path, private=private)
    assert [entry.path for entry in tree.entries if entry.kind == "file"] == [
        "SKILL.md",
        "p/SKILL.md",
        "vendor/evals/y/notes.md",
    ]
    assert b"secret" not in tar_of(tree)
    inner = Tree.of_directory(tmp_path / "p", root=tmp_path, private=private)
    assert paths(inner) == ["SKILL.md"]
    assert len(inner.notes) == 3
    assert private_of(tmp_path / "p") == (tmp_path / "p" / "skillwalker.toml",)


def test_a_scaffold_may_hold_evals_of_its_own_but_an_eval_is_no_tree(tmp_path: Path) -> None:
    scaffold = tmp_path / "evals/one/scaffolds/s"
    write(tmp_path, {"evals/one/tests.json": "{}"})
    write(scaffold, {"evals/inner/tests.json": "{}"})
    assert "evals/inner/tests.json" in paths(Tree.of_directory(scaffold, root=tmp_path))
    assert "evals/inner/tests.json" in paths(Tree.of_directory(scaffold, root=scaffold))
    whole = Tree.of_directory(tmp_path / "evals/one", root=tmp_path)
    assert (whole.entries, whole.notes) == ((), ("left out as a whole, it is an eval",))


def test_links(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(
        root,
        {
            "plugin/real/a.txt": "A",
            "shared/s.txt": "S",
            "shared/deep/t.txt": "T",
            "evals/e/tests.json": "{}",
            "evals/e/rubric.md": "secret",
        },
    )
    (tmp_path / "outside.txt").write_text("host secret")
    plugin = root / "plugin"
    (plugin / "inner").symlink_to("real")
    (plugin / "absolute").symlink_to(plugin / "real/a.txt")
    (plugin / "roundabout").symlink_to("../plugin/real/a.txt")
    (plugin / "shared").symlink_to("../shared")
    (root / "shared/loop").symlink_to("../shared")
    (root / "shared/deep/back").symlink_to("../../plugin/real/a.txt")
    (plugin / "out").symlink_to(tmp_path / "outside.txt")
    (plugin / "nowhere").symlink_to("missing")
    (plugin / "real/climbs").symlink_to("../../nowhere/x")
    (plugin / "gone").symlink_to("/gone/for/good")
    (root / "shared/deep/climbs").symlink_to("../../../nowhere/x")
    (plugin / "circle").symlink_to("circle")
    (plugin / "rubric").symlink_to("../evals/e/rubric.md")
    tree = Tree.of_directory(plugin, root=root)
    assert {e.path: e.link for e in tree.entries if e.kind == "link"} == {
        "inner": "real",
        "absolute": "real/a.txt",
        "roundabout": "real/a.txt",
        "shared/deep/back": "../../real/a.txt",
        "nowhere": "missing",
        "circle": "circle",
    }
    assert tree.read("shared/s.txt") == b"S"
    assert tree.read("shared/deep/t.txt") == b"T"
    assert b"secret" not in tar_of(tree)
    assert sorted(note.split(":")[0] for note in tree.notes) == [
        "circle",
        "gone",
        "nowhere",
        "out",
        "real/climbs",
        "rubric",
        "shared/deep/climbs",
        "shared/loop",
    ]


def test_fifos_are_left_out_with_a_note(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    tree = Tree.of_directory(tmp_path, root=tmp_path)
    assert tree.entries == ()
    assert tree.notes == ("pipe: left out, it is neither file, directory nor link",)


def test_a_large_file_that_changes_after_the_hash_is_an_error_with_its_place(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "one" * 500_000})
    tree = Tree.of_directory(tmp_path, root=tmp_path)
    for text in ("two" * 500_000, "three, longer" * 500_000, "1"):
        write(tmp_path, {"a.txt": text})
        with pytest.raises(
            SandboxError, match=r"/a\.txt has changed since .* it lies in a plugin or scaffold"
        ):
            tar_of(tree)


def test_a_small_file_that_changes_is_sent_as_it_was(tmp_path: Path) -> None:
    write(tmp_path, {"out.json": "", "a.txt": "one"})
    tree = Tree.of_directory(tmp_path, root=tmp_path)
    before = tar_of(tree)
    write(tmp_path, {"out.json": "{}"})
    (tmp_path / "a.txt").unlink()
    assert tar_of(tree) == before
    assert tree.read("a.txt") == b"one"


def test_a_tree_keeps_no_more_than_its_share_of_memory(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number}.bin").write_bytes(bytes([number]) * (1 << 20))
    tree = Tree.of_directory(tmp_path, root=tmp_path)
    assert sum(len(entry.data or b"") for entry in tree.entries) == 32 << 20
    assert {entry.size for entry in tree.entries} == {1 << 20}
    assert len({entry.sha256 for entry in tree.entries}) == 40


def test_it_pickles(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "one"})
    tree = Tree.of_directory(tmp_path, root=tmp_path)
    digest = tree.digest
    again = pickle.loads(pickle.dumps(tree))
    assert again == tree
    assert again.digest == digest
    assert tree.get("a.txt").sha256 == hashlib.sha256(b"one").hexdigest()  # type: ignore[union-attr]


def test_what_gives_answers_away_is_left_out_and_told(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "skillwalker.toml": "[run]",
            "kept/a.txt": "a",
            "b.txt": "secret",
            "kept/c.txt": "secret",
            "out/d.txt": "secret",
        },
    )
    (tmp_path / "kept/link.txt").symlink_to("../b.txt")

    def file(path: PurePosixPath, content: BinaryIO) -> str | None:
        return "a secret" if content.read() == b"secret" else None

    def directory(path: Path) -> str | None:
        return "all of it" if path.name == "out" else None

    for top in (tmp_path, tmp_path / "kept"):
        tree = Tree.of_directory(
            top,
            root=tmp_path,
            private=private_of(tmp_path),
            withhold_file=file,
            withhold_directory=directory,
        )
        assert b"secret" not in tar_of(tree)
        assert [entry.path for entry in tree.entries if entry.kind == "file"] == [
            "kept/a.txt" if top is tmp_path else "a.txt"
        ]
        if top is tmp_path:
            assert tree.withheld == (("b.txt", "a secret"), ("kept/c.txt", "a secret"), ("out/", "all of it"))
        else:
            assert tree.withheld == (("c.txt", "a secret"), ("link.txt", "a secret"))
