"""From the `plugins` of a `tests.json` to plugins, found as Claude Code finds them."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from attrs import evolve

from skillwalker.components import find_agents, find_skills, plain_id
from skillwalker.declarations import faults_of
from skillwalker.frontmatter import read_frontmatter
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
from skillwalker.marketplace import Listed, is_marketplace, read_marketplace
from skillwalker.parts import SKILL_FILE, Agent, Place, Skill
from skillwalker.plugin_set import Plugin, PluginSet, UnresolvedError
from skillwalker.text import did_you_mean, listed

__all__ = ["Agent", "Plugin", "PluginSet", "Skill", "UnresolvedError", "load_plugins"]

# No problem that stops a run: whether a plugin was loaded is for the Claude Code of the trials to say.
_REPORTED = "; Claude Code tells so in every trial, and none with this plugin is measured then"

_COMPONENTS = ("skills", "agents", "commands", "output-styles", "hooks", SKILL_FILE, ".mcp.json", ".lsp.json")


def load_plugins(root: Path, written: Sequence[str]) -> PluginSet:
    """The plugins in these directories relative to `root`; each is read once per process.

    Never raises for what is there: what Claude Code would not load is a problem.
    """
    return _load_all(root, tuple(written))


@functools.cache
def _load_all(root: Path, written: tuple[str, ...]) -> PluginSet:
    plugins: dict[tuple[Path, str], Plugin] = {}
    problems: list[tuple[int | None, str]] = []
    for index, path in enumerate(written):
        found, wrong = _load(root, path)
        problems += ((index, problem) for problem in wrong)
        for plugin in found:  # Claude Code loads a directory that is given twice once
            plugins.setdefault((plugin.directory, plugin.name), plugin)
    names = {plugin.name for plugin in plugins.values()}
    for plugin in plugins.values():
        if missing := [name for name in plugin.dependencies if name not in names]:
            index = written.index(plugin.written)
            problems.append((index, f"{plugin.name} depends on {listed(missing)}; add it to `plugins`"))
    return PluginSet(tuple(plugins.values()), tuple(problems))


@functools.cache
def _load(root: Path, written: str) -> tuple[tuple[Plugin, ...], tuple[str, ...]]:
    inside = below(written)
    if inside is None or os.path.isabs(written):
        return (), (f"{written} is not below the root; `plugins` are directories relative to it",)
    directory = root / inside if inside else root
    if not os.path.isdir(directory):
        what = "is no directory" if os.path.exists(directory) else "does not exist"
        return (), (f"the plugin directory {written} {what}{did_you_mean(written, _near_directories(root))}",)
    if not directory.resolve().is_relative_to(root.resolve()):
        return (), (f"{written} is a link that leaves the root",)
    try:
        return _loaded(directory, root, written)
    except OSError as error:
        return (), (f"{written}: {error.filename or directory} cannot be read: {error.strerror}",)


def _loaded(directory: Path, root: Path, written: str) -> tuple[tuple[Plugin, ...], tuple[str, ...]]:
    """Raises OSError for what cannot be read."""
    if is_marketplace(directory):
        market = read_marketplace(directory)
        found = [_plugin(entry.directory, root, written, entry) for entry in market.plugins]
        if found:
            found[0] = evolve(found[0], notices=(*market.notices, *found[0].notices))
        return tuple(found), tuple(f"{written}: {problem}" for problem in market.problems)
    try:
        return tuple(_plugin(one.directory, root, written, one) for one in _plugins_in(directory, root)), ()
    except ManifestError as error:
        return (), (f"{written}: Claude Code does not load this plugin: {error}",)


def _plugins_in(directory: Path, root: Path) -> Iterator[Listed]:
    """The plugin that `directory` is, or those that lie in it.

    Raises:
        ManifestError: Claude Code would load none, or not all.
    """
    if (directory / MANIFEST).exists() or any((directory / name).exists() for name in _COMPONENTS):
        yield _named(directory, root)
        return
    children = sorted(child for child in directory.iterdir() if (child / MANIFEST).is_file())
    if not children:
        raise ManifestError("it has no skills, agents, commands, hooks or MCP servers")
    for child in children:
        yield Listed("", child, read_manifest(child))


def _named(directory: Path, root: Path) -> Listed:
    """The plugin with its manifest; a bare skill in the root gets one.

    Its name would be that of the directory, which is not part of a repository: it is another one in every
    checkout, and every `plugin:skill` with it.
    """
    manifest = read_manifest(directory)
    file = directory / SKILL_FILE
    if directory != root or manifest.name is not None or not file.is_file():
        return Listed("", directory, manifest)
    name = read_frontmatter(file.read_bytes()).fields.get("name")
    own = plain_id(name.strip()) if isinstance(name, str) else ""
    return Listed("", directory, manifest_of({"name": own}), True) if own else Listed("", directory, manifest)


def _plugin(directory: Path, root: Path, written: str, listing: Listed) -> Plugin:
    manifest = listing.manifest
    place = Place(directory, manifest.name or directory.name, manifest, not listing.only_listed_skills)
    place.notices.extend(manifest.notices)
    faults = faults_of(directory, manifest, own_file=not listing.own_manifest)
    inside = os.path.relpath(directory, root / written)  # `written` may hold several plugins
    place.notices.extend(
        f"{'' if inside == '.' else f'{inside}/'}{fault}{_REPORTED if fault.counts else ''}"
        for fault in faults
    )
    skills, agents = find_skills(place), find_agents(place)
    return Plugin(
        name=place.prefix,
        directory=directory,
        root=root,
        written=written,
        skills=skills,
        agents=agents,
        hooks=hooks_of(directory, manifest),
        mcp_servers=mcp_servers_of(directory, manifest),
        dependencies=manifest.dependencies,
        notices=tuple(place.notices),
        generated={MANIFEST: json.dumps(manifest.fields, indent=2).encode()} if listing.own_manifest else {},
        hidden=_unlisted_skills(directory, manifest, skills) if listing.only_listed_skills else frozenset(),
    )


def _unlisted_skills(directory: Path, manifest: Manifest, skills: Iterable[Skill]) -> frozenset[str]:
    """Directories below `skills/` that Claude Code would load, though the marketplace does not list them."""
    if not (directory / "skills").is_dir():
        return frozenset()
    kept = {skill.path.parent for skill in skills}
    return frozenset(
        f"skills/{child.name}"
        for child in (directory / "skills").iterdir()
        if (child / SKILL_FILE).is_file() and child not in kept
    )


def _near_directories(root: Path) -> list[str]:
    """Directories that may have been meant: those with something of a plugin in them."""
    found: list[str] = []
    for depth in ("*", "*/*"):
        for directory in root.glob(depth):
            if any(
                (directory / name).exists() for name in (".claude-plugin", "skills", "agents", SKILL_FILE)
            ):
                found.append(directory.relative_to(root).as_posix())
    return found
