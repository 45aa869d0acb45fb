"""The draft of a first eval: near misses come near, nothing contradicts, the linter has nothing to say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from roots import agent, skill, write

from skillwalker.lint.linting import lint
from skillwalker.manifest import MANIFEST
from skillwalker.select import Selection

Cli = Callable[..., Any]
Queries = dict[bool, list[str]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "orchard" / MANIFEST, json.dumps({"name": "orchard"}))
    (tmp_path / ".git").mkdir()
    return tmp_path


@pytest.fixture
def drafted(root: Path, run_cli: Cli) -> Callable[[str], Queries]:
    def of(name: str) -> Queries:
        called = run_cli("--root", root, "init", name)
        assert called.code == 0, called.err
        checked = run_cli("--root", root, "validate")
        assert checked.code == 0, checked.out + checked.err
        marked = [one.rule for one in lint(Selection(root, (name,)), root).findings]
        assert set(marked) <= {"edit-me"}
        eval_name = called.out.splitlines()[0].split("/")[-2]
        tests = json.loads((root / "evals" / eval_name / "tests.json").read_text("utf-8"))["tests"]
        queries = [query for test in tests for query in test.get("queries", ())]
        prompts = [*(query["query"] for query in queries), *(test.get("prompt", "") for test in tests)]
        assert len(marked) == 1 + len([one for one in prompts if one.startswith("EDIT ME")]), "and its rubric"
        return {
            wanted: [query["query"] for query in queries if query["should_trigger"] is wanted]
            for wanted in (True, False)
        }

    return of


def test_near_misses_are_of_the_neighbours_that_share_most_words(
    root: Path, drafted: Callable[[str], Queries]
) -> None:
    plugin = root / "orchard"
    skill(plugin, "graft-trees", "Grafts apple trees in spring. Use when the user asks to graft a scion.")
    skill(plugin, "press-juice", "Presses apple juice from a harvest of windfalls.")
    skill(plugin, "count-bees", "Counts bees at the hives, from a video.")
    assert drafted("graft-trees") == {
        True: ["Graft apple trees in spring.", "Graft a scion."],
        False: ["Press apple juice from a harvest of windfalls."],
    }


def test_what_the_description_gives_away_is_a_near_miss(
    root: Path, drafted: Callable[[str], Queries]
) -> None:
    skill(
        root / "orchard", "graft", "Grafts apple trees. Do NOT use for pruning apple trees or felling them."
    )
    assert drafted("graft")[False] == ["Prune apple trees."]


def test_no_query_says_the_name(root: Path, drafted: Callable[[str], Queries]) -> None:
    plugin = root / "orchard"
    skill(plugin, "press-juice", "Presses juice. Say 'run press-juice now' or 'make juice from pears'.")
    skill(plugin, "juice", "Filters pear juice. Say 'call the juice skill' or 'filter this pear drink'.")
    for name, called in (("press-juice", "press-juice"), ("juice", "juice skill")):
        queries = drafted(name)
        assert not any(called in query for query in [*queries[True], *queries[False]])
        assert queries[True]
    assert all("juice" not in query.lower() for query in drafted_negatives(root, "juice"))


def drafted_negatives(root: Path, name: str) -> list[str]:
    tests = json.loads((root / "evals" / name / "tests.json").read_text("utf-8"))["tests"]
    return [query["query"] for query in tests[1]["queries"]]


def test_a_skill_and_an_agent_of_a_plugin_do_not_contradict_each_other(
    root: Path, drafted: Callable[[str], Queries]
) -> None:
    plugin = root / "orchard"
    skill(
        plugin,
        "prune",
        "Prunes pear trees. Use when the user asks to shape a hedge. Not for grafting pear trees.",
    )
    agent(plugin, "gardener", "Prunes the pear trees. Use when grafting pear trees or felling pear trees.")
    of_skill, of_agent = drafted("prune"), drafted("gardener")
    assert of_skill[True] == ["Prune pear trees.", "Shape a hedge."]
    assert of_agent[True] == ["Graft pear trees.", "Fell pear trees."]
    said = [*of_skill[True], *of_skill[False], *of_agent[True], *of_agent[False]]
    assert len(set(said)) == len(said)


def test_two_that_say_the_same_of_themselves_leave_one_to_its_author(
    root: Path, drafted: Callable[[str], Queries], run_cli: Cli
) -> None:
    plugin = root / "orchard"
    skill(plugin, "prune", "Prunes pear trees.")
    agent(plugin, "gardener", "Prunes pear trees.")
    assert drafted("prune")[True] == ["Prune pear trees."]
    [query] = drafted("gardener")[True]
    assert query == "EDIT ME: what would somebody type who needs this? Prunes pear trees."
    again = run_cli("--root", root, "init", "gardener", "--eval", "again")
    assert "no request is its own, a skill says the same; replace what begins with EDIT ME" in again.err


@pytest.mark.parametrize(
    "description", ["整理会议记录并列出任务。", "Requires a graft-trees licence.", "graft-trees", "Bad."]
)
def test_what_cannot_be_read_is_marked_and_the_eval_is_valid(
    root: Path, drafted: Callable[[str], Queries], run_cli: Cli, description: str
) -> None:
    skill(root / "orchard", "graft-trees", description)
    queries = drafted("graft-trees")
    assert all(query.startswith("EDIT ME: ") for query in [*queries[True], *queries[False]])
    called = run_cli("--root", root, "init", "graft-trees", "--eval", "again")
    assert "no request could be read from its description; replace what begins with EDIT ME" in called.err


def test_a_description_that_claude_code_makes_up_is_not_the_authors(root: Path, run_cli: Cli) -> None:
    write(root / "orchard/agents/gardener.md", "Work in the garden.\n")
    assert run_cli("--root", root, "init", "gardener").code == 0
    text = (root / "evals/gardener/tests.json").read_text("utf-8")
    assert "Agent from" not in text
    assert '"query": "EDIT ME: what would somebody type who needs this? gardener"' in text


@pytest.mark.parametrize("near", [True, False])
def test_a_near_miss_comes_from_the_same_plugin_and_shares_more_than_a_chance_word(
    root: Path, drafted: Callable[[str], Queries], near: bool
) -> None:
    plugin = root / "orchard"
    skill(plugin, "graft-trees", "Grafts apple trees in spring. Use when the user requests a new apple sort.")
    skill(plugin, "plan-parties", "Breaks down requests of guests into detailed and seasonal spring menus.")
    if near:
        skill(plugin, "fell-trees", "Fells old apple trees safely.")
    write(root / "market" / MANIFEST, json.dumps({"name": "market"}))
    skill(root / "market", "sell-apples", "Sells apple trees in spring markets.")
    found = drafted("graft-trees")[False]
    assert found == ["Fell old apple trees safely."] if near else found[0].startswith("EDIT ME: ")


def test_no_query_names_a_neighbour(root: Path, drafted: Callable[[str], Queries]) -> None:
    plugin = root / "orchard"
    skill(plugin, "graft-trees", "Grafts apple trees in spring.")
    skill(
        plugin,
        "fell-trees",
        "Fells apple trees after graft-trees has failed. Chops apple trees for graft-trees.",
    )
    skill(plugin, "move-trees", "Moves apple trees using the graft-trees skill.")
    assert drafted("graft-trees")[False] == ["Move apple trees."]
    assert drafted("move-trees")[True] == ["Move apple trees."]


@pytest.mark.parametrize("kind", ["skill", "agent"])
def test_the_criteria_of_a_task_are_marked_and_speak_of_what_is_tested(
    root: Path, run_cli: Cli, kind: str
) -> None:
    make = skill if kind == "skill" else agent
    make(root / "orchard", "graft", "Grafts apple trees in spring.")
    called = run_cli("--root", root, "init", "graft")
    text = (root / "evals/graft/rubrics/graft.md").read_text("utf-8")
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    assert lines
    assert all(line.startswith("- EDIT ME: ") for line in lines)
    found = [one.message for one in lint(Selection(root, ("graft",)), root).findings]
    assert (
        f"{len(lines)} of 2 criteria in graft.md still marked EDIT ME; write what the work must show" in found
    )
    assert f"would fail without the {kind}." in text
    assert ("skill" in text) is (kind == "skill")
    said = "1 query is marked EDIT ME; all others are drafts too: read them"
    assert called.out.splitlines()[-1] == f"now edit {root / 'evals/graft/tests.json'}: {said}"
