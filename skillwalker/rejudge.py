"""Judges stored trials again, with the eval as it is now: no trial runs, and the former verdicts stay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from skillwalker.answering import (
    Asked,
    answering,
    answering_problems,
    judge_models,
    model_source,
    overrun,
)
from skillwalker.checks import CheckedTest, check
from skillwalker.claude_code import prompt_text
from skillwalker.credentials import find_credentials
from skillwalker.errors import ConfigurationError, NothingSelectedError, Problem
from skillwalker.expectations.base import Health, Services
from skillwalker.gateway.budget import Overrun
from skillwalker.gateway.cassettes.cassette import cassette_file
from skillwalker.gateway.cassettes.checking import asked_by_claude_code
from skillwalker.gateway.responders import Caller
from skillwalker.gateway.server import Gateway
from skillwalker.gateway.spending import cost_of, spends
from skillwalker.history import REAL
from skillwalker.judge_client import AnthropicJudge, import_ahead
from skillwalker.judged_by import expect_digest, judged_by, prompt_digest
from skillwalker.judgements import lines
from skillwalker.kinship import kinship_notices
from skillwalker.models import model_id
from skillwalker.outcomes import Reason
from skillwalker.prices import Prices
from skillwalker.records import load_run
from skillwalker.redaction import Redactor
from skillwalker.rejudged import Rejudged, inputs_of, rejudged
from skillwalker.request import RunRequest
from skillwalker.results import RunResult, TestResult, TrialResult, trial_outcome
from skillwalker.select import Selection
from skillwalker.spend_records import JUDGE
from skillwalker.store import RunDirectory
from skillwalker.text import count
from skillwalker.transcript import Transcript
from skillwalker.tree import Tree
from skillwalker.verdicts import judge_all
from skillwalker.workspace import Workspace

_NEEDS_KEY = (
    "llm-judge needs an API key here, set ANTHROPIC_API_KEY: a subscription is for Claude Code's own "
    "requests, and Claude Code judges in a run only"
)


def rejudge(
    directory: RunDirectory,
    request: RunRequest,
    *,
    tests: Collection[tuple[str, str]] | None = None,
    redactor: Redactor | None = None,
    environment: Mapping[str, str] | None = None,
    say: Callable[[str], None] = print,
) -> Rejudged:
    """The run with new verdicts, and what they changed; they are also kept in its `judgements/`.

    Args:
        request: Of it count the root with the evals, the judge's model, and what answers.
        tests: The (eval, test) pairs of the run that are judged; None means all.
        environment: Where credentials are looked for.
        say: Is told when all have to wait.

    Raises:
        ConfigurationError: a test of the run is gone, its eval has problems, or nothing answers.
        NothingSelectedError: the run has no trial that could be judged.
    """
    redactor, environment = redactor or Redactor(), environment or {}
    # A second Claude Code would need a sandbox; here a client of ours asks, with a key.
    only_subscription = _has_only_a_subscription(request, environment)
    request = evolve(request, subscription=False)
    run = load_run(directory)
    if tests is not None:
        run = evolve(run, tests=tuple(test for test in run.tests if (test.eval, test.name) in tests))
    if not any(test.trials for test in run.tests):
        raise NothingSelectedError(f"run {run.run_id} has no finished trial to judge")
    known = _checked(run, request.root, rehearsed=request.rehearse)
    judge_model = request.judge_model
    asks = any(one.uses_judge for one in known.values())
    beyond: Overrun | None = None
    if asks:
        asked = _asked(request, known, run)
        if only_subscription:
            raise ConfigurationError([_NEEDS_KEY])
        if problems := list(_unanswered(request, asked, environment)):
            raise ConfigurationError(problems)
        import_ahead()
        if beyond := overrun(request, asked, 1):
            say(f"--max-cost ${request.max_cost_usd:g}; {beyond}")
        tested = [(known[test.eval, test.name], test.model) for test in run.tests if test.trials]
        for note in kinship_notices(request, tested):
            say(f"note: {note}")
    manifest = directory.manifest()
    starts = {name: _start(one, inputs_of(manifest, *name)) for name, one in known.items()}
    for note in _changed(run, known, starts, manifest):
        say(f"note: {note}")
    answered = request if asks else evolve(request, rehearse=True)
    answers = answering(answered, environment, redactor, say, overrun=beyond)
    again_judged: list[TestResult] = []
    now = {name: (judged_by(checked), expect_digest(checked.test)) for name, checked in known.items()}
    sources = {name: answers.source if one.uses_judge else None for name, one in known.items()}

    def kept() -> RunResult:
        """What has been judged, and is on disk as well."""
        again = evolve(run, tests=tuple(again_judged))
        try:
            directory.add_judgement(redactor.value(list(lines(again, now, sources, directory))))
        except OSError as error:  # what was judged, and may have cost, is told all the same
            say(f"the new verdicts could not be kept in {directory.path}: {error.strerror}")
        return again

    try:
        with Gateway(answers.responder) as gateway:
            for test in run.tests:
                checked, start = known[test.eval, test.name], starts[test.eval, test.name]
                trials = tuple(
                    _again(trial, checked, start, directory, gateway, judge_model, answers.prices)
                    for trial in test.trials
                )
                for trial in filter(lambda one: one.healthy, trials):  # of others nothing is judged
                    answers.settle(trial.id, trial.outcome, trial.reason)
                # A judge that was no model gives verdicts, but nothing that could enter a rate.
                real = test.real and (answers.source in REAL or not checked.uses_judge)
                again_judged.append(evolve(test, trials=trials, real=real))
    except KeyboardInterrupt:
        if again_judged:
            kept()
            say(f"kept: {count(len(again_judged), 'test')} of {len(run.tests)} that had been judged again")
        raise
    for note in answers.close():
        say(note)
    again = kept()
    return rejudged(run, again, manifest, now, answers.source if asks else None)


def _asked(request: RunRequest, known: Mapping[tuple[str, str], CheckedTest], run: RunResult) -> Asked:
    models = {model_id(one): None for checked in known.values() for one in judge_models(request, checked)}
    judged = [
        trial.id for test in run.tests if known[test.eval, test.name].uses_judge for trial in test.trials
    ]
    return Asked(tuple(models), (), tuple(judged))


def _unanswered(request: RunRequest, asked: Asked, environment: Mapping[str, str]) -> Iterator[Problem]:
    """Why the judges would get no answers."""
    yield from answering_problems(request, asked, environment)
    if model_source(request) == "replay" and request.replay:
        why = "Claude Code itself asked, with a subscription: only a run can replay it"
        for one in sorted(asked_by_claude_code(request.replay, asked.judged)):
            yield Problem(why, str(cassette_file(request.replay, one, "judge")))


def _has_only_a_subscription(request: RunRequest, environment: Mapping[str, str]) -> bool:
    if model_source(request) not in REAL or not request.subscription:
        return False
    with_it, without = (find_credentials(environment, subscription=allowed) for allowed in (True, False))
    return with_it.used is not None and without.used is None


def _checked(run: RunResult, root: Path, *, rehearsed: bool) -> Mapping[tuple[str, str], CheckedTest]:
    wanted = [(test.eval, test.name) for test in run.tests]
    evals = tuple(dict.fromkeys(name for name, _ in wanted))
    checked, _ = check(Selection(root, evals), root, rehearsed=rehearsed)
    if checked.problems:
        raise ConfigurationError(checked.problems)
    found = {(one.eval.name, one.test.name): one for one in checked.tests}
    gone = [
        f"{name}::{test} is in the run and no longer in its eval"
        for name, test in wanted
        if (name, test) not in found
    ]
    if gone:
        raise ConfigurationError(gone)
    return found


@frozen
class _Start:
    """What is in a test's scaffold now.

    Attributes:
        scaffold: None: there is none, the work directory begins empty.
        same: Whether its trials began with it; else nobody knows what they changed.
    """

    scaffold: Tree | None
    same: bool


def _start(checked: CheckedTest, inputs: Mapping[str, Any]) -> _Start:
    place = checked.test.scaffold
    scaffold = Tree.of_directory(place, root=place) if place else None
    now = scaffold.digest if scaffold else None
    return _Start(scaffold, "scaffold" in inputs and inputs["scaffold"] == now)


def _changed(
    run: RunResult,
    known: Mapping[tuple[str, str], CheckedTest],
    starts: Mapping[tuple[str, str], _Start],
    manifest: Mapping[str, Any],
) -> Iterator[str]:
    """What of a test its trials did not have."""
    for test in run.tests:
        if not any(trial.judged for trial in test.trials):
            continue
        name = (test.eval, test.name)
        if inputs_of(manifest, *name).get("prompt") not in (None, prompt_digest(known[name].test)):
            what = "has changed since the run; a judge is shown the new one"
            yield f"the prompt of {test.eval}::{test.name} {what}"
        if not starts[name].same:
            what = "so what its trials changed is not known, and verdicts on it are unmeasured"
            yield f"the scaffold of {test.eval}::{test.name} is not as it was in the run, {what}"


def _again(
    trial: TrialResult,
    checked: CheckedTest,
    start: _Start,
    directory: RunDirectory,
    gateway: Gateway,
    judge_model: str | None,
    prices: Prices | None,
) -> TrialResult:
    path = directory.path / "trials" / trial.id
    events, saved = path / "events.jsonl", path / "workspace.tar"
    if not events.exists() and not trial.judged:
        return trial  # it never started, so there is nothing to judge
    prompt = prompt_text(checked.test, checked.agent.id if checked.agent else None)
    transcript = Transcript(events)
    if events.exists():
        transcript = Transcript.read(events, checked.plugins.names, prompt)
    health = Health() if trial.healthy else Health(trial.reason, trial.message)
    if health.healthy and not (transcript.result and transcript.ended):
        health = Health(
            Reason.INCOMPLETE_STREAM, "its transcript is not whole in the run's directory any more"
        )
    workspace = Workspace(saved, start.scaffold) if start.same and saved.exists() else None
    if workspace and not workspace.complete:
        workspace = None
    caller = Caller(
        trial_id=trial.id, purpose="judge", index=trial.index, script=checked.script, by_claude_code=False
    )
    with gateway.open(caller) as link:
        judged = judge_all(
            checked,
            transcript,
            health,
            workspace,
            Services(AnthropicJudge(link), judge_model),
            duration_ms=trial.duration_ms,
            cost_usd=trial.cost_usd,
        )
    reason = health.reason or next((one.verdict.reason for one in judged if one.verdict.reason), None)
    spent = spends(link.traffic().answered, prices)
    return evolve(
        trial,
        judged=judged,
        outcome=trial_outcome(one.verdict for one in judged),
        reason=reason,
        message=health.message,
        judge_cost_usd=cost_of(spent, link.traffic().unheard) if prices else None,
        spent=(*(one for one in trial.spent if one.conversation != JUDGE), *spent),
    )
