"""Broken plugins: what Claude Code would not load is a problem or a notice, whatever the bytes."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from fuzzing import assert_placed, assert_told, broken, fuzzed, in_time, json_files, run_cli
from hypothesis import given
from hypothesis import strategies as st
from plugin_files import STYLES
from roots import an_eval, plugin, write

from skillwalker.frontmatter import Frontmatter, read_frontmatter
from skillwalker.isolate import one_agent_plugin, one_skill_plugin
from skillwalker.listing import shown_description
from skillwalker.parts import Skill
from skillwalker.plugins import load_plugins
from skillwalker.tree import Tree

FILES = tuple(path.read_bytes() for path in sorted(STYLES.glob("*.md")) if path.stat().st_size < 1000)
BOMB = b"---\nname: &a [x, x]\n" + b"".join(
    b"%c: &%c [*%c, *%c, *%c]\n" % (98 + n, 98 + n, 97 + n, 97 + n, 97 + n) for n in range(20)
)
ODD = (
    BOMB + b"description: *u\n---\n",
    BOMB.replace(b"&a", b"&z").replace(b"*a", b"*z").replace(b"name", b"q")
    + b"name: *u\ndescription: x\n---\n",
    b"---\ndescription: " + b"[" * 3000 + b"\n---\n",
    b"---\ndescription: {a: " + b"{a: " * 300 + b"}" * 301 + b"\n---\n",
    b"---\nname: x" + b" " * 5000 + b"y\ndescription: z\n---\n",
    b" " * 50_000 + b"x",
    b"---" + b"\n" * 50_000 + b"x",
    b"---\na: {\nb:" + b" " * 50_000 + b"x\ry\n---\n",
)
FENCED = st.binary(max_size=60).map(lambda inner: b"---\n" + inner + b"\n---\n")
TEXTS = st.sampled_from(FILES).flatmap(broken) | st.sampled_from(ODD) | FENCED
MANIFEST: dict[str, Any] = {
    "name": "acme",
    "version": "1.0.0",
    "skills": ["./skills", "./more"],
    "agents": "./agents/auditor.md",
    "commands": {"clean": {"source": "./commands/c.md", "description": "Cleans"}, "say": {"content": "Hi"}},
    "hooks": {"hooks": {"Stop": []}},
    "mcpServers": {"mcpServers": {"db": {"command": "db"}}},
    "dependencies": ["other@market", {"name": "acme"}],
    "outputStyles": "./styles",
    "userConfig": {},
}
MARKET: dict[str, Any] = {
    "name": "market",
    "metadata": {"pluginRoot": "./packs"},
    "plugins": [
        {"name": "left", "source": "./acme", "strict": False, "skills": ["skills/tidy"], "hooks": "./h.json"},
        {"name": "right", "source": "acme", "commands": "./commands", "mcpServers": {"a": {}}},
        {"name": "far", "source": {"source": "github", "repo": "a/b"}},
    ],
}
TESTS = [
    {"name": "one", "type": "skill-call", "skillFile": "acme:tidy", "expect": [{"skill-call": True}]},
    {"name": "two", "type": "agent-call", "agentFile": "acme:auditor", "expect": [{"agent-call": True}]},
]


def validated(root: Path) -> None:
    found = run_cli("--root", root, "validate", "--format", "json")
    assert_told(found, 0, 4)
    if found.code:
        assert_placed(json.loads(found.out)["problems"], root)


@fuzzed(60)
@given(TEXTS)
def test_no_bytes_are_too_much_for_the_frontmatter(data: bytes) -> None:
    with in_time():
        front = read_frontmatter(data)
        description = shown_description(front)
    assert front.problem is None or front.fields == {}
    assert description is None or description.encode("utf-16-le", "surrogatepass")
    assert isinstance(front, Frontmatter)


@fuzzed(25)
@given(data=TEXTS)
def test_a_temporary_plugin_shows_what_the_original_shows(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name, in_time():
        root = Path(name)
        for file in ("skills/a/SKILL.md", "agents/b.md", "commands/c.md"):
            write(root / "acme" / file, data)
        [found] = load_plugins(root, ["acme"]).plugins
        for part in (*found.skills, *found.agents):
            if part.problem:
                continue
            dirname, tree = one_skill_plugin(part) if isinstance(part, Skill) else one_agent_plugin(part)
            unpacked(tree, root / part.path.stem / dirname)
            [again] = load_plugins(root, [f"{part.path.stem}/{dirname}"]).plugins
            [copy] = again.skills or again.agents
            assert (copy.id, copy.description) == (part.id, part.description)


def unpacked(tree: Tree, directory: Path) -> None:
    for entry in tree.entries:
        if entry.kind == "file":
            write(directory / entry.path, tree.read(entry.path))


@fuzzed(20)
@given(data=TEXTS)
def test_a_broken_skill_is_explained(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        write(plugin(root) / "skills" / "tidy" / "SKILL.md", data)
        an_eval(root, TESTS)
        validated(root)


@fuzzed(30)
@given(data=json_files(MANIFEST))
def test_a_broken_plugin_json_is_explained(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        write(plugin(root) / ".claude-plugin" / "plugin.json", data)
        write(root / "acme" / "commands" / "c.md", "Clean\n")
        an_eval(root, TESTS)
        validated(root)


@fuzzed(30)
@given(data=json_files(MARKET))
def test_a_broken_marketplace_json_is_explained(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        plugin(root / "market")
        write(root / "market" / ".claude-plugin" / "marketplace.json", data)
        an_eval(root, TESTS, plugins=["market"])
        validated(root)
