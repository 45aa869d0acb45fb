"""Judges stored trials again, with the eval as it is now: no trial runs, and the former verdicts stay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import evolve

from skillwalker.checks import CheckedTest, check
from skillwalker.claude_code import prompt_text
from skillwalker.errors import ConfigurationError, NothingSelectedError
from skillwalker.expectations.base import Health, Services
from skillwalker.gateway.rehearsal import RehearsalResponder
from skillwalker.gateway.responders import Caller
from skillwalker.gateway.server import Gateway
from skillwalker.judge_client import AnthropicJudge, import_ahead
from skillwalker.records import load_run, verdict_object
from skillwalker.redaction import Redactor
from skillwalker.results import RunResult, TrialResult, trial_outcome
from skillwalker.select import Selection
from skillwalker.store import RunDirectory
from skillwalker.transcript import Transcript
from skillwalker.tree import Tree
from skillwalker.verdicts import judge_all
from skillwalker.workspace import Workspace


def rejudge(
    directory: RunDirectory, root: Path, *, judge_model: str | None = None, redactor: Redactor | None = None
) -> RunResult:
    """The run with new verdicts, which are also kept in its `judgements/`.

    Args:
        judge_model: Beats the models in the expectations.

    Raises:
        ConfigurationError: a test of the run is not there any more, or its eval has problems.
        NothingSelectedError: the run has no trial that could be judged.
    """
    run = load_run(directory)
    if not any(test.trials for test in run.tests):
        raise NothingSelectedError(f"run {run.run_id} has no finished trial to judge")
    known = _checked(run, root)
    if any(one.uses_judge for one in known.values()):
        import_ahead()
    tests = []
    with Gateway(RehearsalResponder()) as gateway:
        for test in run.tests:
            checked = known[test.eval, test.name]
            trials = tuple(_again(trial, checked, directory, gateway, judge_model) for trial in test.trials)
            tests.append(evolve(test, trials=trials))
    again = evolve(run, tests=tuple(tests))
    directory.add_judgement((redactor or Redactor()).value(list(_lines(again))))
    return again


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
    caller = Caller(trial_id=trial.id, purpose="judge", index=trial.index, script=checked.script)
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
    outcome = trial_outcome(one.verdict for one in judged)
    return evolve(trial, judged=judged, outcome=outcome, reason=reason)


def _lines(run: RunResult) -> Iterator[dict[str, object]]:
    for test in run.tests:
        for trial in test.trials:
            for one in trial.judged:
                yield {"trial": trial.id, "position": one.position, **verdict_object(one)}
