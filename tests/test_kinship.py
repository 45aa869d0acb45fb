"""A judge of the tested model's family is noted once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from roots import an_eval, plugin

from skillwalker.models import family
from skillwalker.preparing import prepare
from skillwalker.request import RunRequest


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("opus", "opus"),
        ("claude-opus-4-8", "opus"),
        ("claude-3-haiku-20240307", "haiku"),
        ("claude-sonnet-5-5[1m]", "sonnet"),
        ("claude-new-1", "claude-new-1"),
    ],
)
def test_a_family_is_told_by_the_name(name: str, of: str) -> None:
    assert family(name) == of


def notices(root: Path, *models: str, judge: dict[str, Any] | None = None, **more: Any) -> list[str]:
    plugin(root)
    expect = [{"llm-judge": {"rubricFile": "r.md", **(judge or {})}}]
    tests = [{"name": f"t{n}", "model": model, "expect": expect} for n, model in enumerate(models)]
    tests.append({"name": "unjudged", "model": "opus", "expect": [{"result-contains": "x"}]})
    an_eval(root, tests, rubrics={"r.md": "- good\n"})
    found = prepare(RunRequest(root=root, cwd=root, **more)).notices
    return [notice for notice in found if "family" in notice]


def test_it_is_noted_once_for_all_tests_of_a_run(tmp_path: Path) -> None:
    assert notices(tmp_path, "opus", "claude-opus-4-8", "sonnet") == [
        "in 2 tests the judge is of the same family as the tested model (opus): "
        "a model may favour work like its own; --judge-model asks another"
    ]


def test_what_beats_the_tests_counts(tmp_path: Path) -> None:
    assert notices(tmp_path, "opus", judge_model="sonnet") == []
    assert len(notices(tmp_path, "opus", judge_model="sonnet", model="claude-sonnet-5-5")) == 1
    assert notices(tmp_path, "opus", judge={"model": "haiku"}) == []
    assert len(notices(tmp_path, "opus", judge={"model": "haiku"}, judge_model="opus")) == 1


def test_where_no_model_is_asked_there_is_nothing_to_note(tmp_path: Path) -> None:
    assert notices(tmp_path, "opus", rehearse=True) == []
