from __future__ import annotations

import os
import pickle
import time
from pathlib import Path

import pytest
from plugin_files import file, odd_plugins, plugin

from skillwalker.plugins import load_plugins

SKILL = {"skills/a/SKILL.md": file()}


def test_equal_keys_in_a_manifest_are_a_notice_and_a_manifest_that_is_no_file_a_problem(
    tmp_path: Path,
) -> None:
    twice = b'{"name": "x", "name": "y"}'
    plugin(tmp_path, "twice", {**SKILL, ".claude-plugin/plugin.json": twice})
    found = load_plugins(tmp_path, ["twice"])
    assert [each.name for each in found.plugins] == ["y"]
    assert found.notices == ("twice: plugin.json: name stands there twice, the last one counts",)
    for other in (SKILL, {}):
        name = f"folder{len(other)}"
        plugin(tmp_path, name, {**other, ".claude-plugin/plugin.json/x": b""})
        [(_, problem)] = load_plugins(tmp_path, [name]).problems
        assert ".claude-plugin/plugin.json is a directory, not a file" in problem


def test_a_directory_that_is_not_there_names_its_neighbours(tmp_path: Path) -> None:
    plugin(tmp_path, "plugins/toolbox", SKILL)
    found = load_plugins(tmp_path, ["plugins/toolbx"])
    assert found.plugins == ()
    assert found.problems == (
        (0, "the plugin directory plugins/toolbx does not exist (did you mean plugins/toolbox?)"),
    )


@pytest.mark.parametrize("written", ["../out", "a/../../out"])
def test_plugins_lie_below_the_root(tmp_path: Path, written: str) -> None:
    plugin(tmp_path, "out", SKILL)
    [(_, message)] = load_plugins(tmp_path / "root", [written]).problems
    assert "is not below the root" in message


def test_an_absolute_path_is_not_below_the_root(tmp_path: Path) -> None:
    directory = plugin(tmp_path, "p", SKILL)
    [(_, message)] = load_plugins(tmp_path, [str(directory)]).problems
    assert "is not below the root" in message


def test_a_link_must_not_leave_the_root(tmp_path: Path) -> None:
    plugin(tmp_path, "out", SKILL)
    root = tmp_path / "root"
    root.mkdir()
    os.symlink("../out", root / "p")
    assert load_plugins(root, ["p"]).problems == ((0, "p is a link that leaves the root"),)


def test_each_problem_belongs_to_its_place(tmp_path: Path) -> None:
    plugin(tmp_path, "good", SKILL)
    plugin(tmp_path, "broken", {**SKILL, ".claude-plugin/plugin.json": "{"})
    plugin(tmp_path, "empty", {"README.md": "", "docs/x.md": ""})
    (tmp_path / "file").write_text("")
    found = load_plugins(tmp_path, ["good", "broken", "empty", "file"])
    assert [one.written for one in found.plugins] == ["good"]
    assert [index for index, _ in found.problems] == [1, 2, 3]
    messages = [message for _, message in found.problems]
    assert messages[0].startswith(
        "broken: Claude Code does not load this plugin: .claude-plugin/plugin.json:1: is not "
    )
    assert "it has no skills, agents, commands, hooks or MCP servers" in messages[1]
    assert messages[2].startswith("the plugin directory file is no directory")


def test_the_root_itself_and_hidden_and_nested_directories_are_plugins(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    plugin(tmp_path, "repo", SKILL)
    plugin(root, ".claude", {"skills/b/SKILL.md": file()})
    plugin(root, "x/y/z", {"skills/c/SKILL.md": file()})
    found = load_plugins(root, [".", ".claude", "./x/y/z/"])
    assert found.problems == ()
    assert [skill.id for one in found.plugins for skill in one.skills] == ["repo:a", ".claude:b", "z:c"]


def test_a_directory_given_twice_is_loaded_once(tmp_path: Path) -> None:
    plugin(tmp_path, "p", SKILL)
    assert len(load_plugins(tmp_path, ["p", "./p"]).plugins) == 1


def test_a_folder_of_plugins_stands_for_them(tmp_path: Path) -> None:
    for name in ("one", "two"):
        plugin(tmp_path, f"all/{name}", SKILL, {"name": name})
    plugin(tmp_path, "all/three", SKILL)
    assert [one.name for one in load_plugins(tmp_path, ["all"]).plugins] == ["one", "two"]


def test_what_a_plugin_depends_on_must_be_there(tmp_path: Path) -> None:
    plugin(tmp_path, "a", SKILL, {"name": "a", "dependencies": ["b", "c@market"]})
    plugin(tmp_path, "b", SKILL, {"name": "b"})
    assert load_plugins(tmp_path, ["b", "a"]).problems == ((1, "a depends on c; add it to `plugins`"),)


def test_hooks_and_servers_are_data(tmp_path: Path) -> None:
    plugin(tmp_path, "p", {**SKILL, "hooks/hooks.json": '{"hooks": {"Stop": []}}', ".mcp.json": '{"s": {}}'})
    [one] = load_plugins(tmp_path, ["p"]).plugins
    assert (one.hooks, one.mcp_servers) == (("Stop",), ("s",))


def test_a_set_pickles(tmp_path: Path) -> None:
    found = load_plugins(tmp_path, odd_plugins(tmp_path))
    assert found.problems == ()
    assert found.names
    assert pickle.loads(pickle.dumps(found)) == found
    assert pickle.loads(pickle.dumps(found.trees())) == found.trees()


def test_plugins_are_read_once(tmp_path: Path) -> None:
    plugin(tmp_path, "p", {f"skills/s{number}/SKILL.md": file(name=f"n{number}") for number in range(100)})
    first = load_plugins(tmp_path, ["p"])
    started = time.perf_counter()
    assert all(load_plugins(tmp_path, ["p"]) is first for _ in range(1000))
    assert time.perf_counter() - started < 100  # reading them takes longer a thousand times


def test_a_name_that_no_directory_can_have_does_not_exist(tmp_path: Path) -> None:
    [(index, message)] = load_plugins(tmp_path, ["x" * 300]).problems
    assert index == 0
    assert "does not exist" in message
