"""Which skills and agents there are below a directory, and which of them a name means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from plugin_files import content, file
from roots import plugin, skill, write

from skillwalker.errors import ConfigurationError
from skillwalker.isolate import one_skill_plugin
from skillwalker.manifest import MANIFEST
from skillwalker.targets import choose, find_targets, neighbours, root_for


def ids(root: Path) -> list[tuple[str, str]]:
    return [(target.written, target.part.id) for target in find_targets(root)]


def test_plugins_are_found_where_they_lie(tmp_path: Path) -> None:
    plugin(tmp_path / "plugins")
    skill(tmp_path / ".claude", "mine", "Does mine")
    skill(tmp_path / "node_modules/other", "theirs", "Does theirs")
    write(tmp_path / "node_modules/other" / MANIFEST, '{"name": "other"}')
    skill(tmp_path / "evals/x/scaffolds/p", "fake", "Is a fixture")
    write(tmp_path / "evals/x/scaffolds/p" / MANIFEST, '{"name": "fake"}')

    assert ids(tmp_path) == [
        (".claude", ".claude:mine"),
        ("plugins/acme", "acme:forked"),
        ("plugins/acme", "acme:hello"),
        ("plugins/acme", "acme:tidy"),
        ("plugins/acme", "acme:auditor"),
    ]


def test_the_root_may_be_the_plugin(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    skill(root, "tidy", "Tidies")
    assert ids(root) == [(".", "checkout:tidy")]
    write(root / MANIFEST, '{"name": "acme"}')
    assert [target.written for target in find_targets(root)] == ["."]


def test_a_plugin_of_a_marketplace_without_a_manifest_is_found(tmp_path: Path) -> None:
    skill(tmp_path / "one", "tidy", "Tidies")
    market = {"name": "m", "owner": {"name": "o"}, "plugins": [{"name": "acme", "source": "./one"}]}
    write(tmp_path / ".claude-plugin/marketplace.json", json.dumps(market))
    assert ids(tmp_path) == [(".", "acme:tidy")]


def test_a_bare_skill_in_the_root_has_the_same_name_in_every_checkout(tmp_path: Path) -> None:
    for checkout in ("one", "another place"):
        root = tmp_path / checkout
        write(root / "SKILL.md", file("Tidies CSV files", "tidy-csv"))
        write(root / "scripts/tidy.py", "print()")
        write(root / "evals/x/tests.json", "{}")
        [target] = find_targets(root)

        assert (target.written, target.part.id) == (".", "tidy-csv:tidy-csv")
        assert json.loads(content(target.plugin.tree)[MANIFEST]) == {"name": "tidy-csv"}
        assert "evals/x/tests.json" not in content(target.plugin.tree)
        _, alone = one_skill_plugin(target.part)  # type: ignore[arg-type]
        assert set(content(alone)) == {"SKILL.md", MANIFEST}
        assert not (root / MANIFEST).exists()


def test_a_bare_skill_without_a_name_is_named_after_its_directory(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    write(root / "SKILL.md", file("Tidies CSV files"))
    assert ids(root) == [(".", "checkout:checkout")]


def test_bare_skills_side_by_side_are_found_where_no_plugin_is(tmp_path: Path) -> None:
    for place in ("tidy", "more/sort", "more/sort/assets/inner", "evals/fake", ".hidden/x"):
        write(tmp_path / place / "SKILL.md", file("Tidies"))
    assert ids(tmp_path) == [("more/sort", "sort:sort"), ("tidy", "tidy:tidy")]
    plugin(tmp_path)
    assert {written for written, _ in ids(tmp_path)} == {"acme"}, "then they are templates, or the like"


def test_skills_that_only_the_manifest_names_are_found(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere/tidy/SKILL.md", file("Tidies"))
    write(tmp_path / MANIFEST, '{"name": "acme", "skills": ["./elsewhere/tidy"]}')
    assert ids(tmp_path) == [(".", "acme:tidy")]


def test_dependencies_come_along(tmp_path: Path) -> None:
    plugin(tmp_path)
    skill(tmp_path / "more", "extra", "Does more")
    write(tmp_path / "more" / MANIFEST, '{"name": "more", "dependencies": ["acme"]}')
    [target] = [one for one in find_targets(tmp_path) if one.part.id == "more:extra"]
    assert (target.written, target.needs) == ("more", ("acme",))


@pytest.mark.parametrize("named", ["acme:tidy", "tidy"])
def test_a_name_in_full_or_alone_is_enough(tmp_path: Path, named: str) -> None:
    plugin(tmp_path)
    assert choose(find_targets(tmp_path), named).part.id == "acme:tidy"


def test_a_name_that_none_or_several_have_is_explained(tmp_path: Path) -> None:
    plugin(tmp_path)
    skill(tmp_path / "more", "tidy", "Tidies more")
    write(tmp_path / "more" / MANIFEST, '{"name": "more"}')
    targets = find_targets(tmp_path)

    both = (
        r"tidy may be the skill acme:tidy \(acme/skills/tidy/SKILL.md\), "
        r"the skill more:tidy \(more/skills/tidy/SKILL.md\); name one"
    )
    with pytest.raises(ConfigurationError, match=both):
        choose(targets, "tidy")
    with pytest.raises(ConfigurationError, match=r"no skill or agent acme:tdy \(did you mean acme:tidy\?\)"):
        choose(targets, "acme:tdy")
    with pytest.raises(ConfigurationError, match="no plugin was found"):
        choose((), "tidy")


def test_neighbours_are_those_with_a_description_the_plugins_own_first(tmp_path: Path) -> None:
    plugin(tmp_path, "zoo")
    skill(tmp_path / "aaa", "extra", "Does more")
    write(tmp_path / "aaa" / MANIFEST, '{"name": "aaa"}')
    targets = find_targets(tmp_path)
    found = [one.part.id for one in neighbours(choose(targets, "zoo:tidy"), targets)]

    assert found == ["zoo:forked", "zoo:hello", "zoo:auditor", "aaa:extra"]


def test_the_root_is_the_repository_else_the_nearest_with_a_plugin(tmp_path: Path) -> None:
    plugin(tmp_path)
    inside = tmp_path / "acme/skills/tidy"
    assert root_for(inside) == inside, "a bare skill"
    assert root_for(tmp_path / "acme/agents") == tmp_path / "acme"
    write(tmp_path / ".claude-plugin/marketplace.json", "{}")
    assert root_for(inside) == tmp_path
    (tmp_path / "acme/.git").mkdir()
    assert root_for(inside) == tmp_path / "acme"
