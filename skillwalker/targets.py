"""What an eval is to be about: the plugins below a directory, and the skill or agent that is meant."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import frozen

from skillwalker.errors import ConfigurationError
from skillwalker.manifest import MANIFEST
from skillwalker.marketplace import is_marketplace
from skillwalker.parts import SKILL_FILE, Agent, Skill
from skillwalker.plugins import Plugin, load_plugins
from skillwalker.text import did_you_mean, listed

CLAUDE = ".claude"
_COMPONENTS = ("skills", "agents", "commands")
_DEPTH = 4
_PASSED_OVER = frozenset(("evals", "node_modules", "__pycache__", "tests", "venv", "dist", "build"))
_MOST = 20  # names in a message


@frozen
class Target:
    """A skill or an agent, and where it lies.

    Attributes:
        written: The plugin as `plugins` of a `tests.json` names it.
        needs: Plugins without which it is not loaded, written likewise.
    """

    root: Path
    written: str
    plugin: Plugin
    part: Skill | Agent
    needs: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """`skill` or `agent`."""
        return "skill" if isinstance(self.part, Skill) else "agent"

    @property
    def tail(self) -> str:
        """Its id without the plugin."""
        return self.part.id.partition(":")[2]


def root_for(start: Path) -> Path:
    """The directory that should hold `evals/`: the repository, else the nearest with a plugin in it.

    For a directory below which there is no eval yet.
    """
    here = Path(os.path.abspath(start))
    above = (here, *here.parents)
    for marks in ((".git",), (".claude-plugin/marketplace.json",), (MANIFEST, CLAUDE, SKILL_FILE)):
        for directory in above:
            if directory != Path.home() and any(os.path.exists(directory / mark) for mark in marks):
                return directory
    return here


def find_targets(root: Path) -> tuple[Target, ...]:
    """Every skill and agent of the plugins below `root`, the nearest plugins first."""
    found: dict[tuple[str, str], Target] = {}
    paths = list(_plugins_below(root))
    owners = {plugin.name: path for path in paths for plugin in load_plugins(root, [path]).plugins}
    for path in paths:
        for plugin in load_plugins(root, [path]).plugins:
            needs = tuple(owners[name] for name in plugin.dependencies if owners.get(name, path) != path)
            parts: tuple[Skill | Agent, ...] = (*plugin.skills, *plugin.agents)
            for part in parts:
                kind = "skill" if isinstance(part, Skill) else "agent"
                found.setdefault((kind, str(part.path)), Target(root, path, plugin, part, needs))
    return tuple(found.values())


def broken_plugins(root: Path) -> tuple[str, ...]:
    """Why plugins below `root` cannot be loaded, a sentence each."""
    paths = list(_plugins_below(root))
    found = (problem for path in paths for _, problem in load_plugins(root, [path]).problems)
    return tuple(problem for problem in dict.fromkeys(found) if " depends on " not in problem)


def unreadable(root: Path) -> tuple[str, ...]:
    """Directories below `root` that cannot be looked into, and may hold what is missed, a sentence each."""
    found: list[str] = []
    pending = [(root, 1)]
    while pending:
        directory, depth = pending.pop()
        for path in (*_below(directory), directory / CLAUDE):
            if os.path.isdir(path) and not os.access(path, os.R_OK | os.X_OK):
                found.append(f"{path.relative_to(root).as_posix()}/ cannot be read: no plugin in it is known")
            elif depth < _DEPTH and path.name != CLAUDE:
                pending.append((path, depth + 1))
    return tuple(sorted(found))


def choose(targets: Sequence[Target], named: str, kind: str | None = None) -> Target:
    """The one that `plugin:name`, a name alone, or the path of its file means.

    Args:
        kind: `skill` or `agent`; None: either.

    Raises:
        ConfigurationError: none or several do; names what there is.
    """
    of_kind = [target for target in targets if kind in (None, target.kind)]
    matches = [target for target in of_kind if _answers(target, named)] or _at(of_kind, named)
    if len(matches) > 1:
        exact = [target for target in matches if target.part.id == named]
        matches = exact or matches
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise ConfigurationError([_several(named, matches)])
    what = kind or "skill or agent"
    if other := [one for one in targets if kind and _answers(one, named)]:
        there = listed([described(one) for one in other], _MOST)
        raise ConfigurationError([f"there is no {what} {named}, but {there}"])
    ids = [target.part.id for target in of_kind]
    there = f"; there are {listed(ids, _MOST)}" if ids else f"; {NOTHING_HERE}"
    raise ConfigurationError([f"there is no {what} {named}{did_you_mean(named, ids)}{there}"])


def described(target: Target) -> str:
    """What it is and where, where its name alone does not tell."""
    return f"the {target.kind} {target.part.id} ({os.path.relpath(target.part.path, target.root)})"


def reference(target: Target, targets: Sequence[Target]) -> tuple[str, ...]:
    """What `choose` needs to find it and nothing else: its id, with its type, or the path of its file."""
    alike = [one for one in targets if one.part.id == target.part.id]
    if len(alike) == 1:
        return (target.part.id,)
    if [one.kind for one in alike].count(target.kind) == 1:
        return (target.part.id, "--type", target.kind)
    return (os.path.relpath(target.part.path),)


def _several(named: str, matches: Sequence[Target]) -> str:
    ways = listed([described(one) for one in matches], _MOST)
    if len({one.part.id for one in matches}) == len(matches):
        return f"{named} may be {ways}; name one of them in full"
    kinds = {one.kind for one in matches}
    if len(kinds) == len(matches):
        return f"{named} may be {ways}; say which with --type {' or --type '.join(sorted(kinds))}"
    if len({one.plugin.directory for one in matches}) < len(matches):
        return f"{named} may be {ways}; rename one"  # no test could tell them apart
    return f"{named} may be {ways}; give the path of its file in place of its name"


def _at(targets: Sequence[Target], named: str) -> list[Target]:
    """What lies at a path: a SKILL.md, its directory, or the file of an agent or a command."""
    path = Path(os.path.realpath(named))
    return [one for one in targets if path in {one.part.path.resolve(), *_directory(one)}]


def _directory(target: Target) -> tuple[Path, ...]:
    file = target.part.path.resolve()
    return (file.parent,) if file.name == SKILL_FILE else ()


NOTHING_HERE = (
    "no plugin was found: no .claude-plugin/plugin.json, .claude/skills, skills/ or SKILL.md here; call it "
    "in the directory of the plugin or skill"
)


def neighbours(target: Target, targets: Sequence[Target]) -> list[Target]:
    """The other skills and agents with a description, those of its own plugin first."""
    others = [
        one
        for one in targets
        if one.part.path != target.part.path and one.part.description and one.tail != target.tail
    ]
    return sorted(others, key=lambda one: one.plugin.directory != target.plugin.directory)


def _answers(target: Target, named: str) -> bool:
    prefix, colon, tail = named.partition(":")
    names = {target.tail, target.part.name}
    if isinstance(target.part, Skill):
        names |= {alias.rpartition(":")[2] for alias in target.part.aliases}
    if not colon:
        return named in names
    return prefix in target.plugin.answers_to and tail in names


def _plugins_below(root: Path) -> Iterator[str]:
    """Paths for `plugins`, relative to `root`: directories with a manifest, `.claude`, the root itself."""
    named = os.path.exists(root / MANIFEST)
    found = ["."] if named else []
    found += _directories(root, root, 1)
    if not named and (is_marketplace(root) or _is_plugin(root)):
        found.append(".")
    yield from found or _bare_skills(root, root, 1)


def _bare_skills(directory: Path, root: Path, depth: int) -> Iterator[str]:
    """Directories with a SKILL.md, where no plugin is: Claude Code makes a plugin of each."""
    for path in _below(directory):
        if os.path.isfile(path / SKILL_FILE):
            yield path.relative_to(root).as_posix()
        elif depth < _DEPTH:
            yield from _bare_skills(path, root, depth + 1)


def _directories(directory: Path, root: Path, depth: int) -> Iterator[str]:
    claude = directory / CLAUDE
    if os.path.isdir(claude) and not claude.is_symlink() and _is_plugin(claude):
        yield claude.relative_to(root).as_posix()
    for path in _below(directory):
        if os.path.isfile(path / MANIFEST):
            yield path.relative_to(root).as_posix()
        if depth < _DEPTH:
            yield from _directories(path, root, depth + 1)


def _below(directory: Path) -> list[Path]:
    """The directories in it that may hold a plugin, by name."""
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return []
    return [
        Path(entry.path)
        for entry in entries
        if entry.is_dir(follow_symlinks=False)
        and entry.name not in _PASSED_OVER
        and not entry.name.startswith(".")
    ]


def _is_plugin(directory: Path) -> bool:
    """Asked in a way that is no error for what is not ours to read."""
    return any(os.path.isdir(directory / name) for name in _COMPONENTS) or os.path.isfile(
        directory / SKILL_FILE
    )
