"""What is told of a `rehearsal.json` that is well formed and does not fit its tests."""

from __future__ import annotations

import pytest
from roots import an_eval, call, plugin, text

from skillwalker.checks import check_evals
from skillwalker.expectations.registry import Registry

JUDGED = {"llm-judge": {"rubricFile": "r.md"}}
RUBRICS = {"r.md": "- It is short.\n- It is friendly.\n"}


@pytest.fixture
def checked(tmp_path):
    plugin(tmp_path)

    def check(script, expect=(JUDGED,), **test):
        tests = [{"name": "x", "expect": list(expect), **test}]
        directory = an_eval(tmp_path, tests, rubrics=RUBRICS, script={"x": script})
        return check_evals([directory], tmp_path, Registry.scan())

    return check


def told(checked):
    assert not checked.problems
    return [(note.file, note.path, note.message) for note in checked.script_notes]


FILE = "evals/csv/rehearsal.json"


def test_of_a_script_that_fits_nothing_is_told(checked):
    found = checked(
        {"main": [call("Skill", skill="acme:tidy"), text("a")], "judge": [{"passed": [True, False]}]}
    )
    assert (found.problems, found.notices) == ((), ())


def test_answers_for_another_rubric_are_told(checked):
    found = checked({"judge": [{"passed": [True]}], "trials": {"1": {"judge": [{"passed": [True] * 3}]}}})
    assert told(found) == [
        (FILE, "tests.x.judge[0].passed", "has 1 answer, and the judge is asked for 2 criteria"),
        (FILE, 'tests.x.trials["1"].judge[0].passed', "has 3 answers, and the judge is asked for 2 criteria"),
    ]
    assert all(note.line > 1 for note in found.script_notes)


def test_a_reply_for_no_judge_is_told(checked):
    one = {"passed": [True, True]}
    assert told(checked({"judge": [one, one]})) == [
        (
            FILE,
            "tests.x.judge[1]",
            "is never asked for: the test asks a judge for llm-judge only, and each takes one reply for each "
            "vote, and one more after an answer that cannot be read",
        )
    ]
    assert told(checked({"judge": [one]}, [{"result-contains": "a"}])) == [
        (
            FILE,
            "tests.x.judge[0]",
            "is never asked for: no expectation asks a judge",
        )
    ]
    assert told(checked({"judge": [one, one]}, [JUDGED, JUDGED])) == []


def test_a_judge_takes_a_reply_for_each_vote_and_one_after_what_is_no_answer(checked):
    one, none = {"passed": [True, True]}, {"content": "no JSON"}
    voted = [{"llm-judge": {"rubricFile": "r.md", "votes": 3}}]
    assert told(checked({"judge": [one, one, one]}, voted)) == []
    assert told(checked({"judge": [one, none, one, one]}, voted)) == []
    assert [path for _, path, _ in told(checked({"judge": [one, none, one, one, one]}, voted))] == [
        "tests.x.judge[4]"
    ]


def test_a_skill_that_is_not_there_is_told_and_may_be_meant(checked):
    found = checked(
        {"main": [call("Skill", skill="acme:tydy"), call("Skill", skill="other:tydy"), text("a")]}
    )
    ((file, path, message),) = told(found)
    assert (file, path) == (FILE, "tests.x.main[0].content[0].input.skill")
    assert message.endswith("(did you mean tidy?)")

    found = checked({"agents": {"acme:auditor": [call("Skill", skill="acme:zzz"), text("a")]}})
    ((_, path, message),) = told(found)
    assert path == 'tests.x.agents["acme:auditor"][0].content[0].input.skill'
    assert message.startswith("the plugin acme")


def test_a_trial_that_the_test_does_not_have_is_a_notice(checked):
    found = checked({"trials": {"2": [text("a")], "3": [text("b")]}}, trials=2)
    assert told(found) == []
    have = "and the test has 2 trials unless --trials says otherwise"
    assert found.notices == (f"{FILE}: x has answers for trial 3, {have}",)
