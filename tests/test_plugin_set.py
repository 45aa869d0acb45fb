from __future__ import annotations

from pathlib import Path

import pytest
from plugin_files import content, file, plugin

from skillwalker.plugins import PluginSet, UnresolvedError, load_plugins


@pytest.fixture
def found(tmp_path: Path) -> PluginSet:
    plugin(
        tmp_path,
        "plugins/toolbox",
        {
            "skills/tidy-csv/SKILL.md": file(name="tidy"),
            "skills/Two Words/SKILL.md": file(),
            "skills/left/SKILL.md": file(name="same"),
            "skills/right/SKILL.md": file(name="same"),
            "agents/sub/checker.md": file(),
        },
        {"name": "tools"},
    )
    plugin(tmp_path, "other", {"skills/tidy-csv/SKILL.md": file(name="tidy")})
    return load_plugins(tmp_path, ["plugins/toolbox", "other"])


@pytest.mark.parametrize(
    "reference",
    ["tools:tidy-csv", "toolbox:tidy-csv", "tools:tidy", "toolbox:tidy"],
)
def test_a_skill_answers_to_its_names(found: PluginSet, reference: str) -> None:
    assert found.skill(reference).id == "tools:tidy-csv"


def test_a_skill_answers_to_its_directory_as_written(found: PluginSet) -> None:
    assert found.skill("tools:Two Words") is found.skill("tools:Two-Words")


def test_references_are_split_at_the_first_colon(found: PluginSet) -> None:
    assert found.agent("toolbox:sub:checker").id == "tools:sub:checker"


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (
            "tidy-csv",
            "expected plugin:skill, got 'tidy-csv' (did you mean tools:tidy-csv or other:tidy-csv?)",
        ),
        (":x", "expected plugin:skill"),
        ("tools:", "expected plugin:skill"),
        ("tool:tidy-csv", "no plugin tool here; `plugins` has other, toolbox, tools (did you mean tools?)"),
        (
            "tools:tidy-cvs",
            "the plugin plugins/toolbox (named tools) has no skill tidy-cvs; "
            "it has Two-Words, left, right, tidy-csv (did you mean tidy-csv?)",
        ),
        ("tools:Tidy-CSV", "has no skill Tidy-CSV"),
        (
            "tools:same",
            "tools:same is the name of two skills, plugins/toolbox/skills/left/SKILL.md and "
            "plugins/toolbox/skills/right/SKILL.md; rename one",
        ),
    ],
)
def test_what_cannot_be_found_is_explained(found: PluginSet, reference: str, message: str) -> None:
    with pytest.raises(UnresolvedError) as caught:
        found.skill(reference)
    assert message in str(caught.value)


def test_a_plugin_without_manifest_is_said_to_have_its_directorys_name(found: PluginSet) -> None:
    with pytest.raises(UnresolvedError) as caught:
        found.skill("relnotes:write")
    have = "`plugins` has other, toolbox, tools"
    why = "other: no .claude-plugin/plugin.json, so named after the directory"
    assert str(caught.value) == f"no plugin relnotes here; {have} ({why})"


def test_a_skill_file_in_small_letters_is_named(tmp_path: Path) -> None:
    plugin(tmp_path, "acme", {"skills/x/skill.md": file(), "skills/y/SKILL.md": file(), "skills/z/a.md": "a"})
    found = load_plugins(tmp_path, ["acme"])
    notice = "skills/x/skill.md: Claude Code reads SKILL.md only"
    assert found.notices == (f"acme: {notice}",)
    with pytest.raises(UnresolvedError) as caught:
        found.skill("acme:x")
    assert str(caught.value) == f"the plugin acme has no skill x; it has y; {notice}"


def test_an_agent_that_is_not_there_is_explained(found: PluginSet) -> None:
    with pytest.raises(UnresolvedError) as caught:
        found.agent("other:checker")
    assert (
        str(caught.value)
        == "the plugin other has no agent checker; it has no agents (Claude Code looks for agents/**/*.md)"
    )


def test_nothing_loaded_is_said(tmp_path: Path) -> None:
    with pytest.raises(UnresolvedError, match="none of `plugins` could be loaded"):
        load_plugins(tmp_path, ["gone"]).skill("gone:x")


