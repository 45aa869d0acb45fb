"""A plugin's `plugin.json`, by Claude Code's rules for it.

What Claude Code refuses here it refuses with the whole plugin, and goes on without it.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from attrs import evolve, field, frozen

MANIFEST = ".claude-plugin/plugin.json"

_COMMAND_TEXTS = ("source", "content", "description")
_KINDS: Mapping[str, type] = {"userConfig": dict, "settings": dict, "channels": list, "dependencies": list}


class ManifestError(ValueError):
    """Claude Code would not load this plugin; the message says why."""


@frozen
class Manifest:
    """What is in `plugin.json`.

    Attributes:
        name: None where there is no file: the plugin is named after its directory.
        skills: Paths of directories that hold skills, or are one, beside `skills/`.
        agents: Paths of files in place of `agents/`; None means `agents/`.
        commands: Paths of files and directories in place of `commands/`; None means `commands/`.
        named_commands: Commands by name, each an object with `source` or `content`.
        dependencies: Names of plugins without which Claude Code does not load this one.
        fields: The whole object.
        notices: What its author may not have meant.
    """

    name: str | None = None
    skills: tuple[str, ...] = ()
    agents: tuple[str, ...] | None = None
    commands: tuple[str, ...] | None = None
    named_commands: Mapping[str, Mapping[str, Any]] = field(factory=dict)
    dependencies: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(factory=dict)
    notices: tuple[str, ...] = ()


def read_manifest(directory: Path) -> Manifest:
    """The manifest of the plugin in `directory`.

    Raises:
        ManifestError: Claude Code would refuse it.
    """
    path = directory / MANIFEST
    if not path.exists():
        return Manifest()
    if not path.is_file():
        raise ManifestError(
            f"{MANIFEST} is {'a directory, not a file' if path.is_dir() else 'no regular file'}"
        )
    twice: list[str] = []
    try:
        manifest = manifest_of(read_json(path, twice))
        notices = [f"plugin.json: {key} stands there twice, the last one counts" for key in twice]
        return evolve(manifest, notices=tuple(dict.fromkeys(notices)))
    except (OSError, ValueError) as error:
        raise ManifestError(f"{MANIFEST}: {error}") from error


def manifest_of(value: Any) -> Manifest:
    """A manifest from its JSON value.

    Raises:
        ManifestError: Claude Code would refuse it.
    """
    if not isinstance(value, dict):
        raise ManifestError("expected an object")
    name = value.get("name")
    if not isinstance(name, str) or not name:
        raise ManifestError(
            "`name` is missing" if name is None else "`name` must be a text that is not empty"
        )
    if re.search(r"[\s@:/\\]", name) or any(unicodedata.category(char) in ("Cc", "Cf") for char in name):
        raise ManifestError(f"`name` must not hold spaces, @, :, / or \\: {name!r}")
    if not isinstance(value.get("version", ""), str):
        raise ManifestError("`version` must be a text")
    for key, kind in _KINDS.items():
        if not isinstance(value.get(key, kind()), kind):
            raise ManifestError(f"`{key}` must be {'an object' if kind is dict else 'a list'}")
    if value.get("defaultEnabled") is False:
        raise ManifestError("`defaultEnabled` is false")
    _check_sources(value, "hooks")
    _check_sources(value, "mcpServers")
    _paths(value, "outputStyles")
    named = value.get("commands")
    return Manifest(
        name,
        _paths(value, "skills") or (),
        _paths(value, "agents", ending=".md"),
        () if isinstance(named, dict) else _paths(value, "commands"),
        _named_commands(named) if isinstance(named, dict) else {},
        _dependencies(value.get("dependencies", [])),
        value,
    )


def read_json(path: Path, twice: list[str] | None = None) -> Any:
    """A file's JSON value; of two equal keys the last wins, as in Claude Code.

    Args:
        twice: Is filled with such keys.

    Raises:
        OSError, ValueError: It cannot be read.
    """
    data = path.read_bytes().decode("utf-8", "replace").removeprefix("\ufeff")

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if twice is not None and len(value) != len(pairs):
            keys = [key for key, _ in pairs]
            twice.extend(key for key in value if keys.count(key) > 1)
        return value

    try:
        return json.loads(data, object_pairs_hook=members)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno} is not JSON: {error.msg}") from error
    except RecursionError as error:
        raise ValueError("too deeply nested") from error


def below(path: str) -> str | None:
    """A path that starts with `./` in its shortest form; None where it leaves its directory."""
    parts: list[str] = []
    for part in PurePosixPath(path).parts:
        if part == ".." and not parts:
            return None
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def hooks_of(directory: Path, manifest: Manifest) -> tuple[str, ...]:
    """The names of the events that the plugin has hooks for; `?` for a file that cannot be read."""
    found = [
        *_objects(directory, "hooks/hooks.json", None),
        *_objects(directory, None, manifest.fields.get("hooks")),
    ]
    return _names(found, "hooks")


def mcp_servers_of(directory: Path, manifest: Manifest) -> tuple[str, ...]:
    """The names of the plugin's MCP servers; `?` for a file that cannot be read."""
    declared = manifest.fields.get("mcpServers")
    found = [*_objects(directory, ".mcp.json", None), *_objects(directory, None, declared)]
    return _names(found, "mcpServers")


