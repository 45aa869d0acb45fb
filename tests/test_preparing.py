"""What is told before a run that cannot start."""

from __future__ import annotations

from pathlib import Path

import pytest
from stored_runs import UNMEASURED, a_test, a_trial, keep, verdict

from skillwalker.errors import ConfigurationError
from skillwalker.outcomes import Reason
from skillwalker.preparing import require_startable
from skillwalker.request import Prepared, Resumed, RunRequest


@pytest.mark.parametrize(
    ("given", "told"), [({}, True), ({"isolated": True}, False), ({"rehearse": True}, False)]
)
def test_without_any_flag_the_first_line_says_what_to_type(given: dict[str, bool], told: bool) -> None:
    with pytest.raises(ConfigurationError) as caught:
        require_startable(Prepared(RunRequest(root=Path(), cwd=Path(), **given), (), ()), {})
    first, *_ = caught.value.problems
    assert first.message.startswith("type `skillwalker run --isolated --rehearse`") is told


@pytest.mark.parametrize(
    ("cap", "given", "told"),
    [(0.25, {}, True), (0.26, {}, False), (None, {}, False), (0.25, {"rehearse": True}, False)],
)
def test_a_run_whose_cap_is_reached_does_not_go_on(
    tmp_path: Path, cap: float | None, given: dict[str, bool], told: bool
) -> None:
    cut = a_trial("tidies", 1, verdict(UNMEASURED), reason=Reason.BUDGET, cost_usd=0.25)
    before = Resumed(keep(tmp_path, a_test("tidies", cut)), frozenset(), None, None)
    request = RunRequest(root=tmp_path, cwd=tmp_path, isolated=True, max_cost_usd=cap, **given)
    prepared = Prepared(request, (), (), before)
    environment = {"ANTHROPIC_API_KEY": "sk-ant-api03-of-the-tests-only"}

    if not told:
        require_startable(prepared, environment)
        return
    with pytest.raises(ConfigurationError) as caught:
        require_startable(prepared, environment)
    (problem,) = caught.value.problems
    assert "--max-cost $0.25 is reached already, the run has spent $0.2500" in problem.message
