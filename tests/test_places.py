"""Paths may lead to the evals of other directories than the nearest, and changed files to what uses them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from roots import an_eval, plugin, write

from skillwalker.places import concerned, roots_of

SAYS = {"result-contains": "done"}
CSV, XML = "packages/csv/evals/tidy", "packages/xml/evals/tidy"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No evals at the top; two packages with an eval of the same name each."""
    for name in ("csv", "xml"):
        root = tmp_path / "packages" / name
        plugin(root)
        an_eval(root, [{"name": "first", "expect": [SAYS]}], name="tidy")
    write(tmp_path / "packages/none/skills/lone/SKILL.md", "---\nname: lone\n---\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_words_go_to_the_roots_that_they_lead_to(repository: Path) -> None:
    csv, xml = (repository / "packages" / name for name in ("csv", "xml"))
    assert roots_of([f"{CSV}/tests.json", CSV, "packages/xml"], repository, None) == {
        csv: (f"{CSV}/tests.json", CSV),
        xml: ("packages/xml",),
    }
    assert roots_of([f"{CSV}::first", "tidy::first"], repository, None) == {
        csv: (f"{CSV}::first", "tidy::first")
    }
    assert roots_of(["tidy", "evals/tidy", f"../../{XML}"], csv, csv) == {
        xml: (f"../../{XML}",),
        csv: ("tidy", "evals/tidy"),
    }
    assert roots_of(["tidy", "packages", "no\0ne"], repository, None) == {}
    assert roots_of([], csv, csv) == {csv: ()}


def test_an_eval_of_the_nearest_root_comes_before_a_path(repository: Path) -> None:
    an_eval(repository, [{"name": "first", "expect": [SAYS]}], name="packages")
    assert roots_of(["packages"], repository, repository) == {repository: ("packages",)}
    assert roots_of([CSV], repository, repository) == {repository / "packages/csv": (CSV,)}


@pytest.mark.parametrize("path", [f"{CSV}/tests.json", f"{CSV}/prompts/p0.md", CSV, "packages/csv"])
def test_paths_are_checked_from_the_top_of_the_repository(run_cli: Any, repository: Path, path: str) -> None:
    called = run_cli("validate", path)
    assert (called.code, called.out) == (0, "1 test in 1 eval is valid\n")
    assert run_cli("lint", path).code in (0, 1)
    assert "tidy  (1 test)" in run_cli("list", "evals", path).out
    plan = run_cli("run", path, "--rehearse", "--isolated", "--dry-run", "--format", "json")
    assert (plan.code, json.loads(plan.out)["tests"][0]["eval"]) == (0, "tidy")


def test_several_roots_are_checked_in_turn_and_all_problems_told(run_cli: Any, repository: Path) -> None:
    paths = (f"{CSV}/tests.json", f"{XML}/tests.json")
    both = run_cli("validate", *paths)
    assert (both.code, both.out) == (0, "2 tests in 2 evals are valid\n")
    for path in paths:
        write(repository / path, "{")
    write(repository / "packages/xml/skillwalker.toml", "[run]\njobs = 'x'\n")
    called = run_cli("validate", *paths)
    assert called.code == 4
    places = [line.partition(": ")[0] for line in called.err.splitlines()]
    assert places == [f"{CSV}/tests.json:1", "packages/xml/skillwalker.toml:2", f"{XML}/tests.json:1"]
    missed = run_cli("validate", "packages/csv", f"{XML}::nothing")
    assert missed.code == 4, "what is broken comes before what is not found"


def test_findings_name_files_as_they_are_reached_from_here(run_cli: Any, repository: Path) -> None:
    for eval_directory in (CSV, XML):
        write(repository / eval_directory / "prompts/p0.md", "Do it, then say that it is done.")
    told = json.loads(run_cli("lint", CSV, XML, "--format", "json").out)
    assert (told["tests"], told["evals"]) == (2, 2)
    assert {one["file"] for one in told["findings"]} == {f"{CSV}/tests.json", f"{XML}/tests.json"}


def test_one_run_is_about_one_root(run_cli: Any, repository: Path) -> None:
    for words in (("run", "--rehearse", "--dry-run"), ("list", "evals")):
        called = run_cli(*words, CSV, XML)
        assert called.code == 4
        assert "evals of several roots: packages/csv, packages/xml; give those of one" in called.err


def test_what_leads_nowhere_is_told_with_where_was_looked(run_cli: Any, repository: Path) -> None:
    for command in ("validate", "lint", "run"):
        called = run_cli(command, "packages/none")
        assert called.code == 5
        assert (
            f"no evals/*/tests.json in {repository} or above it, nor in packages/none or above" in called.err
        )


def test_changed_files_concern_the_evals_that_use_them(repository: Path) -> None:
    csv = repository / "packages/csv"
    an_eval(csv, [{"name": "other", "expect": [SAYS]}], name="more")
    tidy, more = (str(csv / "evals" / name) for name in ("tidy", "more"))
    skill = "packages/csv/acme/skills/tidy/SKILL.md"
    for file, evals in {
        f"{CSV}/prompts/p0.md": (tidy,),
        f"{CSV}/tests.json": (tidy,),
        skill: (more, tidy),
        "packages/csv/pyproject.toml": (),
    }.items():
        assert concerned([file], repository, None) == {csv: evals}, file
    for file in ("packages/none/skills/lone/SKILL.md", "README.md", "packages/csv/README.md", "a\0"):
        assert concerned([file], repository, None) == {}, file
    assert concerned([skill], repository, repository / "packages/xml", only=True) == {}


def test_a_plugin_that_is_the_root_has_no_evals_for_parts(repository: Path) -> None:
    root = repository / "packages/csv"
    write(root / ".claude-plugin/plugin.json", '{"name": "csv"}')
    for name in ("one", "two"):
        an_eval(root, [{"name": "first", "expect": [SAYS]}], name=name, plugins=["."])
    one, two = (str(root / "evals" / name) for name in ("one", "two"))
    assert concerned([f"{root}/evals/one/tests.json"], root, root) == {root: (one,)}
    assert concerned([f"{root}/skills/x/SKILL.md"], root, root) == {root: (one, two)}


def test_where_plugins_cannot_be_read_every_file_may_concern_them(repository: Path) -> None:
    write(repository / CSV / "tests.json", "{")
    found = concerned(["packages/csv/README.md"], repository, None)
    assert found == {repository / "packages/csv": (str(repository / CSV),)}


def test_changed_files_that_nothing_uses_are_no_error(run_cli: Any, repository: Path) -> None:
    lone = "packages/none/skills/lone/SKILL.md"
    for command, told in {
        "validate": "0 tests in 0 evals are valid",
        "lint": "nothing found in 0 tests",
    }.items():
        called = run_cli(command, "--changed", lone)
        assert (called.code, called.out.startswith(told)) == (0, True)
        assert run_cli(command, lone).code == 5
    write(repository / "packages/csv/skillwalker.toml", "[run]\njobs = 'x'\n")
    called = run_cli("validate", "--changed", lone, "packages/csv/skillwalker.toml")
    assert (called.code, "packages/csv/skillwalker.toml:2" in called.err) == (4, True)


def test_a_changed_skill_is_checked_with_its_evals(run_cli: Any, repository: Path) -> None:
    file = "packages/csv/acme/skills/tidy/SKILL.md"
    call = {"name": "a", "type": "skill-call", "skillFile": "acme:tidy", "expect": [{"skill-call": True}]}
    an_eval(repository / "packages/csv", [call], name="tidy")
    write(repository / file, f"---\nname: tidy\ndescription: {'long ' * 500}\n---\n")
    linted = run_cli("lint", "--changed", file)
    assert (linted.code, f"{file}" in linted.out) == (1, True), linted.out
    called = run_cli("validate", "--changed", file)
    assert (called.code, called.out) == (0, "1 test in 1 eval is valid\n")
