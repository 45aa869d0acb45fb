"""`skillwalker try` with the real Claude Code and a model that is asked, recorded and replayed."""

from __future__ import annotations

import json

import pytest
from model_support import Model, uses
from roots import plugin
from upstream_support import SECRET

PROMPT = "Tidy up my file"


@pytest.fixture
def project(tmp_path, monkeypatch):
    plugin(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_model_is_asked_recorded_and_replayed(run_cli, project, sandbox_image, monkeypatch):
    with Model(
        {"Tidy up": [uses("Skill", skill="acme:tidy"), uses("Bash", command="ls"), "All tidy."]}
    ) as model:
        monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
        given = ("try", "acme", PROMPT, "--image", sandbox_image, "--format", "json")
        asked = run_cli(*given, "--record", "tapes", "--save", "mine")
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.delenv("ANTHROPIC_BASE_URL")
    replayed = run_cli(*given, "--replay", "tapes")

    assert (asked.code, replayed.code) == (0, 0), asked.err + replayed.err
    first, second = json.loads(asked.out), json.loads(replayed.out)
    assert first["cost_usd"] > 0
    assert second["cost_usd"] is None
    assert (first["model_source"], second["model_source"]) == ("record", "replay")
    for found in (first, second):
        assert {"acme:tidy", "acme:hello"} <= set(found["listed"]["skills"])
        assert "acme:auditor" in found["listed"]["agents"]
        assert [(use["name"], use["loaded"]) for use in found["skills"]] == [("acme:tidy", True)]
        assert (found["tools"], found["answer"]) == ({"Bash": 1}, "All tidy.")
    assert first["saved"] == {"eval": "mine", "test": PROMPT}
    [test] = json.loads((project / "evals/mine/tests.json").read_text())["tests"]
    assert test["expect"] == [{"skill-call": {"skill": "acme:tidy", "expected": True}}]
    assert run_cli("validate").code == 0
    assert SECRET not in asked.out + asked.err
    assert not (project / ".skillwalker").exists()
