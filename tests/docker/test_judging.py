"""Both judges in whole runs: a request of ours, and a second Claude Code; the model is a server of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from model_support import Model, uses
from roots import an_eval, plugin
from upstream_support import SECRET

from skillwalker.judging import asked_ids

SUBSCRIPTION = "sk-ant-oat01-of-the-tests-only"
RUBRIC = "- It is tidy\n## File: out.csv\n- It has rows\n## File: report.md\n- It is short\n"
TEST = {
    "name": "tidies",
    "promptFile": "tidy.md",
    "expect": [{"llm-judge": {"rubricFile": "r.md", "votes": 3, "threshold": 0.5}}],
}
SCRIPTS = {"spreadsheet": [uses("Bash", command="echo a,b > out.csv", description="write"), "It is tidy."]}


class Judges(Model):
    """Answers each question of a judge with the next of `grades`: whether each criterion is met."""

    def __init__(self, grades: Sequence[Mapping[str, bool]]) -> None:
        super().__init__(SCRIPTS)
        self.grades = list(grades)
        self.questions: list[tuple[Any, ...]] = []

    def _content(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        ids = asked_ids(request)
        tools = [tool["name"] for tool in request.get("tools", ())]
        if not (ids or "StructuredOutput" in tools):
            return super()._content(request)
        if request["messages"][-1]["role"] == "user" and "tool_result" in str(request["messages"][-1]):
            return [{"type": "text", "text": "done"}]
        self.questions.append((ids, tools, json.dumps(request["messages"])))
        answer = {
            "criteria": [
                {"id": name, "evidence": "a,b", "reasoning": "Seen.", "passed": passed}
                for name, passed in self.grades.pop(0).items()
            ]
        }
        if ids:
            return [{"type": "text", "text": json.dumps(answer)}]
        return [{"type": "tool_use", "name": "StructuredOutput", "input": answer}]


@pytest.fixture
def model() -> Iterator[Judges]:
    both, first = {"c1": True, "c2": True}, {"c1": True}
    with Judges([both, first, {"c1": False, "c2": True}, both]) as server:
        yield server


@pytest.fixture(params=["key", "subscription"])
def found(
    request: Any, tmp_path: Path, model: Judges, monkeypatch: Any, run_cli: Any, sandbox_image: str
) -> dict[str, Any]:
    """A run whose judge's second vote is incomplete at first."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    if request.param == "key":
        monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    else:
        monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", SUBSCRIPTION)
        (tmp_path / "skillwalker.toml").write_text("[model]\nsubscription = true\n")
    plugin(tmp_path)
    an_eval(tmp_path, [TEST], prompts={"tidies": "Tidy this spreadsheet"}, rubrics={"r.md": RUBRIC})
    options = ("--isolated", "--image", sandbox_image, "--format", "json")
    called = run_cli("--root", tmp_path, "run", *options)
    assert called.code == 0, called.out + called.err
    found: dict[str, Any] = json.loads(called.out)
    return found


def test_votes_files_quotes_and_a_second_question_hold_for_both_judges(found, model):
    (trial,) = found["tests"][0]["trials"]
    (verdict,) = trial["expectations"]
    assert verdict["message"].startswith(
        "2 of 3 criteria passed (0.67, needed 0.5), judged by claude-opus-5-5"
    )
    assert "in 3 votes, not agreed on c1" in verdict["message"]
    assert [detail["outcome"] for detail in verdict["details"]] == ["passed", "passed", "failed"]
    assert 'Evidence: "a,b"' in verdict["details"][1]["message"]
    assert verdict["details"][2]["message"].startswith("the trial did not produce report.md: it is not there")

    assert len(model.questions) == 4
    asked = [question for _, _, question in model.questions]
    assert ["This was asked before" in question for question in asked] == [False, False, True, False]
    for number, question in zip((1, 2, 2, 3), asked, strict=True):
        assert f"grading {number} of 3" in question
    assert all("c3: It is short" not in question for question in asked)
    for ids, tools, _ in model.questions:
        # A placeholder of Claude Code's own, which does nothing, may stand beside what takes the answer.
        assert set(tools) - {"DeferredToolPlaceholder"} == (set() if ids else {"StructuredOutput"})

    judge = trial["judge"]
    assert judge["calls"] >= 4
    assert judge["input_tokens"] == 900 * judge["calls"]
    assert judge["cost_usd"] == trial["judge_cost_usd"] > 0
    assert found["totals"]["cost_usd"] == trial["cost_usd"]
