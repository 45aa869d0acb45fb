"""One call of `skillwalker run` as a library: from what was asked to a finished run."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from attrs import asdict, evolve

from skillwalker import __version__
from skillwalker.answering import (
    Answering,
    Asked,
    answering,
    answering_problems,
    asked_of,
    model_source,
    overrun,
)
from skillwalker.checks import check
from skillwalker.controls import with_controls
from skillwalker.credentials import find_credentials
from skillwalker.errors import ConfigurationError, NothingSelectedError, Problem
from skillwalker.history import REAL, set_aside_note, spent_in
from skillwalker.jobs import Listener, Settings, TrialJob
from skillwalker.judged_by import changed_meanwhile, judged_by
from skillwalker.kinship import kinship_notices
from skillwalker.models import is_model
from skillwalker.opening import PERMISSION, opened
from skillwalker.outcomes import Outcome, Reason
from skillwalker.plan import PlannedTest, plan, tree_notices
from skillwalker.plan import jobs as trial_jobs
from skillwalker.provenance import models_object, run_notes
from skillwalker.records import SCHEMA, load_run, planned_object, trial_file
from skillwalker.redaction import Redactor
from skillwalker.request import Prepared, Resumed, RunRequest
from skillwalker.results import RunResult, Skipped, TrialResult
from skillwalker.resume import kept_options
from skillwalker.sandbox.base import Sandbox
from skillwalker.sandbox.local import find_program
from skillwalker.sandbox.owner import Owner
from skillwalker.sandbox.passing import passed_environment
from skillwalker.select import Selection
from skillwalker.settling import AllAtOnce, AsNeeded, Queue
from skillwalker.store import RunDirectory, Store, new_run_id
from skillwalker.text import count, listed

if TYPE_CHECKING:
    from skillwalker.sandbox.network import Network

_WHAT_TO_TYPE = (
    "type `skillwalker run --isolated --rehearse` to run in containers, "
    "or `skillwalker run --rehearse --yes` on this machine"
)
_NO_COMMANDS = (
    "expectations that run commands need --isolated; here they will be unmeasured, and so their tests"
)
_UNRESTRICTED = "sandbox.network.allow has no effect without --isolated: trials reach what this machine does"


def prepare(request: RunRequest) -> Prepared:
    """Finds, checks and plans; starts nothing.

    Raises:
        ConfigurationError: with every problem of the selected evals and of the request.
        NothingSelectedError: the selection or a part of it matches nothing.
    """
    problems = [
        Problem(f"{option} must be opus, sonnet, haiku or a full claude-... name, not {model}")
        for option, model in (("--model", request.model), ("--judge-model", request.judge_model))
        if model is not None and not is_model(model)
    ]
    selection = Selection(request.cwd, request.select, request.keyword, _failed_before(request))
    checked, notes = check(selection, request.root, rehearsed=request.rehearse)
    if problems or checked.problems:
        raise ConfigurationError([*problems, *checked.problems])
    skipped = tuple(
        Skipped(one.eval.name, one.test.name, str(one.test.type), one.test.skip)
        for one in checked.tests
        if one.test.skip
    )
    if skipped and len(skipped) == len(checked.tests):
        raise NothingSelectedError(f"every selected test is skipped: {_why(skipped)}")
    checked = evolve(checked, tests=tuple(one for one in checked.tests if not one.test.skip))
    planned = plan(checked.tests, model=request.model, trials=request.trials)
    if request.control:
        planned = with_controls(planned)
    kin = kinship_notices(request, [(one.checked, one.model) for one in planned])
    notices = dict.fromkeys([*notes, *checked.notices, *tree_notices(planned), *checked.broken, *kin])
    if request.network_allow and not request.isolated:
        notices[_UNRESTRICTED] = None
    if not request.isolated and any(_uses_commands(test) for test in planned):
        notices[_NO_COMMANDS] = None
    return Prepared(request, planned, tuple(notices), skipped=skipped)


def _why(skipped: Sequence[Skipped]) -> str:
    return listed([f"{one.eval}::{one.name} ({one.reason})" for one in skipped], 5)


def _uses_commands(test: PlannedTest) -> bool:
    return any(getattr(bound.expectation, "uses_commands", False) for bound in test.checked.expectations)


def asked_by(prepared: Prepared) -> Asked:
    """What the trials that are still to run will ask."""
    return asked_of(prepared.request, prepared.tests, prepared.finished)


def require_startable(prepared: Prepared, environment: Mapping[str, str]) -> None:
    """Tells of everything because of which a run cannot start, without starting anything.

    Args:
        environment: Where credentials, and variables that are passed on, are looked for.

    Raises:
        ConfigurationError
    """
    request = prepared.request
    problems = _sandbox_problems(request)
    for needed in (
        lambda: passed_environment(request.sandbox_env, environment),
        lambda: _network(request, environment),
    ):
        try:
            needed()
        except ConfigurationError as error:
            problems += error.problems
    unanswered = list(answering_problems(request, asked_by(prepared), environment))
    problems += [*unanswered, *_cap_problems(prepared)]
    no_model = model_source(request) == "api" and not find_credentials(environment).used
    if unanswered and no_model and not request.isolated:
        problems.insert(0, Problem(_WHAT_TO_TYPE))
    if problems:
        raise ConfigurationError(problems)


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
            _network(request, environment),
            settled=lambda trial: answers.settle(trial.id, trial.outcome, trial.reason),
        )
        stack.enter_context(installed(run_id, worker))
        executor = stack.enter_context(ThreadPoolExecutor(jobs, "trial"))
        todo = trial_jobs(prepared.tests, directory, settings, prepared.finished)
        queue = _queue(prepared, todo)
        ran = run_jobs(queue, executor, supervisor, place.commands.stop if place.commands else None)
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


def _sandbox_problems(request: RunRequest) -> list[Problem]:
    if request.isolated:
        if request.claude:
            return [Problem("--claude is for runs on this machine; with --isolated the image has its own")]
        return []
    problems = []
    if sys.platform == "win32":
        problems.append(Problem("trials on this machine need Linux or macOS; add --isolated to the command"))
    elif find_program(request.claude) is None:
        what = f"--claude {request.claude} is no program" if request.claude else "there is no claude on PATH"
        problems.append(
            Problem(f"{what}: install Claude Code, name it with --claude PATH, or add --isolated")
        )
    if request.image:
        problems.append(Problem("--image is for runs in containers; add --isolated to the command"))
    if not request.permitted:
        problems.append(Problem(f"{PERMISSION}; add --yes to agree, or --isolated to run in containers"))
    return problems


def _failed_before(request: RunRequest) -> frozenset[tuple[str, str]] | None:
    """The (eval, test) pairs that did not pass in the last run; None where nobody asked."""
    if not request.failed:
        return None
    last = load_run(Store(request.root).find("last"))
    failed = frozenset((test.eval, test.name) for test in last.tests if test.outcome is not Outcome.PASSED)
    if not failed:
        raise NothingSelectedError(f"nothing failed in run {last.run_id}: --failed has nothing to run")
    return failed


def _network(request: RunRequest, environment: Mapping[str, str]) -> Network | None:
    """The way to the hosts that trials may reach; on this machine they reach any."""
    if not (request.network_allow and request.isolated):
        return None
    from skillwalker.sandbox.allowed import AllowList
    from skillwalker.sandbox.company_proxy import WayOut
    from skillwalker.sandbox.network import Network

    return Network(AllowList.of(request.network_allow), WayOut.of(environment))


def _cap_problems(prepared: Prepared) -> Iterator[Problem]:
    """Why nothing can be spent of a run that is gone on with: its cap was reached before."""
    request, resumed = prepared.request, prepared.resumed
    if resumed is None or request.max_cost_usd is None or model_source(request) not in REAL:
        return
    usd, _ = spent_in(resumed.directory)
    if usd >= request.max_cost_usd:
        yield Problem(
            f"--max-cost ${request.max_cost_usd:g} is reached already, the run has spent ${usd:.4f}: "
            "go on with a higher one"
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
