"""What a plugin's `plugin.json` and hooks say that Claude Code cannot load: no trial is healthy then.

Source: the `plugin_errors` of Claude Code 2.1.332. Of files of MCP and LSP servers it says nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from skillwalker.jsonfile import child, locate
from skillwalker.manifest import (
    MANIFEST,
    Manifest,
    UnreadableError,
    as_items,
    at,
    below,
    placed,
    read_json,
    text_of_json,
)
from skillwalker.text import safe

HOOKS = "hooks/hooks.json"

_PATHS = ("skills", "agents", "commands", "hooks", "outputStyles", "monitors", "themes")
_SILENT = ("mcpServers", "lspServers")
_GUARDING = ("PreToolUse", "PermissionRequest")
"""Events whose hooks Claude Code insists on; it leaves out others that it does not understand."""


@frozen
class Fault:
    """One thing that is wrong.

    Attributes:
        place: File in the plugin, with its line where that is known.
        message: Begins with the JSON path.
        counts: Whether Claude Code reports it, so that every trial with the plugin is unmeasured.
    """

    place: str
    message: str
    counts: bool = True

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


def faults_of(directory: Path, manifest: Manifest, *, own_file: bool = True) -> tuple[Fault, ...]:
    """What is wrong with what the plugin in `directory` names.

    Args:
        own_file: Whether the manifest is the plugin's `plugin.json`, so that it has lines.
    """
    found = [
        (path, f"{path}: {message}", key not in _SILENT)
        for key, path, written in _written(manifest.fields)
        if "://" not in written and (message := _fault(directory, key, written))
    ]
    for path, inline in placed(manifest.fields, "hooks"):
        if isinstance(inline, dict):
            found += [(path, wrong, True) for wrong in _wrong_events(inline.get("hooks", inline))]
    file = directory / MANIFEST
    text = text_of_json(file) if found and own_file and file.is_file() else None
    told = (
        Fault(at(MANIFEST, None if text is None else locate(text, path)), message, counts)
        for path, message, counts in found
    )
    return (*told, *_faults_of_hook_files(directory, manifest))


def _fault(directory: Path, key: str, written: str) -> str | None:
    inside = below(written)
    if inside is None:
        return f"{safe(written)} leaves the plugin; name what lies in it, or take it out"
    path = directory / inside
    if not os.path.exists(path):  # no error, whatever the name
        return f"{safe(written)} does not exist; write it, or take it out"
    if key == "skills" and path.is_file():
        return f"{safe(written)} is a file; name its directory"
    return None


def _written(fields: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Each path that stands there, after what it is a path of and its JSON path."""
    for key in (*_PATHS, *_SILENT):
        yield from ((key, path, one) for path, one in placed(fields, key) if isinstance(one, str))
    experimental = fields.get("experimental")
    if isinstance(experimental, dict):
        for key in ("monitors", "themes"):
            items = placed(experimental, key)
            yield from ((key, f"experimental.{path}", one) for path, one in items if isinstance(one, str))
    commands = fields.get("commands")
    for name, command in commands.items() if isinstance(commands, dict) else ():
        if "source" in command:
            yield "commands", child("commands", name, "source"), command["source"]


def _faults_of_hook_files(directory: Path, manifest: Manifest) -> Iterator[Fault]:
    declared = (below(item) for item in as_items(manifest.fields.get("hooks")) if isinstance(item, str))
    for inside in dict.fromkeys((HOOKS, *declared)):
        if inside is None or not os.path.exists(directory / inside):
            continue
        try:
            value = read_json(directory / inside)
        except UnreadableError as error:
            yield Fault(at(inside, error.line), str(error))
        except OSError as error:
            yield Fault(inside, f"it cannot be read: {error.strerror}")
        else:
            yield from (Fault(inside, wrong) for wrong in _wrong_hooks(value))


def _wrong_hooks(value: Any) -> list[str]:
    if not isinstance(value, dict) or "hooks" not in value:
        return [] if isinstance(value, dict) and value.get("modules") else ["expected an object with `hooks`"]
    return _wrong_events(value["hooks"])


def _wrong_events(hooks: Any) -> list[str]:
    if not isinstance(hooks, dict):
        return ["hooks: expected an object of events"]
    return [
        f"hooks.{event}: expected a list of objects, each with a list `hooks`"
        for event in _GUARDING
        if not _is_understood(hooks.get(event, []))
    ]


def _is_understood(matchers: Any) -> bool:
    return isinstance(matchers, list) and all(
        isinstance(one, dict) and isinstance(one.get("hooks"), list) for one in matchers
    )
