"""The verdicts of all expectations of a test on one trial, fresh or stored."""

from __future__ import annotations

from skillwalker.checks import CheckedTest
from skillwalker.expectations.base import Health, Services, Trial
from skillwalker.expectations.bound import judge_trial
from skillwalker.results import Judged
from skillwalker.transcript import Transcript
from skillwalker.workspace import Workspace


def judge_all(
    checked: CheckedTest,
    transcript: Transcript,
    health: Health,
    workspace: Workspace | None,
    services: Services,
    *,
    duration_ms: int | None = None,
    cost_usd: float | None = None,
) -> tuple[Judged, ...]:
    """One after the other, in the order of `expect`."""
    trial = Trial(
        eval=checked.eval,
        test=checked.test,
        transcript=transcript,
        health=health,
        services=services,
        names=checked.plugins.names,
        duration_ms=duration_ms,
        cost_usd=cost_usd,
        workspace=workspace,
    )
    return tuple(
        Judged(position, bound.spec.type, judge_trial(bound, trial))
        for position, bound in enumerate(checked.expectations)
    )
