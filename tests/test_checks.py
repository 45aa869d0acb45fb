"""Checking evals: what follows from a problem is not told as another one."""

from __future__ import annotations

import pytest
from roots import an_eval, plugin

from skillwalker.checks import check_evals
from skillwalker.expectations.registry import Registry


@pytest.mark.parametrize(
    ("test", "paths"),
    [
        (
            {
                "type": "skill_call",
                "agentFile": "acme:auditor",
                "expect": [{"skill-call": {"skill": "acme:tidy", "expected": True}}],
            },
            ["tests[0].type"],
        ),
        (
            {"type": "skill-call", "skillFile": "tidy", "expect": [{"skill-call": True}]},
            ["tests[0].skillFile"],
        ),
        ({"type": "skill-call", "expect": [{"skill-call": True}]}, ["tests[0].skillFile"]),
        (
            {"type": "agent-call", "agentFile": ":a", "expect": [{"agent-call": False}]},
            ["tests[0].agentFile"],
        ),
        (
            {"type": "agent-call", "agentFile": ":a", "expect": [{"agent-call": True}, {"skill-call": True}]},
            ["tests[0].agentFile", "tests[0].expect[1].skill-call"],
        ),
    ],
)
def test_what_follows_from_a_problem_is_not_told(test, paths, tmp_path):
    plugin(tmp_path)
    directory = an_eval(tmp_path, [{"name": "x", **test}])

    found = check_evals([directory], tmp_path, Registry.scan())

    assert [problem.path for problem in found.problems] == paths


@pytest.mark.parametrize(
    ("test", "hint"),
    [
        ({"type": "skill-call", "skillFile": "tidy", "expect": [{"skill-call": True}]}, "acme:tidy"),
        ({"type": "agent-call", "agentFile": "auditor", "expect": [{"agent-call": True}]}, "acme:auditor"),
        ({"type": "skill-call", "skillFile": "auditor", "expect": [{"skill-call": True}]}, None),
    ],
)
def test_a_name_alone_is_completed_where_a_plugin_knows_it(test, hint, tmp_path):
    plugin(tmp_path)
    directory = an_eval(tmp_path, [{"name": "x", **test}])

    [problem] = check_evals([directory], tmp_path, Registry.scan()).problems

    assert problem.message.endswith(f" (did you mean {hint}?)" if hint else 'not "auditor"')
