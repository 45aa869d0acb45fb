"""Judges stored trials again, with the eval as it is now: no trial runs, and the former verdicts stay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from attrs import evolve

from skillwalker.answering import Asked, answering, answering_problems, judge_models
from skillwalker.checks import CheckedTest, check
from skillwalker.claude_code import prompt_text
from skillwalker.errors import ConfigurationError, NothingSelectedError, Problem
from skillwalker.expectations.base import Health, Services
from skillwalker.gateway.responders import Caller
from skillwalker.gateway.server import Gateway
from skillwalker.gateway.spending import cost_of, spends
from skillwalker.judge_client import AnthropicJudge, import_ahead
from skillwalker.judged_by import expect_digest, judged_by
from skillwalker.kinship import kinship_notices
from skillwalker.models import model_id
from skillwalker.prices import Prices
from skillwalker.records import load_run, verdict_object
from skillwalker.redaction import Redactor
from skillwalker.rejudged import Rejudged, rejudged
from skillwalker.request import RunRequest
from skillwalker.results import RunResult, TrialResult, trial_outcome
from skillwalker.select import Selection
from skillwalker.spend_records import JUDGE
from skillwalker.store import RunDirectory
from skillwalker.transcript import Transcript
from skillwalker.tree import Tree
from skillwalker.verdicts import judge_all
from skillwalker.workspace import Workspace


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
    request = evolve(request, subscription=False)
    run = load_run(directory)
    if tests is not None:
        run = evolve(run, tests=tuple(test for test in run.tests if (test.eval, test.name) in tests))
    if not any(test.trials for test in run.tests):
        raise NothingSelectedError(f"run {run.run_id} has no finished trial to judge")
    known = _checked(run, request.root)
    judge_model = request.judge_model
    asks = any(one.uses_judge for one in known.values())
    if asks:
        if problems := list(_unanswered(request, known, run, environment)):
            raise ConfigurationError(problems)
        import_ahead()
        tested = [(known[test.eval, test.name], test.model) for test in run.tests if test.trials]
        for note in kinship_notices(request, tested):
            say(f"note: {note}")
    answers = answering(request if asks else evolve(request, rehearse=True), environment, redactor, say)
    again_judged = []
    with Gateway(answers.responder) as gateway:
        for test in run.tests:
            checked = known[test.eval, test.name]
            trials = tuple(
                _again(trial, checked, directory, gateway, judge_model, answers.prices)
                for trial in test.trials
            )
            again_judged.append(evolve(test, trials=trials))
    for note in answers.close():
        say(note)
    again = evolve(run, tests=tuple(again_judged))
    now = {name: (judged_by(checked), expect_digest(checked.test)) for name, checked in known.items()}
    source = answers.source if asks else None
    directory.add_judgement(redactor.value(list(_lines(again, now, source))))
    return rejudged(run, again, directory.manifest(), now, source)


def _unanswered(
    request: RunRequest,
    known: Mapping[tuple[str, str], CheckedTest],
    run: RunResult,
    environment: Mapping[str, str],
) -> Iterator[Problem]:
    """Why the judges would get no answers."""
    models = {model_id(one): None for checked in known.values() for one in judge_models(request, checked)}
    judged = [
        trial.id for test in run.tests if known[test.eval, test.name].uses_judge for trial in test.trials
    ]
    yield from answering_problems(request, Asked(tuple(models), (), tuple(judged)), environment)


def _checked(run: RunResult, root: Path) -> Mapping[tuple[str, str], CheckedTest]:
    wanted = [(test.eval, test.name) for test in run.tests]
    evals = tuple(dict.fromkeys(name for name, _ in wanted))
    checked, _ = check(Selection(root, evals), root)
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


def _again(
    trial: TrialResult,
    checked: CheckedTest,
    directory: RunDirectory,
    gateway: Gateway,
    judge_model: str | None,
    prices: Prices | None,
) -> TrialResult:
    path = directory.path / "trials" / trial.id
    if not (path / "events.jsonl").exists():
        return trial  # it never started, so there is nothing to judge
    test = checked.test
    prompt = prompt_text(test, checked.agent.id if checked.agent else None)
    transcript = Transcript.read(path / "events.jsonl", checked.plugins.names, prompt)
    health = Health() if trial.healthy else Health(trial.reason, trial.message)
    scaffold = Tree.of_directory(test.scaffold, root=test.scaffold) if test.scaffold else None
    saved = path / "workspace.tar"
    workspace = Workspace(saved, scaffold) if saved.exists() else None
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
        judge_cost_usd=cost_of(spent) if prices else None,
        spent=(*(one for one in trial.spent if one.conversation != JUDGE), *spent),
    )


def _lines(
    run: RunResult, now: Mapping[tuple[str, str], tuple[Mapping[str, str], str]], source: str | None
) -> Iterator[dict[str, object]]:
    for test in run.tests:
        for trial in test.trials:
            for one in trial.judged:
                yield {
                    "trial": trial.id,
                    "position": one.position,
                    **verdict_object(one),
                    "files": now[test.eval, test.name][0],
                    "judged_from": source,
                }
