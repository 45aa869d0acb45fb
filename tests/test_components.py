from __future__ import annotations

import os
from pathlib import Path

import pytest
from plugin_files import file, plugin

from skillwalker.components import find_agents, find_skills, plain_id
from skillwalker.manifest import read_manifest
from skillwalker.parts import Place


def place_of(directory: Path) -> Place:
    manifest = read_manifest(directory)
    return Place(directory, manifest.name or directory.name, manifest)


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("Dir With Space", "Dir-With-Space"),
        ("a.b_c-d", "a-b_c-d"),
        ("装修", "--"),
        ("ünï", "-n-"),
        ("😀", "--"),
    ],
)
def test_a_skill_is_named_after_its_directory(name: str, id_: str) -> None:
    assert plain_id(name) == id_


def test_the_frontmatter_name_is_an_alias(tmp_path: Path) -> None:
    directory = plugin(
        tmp_path,
        "tools",
        {
            "skills/a/SKILL.md": file(name="tidy"),
            "skills/b/SKILL.md": file(),
            "skills/c d/SKILL.md": file(name="c d"),
        },
    )
    found = {skill.id: skill.aliases for skill in find_skills(place_of(directory))}
    assert found == {
        "tools:a": ("tools:tidy", "tidy"),
        "tools:b": ("b",),
        "tools:c-d": ("tools:c d", "c d"),
    }


def test_what_the_model_cannot_see_says_why(tmp_path: Path) -> None:
    directory = plugin(
        tmp_path,
        "tools",
        {
            "skills/bare/SKILL.md": "# Bare\n",
            "skills/broken/SKILL.md": file('"a" b'),
            "skills/nothing/SKILL.md": file(None, "nothing"),
            "skills/off/SKILL.md": file(**{"disable-model-invocation": "yes"}),
            "skills/on/SKILL.md": file(),
        },
    )
    found = {skill.id.partition(":")[2]: skill for skill in find_skills(place_of(directory))}
    assert found["bare"].problem == "the file does not begin with a line `---`"
    assert found["broken"].problem is not None
    assert "not valid YAML" in found["broken"].problem
    assert found["nothing"].problem == "it has no description"
    assert {name for name, skill in found.items() if skill.description is None} == {
        "bare",
        "broken",
        "nothing",
    }
    assert {name for name, skill in found.items() if not skill.model_may_call} == {"off"}
    assert found["off"].problem is None


def test_declared_skills_come_beside_the_default_ones_but_agents_and_commands_in_their_place(
    tmp_path: Path,
) -> None:
    files = {
        "skills/zero/SKILL.md": file(),
        "more/one/SKILL.md": file(),
        "agents/a.md": file(),
        "helpers/b.md": file(),
        "commands/c.md": file(),
        "cmd/d.md": file(),
    }
    declared = {"name": "x", "skills": "./more", "agents": "./helpers/b.md", "commands": "./cmd"}
    place = place_of(plugin(tmp_path, "p", files, declared))
    assert [skill.id for skill in find_skills(place)] == ["x:d", "x:one", "x:zero"]
    assert [agent.id for agent in find_agents(place)] == ["x:b"]
    assert place.notices == []


def test_declared_paths_that_lead_nowhere_hold_nothing(tmp_path: Path) -> None:
    files = {"skills/a/SKILL.md": file(), "single/SKILL.md": file()}
    declared = {"name": "x", "skills": ["./gone", "./../out", "./single/SKILL.md"], "agents": ["./gone.md"]}
    place = place_of(plugin(tmp_path, "p", files, declared))
    assert [skill.id for skill in find_skills(place)] == ["x:a"]
    assert find_agents(place) == ()
    assert place.notices == []


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        (None, "root"),
        ("the name", "the-name"),
        ("' x '", "x"),
        ("root:own", "own"),
        ("12", "root"),
        ("é", "-"),
    ],
)
def test_a_skill_in_the_root_is_named_by_its_name(tmp_path: Path, name: str | None, id_: str) -> None:
    directory = plugin(tmp_path, "root", {"SKILL.md": file(name=name)})
    assert [skill.id for skill in find_skills(place_of(directory))] == [f"root:{id_}"]


def test_a_skill_in_the_root_does_not_count_beside_a_directory_of_skills(tmp_path: Path) -> None:
    directory = plugin(tmp_path, "root", {"SKILL.md": file(), "skills/a/SKILL.md": file()})
    assert [skill.id for skill in find_skills(place_of(directory))] == ["root:a"]


def test_agents_keep_their_directories_and_any_name(tmp_path: Path) -> None:
    directory = plugin(
        tmp_path,
        "p",
        {
            "agents/sub/deep/x.md": file(),
            "agents/sub/y.md": file(name="given name"),
            "agents/README.md": "# Agents\n",
            "agents/up.MD": file(),
            "agents/z.txt": file(),
        },
    )
    agents = {agent.id: agent for agent in find_agents(place_of(directory))}
    assert set(agents) == {"p:sub:deep:x", "p:sub:given name", "p:README", "p:up.MD"}
    assert agents["p:README"].description == "Agent from p plugin"
    assert agents["p:README"].problem == "the file does not begin with a line `---`"
    assert agents["p:up.MD"].problem is None


def test_commands_are_skills_without_a_bare_name(tmp_path: Path) -> None:
    directory = plugin(
        tmp_path,
        "p",
        {
            "commands/sub/x.md": file(name="other"),
            "commands/a b.md": file(),
            "commands/whole/SKILL.md": file(),
            "commands/whole/rest.md": file(),
        },
    )
    found = {skill.id: skill.aliases for skill in find_skills(place_of(directory))}
    assert found == {"p:sub:x": ("p:other", "other"), "p:a b": (), "p:whole": ()}


def test_a_file_that_links_make_appear_twice_counts_once(tmp_path: Path) -> None:
    directory = plugin(tmp_path, "p", {"skills/a/SKILL.md": file(), "skills/c/other.md": ""})
    os.symlink("a", directory / "skills/b")
    os.symlink("../a/SKILL.md", directory / "skills/c/SKILL.md")
    os.symlink("../nowhere", directory / "skills/d")
    place = place_of(directory)
    assert [skill.id for skill in find_skills(place)] == ["p:a"]
    assert len(place.notices) == 2


def test_links_among_agents_and_commands_are_not_followed(tmp_path: Path) -> None:
    directory = plugin(tmp_path, "p", {"real/x.md": file(), "agents/a.md": file(), "commands/b.md": file()})
    for link in ("agents/sub", "commands/sub"):
        os.symlink("../real", directory / link)
    os.symlink("../real/x.md", directory / "agents/linked.md")
    assert [agent.id for agent in find_agents(place_of(directory))] == ["p:a"]
    assert [skill.id for skill in find_skills(place_of(directory))] == ["p:b"]
