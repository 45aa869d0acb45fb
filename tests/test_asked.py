"""The whole query of a test whose name tells its beginning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from stored_runs import FAILED, UNMEASURED, Left, a_test, a_trial, stored, verdict
from transcripts import init, replays, says

from skillwalker.queries import short_name
from skillwalker.reports.asked import whole_query

QUERY = "make a table of all the sales,\nand then tell me what the best month was"
NAME = short_name(QUERY)


@pytest.mark.parametrize(
    ("name", "events", "told"),
    [
        (NAME, [init(), replays(QUERY), says("yes")], QUERY),
        (f"Call: {NAME} (2)", [b"no event\n", replays(QUERY)], QUERY),
        (NAME, [init(), replays("something else")], None),
        ("Sums up…", [init(), replays(QUERY)], None),
        ("Sums up", [init(), replays(QUERY)], None),
        (NAME, [init(), says("yes"), replays(QUERY)], None),
        (NAME, [init()], None),
    ],
)
def test_a_query_is_told_whole(
    tmp_path: Path, name: str, events: list[dict[str, Any] | bytes], told: str | None
) -> None:
    trial = a_trial("x", 1, verdict(FAILED))
    source = stored(tmp_path, a_test(name, trial), left={trial.id: Left(events)})
    assert whole_query(source, source.run.tests[0]) == told


def test_a_trial_that_came_so_far_is_enough(tmp_path: Path) -> None:
    late, good = a_trial("x", 1, verdict(UNMEASURED)), a_trial("x", 2, verdict(FAILED))
    source = stored(tmp_path, a_test(NAME, late, good), left={good.id: Left([replays(QUERY)])})
    assert whole_query(source, source.run.tests[0]) == QUERY


def test_a_test_that_never_ran_asked_nothing(tmp_path: Path) -> None:
    source = stored(tmp_path, a_test(NAME))
    assert whole_query(source, source.run.tests[0]) is None
