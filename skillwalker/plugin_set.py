"""The plugins of an eval as values: what `plugin:skill` names, and what a sandbox and a transcript need."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeVar

from attrs import evolve, field, frozen

from skillwalker.errors import Problem
from skillwalker.manifest import MANIFEST
from skillwalker.names import Names
from skillwalker.parts import SKILL_FILE, Agent, Skill
from skillwalker.text import count, did_you_mean, listed, near, safe

if TYPE_CHECKING:
    from skillwalker.tree import Tree

Part = TypeVar("Part", Skill, Agent)

_MOST_TOLD = 10  # files of a kind in notices


class UnresolvedError(LookupError):
    """A `plugin:skill` or `plugin:agent` that names nothing or more than one thing; says so to its author."""


@frozen
class Plugin:
    """A plugin that Claude Code loads.

    Attributes:
        name: What stands before the colon in its ids: the name in `plugin.json`, else the directory's.
        directory: Absolute.
        written: As it stands in `plugins`; the plugins of a marketplace share it.
        hooks: Events that it has hooks for.
        mcp_servers: Names of its MCP servers.
        dependencies: Names of plugins without which Claude Code does not load it.
        notices: What Claude Code ignores of it, one sentence each.
        generated: Files that a marketplace stands for, by their path in the plugin.
        hidden: Paths in the plugin that its marketplace does not list.
    """

    name: str
    directory: Path
    root: Path = field(repr=False)
    written: str
    skills: tuple[Skill, ...] = field(repr=False)
    agents: tuple[Agent, ...] = field(repr=False)
    hooks: tuple[str, ...] = ()
    mcp_servers: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    generated: Mapping[str, bytes] = field(factory=dict, repr=False)
    hidden: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def is_unnamed(self) -> bool:
        """Whether it has no `plugin.json`, so that its directory gives the name."""
        return MANIFEST not in self.generated and not (self.directory / MANIFEST).exists()

    @property
    def answers_to(self) -> frozenset[str]:
        """What may stand before the colon of a reference to it."""
        return frozenset((self.name, self.directory.name))

    @property
    def shown(self) -> str:
        """Its directory as its author knows it."""
        inside = self.directory.relative_to(self.root).as_posix()
        return self.directory.name if inside == "." else inside

    @cached_property
    def tree(self) -> Tree:
        """What a sandbox gets of it.

        Raises:
            OSError: something in it cannot be read.
        """
        from skillwalker.giveaways import directory_gives_away, file_gives_away
        from skillwalker.tree import Tree, private_of

        tree = Tree.of_directory(
            self.directory,
            root=self.root,
            leave_out=self._is_hidden,
            private=private_of(self.root),
            withhold_file=partial(file_gives_away, directory=self.directory),
            withhold_directory=directory_gives_away,
        )
        if not self.generated:
            return tree
        entries = {
            entry.path: entry for tree in (tree, Tree.of_files(self.generated)) for entry in tree.entries
        }
        return evolve(tree, entries=tuple(sorted(entries.values(), key=lambda entry: entry.path.split("/"))))

    @property
    def withheld(self) -> tuple[str, ...]:
        """What is left out of it since it gives answers away, in one sentence; reads the whole tree."""
        try:
            found = self.tree.withheld
        except OSError:  # told where the tree is needed
            return ()
        told = [f"{path} ({what})" for path, what in found]
        why = "so that no trial sees what it is judged by"
        return (f"left out of the plugin, {why}: {listed(told, _MOST_TOLD)}",) if told else ()

    def _is_hidden(self, path: PurePosixPath) -> bool:
        return str(path) in self.hidden


@frozen
class PluginSet:
    """The plugins of one eval.

    Attributes:
        problems: Index into `plugins` (None: about all of it) and what is wrong.
    """

    plugins: tuple[Plugin, ...] = ()
    problems: tuple[tuple[int | None, str], ...] = ()

    def skill(self, reference: str) -> Skill:
        """The skill that `plugin:skill` names, by its id, its directory or its frontmatter's name.

        Raises:
            UnresolvedError: no skill or several.
        """
        prefix, tail = self._split(reference, "skill")
        plugin = self._plugin(prefix)
        by_id = [skill for skill in plugin.skills if skill.id == f"{plugin.name}:{tail}"]
        found = by_id or [skill for skill in plugin.skills if f"{plugin.name}:{tail}" in skill.aliases]
        return _only(found, plugin.skills, reference, plugin, "skill")

    def agent(self, reference: str) -> Agent:
        """The agent that `plugin:agent` names.

        Raises:
            UnresolvedError: no agent or several.
        """
        prefix, tail = self._split(reference, "agent")
        plugin = self._plugin(prefix)
        found = [agent for agent in plugin.agents if agent.id == f"{plugin.name}:{tail}"]
        return _only(found, plugin.agents, reference, plugin, "agent")

    @property
    def notices(self) -> tuple[str, ...]:
        """What Claude Code ignores of these plugins, each with the plugin's name or the file."""
        ignored = [f"{plugin.written}: {notice}" for plugin in self.plugins for notice in plugin.notices]
        flaws = [str(flaw) for _, flaw in self.undescribed]
        if more := flaws[_MOST_TOLD:]:
            files = count(len(more), "file")
            flaws[_MOST_TOLD:] = [f"{files} more without a description that Claude Code can read"]
        return (*ignored, *flaws)

    @cached_property
    def undescribed(self) -> tuple[tuple[Skill | Agent, Problem], ...]:
        """Skills and agents whose own description the model never sees, and why, with file and line."""
        found: list[tuple[Skill | Agent, Problem]] = []
        for plugin in self.plugins:
            parts: tuple[Skill | Agent, ...] = (*plugin.skills, *plugin.agents)
            for part in (one for one in parts if one.problem):
                listed_as = f"does not list {part.id}, so the model does not know of it"
                if isinstance(part, Agent):
                    listed_as = f"lists {part.id} as {part.description!r}, which says nothing of it"
                inside = part.path.is_relative_to(plugin.root)
                file = part.path.relative_to(plugin.root) if inside else part.path
                message = f"{part.problem}; Claude Code {listed_as}"
                found.append((part, Problem(message, file.as_posix(), part.line)))
        return tuple(found)

    @property
    def part_names(self) -> frozenset[str]:
        """Every `plugin:name` that an agent or a skill can be called by."""
        skills = [skill for plugin in self.plugins for skill in plugin.skills]
        agents = [agent.id for plugin in self.plugins for agent in plugin.agents]
        aliases = (alias for skill in skills for alias in skill.aliases if ":" in alias)
        return frozenset((*agents, *(skill.id for skill in skills), *aliases))

    @cached_property
    def names(self) -> Names:
        """The table by which a transcript knows these skills and agents."""
        owners: dict[str, dict[str, None]] = {}
        ids = {skill.id for plugin in self.plugins for skill in plugin.skills}
        directories: dict[str, str] = {}
        for skill in (skill for plugin in self.plugins for skill in plugin.skills):
            for alias in skill.aliases:
                if alias not in ids:
                    owners.setdefault(alias, {})[skill.id] = None
            if skill.path.name == SKILL_FILE and skill.source.place is not None:
                inside = PurePosixPath(skill.source.dirname, skill.source.place).parent
                directories[str(inside)] = skill.id
        agents = {agent.id: agent.id for plugin in self.plugins for agent in plugin.agents}
        bare: dict[str, dict[str, None]] = {}
        for skill in (skill for plugin in self.plugins for skill in plugin.skills):
            for name in {_tail(skill), skill.path.parent.name if skill.path.name == SKILL_FILE else ""}:
                if name and name not in owners:
                    bare.setdefault(name, {})[skill.id] = None
        bare_agents: dict[str, dict[str, None]] = {}
        for agent in (agent for plugin in self.plugins for agent in plugin.agents):
            bare_agents.setdefault(_tail(agent), {})[agent.id] = None
        skills = _of_one(owners)
        ambiguous = {alias: tuple(of) for alias, of in owners.items() if len(of) > 1}
        return Names(
            {**skills, **{name: name for name in ids}},
            agents,
            directories,
            ambiguous,
            _of_one(bare),
            _of_one(bare_agents),
        )

    def trees(self) -> tuple[tuple[str, Tree], ...]:
        """What a sandbox gets: for each plugin its directory's name and content.

        Raises:
            OSError: something in a plugin cannot be read.
        """
        return tuple((plugin.directory.name, plugin.tree) for plugin in self.plugins)

    def hint_for(self, name: str, kind: str) -> str:
        """What a `skill`'s or `agent`'s name alone may mean: to be appended to a message, or nothing."""
        having = (plugin for plugin in self.plugins if name in _tails(plugin, kind))
        full = " or ".join(safe(f"{plugin.name}:{name}") for plugin in having)
        return f" (did you mean {full}?)" if full else ""

    def _split(self, reference: str, kind: str) -> tuple[str, str]:
        prefix, colon, tail = reference.partition(":")
        if not (prefix and colon and tail):
            hint = self.hint_for(reference, kind)
            raise UnresolvedError(f"expected plugin:{kind}, got {reference!r}{hint}")
        return prefix, tail

    def _plugin(self, prefix: str) -> Plugin:
        owners = [plugin for plugin in self.plugins if prefix in plugin.answers_to]
        if len(owners) > 1:
            both = " and ".join(_shown(plugin) for plugin in owners)
            raise UnresolvedError(f"{prefix} is the name of two plugins, {both}; rename one")
        if not owners:
            options = sorted({name for plugin in self.plugins for name in plugin.answers_to})
            have = f"`plugins` has {listed(options)}" if options else "none of `plugins` could be loaded"
            unnamed = [plugin.directory.name for plugin in self.plugins if plugin.is_unnamed]
            why = f" ({listed(unnamed)}: no {MANIFEST}, so named after the directory)" if unnamed else ""
            raise UnresolvedError(f"no plugin {prefix} here; {have}{did_you_mean(prefix, options) or why}")
        return owners[0]


