"""What `run --dry-run` prints: the tests, where every option comes from, and what would be refused."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from attrs import asdict, evolve

from skillwalker.answering import model_source, overrun
from skillwalker.errors import ConfigurationError
from skillwalker.history import REAL, ExpectedCost, Wanted, expected_cost
from skillwalker.preparing import asked_by, require_startable
from skillwalker.request import Prepared
from skillwalker.results import CONTROL
from skillwalker.settings import OPTIONS
from skillwalker.sources import FIELDS, NO_FIELDS, Origin, Settled
from skillwalker.store import Store
from skillwalker.text import count, safe

_DEFAULTS = {"format": "console", "dry_run": False, "report": [], "quiet": False}


def plan_as_text(prepared: Prepared, settled: Settled) -> str:
    """For people."""
    request = prepared.request
    notices = () if settled.values.get("quiet") else prepared.notices
    lines = [f"note: {safe(notice)}" for notice in notices]
    for test in prepared.tests:
        one = test.checked
        answers = f"; rehearsed {'scripted' if one.script else 'by the rule'}" if request.rehearse else ""
        lines.append(
            f"{safe(one.eval.name)}::{safe(one.test.name)}  ({one.test.type}, {test.model}, "
            f"{count(test.trials, 'trial')}, "
            f"{count(len(one.expectations), 'expectation')}{answers})"
        )
    lines += [
        f"{safe(one.eval)}::{safe(one.name)}  (skipped: {safe(one.reason, 300)})" for one in prepared.skipped
    ]
    own = f"on this machine, with {safe(request.claude or 'the claude on PATH')}"
    where = f"in containers, image {safe(request.image or 'our own')}" if request.isolated else own
    lines += [
        f"{_tests(prepared)}, {count(prepared.trials, 'trial')}; nothing was started",
        *_cost_as_text(prepared),
        f"root {safe(str(request.root))}; timeout {request.timeout_seconds:g} s; "
        f"jobs {request.jobs or 'as many as fit'}; {where}; "
        f"background tasks {'on' if request.background else 'off'}",
    ]
    lines += _options_as_text(prepared, settled)
    lines += [f"this run would be refused: {safe(why)}" for why in _refusals(prepared)]
    return "\n".join(lines)


def _tests(prepared: Prepared) -> str:
    controls = sum(test.arm == CONTROL for test in prepared.tests)
    told = f" and {count(controls, 'control')}" if controls else ""
    return f"{count(len(prepared.tests) - controls, 'test')}{told}"


def _refusals(prepared: Prepared) -> list[str]:
    """Why the command could not be carried out; a question that it would ask first is no refusal."""
    request = prepared.request
    agreed = evolve(request, permitted=request.permitted or can_ask())
    try:
        require_startable(evolve(prepared, request=agreed), os.environ)
    except ConfigurationError as error:
        return list(map(str, error.problems))
    return []


def plan_as_json(prepared: Prepared, settled: Settled) -> str:
    """For programs."""
    tests = [
        {
            "eval": test.checked.eval.name,
            "name": test.checked.test.name,
            "type": str(test.checked.test.type),
            "model": test.model,
            "trials": test.trials,
            "need": test.need,
            "arm": test.arm,
        }
        for test in prepared.tests
    ]
    return json.dumps(
        {
            "tests": tests,
            "skipped": [asdict(one) for one in prepared.skipped],
            "trials": prepared.trials,
            "models": sorted(asked_by(prepared).models),
            "cost_usd": _cost_as_json(prepared),
            "max_cost": _cap_as_json(prepared),
            "options": {
                name: {"value": value, "source": origin.source, "place": origin.place}
                for name, value, origin in _options(prepared, settled)
            },
            "notes": prepared.notices,
            "refused": _refusals(prepared),
        }
    )


def _cost_as_text(prepared: Prepared) -> Iterator[str]:
    """What the run may cost; nothing where it costs nothing."""
    expected = _expected(prepared)
    if expected is None:
        return
    asked = asked_by(prepared)
    yield f"models, judges' too: {safe(', '.join(sorted(asked.models)))}"
    yield f"cost {expected}"
    request = prepared.request
    if beyond := overrun(request, asked, request.jobs or 1):
        each = "" if request.jobs else ", for each trial that runs at a time"
        yield f"--max-cost ${request.max_cost_usd:g}; {beyond}{each}"


def _cost_as_json(prepared: Prepared) -> dict[str, Any] | None:
    expected = _expected(prepared)
    if expected is None:
        return None
    return {
        "low": expected.low,
        "high": expected.high,
        "trials_seen": sum(len(test.seen) for test in expected.tests),
        "runs_seen": expected.runs,
        "tests_unseen": len(expected.unseen),
    }


def _cap_as_json(prepared: Prepared) -> dict[str, Any] | None:
    """The cap and what the run may spend beyond it at most; None where there is no cap."""
    request = prepared.request
    beyond = overrun(request, asked_by(prepared), request.jobs or 1)
    if beyond is None:
        return None
    return {
        "usd": request.max_cost_usd,
        "overrun_usd": beyond.usd,
        "jobs": request.jobs,  # not known before the engine is asked: then it is for each trial at a time
        "assumptions": beyond.assumptions,
    }


def _expected(prepared: Prepared) -> ExpectedCost | None:
    """What such trials cost before; None where nothing is spent."""
    if model_source(prepared.request) not in REAL:
        return None
    wanted = (
        Wanted(
            test.checked.eval.name,
            test.checked.test.name,
            test.model,
            sum(trial not in prepared.finished for trial in test.trial_ids()),
        )
        for test in prepared.tests
    )
    return expected_cost(wanted, Store(prepared.request.root))


def _options_as_text(prepared: Prepared, settled: Settled) -> Iterator[str]:
    rows = [
        (name, safe(_in_words(value), 60), str(origin)) for name, value, origin in _options(prepared, settled)
    ]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    yield "options, and where each comes from:"
    for name, value, origin in rows:
        yield f"  {name:{widths[0]}}  {value:{widths[1]}}  {safe(origin)}"


def _in_words(value: Any) -> str:
    if value is None or value in ([], {}):
        return "-"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _options(prepared: Prepared, settled: Settled) -> Iterator[tuple[str, Any, Origin]]:
    """Name, value as JSON, and origin of each option and setting."""
    request, resumed = prepared.request, prepared.resumed
    of_run = Origin("run", resumed.directory.id) if resumed else None
    stored = request.options()
    for name in OPTIONS:
        origin = settled.origins.get(name, Origin())
        if name in NO_FIELDS:
            value = settled.values.get(name, _DEFAULTS[name])
        elif name == "yes":
            value = request.permitted
        else:
            value = stored[FIELDS.get(name, name)]
            if value is None:  # said, but of no use in this kind of sandbox
                value = settled.values.get(name)
            if of_run and origin.source != "command line":
                origin = of_run
        yield name, value, origin
    settings = {
        "sandbox.dockerfile": stored["dockerfile"],
        **{f"sandbox.{name}": getattr(request.limits, name) for name in ("memory_mib", "cpus", "pids")},
        "sandbox.env": list(request.sandbox_env),
        "sandbox.network.allow": list(request.network_allow),
        "model.subscription": request.subscription,
        "prices": stored["prices"],
    }
    for name, value in settings.items():
        first = next((settled.origins[key] for key in settled.origins if _covers(name, key)), Origin())
        yield name, value, of_run or first


def _covers(name: str, key: str) -> bool:
    return key == name or key.startswith(f"{name}.")


def can_ask() -> bool:
    """Whether somebody is there to answer a question."""
    return sys.stdin.isatty() and sys.stderr.isatty()
