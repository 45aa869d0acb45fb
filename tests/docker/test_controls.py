"""Controls in containers: they see a skill that can be called, and notice that one cannot be."""

from __future__ import annotations

import json

import pytest
from roots import HELLO, TIDY, an_eval, plugin, skill

pytestmark = pytest.mark.docker

YES, NO = [{"skill-call": True}], [{"skill-call": False}]


def test_a_skill_that_is_never_called_is_unmeasured_and_one_that_is_has_its_verdicts(
    run_cli, tmp_path, sandbox_image
):
    skill(plugin(tmp_path), "use", HELLO)  # a name from which the rule of rehearsals takes no word
    tests = [
        {"name": "seen", "type": "skill-call", "skillFile": "acme:tidy", "expect": YES},
        {"name": "blind", "type": "skill-call", "skillFile": "acme:use", "expect": NO},
    ]
    an_eval(tmp_path, tests, prompts={"seen": TIDY, "blind": "What does the moon weigh?"})

    called = run_cli(
        "--root", tmp_path, "run", "--isolated", "--rehearse", "--control", "--stop-early", "--format", "json"
    )

    found = json.loads(called.out)
    outcomes = {one["name"]: one["outcome"] for one in (*found["controls"], *found["tests"])}
    assert outcomes == {
        "control: acme:tidy named, sonnet": "passed",
        "control: acme:tidy unrelated, sonnet": "passed",
        "control: acme:use named, sonnet": "failed",
        "control: acme:use unrelated, sonnet": "passed",
        "seen": "passed",
        "blind": "unmeasured",
    }
    assert called.code == 6
    assert found["totals"]["tests"] == 2
    assert {trial["arm"] for one in found["controls"] for trial in one["trials"]} == {"control"}
    shown = run_cli("--root", tmp_path, "show", "last", "csv::control: acme:use named*")
    assert shown.code == 0
    assert "Call the skill acme:use now" in shown.out
