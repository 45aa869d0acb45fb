"""Plugins for tests, written from Python values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillwalker.tree import Tree

STYLES = Path(__file__).parent / "data" / "frontmatter"


def file(description: str | None = "Cleans up", name: str | None = None, **fields: str) -> str:
    """A SKILL.md or an agent's file; values are YAML as written."""
    given = {"name": name, "description": description, **fields}
    lines = [f"{key}: {value}\n" for key, value in given.items() if value is not None]
    return "---\n" + "".join(lines) + "---\n\nBody.\n"


def plugin(
    root: Path, directory: str, files: Mapping[str, str | bytes], manifest: Mapping[str, Any] | None = None
) -> Path:
    """Writes a plugin with these files; without `manifest` it has no `plugin.json`."""
    found = root / directory
    found.mkdir(parents=True, exist_ok=True)
    if manifest is not None:
        files = {**files, ".claude-plugin/plugin.json": json.dumps(manifest)}
    for path, content in files.items():
        target = found / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return found


def content(tree: Tree) -> dict[str, str]:
    """The text of every file of a tree by its path."""
    return {entry.path: tree.read(entry.path).decode() for entry in tree.entries if entry.kind == "file"}


def odd_plugins(root: Path) -> tuple[str, ...]:
    """Plugins whose layout or names are unusual, all of which Claude Code loads: the `plugins` for them."""
    one = {"skills/one/SKILL.md": file("One")}
    plugin(root, "hacker agent", {**one, "agents/a.md": file("Agent a")})
    plugin(root, ".claude", {**one, "agents/b.md": file("Agent b"), "commands/c.md": file("Command c")})
    plugin(root, "ünï", one)
    plugin(root, "elsewhere/directory", one, {"name": "named-otherwise"})
    plugin(
        root,
        "names",
        {
            f"skills/{name}/SKILL.md": file(f"Skill number {number}")
            for number, name in enumerate(("Dir With Space", "a.b", "UPPER", "$(x)", "装修", "_"))
        },
        {"name": "names"},
    )
    plugin(
        root,
        "aliases",
        {
            "skills/a/SKILL.md": file("Named as its neighbour", "b"),
            "skills/b/SKILL.md": file("The neighbour"),
            "skills/c/SKILL.md": file("With a prefix", "aliases:other"),
            "skills/d/SKILL.md": file("With a slash", "x/y"),
        },
        {"name": "aliases"},
    )
    plugin(
        root,
        "custom",
        {
            "skills/zero/SKILL.md": file("Beside the declared ones"),
            "more/one/SKILL.md": file("In a declared directory"),
            "single/SKILL.md": file("Declared by itself", "by name"),
            "plain/two/SKILL.md": file("Declared by itself, without a name"),
            "helpers/x.md": file("Declared agent"),
            "agents/hidden.md": file("Not declared"),
            "cmd/c.md": file("Declared command"),
            "cmd/deep/d.md": file("Deeper command"),
            "commands/hidden.md": file("Not declared"),
        },
        {
            "name": "custom",
            "skills": ["./more", "./single", "./plain/two/"],
            "agents": "./helpers/x.md",
            "commands": ["./cmd"],
        },
    )
    plugin(
        root,
        "inline",
        {"c.md": file("Of the file", "alias-of-a"), "d.md": file("Of the file", "alias-of-b")},
        {
            "name": "inline",
            "commands": {
                "a": {"source": "./c.md"},
                "b": {"source": "./d.md", "description": "Of the manifest"},
                "c d": {"content": "Do it", "description": "Inline <b>"},
            },
        },
    )
    plugin(root, "root-named", {"SKILL.md": file("At the root", "the name")}, {"name": "root-named"})
    plugin(root, "root-number", {"SKILL.md": file("At the root", "12")}, {"name": "root-number"})
    plugin(root, "root-unnamed", {"SKILL.md": file("At the root")})
    plugin(root, "root-and-more", {"SKILL.md": file("Hidden"), **one}, {"name": "root-and-more"})
    plugin(
        root,
        "nested",
        {
            "agents/sub/x.md": file("In a directory", "given"),
            "agents/sub/deep/y.md": file("Deeper"),
            "agents/a b.md": file("With a space"),
            "agents/README.md": "# Agents\n",
            "agents/tools.md": file("With tools", tools="Read, Bash"),
            "agents/notes.txt": "none",
            "commands/sub/x.md": file("Command"),
            "commands/whole/SKILL.md": file("A skill among commands"),
            "commands/whole/rest.md": file("Hidden by it"),
            "skills/cat/deep/SKILL.md": file("Too deep"),
            "skills/lower/skill.md": file("Wrong case"),
            "skills/loose.md": file("No directory"),
        },
        {"name": "nested"},
    )
    plugin(
        root,
        "market",
        {
            ".claude-plugin/marketplace.json": json.dumps(
                {
                    "name": "market",
                    "owner": {"name": "nobody"},
                    "metadata": {"pluginRoot": "./packs"},
                    "plugins": [
                        {"name": "left", "source": "./", "strict": False, "skills": ["./skills/one"]},
                        {"name": "right", "source": "./", "strict": False, "skills": ["skills/two"]},
                        {"name": "pack", "source": "pack"},
                        {"name": "own", "source": "./packs/own"},
                        {"name": "far", "source": {"source": "github", "repo": "a/b"}},
                    ],
                }
            ),
            "skills/one/SKILL.md": file("Left one"),
            "skills/two/SKILL.md": file("Right two"),
            "packs/pack/skills/three/SKILL.md": file("Packed"),
            "packs/own/.claude-plugin/plugin.json": '{"name": "own-name"}',
            "packs/own/skills/four/SKILL.md": file("Its own"),
        },
    )
    plugin(
        root,
        "folder",
        {"child/.claude-plugin/plugin.json": '{"name": "child"}', "child/skills/x/SKILL.md": file()},
    )
    return (
        "hacker agent",
        ".claude",
        "ünï",
        "elsewhere/directory",
        "names",
        "aliases",
        "custom",
        "inline",
        "root-named",
        "root-number",
        "root-unnamed",
        "root-and-more",
        "nested",
        "market",
        "folder",
    )
