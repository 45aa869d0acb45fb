"""What reports say of a run, a test and a trial beside verdicts, as labels and values: absent is not shown.

A new figure gets its row here, and the page and the Markdown show it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from skillwalker.events import as_dict, as_str
from skillwalker.outcomes import Outcome
from skillwalker.reports.figures import judges_cost, run_judges_cost, test_figures
from skillwalker.reports.figures import passed_of as passed_of
from skillwalker.reports.source import Source, started
from skillwalker.results import TestResult, TrialResult
from skillwalker.text import count


@frozen
class Fact:
    """One label with its value, in words for people."""

    label: str
    value: str


def run_facts(source: Source) -> list[Fact]:
    """Where the run comes from: enough to repeat it."""
    run, manifest = source.run, source.manifest
    options = as_dict(manifest.get("options"))
    return _told(
        {
            "run": run.run_id,
            "started": started(run),
            "took": seconds(run.duration_ms),
            "cost": dollars(run.cost_usd),
            "judges' cost": dollars(run_judges_cost(run)),
            "answers from": ANSWERS.get(run.model_source, run.model_source),
            "sandbox": run.sandbox,
            "Claude Code": run.claude_code_version,
            "image": run.image,
            "Skillwalker": as_str(manifest.get("skillwalker")),
            "Python": as_str(manifest.get("python")),
            "options": ", ".join(_options(options)) or None,
            "skipped": "; ".join(f"{one.eval}::{one.name}: {one.reason}" for one in run.skipped) or None,
        }
    )


ANSWERS = {
    "api": "the model",
    "record": "the model, recorded",
    "replay": "a recording",
    "rehearsal": "a rehearsal: a script or a simple rule",
}


def test_facts(test: TestResult) -> list[Fact]:
    """What holds for all trials of a test together, beside `passed_of`."""
    return _told({"type": test.type, "model": test.model, **test_figures(test)})


test_facts.__test__ = False  # type: ignore[attr-defined]


def trial_facts(trial: TrialResult) -> list[Fact]:
    """What was observed of one trial."""
    usage = trial.usage
    return _told(
        {
            "took": seconds(trial.duration_ms),
            "turns": None if trial.turns is None else f"{trial.turns:,}",
            "cost": dollars(trial.cost_usd),
            "judges' cost": dollars(judges_cost([trial])),
            "tokens in": _number(usage.input_tokens) if usage else None,
            "out": _number(usage.output_tokens) if usage else None,
            "cache read": _number(usage.cache_read_input_tokens) if usage else None,
            "cache written": _number(usage.cache_creation_input_tokens) if usage else None,
            "skills": ", ".join(_use(one.name, one.calls, one.loaded, "loaded") for one in trial.skills),
            "agents": ", ".join(
                _use(one.name, one.calls, one.completed, "completed") for one in trial.agents
            ),
        }
    )


def totals(source: Source) -> dict[Outcome, int]:
    """How many tests ended how."""
    return {outcome: source.run.count(outcome) for outcome in Outcome}


def seconds(duration_ms: int | None) -> str | None:
    return None if duration_ms is None else f"{duration_ms / 1000:,.1f} s"


def dollars(cost_usd: float | None) -> str | None:
    return None if cost_usd is None else f"{cost_usd:.4f} USD"


def _told(facts: Mapping[str, str | None]) -> list[Fact]:
    return [Fact(label, value) for label, value in facts.items() if value]


def _number(value: int | None) -> str | None:
    return None if value is None else f"{value:,}"


def _use(name: str, calls: int, done: bool | None, word: str) -> str:
    state = {True: word, False: f"not {word}", None: f"not known whether {word}"}[done]
    return f"{name} ({count(calls, 'call')}, {state})"


def _options(options: Mapping[str, Any]) -> list[str]:
    """Those that say something: not those that are off or not given."""
    said = {key: value for key, value in options.items() if value not in (None, False, (), [], {}, "")}
    return [key if value is True else f"{key} {_value(value)}" for key, value in said.items()]


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{key} {one}" for key, one in value.items() if one is not None) + ")"
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
