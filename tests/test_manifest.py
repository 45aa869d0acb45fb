from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from plugin_files import plugin
from roots import write

from skillwalker.manifest import (
    MANIFEST,
    Manifest,
    ManifestError,
    below,
    hooks_of,
    manifest_of,
    mcp_servers_of,
    read_manifest,
)


def test_without_a_file_nothing_is_declared(tmp_path: Path) -> None:
    assert read_manifest(tmp_path) == Manifest()


def test_of_equal_keys_the_last_counts_and_that_is_told(tmp_path: Path) -> None:
    write(tmp_path / MANIFEST, '{"name": "a", "skills": [], "name": "b", "x": {"y": 1, "y": 2}}')
    manifest = read_manifest(tmp_path)
    assert manifest.name == "b"
    assert sorted(manifest.notices) == [
        "plugin.json: name stands there twice, the last one counts",
        "plugin.json: y stands there twice, the last one counts",
    ]


@pytest.mark.parametrize(
    ("make", "said"), [(Path.mkdir, "is a directory, not a file"), (os.mkfifo, "is no regular file")]
)
def test_a_manifest_that_is_no_file_is_a_problem(tmp_path: Path, make: Any, said: str) -> None:
    (tmp_path / MANIFEST).parent.mkdir()
    make(tmp_path / MANIFEST)
    with pytest.raises(ManifestError, match=said):
        read_manifest(tmp_path)


def test_paths_come_alone_or_in_lists() -> None:
    manifest = manifest_of({"name": "x", "skills": "./a", "agents": ["./b.md"], "commands": []})
    assert (manifest.skills, manifest.agents, manifest.commands) == (("./a",), ("./b.md",), ())
    assert manifest_of({"name": "x"}).commands is None


def test_commands_may_have_names() -> None:
    manifest = manifest_of({"name": "x", "commands": {"a": {"content": "Do it"}}})
    assert manifest.commands == ()
    assert manifest.named_commands == {"a": {"content": "Do it"}}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "expected an object"),
        ({}, "`name` is missing"),
        ({"name": ""}, "`name` must be a text that is not empty"),
        ({"name": 12}, "`name` must be a text that is not empty"),
        ({"name": "a b"}, "`name` must not hold spaces"),
        ({"name": "a:b"}, "`name` must not hold spaces, @, :"),
        ({"name": "a\u200bb"}, "`name` must not hold"),
        ({"name": "x", "version": 1}, "`version` must be a text"),
        ({"name": "x", "skills": {"a": "./a"}}, "`skills` must be a path or a list of paths"),
        ({"name": "x", "skills": [1]}, "`skills` must be a path or a list of paths"),
        ({"name": "x", "skills": None}, "`skills` must be a path or a list of paths"),
        ({"name": "x", "skills": "a"}, "`skills` must hold paths that start with ./: 'a'"),
        ({"name": "x", "agents": "./agents/"}, "`agents` must hold paths of .md files: './agents/'"),
        ({"name": "x", "hooks": "h.json"}, "`hooks` must hold paths that start with ./"),
        ({"name": "x", "hooks": [1]}, "`hooks` must be a path, an object or a list of those"),
        ({"name": "x", "mcpServers": ["../a.json"]}, "`mcpServers` must hold paths that start with ./"),
        ({"name": "x", "commands": {"a": "./a.md"}}, "`commands`: a must be an object"),
        (
            {"name": "x", "commands": {"a": {"source": "./a.md", "content": ""}}},
            "`commands`: a must be an object",
        ),
        ({"name": "x", "commands": {"a": {"source": "a.md"}}}, "`source` must start with ./"),
        ({"name": "x", "commands": {"a": {"content": "", "description": 1}}}, "must be texts"),
        ({"name": "x", "dependencies": {}}, "`dependencies` must be a list"),
        ({"name": "x", "dependencies": [1]}, "`dependencies` must be a list of names"),
        ({"name": "x", "userConfig": 1}, "`userConfig` must be an object"),
        ({"name": "x", "defaultEnabled": False}, "`defaultEnabled` is false"),
    ],
)
def test_what_claude_code_refuses_is_refused(value: Any, message: str) -> None:
    with pytest.raises(ManifestError) as caught:
        manifest_of(value)
    assert message in str(caught.value)


def test_what_claude_code_takes_is_taken() -> None:
    manifest_of(
        {
            "name": "插件.x_Y",
            "description": 1,
            "author": {"name": "a"},
            "keywords": "x",
            "unknown": [],
            "version": "",
            "mcpServers": "https://example.org/x.mcpb",
            "hooks": ["./a.json", {"hooks": {}}],
            "dependencies": ["a@market", {"name": "b"}],
        }
    )


@pytest.mark.parametrize("text", ["", "{", '{"name": "x",}', '{"name": "x"} // c', "[" * 100_000])
def test_a_broken_file_names_itself(tmp_path: Path, text: str) -> None:
    plugin(tmp_path, "p", {".claude-plugin/plugin.json": text})
    with pytest.raises(ManifestError, match=r"^\.claude-plugin/plugin\.json:1: is "):
        read_manifest(tmp_path / "p")


def test_a_byte_order_mark_is_no_matter_and_the_last_of_equal_keys_counts(tmp_path: Path) -> None:
    plugin(tmp_path, "p", {".claude-plugin/plugin.json": '\ufeff{"name": "a", "name": "b"}'})
    assert read_manifest(tmp_path / "p").name == "b"


@pytest.mark.parametrize(
    ("path", "inside"),
    [("./", ""), (".", ""), ("./a/../b/", "b"), ("a//b", "a/b"), ("../a", None), ("./a/../../b", None)],
)
def test_paths_stay_below(path: str, inside: str | None) -> None:
    assert below(path) == inside


def test_hooks_and_servers_are_named_wherever_they_stand(tmp_path: Path) -> None:
    directory = plugin(
        tmp_path,
        "p",
        {
            "hooks/hooks.json": json.dumps({"hooks": {"Stop": []}}),
            "more.json": json.dumps({"hooks": {"PreToolUse": []}}),
            ".mcp.json": json.dumps({"mcpServers": {"files": {"command": "x"}}}),
        },
        {
            "name": "p",
            "hooks": ["./more.json", {"hooks": {"SessionStart": []}}],
            "mcpServers": {"web": {"command": "y"}},
        },
    )
    manifest = read_manifest(directory)
    assert hooks_of(directory, manifest) == ("PreToolUse", "SessionStart", "Stop")
    assert mcp_servers_of(directory, manifest) == ("files", "web")


def test_a_file_of_hooks_that_cannot_be_read_is_not_taken_for_none(tmp_path: Path) -> None:
    directory = plugin(tmp_path, "p", {"hooks/hooks.json": "{", ".mcp.json": "[]"})
    assert hooks_of(directory, Manifest()) == ("?",)
    assert mcp_servers_of(directory, Manifest()) == ("?",)


@pytest.mark.parametrize("odd", [5, [1, "a", {}], None, "text"])
def test_hooks_and_servers_of_an_odd_shape_are_not_taken_for_none(tmp_path: Path, odd: Any) -> None:
    manifest = manifest_of({"name": "p", "hooks": {"hooks": odd}, "mcpServers": {"mcpServers": odd}})
    assert hooks_of(tmp_path, manifest) == ("?",)
    assert mcp_servers_of(tmp_path, manifest) == ("?",)
