"""A comparison as JSON values."""

from __future__ import annotations

from typing import Any

from attrs import asdict

from skillwalker.comparison.changes import Change
from skillwalker.comparison.compare import Comparison
from skillwalker.comparison.observed import SeenTest
from skillwalker.results import RunResult


def comparison_object(it: Comparison) -> dict[str, Any]:
    """All of it, also what does not differ."""
    return {
        "schema": 1,
        "before": _run(it.before),
        "after": _run(it.after),
        "warnings": list(it.warnings),
        "changed": [_change(one) for one in it.changed],
        "controls": [asdict(one) for one in it.controls],
        "controls_note": it.controls_note,
        "tests": [
            {
                "eval": one.eval,
                "name": one.name,
                "only_in": one.only_in,
                "differs": one.differs,
                "before": _side(one.before),
                "after": _side(one.after),
                "p_value": one.noise.p_value if one.noise else None,
                "noise": one.noise.word if one.noise else None,
                "no_noise": one.no_noise,
                "changed_inputs": list(one.inputs),
                "changes": [_change(change) for change in one.changes],
                "texts_compared": one.pairs,
                "texts_differ": one.texts_differ,
                "text_diff": [line.mark + line.text for line in one.text_diff],
            }
            for one in it.tests
        ],
    }


def _run(run: RunResult) -> dict[str, Any]:
    return {"run_id": run.run_id, "outcome": str(run.outcome), "model_source": run.model_source}


def _side(one: SeenTest | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "outcome": str(one.test.outcome),
        "planned": one.test.planned,
        "measured": one.test.measured,
        "passed": one.test.passed,
        "blind": one.test.blind,
        "mean_cost_usd": one.cost_usd,
        "mean_judge_cost_usd": one.judge_cost_usd,
        "mean_turns": one.turns,
        "mean_duration_ms": one.duration_ms,
    }


def _change(one: Change) -> dict[str, str]:
    return {"label": one.label, "before": one.before, "after": one.after}
