from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugin_files import STYLES, content, file, odd_plugins, plugin

from skillwalker.frontmatter import read_frontmatter
from skillwalker.isolate import one_agent_plugin, one_skill_plugin
from skillwalker.parts import Skill, Source
from skillwalker.plugins import load_plugins
from skillwalker.tree import Tree


def write(tree: Tree, directory: Path) -> None:
    for entry in tree.entries:
        if entry.kind == "file":
            target = directory / entry.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(tree.read(entry.path))


def test_only_name_and_description_remain(tmp_path: Path) -> None:
    others = {"allowed-tools": "Bash", "when_to_use": "Often", "model": "haiku"}
    original = file("Cleans up: all", "tidy", **others)
    plugin(tmp_path, "tools", {"skills/a/SKILL.md": original, "skills/a/x.sh": "", "agents/b.md": ""})
    name, tree = one_skill_plugin(load_plugins(tmp_path, ["tools"]).skill("tools:a"))
    assert name == "tools"
    [(path, text)] = content(tree).items()
    assert path == "skills/a/SKILL.md"
    front, body = text.removeprefix("---\n").split("\n---\n")
    assert front.splitlines() == ['name: "tidy"', 'description: "Cleans up: all \\u002d Often"']
    assert "nothing to do" in body


def test_a_plugin_keeps_its_name_and_nothing_else(tmp_path: Path) -> None:
    manifest = {"name": "own", "version": "1", "hooks": {"Stop": []}, "skills": ["./x/a", "./y"]}
    plugin(tmp_path, "tools", {"x/a/SKILL.md": file(), "y/b/SKILL.md": file()}, manifest)
    found = load_plugins(tmp_path, ["tools"])
    for tail, declared in (("a", ["./x/a"]), ("b", ["./y"])):
        files = content(one_skill_plugin(found.skill(f"own:{tail}"))[1])
        assert json.loads(files[".claude-plugin/plugin.json"]) == {"name": "own", "skills": declared}


def test_the_id_and_what_is_shown_stay_the_same(tmp_path: Path) -> None:
    """Read again by our own reader; `docker/test_listing.py` asks the real Claude Code."""
    written = odd_plugins(tmp_path)
    files = {f"skills/{path.stem}/SKILL.md": path.read_bytes() for path in STYLES.glob("*.md")}
    files |= {f"agents/{path.stem}.md": path.read_bytes() for path in STYLES.glob("*.md")}
    plugin(tmp_path, "styles", files)
    count = 0
    for original in load_plugins(tmp_path, [*written, "styles"]).plugins:
        for part in (*original.skills, *original.agents):
            name, tree = one_skill_plugin(part) if isinstance(part, Skill) else one_agent_plugin(part)
            write(tree, tmp_path / str(count) / name)
            [again] = load_plugins(tmp_path, [f"{count}/{name}"]).plugins
            [copy] = again.skills or again.agents
            assert (copy.id, copy.name, copy.description) == (part.id, part.name, part.description)
            count += 1
    assert count > 250


def test_a_space_at_the_end_is_shown_still(tmp_path: Path) -> None:
    text = "---\ndescription: Cleans up\nwhen_to_use: |\n  Often\n---\n"
    plugin(tmp_path, "p", {"skills/a/SKILL.md": text})
    skill = load_plugins(tmp_path, ["p"]).skill("p:a")
    assert skill.description == "Cleans up - Often "
    write(one_skill_plugin(skill)[1], tmp_path / "t/p")
    assert load_plugins(tmp_path, ["t/p"]).skill("p:a").description == "Cleans up - Often "


def test_an_agent_without_a_description_has_none_in_its_copy(tmp_path: Path) -> None:
    plugin(tmp_path, "p", {"agents/sub/a.md": "# Just text\n"})
    agent = load_plugins(tmp_path, ["p"]).agent("p:sub:a")
    assert agent.description == "Agent from p plugin"
    [(path, text)] = content(one_agent_plugin(agent)[1]).items()
    assert path == "agents/sub/a.md"
    assert text.startswith("---\n---\n")


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=80))
def test_any_text_survives_quoting(text: str) -> None:
    skill = Skill("p:a", Path("SKILL.md"), Source("p", "SKILL.md", None, text, text))
    [written] = content(one_skill_plugin(skill)[1]).values()
    fields = read_frontmatter(written.encode()).fields
    assert fields["name"] == text
    assert fields["description"][:-1] == text[:-1]
    assert written.isascii()


@pytest.mark.parametrize("text", ["---", "a --- b", "-\u2028-\n---\n", '"\\', "\x7f\0"])
def test_nothing_in_a_text_ends_the_frontmatter(text: str) -> None:
    skill = Skill("p:a", Path("SKILL.md"), Source("p", "SKILL.md", None, "n", text + "."))
    [written] = content(one_skill_plugin(skill)[1]).values()
    assert written.count("---") == 2
