"""A trial's clock runs from the opening of its link to the end of its judge."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from cassette_support import THEN

from skillwalker.gateway.cassettes.times import Starts
from skillwalker.gateway.conversations import Thread
from skillwalker.gateway.responders import Caller, Exchange


def exchange(purpose: Any, age: float, trial: str = "t") -> Exchange:
    return Exchange(Caller(trial, purpose), {}, {}, Thread("main", "main", "main"), 0, 1, age_seconds=age)


def test_a_judge_reads_of_times_since_its_trial_began() -> None:
    clock: list[datetime] = [THEN]
    starts = Starts(lambda: clock[-1])

    began = starts.of(exchange("trial", age=200.0))
    clock.append(THEN + timedelta(minutes=9))

    assert began == THEN - timedelta(seconds=200)
    assert starts.of(exchange("judge", age=1.0)) == began
    assert starts.of(exchange("judge", age=1.0, trial="other")) == clock[-1] - timedelta(seconds=1)
    assert starts.of(exchange("trial", age=5.0)) == clock[-1] - timedelta(seconds=5)
