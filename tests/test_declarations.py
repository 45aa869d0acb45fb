from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from plugin_files import file, plugin

from skillwalker.declarations import faults_of
from skillwalker.manifest import ManifestError, read_manifest
from skillwalker.plugins import load_plugins

SKILL = {"skills/a/SKILL.md": file()}
PLUGIN_JSON = ".claude-plugin/plugin.json"


def told(directory: Path) -> list[str]:
    return [str(fault) for fault in faults_of(directory, read_manifest(directory))]


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (
            {"hooks": "./hooks/hooks.json"},
            "hooks: ./hooks/hooks.json does not exist; write it, or take it out",
        ),
        ({"skills": ["./skills", "./gone"]}, "skills[1]: ./gone does not exist; write it, or take it out"),
        ({"skills": "./x.md"}, "skills: ./x.md is a file; name its directory"),
        ({"agents": ["./gone.md"]}, "agents[0]: ./gone.md does not exist; write it, or take it out"),
        ({"commands": "./gone"}, "commands: ./gone does not exist; write it, or take it out"),
        (
            {"commands": {"a b": {"source": "./gone.md"}}},
            'commands["a b"].source: ./gone.md does not exist; write it, or take it out',
        ),
        ({"outputStyles": "./gone"}, "outputStyles: ./gone does not exist; write it, or take it out"),
        (
            {"experimental": {"themes": "./gone"}},
            "experimental.themes: ./gone does not exist; write it, or take it out",
        ),
        ({"monitors": "./gone.json"}, "monitors: ./gone.json does not exist; write it, or take it out"),
        (
            {"skills": ["./../out"]},
            "skills[0]: ./../out leaves the plugin; name what lies in it, or take it out",
        ),
        (
            {"hooks": {"PreToolUse": {}}},
            "hooks.PreToolUse: expected a list of objects, each with a list `hooks`",
        ),
    ],
)
def test_what_plugin_json_names_and_is_not_there_is_told_with_its_line(
    tmp_path: Path, declared: Mapping[str, Any], message: str
) -> None:
    directory = plugin(tmp_path, "p", {**SKILL, "x.md": ""})
    text = '{\n  "name": "p",\n  ' + json.dumps(declared)[1:-1] + "\n}\n"
    plugin(tmp_path, "p", {PLUGIN_JSON: text})
    assert told(directory) == [f"{PLUGIN_JSON}:3: {message}"]
    found = load_plugins(tmp_path, ["p"])
    assert found.problems == ()  # whether it was loaded is for Claude Code to say
    [notice] = [notice for one in found.plugins for notice in one.notices]
    assert notice.endswith(
        f"{PLUGIN_JSON}:3: {message}; Claude Code tells so in every trial, and none with this plugin is "
        "measured then"
    )
    assert [skill.id for one in found.plugins for skill in one.skills] == ["p:a"]  # nothing follows from it


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n"hooks": {},\n}', ":3: is not JSON: a comma too many before }"),
        ("", ":1: is empty"),
        ("[]", ": expected an object with `hooks`"),
        ("{}", ": expected an object with `hooks`"),
        ('{"modules": []}', ": expected an object with `hooks`"),
        ('{"PreToolUse": []}', ": expected an object with `hooks`"),
        ('{"hooks": null}', ": hooks: expected an object of events"),
        (
            '{"hooks": {"PermissionRequest": [{"matcher": "x"}]}}',
            ": hooks.PermissionRequest: expected a list of objects, each with a list `hooks`",
        ),
    ],
)
@pytest.mark.parametrize("name", ["hooks/hooks.json", "other.json"])
def test_hooks_that_claude_code_cannot_load_are_told(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    manifest = {"name": "p", **({} if name.startswith("hooks") else {"hooks": f"./{name}"})}
    directory = plugin(tmp_path, "p", {**SKILL, name: text}, manifest)
    assert told(directory) == [f"{name}{message}"]
    assert load_plugins(tmp_path, ["p"]).notices[0].startswith(f"p: {name}{message}; Claude Code tells so")


def test_what_claude_code_takes_has_no_fault(tmp_path: Path) -> None:
    stop = '{"hooks": {"Stop": {}, "Unknown": 1, "PreToolUse": [{"hooks": []}]}}'
    manifest = {"name": "p", "hooks": ["./hooks/hooks.json", {"Stop": []}], "skills": ["./skills", "."]}
    directory = plugin(tmp_path, "p", {**SKILL, "hooks/hooks.json": stop}, manifest)
    assert told(directory) == []


def test_a_missing_file_of_servers_is_a_note(tmp_path: Path) -> None:
    plugin(tmp_path, "p", SKILL, {"name": "p", "mcpServers": "./gone.json", "lspServers": ["./gone.json"]})
    found = load_plugins(tmp_path, ["p"])
    assert found.problems == ()
    assert found.notices == (
        f"p: {PLUGIN_JSON}:1: mcpServers: ./gone.json does not exist; write it, or take it out",
        f"p: {PLUGIN_JSON}:1: lspServers[0]: ./gone.json does not exist; write it, or take it out",
    )


def test_a_manifest_that_a_marketplace_makes_has_no_lines(tmp_path: Path) -> None:
    market = {"plugins": [{"name": "x", "source": "./x", "commands": ["gone"]}]}
    plugin(tmp_path, "m", {".claude-plugin/marketplace.json": json.dumps(market)})
    plugin(tmp_path, "m/x", SKILL)
    [notice] = load_plugins(tmp_path, ["m"]).notices
    assert notice.startswith(f"m: x/{PLUGIN_JSON}: commands[0]: ./gone does not exist")


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (
            {"agents": "./agents/"},
            "`agents` must hold paths of .md files: './agents/'; take `agents` out, Claude Code reads "
            "agents/ by itself",
        ),
        ({"agents": ["./more"]}, "`agents` must hold paths of .md files: './more'; name each file"),
        ({"hooks": "./hooks"}, "`hooks` must hold paths of .json files: './hooks'"),
        ({"hooks": "https://x.test/h.json"}, "`hooks` must hold paths that start with ./"),
        ({"mcpServers": "./m.txt"}, "`mcpServers` must hold paths of .json files: './m.txt'"),
        ({"lspServers": "./m.mcpb"}, "`lspServers` must hold paths of .json files: './m.mcpb'"),
    ],
)
def test_what_refuses_the_whole_plugin_has_its_line(
    tmp_path: Path, declared: Mapping[str, Any], message: str
) -> None:
    text = '{\n  "name": "p",\n  ' + json.dumps(declared)[1:-1] + "\n}\n"
    directory = plugin(tmp_path, "p", {**SKILL, PLUGIN_JSON: text})
    with pytest.raises(ManifestError) as error:
        read_manifest(directory)
    assert str(error.value).startswith(f"{PLUGIN_JSON}:3: {message}")


def test_servers_may_come_from_elsewhere(tmp_path: Path) -> None:
    servers = ["https://x.test/server.mcpb", "./server.mcpb"]
    directory = plugin(tmp_path, "p", {**SKILL, "server.mcpb": ""}, {"name": "p", "mcpServers": servers})
    assert told(directory) == []
