"""Skills and agents of a plugin as values, and the plugin directory they are read from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from skillwalker.manifest import Manifest, below

SKILL_FILE = "SKILL.md"


@frozen
class Source:
    """Where a skill or an agent stands in its plugin: enough to make a plugin with nothing else in it.

    Attributes:
        dirname: Name of the plugin's directory.
        place: Path of the file in that directory, POSIX; None: it stands in `plugin.json` itself.
        manifest: `plugin.json` for a plugin with nothing else; None: the plugin has none.
        name: The frontmatter's name, of whatever type; None: it has none.
        described: The description before it is made fit for the listing; None: it has none.
    """

    dirname: str
    place: str | None
    manifest: Mapping[str, Any] | None
    name: Any = None
    described: str | None = None


@frozen
class Skill:
    """A skill, or a command of the older kind, which the Skill tool runs as well.

    Attributes:
        id: `plugin:directory` as the model sees it.
        name: The frontmatter's name as text; None: it has none.
        aliases: What else the Skill tool takes for it.
        path: Its file.
        description: What the model is shown; None: the skill is not listed.
        model_may_call: False where the frontmatter forbids it (`disable-model-invocation`).
        problem: Why the skill is not listed; None: it is, or it is left out on purpose.
        line: The line of its file that is about, from 1; None: no one line.
    """

    id: str
    path: Path
    source: Source = field(repr=False)
    name: str | None = None
    aliases: tuple[str, ...] = ()
    description: str | None = None
    model_may_call: bool = True
    problem: str | None = None
    line: int | None = None


@frozen
class Agent:
    """An agent.

    Attributes:
        id: `plugin:name`, or `plugin:directory:name` for one in a directory below `agents/`.
        name: The frontmatter's name as text; None: it is named after its file.
        description: What the model is shown, in full.
        problem: Why Claude Code made up the description; None: it did not.
        line: The line of its file that is about, from 1; None: no one line.
    """

    id: str
    path: Path
    source: Source = field(repr=False)
    name: str | None = None
    description: str = ""
    problem: str | None = None
    line: int | None = None


@frozen
class Place:
    """A plugin directory being read.

    Attributes:
        prefix: What stands before the colon in its ids.
        default_skills: Whether `skills/` counts; a marketplace's own list of skills may replace it.
        notices: Filled while reading.
    """

    directory: Path
    prefix: str
    manifest: Manifest
    default_skills: bool = True
    notices: list[str] = field(factory=list)

    def source(self, place: str | None, name: Any, described: str | None, **declared: Any) -> Source:
        """Where something of this plugin stands, with what `plugin.json` must say so that it is found."""
        named = None if self.manifest.name is None else {"name": self.manifest.name, **declared}
        return Source(self.directory.name, place, named, name, described)

    def declared(self, path: str) -> Path | None:
        """A path that `plugin.json` names, if it leads somewhere."""
        inside = below(path)
        if inside is None or not os.path.exists(self.directory / inside):  # no error, whatever the name
            return None
        return self.directory / inside
