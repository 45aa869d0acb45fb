"""What answers in a run: chosen by what was asked for, put together in one place.

From the outside in: faults that a script injects, the budget, the recording, and the model itself; or a
script, or cassettes, in the place of the last three.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from attrs import field, frozen

from skillwalker.checks import CheckedTest
from skillwalker.claude_code import CALL_TYPES
from skillwalker.credentials import Credential, advice, find_credentials
from skillwalker.errors import Problem
from skillwalker.frontmatter import read_frontmatter, text_of
from skillwalker.jsonfile import content_of
from skillwalker.models import MODEL_IDS, is_model, model_id
from skillwalker.outcomes import Outcome, Reason
from skillwalker.plan import PlannedTest
from skillwalker.prices import Prices, load_prices
from skillwalker.request import RunRequest

if TYPE_CHECKING:
    from skillwalker.gateway.budget import Budget, Overrun
    from skillwalker.gateway.cassettes.recording import RecordingResponder
    from skillwalker.gateway.responders import Responder
    from skillwalker.redaction import Redactor

ModelSource = Literal["api", "record", "replay", "rehearsal"]


@frozen
class Answering:
    """What stands behind the gateway of one run.

    Attributes:
        credential: What opens the way to the model; None where none is asked.
        prices: None where nothing is spent.
    """

    source: ModelSource
    responder: Responder
    credential: Credential | None = None
    prices: Prices | None = None
    budget: Budget | None = None
    _recording: RecordingResponder | None = field(default=None, repr=False)
    _replayed: Path | None = None

    def judged_by_claude_code(self, trials: Iterable[str]) -> frozenset[str]:
        """Those whose judge has to be a second Claude Code: only its own requests may use a subscription.

        Where such a judge was recorded, it has to be one again.
        """
        if self._replayed:
            from skillwalker.gateway.cassettes.checking import asked_by_claude_code

            return frozenset(asked_by_claude_code(self._replayed, trials))
        subscription = self.credential is not None and self.credential.kind == "subscription"
        return frozenset(trials if subscription else ())

    def settle(self, trial_id: str, outcome: Outcome, reason: Reason | None) -> None:
        """To be called when a trial was judged: only then is known whether what it was answered is kept."""
        if self._recording:
            self._recording.settle(trial_id, outcome, reason)

    def close(self) -> tuple[str, ...]:
        """To be called when the last answer is over; what was not kept, a sentence each."""
        return self._recording.close() if self._recording else ()


@frozen
class Asked:
    """What a run asks.

    Attributes:
        models: By their full names, as far as they are known; a model may give its agents others.
        trials: Ids of the trials to run.
        judged: Ids of those, or of stored ones, that ask a judge.
        named_by: For models that only a plugin names, what there asks them.
        faulted: Tests into which a script injects faults, each `eval::test`.
    """

    models: tuple[str, ...] = ()
    trials: tuple[str, ...] = ()
    judged: tuple[str, ...] = ()
    named_by: Mapping[str, str] = field(factory=dict)
    faulted: tuple[str, ...] = ()


def model_source(request: RunRequest) -> ModelSource:
    """Where the answers of a run come from."""
    if request.rehearse:
        return "rehearsal"
    if request.replay:
        return "replay"
    return "record" if request.record else "api"


def answering_problems(
    request: RunRequest, asked: Asked, environment: Mapping[str, str]
) -> Iterator[Problem]:
    """Why there would be no answers; nothing is started to find out.

    Args:
        environment: Where credentials are looked for.
    """
    source = model_source(request)
    if source == "replay" and request.replay:
        from skillwalker.gateway.cassettes.checking import check

        yield from check(request.replay, asked.trials, asked.judged)
    if request.record and (why := _unwritable(request.record)):
        yield Problem(f"{why}: --record needs a directory that can be written to", str(request.record))
    if source not in ("api", "record"):
        return
    found = find_credentials(environment, subscription=request.subscription)
    yield from map(Problem, found.problems)
    if not (found.used or found.problems):
        yield Problem(advice(found, sys.platform))
    if request.max_cost_usd is not None:
        from skillwalker.gateway.budget import price_problems

        yield from map(Problem, price_problems(asked.models, load_prices(request.prices), asked.named_by))


def _unwritable(directory: Path) -> str:
    """Why nothing could be kept there; known before anything is paid for."""
    there = next(path for path in (directory, *directory.parents) if os.path.lexists(path))
    if not there.is_dir():
        return "it is no directory" if there == directory else f"{there} is no directory"
    return "" if os.access(there, os.W_OK | os.X_OK) else f"{there} cannot be written to"


def answering_notices(request: RunRequest, asked: Asked, environment: Mapping[str, str]) -> tuple[str, ...]:
    """What a user should know before the start, a sentence each."""
    source = model_source(request)
    if source == "rehearsal":
        return ()
    # A rehearsal's script is no part of another run, but for this.
    notices = [f"faults of its rehearsal.json are injected into {test}" for test in asked.faulted]
    if source == "replay" and request.replay:
        from skillwalker.gateway.cassettes.checking import missing

        return (*notices, *missing(request.replay, asked.trials, asked.judged))
    return (*notices, *find_credentials(environment, subscription=request.subscription).warnings)


def overrun(request: RunRequest, asked: Asked, jobs: int) -> Overrun | None:
    """What a run may spend beyond its cap at most; None where there is none."""
    if request.max_cost_usd is None or model_source(request) not in ("api", "record"):
        return None
    from skillwalker.gateway.budget import worst_overrun

    at_a_time = min(jobs, len(asked.trials) or 1)
    return worst_overrun(at_a_time, asked.models, load_prices(request.prices))


def answering(
    request: RunRequest,
    environment: Mapping[str, str],
    redactor: Redactor,
    say: Callable[[str], None],
    *,
    overrun: Overrun | None = None,
    spent_usd: float = 0.0,
) -> Answering:
    """What answers in this run; see `answering_problems`, which must have found none.

    Args:
        say: Is told when all trials have to wait.
        overrun: As told before the start.
        spent_usd: What a run that is gone on with has spent before.

    Raises:
        ConfigurationError: what the environment says of proxies or certificates cannot be used.
    """
    from skillwalker.gateway.faults import FaultsResponder

    source = model_source(request)
    if source == "rehearsal":
        from skillwalker.gateway.rehearsal import RehearsalResponder

        rehearsal = RehearsalResponder()
        if request.record is None:
            return Answering(source, FaultsResponder(rehearsal))
        from skillwalker.gateway.cassettes.recording import RecordingResponder

        recorded = RecordingResponder(rehearsal, request.record, rehearsed=True, redactor=redactor)
        return Answering(source, FaultsResponder(recorded), recording=recorded)
    if source == "replay" and request.replay:
        from skillwalker.gateway.cassettes.replaying import ReplayResponder

        replaying = ReplayResponder(request.replay, redactor=redactor)
        return Answering(source, FaultsResponder(replaying), replayed=request.replay)
    from skillwalker.gateway.budget import Budget, BudgetResponder
    from skillwalker.gateway.cassettes.recording import RecordingResponder
    from skillwalker.gateway.forward import ForwardResponder
    from skillwalker.gateway.network import EXTRA_CA_FILE
    from skillwalker.gateway.pacing import Pacer
    from skillwalker.gateway.upstream import Upstream

    credential = find_credentials(environment, subscription=request.subscription).used
    assert credential, "answering_problems would have told"
    upstream = Upstream(credential, extra_ca_file=environment.get(EXTRA_CA_FILE))
    responder: Responder = ForwardResponder(upstream, Pacer(say))
    recording = budget = None
    if request.record:
        responder = recording = RecordingResponder(responder, request.record, redactor=redactor)
    prices = load_prices(request.prices)
    if request.max_cost_usd is not None:
        budget = Budget(request.max_cost_usd, prices, overrun, spent_usd)
        responder = BudgetResponder(responder, budget)
    return Answering(source, FaultsResponder(responder), credential, prices, budget, recording)


def asked_of(request: RunRequest, tests: Collection[PlannedTest], skip: Collection[str] = ()) -> Asked:
    """What the tests of a run will ask.

    Args:
        skip: Ids of trials that need not run.
    """
    models: dict[str, None] = {}
    ids: list[str] = []
    judged: list[str] = []
    for test in tests:
        own = [trial for trial in test.trial_ids() if trial not in skip]
        ids += own
        models[model_id(test.model)] = None
        if test.checked.uses_judge:
            judged += own
            models |= dict.fromkeys(map(model_id, judge_models(request, test.checked)))
    named_by: dict[str, str] = {}
    if request.max_cost_usd is not None:  # who asks is looked for only where it counts
        named_by = {model: part for model, part in _named_by_plugins(tests).items() if model not in models}
    faulted = [f"{test.checked.eval.name}::{test.checked.test.name}" for test in tests if _is_faulted(test)]
    return Asked((*models, *named_by), tuple(ids), tuple(judged), named_by, tuple(dict.fromkeys(faulted)))


def _is_faulted(test: PlannedTest) -> bool:
    script = test.checked.script
    return script is not None and any(script.for_trial(index + 1).faults for index in range(test.trials))


def _named_by_plugins(tests: Iterable[PlannedTest]) -> Mapping[str, str]:
    """The models that skills and agents ask by their frontmatter, each with the first of them.

    Only where a trial gets the whole plugin, and only names of which it is known what they lead to.
    """
    parts: dict[Path, str] = {}
    for test in tests:
        if test.checked.test.type in CALL_TYPES:
            continue
        for plugin in test.checked.plugins.plugins:
            parts |= {one.path: f"agent {one.id}" for one in plugin.agents}
            parts |= {one.path: f"skill {one.id}" for one in plugin.skills}
    found: dict[str, str] = {}
    for path, part in parts.items():
        with contextlib.suppress(OSError):  # told where the plugin is read
            name = text_of(read_frontmatter(content_of(path)).fields.get("model")).strip()
            if name.removesuffix("[1m]") in MODEL_IDS or "-" in name:  # no other alias, such as `inherit`
                found.setdefault(model_id(name.removesuffix("[1m]")), part)
    return found


def judge_models(request: RunRequest, checked: CheckedTest) -> Iterator[str]:
    """The models that a test's expectations ask, as far as they tell."""
    for bound in checked.expectations:
        if getattr(bound.expectation, "uses_judge", False):
            model = request.judge_model or getattr(bound.expectation, "model", None)
            if isinstance(model, str) and is_model(model):
                yield model