def test_two_owners_of_a_plugin_name_are_both_named(tmp_path: Path) -> None:
    plugin(tmp_path, "a/tools", {"skills/x/SKILL.md": file()})
    plugin(tmp_path, "b", {"skills/y/SKILL.md": file()}, {"name": "tools"})
    found = load_plugins(tmp_path, ["a/tools", "b"])
    with pytest.raises(UnresolvedError) as caught:
        found.skill("tools:x")
    assert str(caught.value) == "tools is the name of two plugins, a/tools and b (named tools); rename one"
    assert found.skill("b:y").id == "tools:y"


def test_two_directories_with_one_id_are_both_named(tmp_path: Path) -> None:
    plugin(tmp_path, "p", {"skills/装修/SKILL.md": file(), "skills/合同/SKILL.md": file()})
    with pytest.raises(UnresolvedError) as caught:
        load_plugins(tmp_path, ["p"]).skill("p:--")
    assert "p/skills/装修/SKILL.md" in str(caught.value)
    assert "p/skills/合同/SKILL.md" in str(caught.value)


def test_names_lead_to_one_id_or_to_none(found: PluginSet) -> None:
    names = found.names
    assert names.skill("tools:tidy") == names.skill("/tools:tidy-csv") == "tools:tidy-csv"
    assert names.skill("other:tidy") == "other:tidy-csv"
    assert names.skill("same") == "same"
    assert names.ambiguous == {
        "tidy": ("tools:tidy-csv", "other:tidy-csv"),
        "same": ("tools:left", "tools:right"),
        "tools:same": ("tools:left", "tools:right"),
    }
    assert names.skill_in("/plugins/0/toolbox/skills/Two Words") == "tools:Two-Words"
    assert names.agent("tools:sub:checker") == "tools:sub:checker"


def test_what_claude_code_refuses_is_known_where_it_has_one_owner(tmp_path: Path) -> None:
    files = {
        "skills/tidy/SKILL.md": file(name="other"),
        "skills/Two Words/SKILL.md": file(name="third"),
        "skills/both/SKILL.md": file(name="x"),
        "skills/y/SKILL.md": file(name="both"),
        "agents/ok.md": file(),
        "agents/twice.md": file(),
    }
    plugin(tmp_path, "rt", files)
    plugin(tmp_path, "q", {"skills/y/SKILL.md": file(name="z"), "agents/twice.md": file()})
    names = load_plugins(tmp_path, ["rt", "q"]).names
    assert names.unknown_skills == {
        "tidy": "rt:tidy",
        "Two-Words": "rt:Two-Words",
        "Two Words": "rt:Two-Words",
    }
    assert names.unknown_agents == {"ok": "rt:ok"}
    assert names.skill("tidy") == "tidy"
    assert names.skill("both") == "rt:y"


def test_an_alias_never_hides_an_id(tmp_path: Path) -> None:
    plugin(tmp_path, "p", {"skills/a/SKILL.md": file(name="b"), "skills/b/SKILL.md": file(name="a")})
    found = load_plugins(tmp_path, ["p"])
    assert found.names.skill("p:a") == "p:a"
    assert found.names.skill("a") == "p:b"
    assert found.skill("p:a").path.parent.name == "a"


def test_a_sandbox_gets_the_plugin_and_no_evals(tmp_path: Path) -> None:
    plugin(
        tmp_path,
        "repo",
        {
            "skills/a/SKILL.md": file(),
            "scripts/x.sh": "echo\n",
            "evals/one/tests.json": "{}",
            "evals/one/prompts/p.md": "secret",
            ".git/config": "",
            ".skillwalker/runs/x": "",
        },
    )
    [(name, tree)] = load_plugins(tmp_path / "repo", ["."]).trees()
    assert name == "repo"
    assert set(content(tree)) == {"skills/a/SKILL.md", "scripts/x.sh"}


def test_a_misnamed_directory_is_pointed_at(tmp_path: Path) -> None:
    plugin(tmp_path, "p", {"skill/a/SKILL.md": file()}, {"name": "p"})
    with pytest.raises(UnresolvedError) as caught:
        load_plugins(tmp_path, ["p"]).skill("p:a")
    where = "(Claude Code looks for skills/*/SKILL.md; is skill/ meant to be it?)"
    assert str(caught.value) == f"the plugin p has no skill a; it has no skills {where}"
