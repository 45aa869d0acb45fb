"""What the next run may cost, by earlier ones."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from skillwalker.history import Wanted, expected_cost, set_aside_note, spent_in
from skillwalker.outcomes import Outcome
from skillwalker.records import planned_object, trial_file
from skillwalker.results import TestResult, TrialResult
from skillwalker.store import Store, new_run_id

MODEL = "sonnet"


def stored(root, costs, *, source="api", name="one", model=MODEL, healthy=True, judged=0.0, day=0):
    test = TestResult("csv", name, "skill-call", model, planned=len(costs), need=1, trials=())
    run_id = new_run_id(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day))
    manifest = {
        "schema": 1,
        "run_id": run_id,
        "sandbox": "docker",
        "model_source": source,
        "claude_code_version": None,
        "image": None,
        "options": {"allow_unmeasured": 0},
        "tests": [planned_object(test)],
    }
    directory = Store(root).create(run_id, manifest)
    for index, cost in enumerate(costs):
        trial = TrialResult(
            f"{name}.{index}",
            index + 1,
            Outcome.UNMEASURED,
            healthy=healthy,
            cost_usd=cost,
            judge_cost_usd=judged,
        )
        directory.finish_trial(trial.id, trial_file("csv", name, trial))
    return directory


def expected(root, *wanted):
    return expected_cost(wanted or [Wanted("csv", "one", MODEL, 10)], Store(root))


def test_the_cheapest_and_the_dearest_trial_give_the_range(tmp_path):
    stored(tmp_path, [0.02, 0.05], judged=0.01)
    stored(tmp_path, [0.03], source="record", day=1)
    found = expected(tmp_path)
    assert (found.low, found.high) == (pytest.approx(0.3), pytest.approx(0.6))
    assert str(found) == "$0.30 to $0.60, by the cheapest and the dearest of 3 earlier trials in 2 runs"


@pytest.mark.parametrize(
    "other",
    [
        {"source": "rehearsal"},
        {"source": "replay"},
        {"model": "opus"},
        {"name": "two"},
        {"healthy": False},
        {"judged": None},
    ],
)
def test_what_is_no_such_trial_tells_nothing(tmp_path, other):
    stored(tmp_path, [0.02], **other)
    found = expected(tmp_path)
    assert (found.low, found.high) == (None, None)
    assert str(found) == "unknown: no earlier trial of these tests with these models has a known cost"


def test_a_cost_that_is_not_known_is_passed_over(tmp_path):
    stored(tmp_path, [None, 0.02])
    assert expected(tmp_path).tests[0].seen == (0.02,)


def test_a_test_without_a_past_makes_the_sum_unknown_and_the_rest_is_told(tmp_path):
    stored(tmp_path, [0.02])
    found = expected(tmp_path, Wanted("csv", "one", MODEL, 3), Wanted("csv", "two", MODEL, 1))
    assert (found.low, found.high) == (None, None)
    assert [test.wanted.name for test in found.unseen] == ["two"]
    assert (
        str(found)
        == "unknown; $0.06 to $0.06 for 1 of 2 tests, by 1 earlier trial in 1 run; none of the others"
    )


def test_a_damaged_run_is_passed_over(tmp_path):
    stored(tmp_path, [0.02])
    broken = stored(tmp_path, [0.02], day=1)
    (broken.path / "run.json").write_text(json.dumps({"model_source": "api", "schema": 99}))
    (stored(tmp_path, [0.02], day=2).path / "run.json").write_text("{")
    assert expected(tmp_path).runs == 1


def test_what_a_run_has_spent_counts_judges_and_attempts_that_were_set_aside(tmp_path):
    directory = stored(tmp_path, [0.02, 0.03, None], judged=0.01)
    directory.set_aside("one.0")
    directory.finish_trial("one.0", {"cost_usd": 1.0, "judge_cost_usd": None})
    (directory.trial("one.9") / "trial.json").write_text("[")
    assert spent_in(directory) == (pytest.approx(0.03 + 0.04 + 0.01 + 1.0), 3)


def test_attempts_that_were_set_aside_are_told_beside_a_runs_figures(tmp_path):
    directory = stored(tmp_path, [0.02, None], judged=0.01)
    assert set_aside_note(directory) is None
    directory.set_aside("one.0")
    assert set_aside_note(directory) == "attempts that were set aside cost $0.0300 beside the run's figures"
    directory.set_aside("one.1")
    assert set_aside_note(directory) == (
        "attempts that were set aside cost $0.0400 beside the run's figures, and what 1 of them cost is not "
        "known"
    )


def test_what_no_attempt_told_is_no_cost_of_nothing(tmp_path):
    directory = stored(tmp_path, [None, None], judged=None)
    directory.set_aside("one.0")
    assert set_aside_note(directory) == "of what was set aside, the cost of 1 attempt is not known"
    directory.set_aside("one.1")
    assert set_aside_note(directory) == "of what was set aside, the cost of 2 attempts is not known"


def test_what_a_trial_had_spent_that_never_ended_is_not_known(tmp_path):
    directory = stored(tmp_path, [0.02])
    before = spent_in(directory)
    (directory.trial("one.8") / "gateway.jsonl").touch()  # it asked for nothing
    assert spent_in(directory) == before
    (directory.trial("one.9") / "gateway.jsonl").write_text("{}\n")
    assert spent_in(directory) == (before[0], before[1] + 1)


def test_there_may_be_no_run_at_all(tmp_path):
    assert str(expected(tmp_path)).startswith("unknown")
