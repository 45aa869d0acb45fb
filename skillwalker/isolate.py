"""Temporary plugins with one skill or one agent: its name and its description, and nothing to do.

Everything by which Claude Code finds the original and makes its id stays as it is: the name of the plugin's
directory, the name in its `plugin.json`, and the file's place. So the model is shown the same line as for the
original.
"""

from __future__ import annotations

import json
from typing import Any

from skillwalker.frontmatter import strip
from skillwalker.manifest import MANIFEST
from skillwalker.parts import Agent, Skill, Source
from skillwalker.tree import Tree

_SKILL_BODY = "This skill has nothing to do. Answer with the single word: done. Use no tools.\n"
_AGENT_BODY = "You have nothing to do. Answer with the single word: done. Use no tools.\n"

_SPACE_KEPT = "\u200b"
"""Claude Code shows it as a space and does not cut it off, as it would a space that ends a description."""


def one_skill_plugin(skill: Skill) -> tuple[str, Tree]:
    """The directory's name and content of a plugin with nothing but `skill`.

    Where two skills of a plugin have the same frontmatter name, here it is shown for either; in the original
    for one of them only.
    """
    described = skill.source.described
    if described is not None and strip(described[-1]) == "":
        described = described[:-1] + _SPACE_KEPT
    return _plugin(skill.source, described, _SKILL_BODY)


def one_agent_plugin(agent: Agent) -> tuple[str, Tree]:
    """The directory's name and content of a plugin with nothing but `agent`; it may use all tools."""
    return _plugin(agent.source, agent.source.described, _AGENT_BODY)


def _plugin(source: Source, described: str | None, body: str) -> tuple[str, Tree]:
    fields = {"name": source.name, "description": described}
    lines = [f"{key}: {_yaml(value)}\n" for key, value in fields.items() if value is not None]
    text = "".join(("---\n", *lines, "---\n\n", body))
    files: dict[str, bytes] = {}
    manifest = source.manifest
    if source.place is not None:
        files[source.place] = text.encode("utf-8", "replace")
    elif manifest is not None:
        manifest = {**manifest, "commands": {name: {"content": text} for name in manifest["commands"]}}
    if manifest is not None:
        files[MANIFEST] = json.dumps(manifest, indent=2).encode()
    return source.dirname, Tree.of_files(files)


def _yaml(value: Any) -> str:
    """A value as YAML in ASCII, texts in double quotes, which Claude Code reads as `value`.

    A dash in a text is written as an escape, since three of them would close the frontmatter, even in quotes.
    """
    if not isinstance(value, str):
        return json.dumps(value)
    return json.dumps(value).replace("-", "\\u002d").replace("\x7f", "\\u007f")
