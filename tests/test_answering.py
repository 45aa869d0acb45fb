"""What a run asks is known before its start, as far as it is written down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from roots import an_eval, plugin, skill, write

from skillwalker.answering import answering_notices, answering_problems, asked_of, overrun
from skillwalker.preparing import prepare
from skillwalker.request import RunRequest

KEY = {"ANTHROPIC_API_KEY": "sk-ant-api03-of-the-tests-only"}


def an_agent(root: Path, model: str) -> None:
    head = f"---\nname: auditor\ndescription: Audits totals\nmodel: {model}\n---\nWork.\n"
    write(root / "acme" / "agents" / "auditor.md", head)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    plugin(tmp_path)
    an_eval(tmp_path, [{"name": "t", "model": "haiku", "expect": [{"result-contains": "x"}]}])
    return tmp_path


def request(root: Path, cap: float | None = 1.0) -> RunRequest:
    return RunRequest(root=root, cwd=root, isolated=True, max_cost_usd=cap)


def problems(asked_for: RunRequest) -> list[str]:
    asked = asked_of(asked_for, prepare(asked_for).tests)
    return [one.message for one in answering_problems(asked_for, asked, KEY)]


def test_a_cap_needs_prices_of_the_models_that_a_plugin_names(root: Path) -> None:
    an_agent(root, "gpt-9")

    (problem,) = problems(request(root))

    assert problem.startswith("--max-cost needs a price for gpt-9, which agent acme:auditor asks for, and")
    assert problems(request(root, cap=None)) == []


@pytest.mark.parametrize("model", ["inherit", "opus", "opus[1m]", "claude-opus-5-5", "", "best"])
def test_a_model_with_a_price_or_another_alias_is_no_problem(root: Path, model: str) -> None:
    an_agent(root, model)
    assert problems(request(root)) == []


def test_an_activation_test_gets_no_agent_and_no_model_of_a_skill(root: Path) -> None:
    skill(root / "acme", "tidy", "Tidies", more="model: gpt-9\n")
    assert "which skill acme:tidy asks for" in problems(request(root))[0]
    test = {"name": "t", "type": "skill-call", "skillFile": "acme:tidy", "expect": [{"skill-call": True}]}
    an_eval(root, [{**test, "model": "haiku"}])
    assert problems(request(root)) == []


def test_the_overrun_counts_agents_models_and_no_more_jobs_than_trials(root: Path) -> None:
    asked_for = request(root)
    before = overrun(asked_for, asked_of(asked_for, prepare(asked_for).tests), 8)
    an_agent(root, "opus")
    after = overrun(asked_for, asked_of(asked_for, prepare(asked_for).tests), 8)

    assert before
    assert after
    assert before.assumptions.startswith("1 x one request to claude-haiku-5-5")
    assert after.assumptions.startswith("1 x one request to claude-opus-5-5")
    assert after.usd > before.usd


def test_faults_of_a_script_are_told_where_no_rehearsal_answers(root: Path) -> None:
    def told(**more: Any) -> tuple[str, ...]:
        asked_for = evolve(request(root, cap=None), **more)
        return answering_notices(asked_for, asked_of(asked_for, prepare(asked_for).tests), KEY)

    an_eval(
        root,
        [{"name": name, "expect": [{"result-contains": "x"}]} for name in ("calm", "cut", "late")],
        script={
            "cut": {"faults": [{"turn": 1, "fault": "drop"}]},
            "late": {"trials": {"2": {"faults": [{"turn": 1, "fault": "drop"}]}}},
        },
    )

    assert told() == ("faults of its rehearsal.json are injected into csv::cut",)
    assert len(told(trials=2)) == 2
    assert told(rehearse=True) == ()


def test_where_nothing_can_be_recorded_nothing_is_paid_for(root: Path) -> None:
    def told(directory: Path) -> list[str]:
        return problems(evolve(request(root), record=directory))

    file = write(root / "file", "x")
    assert told(root / "cassettes" / "new") == told(root) == []
    assert told(file)[0].startswith("it is no directory")
    assert told(file / "below")[0].startswith(f"{file} is no directory")
    (root / "link").symlink_to(root / "nowhere")
    assert told(root / "link")[0].startswith("it is no directory")
