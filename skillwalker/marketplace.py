"""A marketplace's root, resolved to the plugins that lie in it.

Claude Code takes a marketplace's root for one plugin and ignores its `marketplace.json`; what its author
means are the plugins that are listed there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import field, frozen

from skillwalker.manifest import (
    MANIFEST,
    Manifest,
    ManifestError,
    as_items,
    at,
    below,
    manifest_of,
    read_json,
    read_manifest,
)

MARKETPLACE = ".claude-plugin/marketplace.json"

_COMPONENTS = ("skills", "agents", "commands", "hooks", "mcpServers")


@frozen
class Listed:
    """One plugin of a marketplace.

    Attributes:
        own_manifest: The manifest is the marketplace's, not a file of the plugin.
        only_listed_skills: The marketplace names the plugin's skills, so `skills/` as a whole does not count.
    """

    name: str
    directory: Path
    manifest: Manifest
    own_manifest: bool = False
    only_listed_skills: bool = False


@frozen
class Marketplace:
    """What a `marketplace.json` lists, with what cannot be used of it."""

    plugins: tuple[Listed, ...] = ()
    problems: tuple[str, ...] = ()
    notices: tuple[str, ...] = field(default=())


def is_marketplace(directory: Path) -> bool:
    """Whether a directory is a marketplace's root and no plugin itself."""
    return os.path.isfile(directory / MARKETPLACE) and not os.path.isfile(directory / MANIFEST)


def read_marketplace(directory: Path) -> Marketplace:
    """The plugins that the marketplace in `directory` lists and that lie below it; never raises."""
    try:
        value = read_json(directory / MARKETPLACE)
    except (OSError, ValueError) as error:
        return Marketplace(problems=(f"{at(MARKETPLACE, getattr(error, 'line', None))}: {error}",))
    entries = value.get("plugins") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        return Marketplace(problems=(f"{MARKETPLACE}: expected an object with a list `plugins`",))
    metadata = value.get("metadata")
    base = metadata.get("pluginRoot") if isinstance(metadata, dict) else None
    plugins: list[Listed] = []
    problems: list[str] = []
    notices: list[str] = []
    for number, entry in enumerate(entries):
        where = f"{MARKETPLACE}: plugins[{number}]"
        if not isinstance(entry, dict) or not isinstance(name := entry.get("name"), str):
            problems.append(f"{where}: expected an object with a `name`")
            continue
        source = entry.get("source")
        if not isinstance(source, str) or "://" in source:
            notices.append(f"{where}: {name} is fetched from elsewhere, so it is left out")
            continue
        found = next((path for path in _places(directory, source, base) if os.path.isdir(path)), None)
        if found is None:
            problems.append(f"{where}: {name}: there is no directory {source}")
            continue
        try:
            plugins.append(_listed(name, found, entry))
        except ManifestError as error:
            problems.append(f"{where}: {name}: {error}")
    if not plugins and not problems:
        problems.append(f"{MARKETPLACE} lists no plugin that lies here")
    return Marketplace(tuple(plugins), tuple(problems), tuple(notices))


def _places(directory: Path, source: str, base: Any) -> Iterator[Path]:
    for path in (source, f"{base}/{source}") if isinstance(base, str) else (source,):
        inside = below(path)
        if inside is not None and not path.startswith("/"):
            yield directory / inside


def _listed(name: str, directory: Path, entry: dict[str, Any]) -> Listed:
    manifest = read_manifest(directory)
    declared = {key: entry[key] for key in _COMPONENTS if key in entry}
    own = manifest.name is None or entry.get("strict") is False
    if not own and not declared:
        return Listed(name, directory, manifest)
    fields: dict[str, Any] = {"name": name} if own else dict(manifest.fields)
    for key, value in declared.items():
        fields[key] = [*as_items(fields[key]), *as_items(value)] if key in fields else value
    for key in ("skills", "agents", "commands"):
        if isinstance(fields.get(key), str | list):
            fields[key] = [_dotted(path) for path in as_items(fields[key])]
    return Listed(name, directory, manifest_of(fields), True, own and "skills" in declared)


def _dotted(path: Any) -> Any:
    """Marketplaces may leave out the `./` that `plugin.json` demands."""
    return path if not isinstance(path, str) or path.startswith((".", "/")) else f"./{path}"