def _names(found: Iterable[Any], key: str) -> tuple[str, ...]:
    """The names in objects that may stand below `key`; `?` for what is no object."""
    inner = [value.get(key, value) if isinstance(value, dict) else None for value in found]
    return tuple(sorted({name for names in inner for name in (names if isinstance(names, dict) else "?")}))


def _objects(directory: Path, default: str | None, declared: Any) -> Iterator[Any]:
    """The objects that stand in the default file, in files that are named, or in the manifest itself."""
    for item in declared if isinstance(declared, list) else [declared if declared is not None else default]:
        if isinstance(item, str):
            path = directory / item
            if os.path.isfile(path):
                try:
                    yield read_json(path)
                except (OSError, ValueError):
                    yield None
        elif item is not None:
            yield item


def _paths(value: Mapping[str, Any], key: str, ending: str = "") -> tuple[str, ...] | None:
    if key not in value:
        return None
    given = value[key]
    paths = [given] if isinstance(given, str) else given
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise ManifestError(f"`{key}` must be a path or a list of paths")
    for path in paths:
        if not path.startswith("./") and path != ".":
            raise ManifestError(f"`{key}` must hold paths that start with ./: {path!r}")
        if not path.endswith(ending):
            raise ManifestError(f"`{key}` must hold paths of {ending} files: {path!r}")
    return tuple(paths)


def _check_sources(value: Mapping[str, Any], key: str) -> None:
    """Hooks and MCP servers: a path, an object, or a list of those."""
    given = value.get(key, {})
    for item in given if isinstance(given, list) else [given]:
        if isinstance(item, str) and not item.startswith("./") and "://" not in item:
            raise ManifestError(f"`{key}` must hold paths that start with ./: {item!r}")
        if not isinstance(item, str | dict):
            raise ManifestError(f"`{key}` must be a path, an object or a list of those")


def _named_commands(named: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    for name, command in named.items():
        if not isinstance(command, dict) or ("source" in command) is ("content" in command):
            raise ManifestError(f"`commands`: {name} must be an object with `source` or `content`")
        if not all(isinstance(text, str) for key, text in command.items() if key in _COMMAND_TEXTS):
            raise ManifestError(f"`commands`: {name}: `source`, `content` and `description` must be texts")
        if not command.get("source", "./").startswith("./"):
            raise ManifestError(f"`commands`: {name}: `source` must start with ./")
    return named


def _dependencies(given: list[Any]) -> tuple[str, ...]:
    found = []
    for item in given:
        name = item.get("name") if isinstance(item, dict) else item
        if not isinstance(name, str):
            raise ManifestError("`dependencies` must be a list of names")
        found.append(name.partition("@")[0])
    return tuple(found)
