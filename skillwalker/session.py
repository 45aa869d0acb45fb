"""One call of `skillwalker run` as a library: from what was asked to a finished run."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

from attrs import asdict, evolve

from skillwalker import __version__
from skillwalker.answering import Answering, answering, overrun
from skillwalker.history import set_aside_note, spent_in
from skillwalker.jobs import Listener, Settings, TrialJob
from skillwalker.judged_by import changed_meanwhile, judged_by
from skillwalker.opening import opened
from skillwalker.outcomes import Outcome, Reason
from skillwalker.plan import jobs as trial_jobs
from skillwalker.preparing import asked_by, network_of, require_startable
from skillwalker.provenance import models_object, run_notes
from skillwalker.records import SCHEMA, load_run, planned_object, trial_file
from skillwalker.redaction import Redactor
from skillwalker.request import Prepared, Resumed
from skillwalker.results import RunResult, TrialResult
from skillwalker.resume import kept_options
from skillwalker.sandbox.base import Sandbox
from skillwalker.sandbox.owner import Owner
from skillwalker.sandbox.passing import passed_environment
from skillwalker.settling import AllAtOnce, AsNeeded, Queue
from skillwalker.store import RunDirectory, Store, new_run_id
from skillwalker.text import count


def run(
    prepared: Prepared,
    listener: Listener,
    progress: Callable[[str], None],
    redactor: Redactor | None = None,
    environment: Mapping[str, str] | None = None,
) -> RunResult:
    """Runs what was prepared and keeps everything below the root's `.skillwalker`.

    Args:
        progress: Is told in words what happens before the first trial, and when all have to wait.
        redactor: Knows the secrets that must be in nothing that is kept or shown.
        environment: As in `require_startable`; none by default.

    Raises:
        CannotStartError: no engine, no usable image, or no usable Claude Code.
        ConfigurationError: see `require_startable`.
    """
    request, redactor, environment = prepared.request, redactor or Redactor(), environment or {}
    require_startable(prepared, environment)
    # From here on it costs: these import an HTTP server.
    from skillwalker.gateway.server import Gateway
    from skillwalker.judge_client import import_ahead
    from skillwalker.runner import run_jobs
    from skillwalker.supervisor import Supervisor
    from skillwalker.worker import Worker, installed

    passed = passed_environment(request.sandbox_env, environment)
    files = [(test.checked, judged_by(test.checked)) for test in prepared.tests]
    resumed = prepared.resumed
    run_id = resumed.directory.id if resumed else new_run_id(datetime.now(UTC))
    with ExitStack() as stack:
        if any(test.checked.uses_judge for test in prepared.tests):
            import_ahead()
        place = stack.enter_context(opened(prepared, run_id, progress, passed))
        sandbox, version = place.sandbox, place.claude_code_version
        jobs = request.jobs or sandbox.default_jobs(request.limits.memory_mib)
        beyond = overrun(request, asked_by(prepared), jobs)
        if beyond:
            progress(f"--max-cost ${request.max_cost_usd:g}; {beyond}")
        spent = _spent(resumed, progress) if beyond else 0.0
        answers = answering(request, environment, redactor, progress, overrun=beyond, spent_usd=spent)
        settings = Settings(
            timeout_seconds=request.timeout_seconds,
            limits=request.limits,
            background=request.background,
            keep=request.keep,
            judge_model=request.judge_model,
            claude_code_version=version,
            prices=answers.prices,
            judged_by_claude_code=answers.judged_by_claude_code(asked_by(prepared).trials),
        )
        if resumed:
            directory = resumed.directory
            credential = _credentials_of_both(directory, answers, progress)
            options = {**directory.manifest()["options"], **kept_options(request)}
            now = {"interrupted": None, "credential": credential, "options": options}
            directory.update({"owner": str(Owner.current()), **now})
        else:
            manifest = _manifest(prepared, run_id, sandbox, version, jobs, answers)
            directory = Store(request.root).create(run_id, manifest)
        _set_aside(prepared, directory)
        gateway = stack.enter_context(Gateway(answers.responder, redactor.value))
        supervisor = stack.enter_context(Supervisor())
        worker = Worker(
            sandbox,
            gateway,
            supervisor,
            listener,
            redactor,
            place.commands,
            network_of(request, environment),
            settled=lambda trial: answers.settle(trial.id, trial.outcome, trial.reason),
        )
        stack.enter_context(installed(run_id, worker))
        executor = stack.enter_context(ThreadPoolExecutor(jobs, "trial"))
        todo = trial_jobs(prepared.tests, directory, settings, prepared.finished)
        queue = _queue(prepared, todo)
        stop_too = place.commands.stop if place.commands else None
        ran = run_jobs(queue, executor, supervisor, stop_too, progress)
    for note in (*sandbox.notes, *answers.close(), *changed_meanwhile(files)):
        progress(note)
    result = load_run(directory)
    models = {"models": models_object(result.all_tests)} if answers.prices else {}
    about = [*run_notes(result.all_tests), set_aside_note(directory)] if answers.prices else []
    for note in filter(None, about):
        progress(note)
    before = result.duration_ms if resumed else 0
    together = None if before is None else before + ran.duration_ms  # unknown after a crash
    try:
        directory.update({"duration_ms": together, "interrupted": ran.interrupted, **models})
        result = evolve(result, duration_ms=together, interrupted=ran.interrupted)
    except OSError as error:  # the disk is full; what was measured is told all the same
        progress(f"run.json could not be completed: {error.strerror}")
    return evolve(result, allow_unmeasured=request.allow_unmeasured)


def _queue(prepared: Prepared, jobs: list[TrialJob]) -> Queue:
    """The order in which jobs start, and which of them wait to see whether they are needed."""
    if not prepared.request.stop_early:
        return AllAtOnce(tuple(jobs))
    before = load_run(prepared.resumed.directory).all_tests if prepared.resumed else ()
    return AsNeeded.of(jobs, {test.key: (test.trials, test.need) for test in prepared.tests}, before)


def _set_aside(prepared: Prepared, directory: RunDirectory) -> None:
    """Makes room for the trials to come, and tells why those of broken expectation types will not."""
    for planned in prepared.tests:
        for index, trial in enumerate(planned.trial_ids()):
            if trial in prepared.finished:
                continue
            directory.set_aside(trial)
            if planned.checked.broken:
                result = TrialResult(
                    id=trial,
                    index=index + 1,
                    outcome=Outcome.UNMEASURED,
                    arm=planned.arm,
                    reason=Reason.EXPECTATION_ERROR,
                    message="; ".join(planned.checked.broken),
                    healthy=False,
                )
                directory.finish_trial(
                    trial, trial_file(planned.checked.eval.name, planned.checked.test.name, result)
                )


def _credentials_of_both(
    directory: RunDirectory, answers: Answering, progress: Callable[[str], None]
) -> str | None:
    """The kinds of credential that a run which is gone on with has used, this time's last."""
    before = directory.manifest().get("credential")
    now = answers.credential.kind if answers.credential else None
    if before is None or now is None or now in before.split(", "):
        return before or now
    progress(f"note: the run began with another kind of credential ({before}); it goes on with {now}")
    return f"{before}, {now}"


def _spent(resumed: Resumed | None, progress: Callable[[str], None]) -> float:
    """US dollars that a run which is gone on with has spent before, as far as that is known."""
    if resumed is None:
        return 0.0
    usd, unknown = spent_in(resumed.directory)
    if unknown:
        progress(f"what {count(unknown, 'earlier trial')} cost is not known; --max-cost does not count it")
    return usd


def _manifest(
    prepared: Prepared,
    run_id: str,
    sandbox: Sandbox,
    claude_code_version: str | None,
    jobs: int,
    answers: Answering,
) -> dict[str, Any]:
    request = prepared.request
    return {
        "schema": SCHEMA,
        "run_id": run_id,
        "skillwalker": __version__,
        "python": platform.python_version(),
        "sandbox": sandbox.name,
        "model_source": answers.source,
        "owner": str(Owner.current()),
        "credential": answers.credential.kind if answers.credential else None,
        "claude_code_version": claude_code_version,
        "image": sandbox.image,
        "options": {**request.options(), "jobs": jobs},
        "tests": [{**planned_object(test.result(())), "inputs": test.inputs()} for test in prepared.tests],
        "skipped": [asdict(one) for one in prepared.skipped],
    }