def _only(
    found: Sequence[Part], all_of_it: Sequence[Part], reference: str, plugin: Plugin, kind: str
) -> Part:
    if len(found) == 1:
        return found[0]
    if found:
        places = " and ".join(str(part.path.relative_to(plugin.root)) for part in found)
        raise UnresolvedError(f"{reference} is the name of two {kind}s, {places}; rename one")
    tails = [_tail(part) for part in all_of_it]
    have = f"it has {listed(tails)}" if tails else f"it has no {kind}s{_looked(plugin, kind)}"
    tail = reference.partition(":")[2]
    ignored = [notice for notice in plugin.notices if notice.startswith(f"{kind}s/{tail}/")]
    why = "".join(f"; {notice}" for notice in ignored)
    raise UnresolvedError(
        f"the plugin {_shown(plugin)} has no {kind} {tail}; {have}{did_you_mean(tail, tails)}{why}"
    )


def _tails(plugin: Plugin, kind: str) -> list[str]:
    """What names a skill or an agent of a plugin without it."""
    parts: tuple[Skill | Agent, ...] = plugin.skills if kind == "skill" else plugin.agents
    return [_tail(part) for part in parts]


def _looked(plugin: Plugin, kind: str) -> str:
    """Where Claude Code looks for them, and what lies there under a name that comes near."""
    where = "skills/*/SKILL.md" if kind == "skill" else "agents/**/*.md"
    try:
        there = [entry.name for entry in os.scandir(plugin.directory) if entry.is_dir()]
    except OSError:
        there = []
    others = [name for name in there if name != f"{kind}s"]
    meant = near(f"{kind}s", others, limit=1) if f"{kind}s" not in there else ()
    return f" (Claude Code looks for {where}{f'; is {safe(meant[0])}/ meant to be it?' if meant else ''})"


def _tail(part: Skill | Agent) -> str:
    """The id without the plugin."""
    return part.id.partition(":")[2]


def _of_one(owners: Mapping[str, Mapping[str, None]]) -> dict[str, str]:
    """The names that have one owner."""
    return {name: next(iter(of)) for name, of in owners.items() if len(of) == 1}


def _shown(plugin: Plugin) -> str:
    path = plugin.directory.relative_to(plugin.root).as_posix()
    return path if plugin.name == plugin.directory.name else f"{path} (named {plugin.name})"
