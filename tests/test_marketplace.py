from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from plugin_files import content, file, plugin

from skillwalker.marketplace import is_marketplace, read_marketplace
from skillwalker.plugins import load_plugins

SKILL = {"skills/a/SKILL.md": file()}


def market(root: Path, *entries: Any, **fields: Any) -> Path:
    value = {"name": "m", "owner": {"name": "nobody"}, "plugins": list(entries), **fields}
    return plugin(root, "m", {".claude-plugin/marketplace.json": json.dumps(value)})


def test_a_root_with_its_own_plugin_is_a_plugin(tmp_path: Path) -> None:
    directory = market(tmp_path)
    assert is_marketplace(directory)
    plugin(tmp_path, "m", SKILL, {"name": "itself"})
    assert not is_marketplace(directory)
    assert [one.name for one in load_plugins(tmp_path, ["m"]).plugins] == ["itself"]


def test_entries_that_lie_here_are_plugins_and_others_are_told(tmp_path: Path) -> None:
    directory = market(
        tmp_path,
        {"name": "here", "source": "./plugins/here"},
        {"name": "far", "source": {"source": "github", "repo": "a/b"}},
        {"name": "web", "source": "https://example.org/x.git"},
    )
    plugin(directory, "plugins/here", SKILL, {"name": "own-name"})
    found = load_plugins(tmp_path, ["m"])
    assert [(one.name, one.written, one.directory.name) for one in found.plugins] == [
        ("own-name", "m", "here")
    ]
    assert found.skill("here:a") is found.skill("own-name:a")
    assert found.problems == ()
    assert found.notices == (
        "m: .claude-plugin/marketplace.json: plugins[1]: far is fetched from elsewhere, so it is left out",
        "m: .claude-plugin/marketplace.json: plugins[2]: web is fetched from elsewhere, so it is left out",
    )


def test_a_plugin_root_shortens_sources(tmp_path: Path) -> None:
    directory = market(tmp_path, {"name": "short", "source": "short"}, metadata={"pluginRoot": "./packs"})
    plugin(directory, "packs/short", SKILL)
    assert [one.directory for one in read_marketplace(directory).plugins] == [directory / "packs/short"]


def test_an_entry_stands_for_a_missing_manifest(tmp_path: Path) -> None:
    directory = market(tmp_path, {"name": "entry", "source": "./sub", "agents": ["./x.md"]})
    plugin(directory, "sub", {**SKILL, "x.md": file(), "agents/y.md": file()})
    [one] = load_plugins(tmp_path, ["m"]).plugins
    assert [part.id for part in (*one.skills, *one.agents)] == ["entry:a", "entry:x"]
    written = json.loads(content(one.tree)[".claude-plugin/plugin.json"])
    assert written == {"name": "entry", "agents": ["./x.md"]}


def test_skills_that_an_entry_lists_are_its_only_ones(tmp_path: Path) -> None:
    directory = market(
        tmp_path,
        {"name": "left", "source": "./", "strict": False, "skills": ["./skills/a"]},
        {"name": "right", "source": "./", "strict": False, "skills": ["skills/b", "./more/c"]},
    )
    plugin(tmp_path, "m", {**SKILL, "skills/b/SKILL.md": file(), "more/c/SKILL.md": file()})
    found = load_plugins(tmp_path, ["m"])
    assert {one.name: [skill.id for skill in one.skills] for one in found.plugins} == {
        "left": ["left:a"],
        "right": ["right:b", "right:c"],
    }
    left, right = (content(tree) for _, tree in found.trees())
    assert "skills/a/SKILL.md" in left
    assert "skills/b/SKILL.md" not in left
    assert "skills/a/SKILL.md" not in right
    assert directory.name == "m"


def test_an_entry_adds_to_a_manifest(tmp_path: Path) -> None:
    directory = market(tmp_path, {"name": "x", "source": "./sub", "skills": ["./more"]})
    plugin(
        directory,
        "sub",
        {**SKILL, "own/b/SKILL.md": file(), "more/c/SKILL.md": file()},
        {"name": "y", "skills": "./own"},
    )
    [one] = load_plugins(tmp_path, ["m"]).plugins
    assert [skill.id for skill in one.skills] == ["y:a", "y:b", "y:c"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "m: .claude-plugin/marketplace.json:1: is not JSON"),
        ("[]", "m: .claude-plugin/marketplace.json: expected an object with a list `plugins`"),
        ('{"plugins": {}}', "expected an object with a list `plugins`"),
        ('{"plugins": []}', "lists no plugin that lies here"),
        ('{"plugins": [1]}', "plugins[0]: expected an object with a `name`"),
        ('{"plugins": [{"name": "x", "source": "./gone"}]}', "plugins[0]: x: there is no directory ./gone"),
        ('{"plugins": [{"name": "x", "source": "../"}]}', "plugins[0]: x: there is no directory ../"),
        ('{"plugins": [{"name": "x y", "source": "./"}]}', "plugins[0]: x y: `name` must not hold spaces"),
        ('{"plugins": [{"name": "x", "source": "./", "skills": [{}]}]}', "x: `skills` must be a path"),
    ],
)
def test_what_cannot_be_used_is_a_problem(tmp_path: Path, text: str, problem: str) -> None:
    plugin(tmp_path, "m", {".claude-plugin/marketplace.json": text})
    [(index, message)] = load_plugins(tmp_path, ["m"]).problems
    assert index == 0
    assert problem in message


def test_names_that_no_file_can_have_are_not_found(tmp_path: Path) -> None:
    long, hooks = "./" + "x" * 300, {"hooks": ["./" + "h" * 300 + ".json"]}
    entries = [{"name": "a", "source": long}, {"name": "b", "source": "./b", "skills": [long], **hooks}]
    market = {".claude-plugin/marketplace.json": json.dumps({"plugins": entries})}
    plugin(tmp_path, "m", {**market, "b/skills/one/SKILL.md": file()})
    found = load_plugins(tmp_path, ["m"])
    assert [message for _, message in found.problems if "there is no directory ./xxx" in message]
    assert [notice for notice in found.notices if "skills[0]: ./xxx" in notice]
    assert [notice for notice in found.notices if "hooks[0]: ./hhh" in notice]
