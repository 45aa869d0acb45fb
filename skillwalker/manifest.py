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

from skillwalker.errors import ConfigurationError
from skillwalker.jsonfile import child, content_of, locate, parse

MANIFEST = ".claude-plugin/plugin.json"

_COMMAND_TEXTS = ("source", "content", "description")
_SERVER_FILES = (".json", ".mcpb", ".dxt")
_KINDS: Mapping[str, type] = {"userConfig": dict, "settings": dict, "channels": list, "dependencies": list}


class ManifestError(ValueError):
    """Claude Code would not load this plugin; the message says why.

    Attributes:
        path: The JSON path that it is about; empty where it is about the whole.
    """

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class UnreadableError(ValueError):
    """A file that is not JSON.

    Attributes:
        line: Counted from 1; None where it is about the whole.
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


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
    except ManifestError as error:
        line = locate(text_of_json(path), error.path) if error.path else None
        raise ManifestError(f"{at(MANIFEST, line)}: {error}") from error
    except UnreadableError as error:
        raise ManifestError(f"{at(MANIFEST, error.line)}: {error}") from error
    except OSError as error:
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
            "`name` is missing" if name is None else "`name` must be a text that is not empty", "name"
        )
    if re.search(r"[\s@:/\\]", name) or any(unicodedata.category(char) in ("Cc", "Cf") for char in name):
        raise ManifestError(f"`name` must not hold spaces, @, :, / or \\: {name!r}", "name")
    if not isinstance(value.get("version", ""), str):
        raise ManifestError("`version` must be a text", "version")
    for key, kind in _KINDS.items():
        if not isinstance(value.get(key, kind()), kind):
            raise ManifestError(f"`{key}` must be {'an object' if kind is dict else 'a list'}", key)
    if value.get("defaultEnabled") is False:
        raise ManifestError("`defaultEnabled` is false", "defaultEnabled")
    _check_sources(value, "hooks")
    _check_sources(value, "mcpServers")
    _check_sources(value, "lspServers")
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
        OSError: It cannot be read.
        UnreadableError: It is not JSON.
    """
    data = text_of_json(path)

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if twice is not None and len(value) != len(pairs):
            keys = [key for key, _ in pairs]
            twice.extend(key for key in value if keys.count(key) > 1)
        return value

    try:
        return json.loads(data, object_pairs_hook=members)
    except (ValueError, RecursionError) as error:
        try:
            parse(data)
        except ConfigurationError as told:
            raise UnreadableError(told.problems[0].message, told.problems[0].line) from None
        raise UnreadableError(f"is not JSON: {error}") from None  # only here there is so little stack left


def text_of_json(path: Path) -> str:
    """A file's text as Claude Code reads it.

    Raises:
        OSError: It cannot be read.
    """
    return content_of(path).decode("utf-8", "replace").removeprefix("\ufeff")


def at(file: str, line: int | None) -> str:
    """`file:line`, as far as that is known."""
    return file if line is None else f"{file}:{line}"


def as_items(value: Any) -> list[Any]:
    """What may stand alone or in a list."""
    return value if isinstance(value, list) else [value]


def placed(fields: Mapping[str, Any], key: str) -> list[tuple[str, Any]]:
    """What stands there alone or in a list, after its JSON path; None where there is nothing."""
    value = fields.get(key)
    if isinstance(value, list):
        return [(child(key, number), one) for number, one in enumerate(value)]
    return [(key, value)]


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
    for item in as_items(default if declared is None else declared):
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
    paths = as_items(value[key])
    if not all(isinstance(path, str) for path in paths):
        raise ManifestError(f"`{key}` must be a path or a list of paths", key)
    for place, path in placed(value, key):
        if not path.startswith("./") and path != ".":
            raise ManifestError(f"`{key}` must hold paths that start with ./: {path!r}", place)
        if not path.endswith(ending):
            raise ManifestError(
                f"`{key}` must hold paths of {ending} files: {path!r}; {_instead(key, path)}", place
            )
    return tuple(paths)


def _instead(key: str, path: str) -> str:
    """What to write in place of a directory."""
    if below(path) == key:
        return f"take `{key}` out, Claude Code reads {key}/ by itself"
    return "name each file"


def _check_sources(value: Mapping[str, Any], key: str) -> None:
    """Hooks and servers: a path, an object, or a list of those."""
    for place, item in placed({key: {}, **value}, key):
        if not isinstance(item, str | dict):
            raise ManifestError(f"`{key}` must be a path, an object or a list of those", place)
        if not isinstance(item, str) or (key == "mcpServers" and "://" in item):
            continue
        if not item.startswith("./"):
            raise ManifestError(f"`{key}` must hold paths that start with ./: {item!r}", place)
        if not item.endswith(_SERVER_FILES if key == "mcpServers" else ".json"):
            raise ManifestError(f"`{key}` must hold paths of .json files: {item!r}", place)


def _named_commands(named: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    for name, command in named.items():
        at_name = child("commands", name)
        if not isinstance(command, dict) or ("source" in command) is ("content" in command):
            raise ManifestError(f"`commands`: {name} must be an object with `source` or `content`", at_name)
        if not all(isinstance(text, str) for key, text in command.items() if key in _COMMAND_TEXTS):
            raise ManifestError(
                f"`commands`: {name}: `source`, `content` and `description` must be texts", at_name
            )
        if not command.get("source", "./").startswith("./"):
            raise ManifestError(f"`commands`: {name}: `source` must start with ./", at_name)
    return named


def _dependencies(given: list[Any]) -> tuple[str, ...]:
    found = []
    for item in given:
        name = item.get("name") if isinstance(item, dict) else item
        if not isinstance(name, str):
            raise ManifestError("`dependencies` must be a list of names", "dependencies")
        found.append(name.partition("@")[0])
    return tuple(found)
