"""Executes one trial: sandbox, stream, health, verdicts, files. What goes in and out pickles.

A job names its run; the services it needs (sandbox, gateway, supervisor) are this process's own, installed
by whoever runs here. So a job can be handed to any executor whose workers install theirs.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import evolve, field, frozen

from skillwalker import claude_code
from skillwalker.claude_judge import ClaudeCodeJudge
from skillwalker.commands import CommandRunner
from skillwalker.errors import SandboxError, SkillwalkerError
from skillwalker.expectations.base import Health, Judge, Services
from skillwalker.expectations.bound import until
from skillwalker.gateway.server import Caller, Gateway, Link
from skillwalker.gateway.spending import bill, cost_of, spends
from skillwalker.health import MustList, Stopped, assess
from skillwalker.jobs import Listener, TrialJob
from skillwalker.judge_client import AnthropicJudge
from skillwalker.models import MODEL_IDS
from skillwalker.outcomes import Outcome, Reason
from skillwalker.recorder import Recorder
from skillwalker.records import trial_file, verdict_object
from skillwalker.redaction import Redactor
from skillwalker.results import TrialResult, trial_outcome
from skillwalker.sandbox.base import Exit, Sandbox, SandboxRequest
from skillwalker.sandbox.network import Network, TrialNetwork
from skillwalker.supervisor import LINGER_SECONDS, Supervisor, Watched
from skillwalker.tool_calls import call_notes
from skillwalker.transcript import Transcript
from skillwalker.verdicts import judge_all
from skillwalker.workspace import Workspace

LINGERED = f"it did not end within {LINGER_SECONDS:g} s of its result and was killed; the result counts"

ODD_END = "Claude Code ended with exit code {} although its result is no error; the result counts"

OUT_OF_PROCESSES = "it ran into its limit of {} processes and threads: something could not be started"


@frozen
class Worker:
    """The services of this process for one run.

    Attributes:
        commands: Where expectations can run commands; None where they cannot.
        network: The way to the hosts that trials may reach; None where there are none.
        settled: Is told what came of a trial before that is kept, and again where it could not be kept.
    """

    sandbox: Sandbox
    gateway: Gateway
    supervisor: Supervisor
    listener: Listener
    redactor: Redactor = field(factory=Redactor)
    commands: CommandRunner | None = None
    network: Network | None = None
    settled: Callable[[TrialResult], None] = lambda _: None


_workers: dict[str, Worker] = {}


@contextmanager
def installed(run_id: str, worker: Worker) -> Iterator[None]:
    """Makes `worker` the one that executes this process's jobs of the run."""
    _workers[run_id] = worker
    try:
        yield
    finally:
        del _workers[run_id]


def execute(job: TrialJob) -> TrialResult:
    """Runs and judges one trial and writes all its files.

    Raises:
        SkillwalkerError: no worker is installed for the job's run.
    """
    worker = _workers.get(job.run.id)
    if worker is None:
        raise SkillwalkerError(f"this process has no services for run {job.run.id}")
    worker.listener.started(job.id, job.checked, job.index)
    try:
        result = _execute(job, worker)
        worker.settled(result)  # first: by trial.json all that belongs to a trial is there
        _keep(job, worker, result)
    except OSError as error:  # the disk is full, or the run's directory has gone
        result = TrialResult(
            id=job.id,
            index=job.index,
            outcome=Outcome.UNMEASURED,
            arm=job.arm,
            reason=Reason.SANDBOX_ERROR,
            message=f"the trial could not be kept: {error}",
            healthy=False,
        )
        worker.settled(result)
        with contextlib.suppress(OSError):  # without trial.json it is a trial that did not finish
            _keep(job, worker, result)
    worker.listener.ended(job.checked, result)
    return result


def _keep(job: TrialJob, worker: Worker, result: TrialResult) -> None:
    lines = [{"trial": job.id, "position": one.position, **verdict_object(one)} for one in result.judged]
    trial = trial_file(job.checked.eval.name, job.checked.test.name, result)
    job.run.add_verdicts(worker.redactor.value(lines))
    job.run.finish_trial(job.id, worker.redactor.value(trial))


@frozen
class _Observed:
    """What a sandbox showed of a trial."""

    ended: Exit | None = None
    stopped: Stopped | None = None
    duration_ms: int | None = None
    stderr_tail: str = ""
    workspace: Path | None = None
    lingered: bool = False
    notes: tuple[str, ...] = ()


def _execute(job: TrialJob, worker: Worker) -> TrialResult:
    test = job.checked.test
    directory = job.run.trial(job.id)
    (directory / "events.jsonl").touch()  # there even where the sandbox does not start
    prompt = claude_code.prompt_text(test, job.agent_id)
    caller = Caller(trial_id=job.id, purpose="trial", index=job.index, script=job.checked.script)
    link = worker.gateway.open(caller, directory / "gateway.jsonl")
    try:
        observed = _observe(job, worker, link, directory, prompt)
    finally:
        link.close()
    traffic = link.traffic()  # with what was broken off
    observed = _unheld(observed, traffic.held_seconds)
    transcript = Transcript.read(directory / "events.jsonl", job.names, prompt)
    health = assess(
        transcript,
        traffic,
        ended=observed.ended,
        stopped=observed.stopped,
        plugin_paths=_plugin_paths(job, worker.sandbox),
        servers_matter=test.type not in claude_code.CALL_TYPES,
        known_as=_known_as(job, worker.sandbox),
        stderr_tail=observed.stderr_tail,
        must_list=_must_list(job),
        lingered=observed.lingered,
        redact=worker.redactor.value,
    )
    code = observed.ended.code if observed.ended else None
    odd_end = ODD_END.format(code) if health.healthy and code and not observed.lingered else None
    workspace = Workspace(observed.workspace, job.scaffold) if observed.workspace else None
    if health.healthy and workspace and not workspace.complete:
        health = Health(Reason.DISK_LIMIT, "the final work directory was too large to be kept whole")
    prices = job.settings.prices
    cost_usd = cost_of(spends(traffic.answered, prices), traffic.unheard) if prices else None
    worker.listener.doing(job.id, "judging")
    by_claude_code = job.id in job.settings.judged_by_claude_code
    caller = evolve(caller, purpose="judge", by_claude_code=by_claude_code)
    with (
        worker.gateway.open(caller, directory / "gateway.jsonl") as link,
        worker.supervisor.breaking_off(link.close) as broken_off,
        until(broken_off),
    ):
        judge: Judge = AnthropicJudge(link)
        if by_claude_code:
            judge = ClaudeCodeJudge(worker.sandbox, link, job.id, job.settings.limits)
        services = Services(judge, job.settings.judge_model, worker.commands)
        judged = judge_all(
            job.checked,
            transcript,
            health,
            workspace,
            services,
            duration_ms=observed.duration_ms,
            cost_usd=cost_usd,
        )
    reasons = [one.verdict.reason for one in judged if one.verdict.reason]
    if health.healthy and broken_off.is_set() and Reason.JUDGE_ERROR in reasons:
        reasons.insert(0, Reason.INTERRUPTED)
    billed = bill(
        traffic,
        link.traffic(),
        prices,
        claude_codes_usd=transcript.cost_usd,
        wanted=None if job.model in MODEL_IDS else job.model,
    )
    return TrialResult(
        id=job.id,
        index=job.index,
        outcome=trial_outcome(one.verdict for one in judged),
        arm=job.arm,
        reason=health.reason or next(iter(reasons), None),
        message=health.message,
        healthy=health.healthy,
        duration_ms=observed.duration_ms,
        cost_usd=billed.cost_usd,
        judge_cost_usd=billed.judge_cost_usd,
        turns=transcript.turns,
        usage=transcript.usage,
        skills=transcript.skills,
        agents=transcript.agents,
        judged=judged,
        notes=(
            *observed.notes,
            *([odd_end] if odd_end else []),
            *transcript.notes,
            *call_notes(transcript.tool_calls()),
            *billed.notes,
            *dict.fromkeys(one.log_problem for one in (traffic, link.traffic()) if one.log_problem),
        ),
        spent=billed.spent,
    )


def _unheld(observed: _Observed, held: float) -> _Observed:
    """A trial's clock stands still while the gateway holds its requests back."""
    if observed.duration_ms is None:
        return observed
    left = max(observed.duration_ms - round(held * 1000), 0)
    told = f"its requests were held back for {held:.0f} s, which are no part of its duration"
    return evolve(observed, duration_ms=left, notes=(*observed.notes, *([told] if held >= 0.5 else [])))


def _observe(job: TrialJob, worker: Worker, link: Link, directory: Path, prompt: str) -> _Observed:
    test, settings = job.checked.test, job.settings
    request = SandboxRequest(
        trial_id=job.id,
        arguments=claude_code.arguments(
            test,
            model=job.model,
            plugin_paths=_plugin_paths(job, worker.sandbox),
            version=settings.claude_code_version,
        ),
        environment=claude_code.environment(
            test, background=settings.background, timeout_seconds=settings.timeout_seconds
        ),
        line=claude_code.prompt_line(prompt),
        plugins=job.plugins,
        scaffold=job.scaffold,
        limits=settings.limits,
    )
    with contextlib.ExitStack() as stack:
        network: TrialNetwork | None = None
        if worker.network:
            network = worker.network.open(directory / "network.jsonl", worker.redactor.value)
            stack.callback(network.close)
        observed = _watched(job, worker, link, directory, request, network)
    return evolve(observed, notes=(*observed.notes, *network.notes())) if network else observed


def _watched(
    job: TrialJob,
    worker: Worker,
    link: Link,
    directory: Path,
    request: SandboxRequest,
    network: TrialNetwork | None,
) -> _Observed:
    settings = job.settings
    try:
        process = worker.sandbox.start(request, link, network)
    except SandboxError as error:
        return _Observed(stopped=Stopped(Reason.SANDBOX_ERROR, str(error)))
    started = time.monotonic()
    watched = Watched(process, link.traffic, settings.timeout_seconds, settings.limits, started, started)
    if network:
        watched.last_network = lambda: network.last_activity
    recorder = Recorder(directory, watched, job.names, settings.limits, worker.redactor)
    ended: Exit | None = None
    seconds: float | None = None
    workspace: Path | None = None
    notes: tuple[str, ...] = ()
    try:
        with worker.supervisor.watch(watched):
            for text in recorder.record(process):
                worker.listener.doing(job.id, text)
            ended = process.wait()
        seconds = time.monotonic() - started
        with (directory / "workspace.tar").open("wb") as file:
            notes = process.save_workspace(file, settings.limits.workspace_mib, worker.redactor)
        workspace = directory / "workspace.tar"
    except SandboxError as error:
        watched.stopped = watched.stopped or Stopped(Reason.SANDBOX_ERROR, str(error))
    finally:
        process.close(keep=settings.keep)
    notes = (*recorder.notes, *notes)
    if watched.lingered:
        notes = (*notes, LINGERED)
    if ended and ended.out_of_processes:
        notes = (*notes, OUT_OF_PROCESSES.format(settings.limits.pids))
    return _Observed(
        ended=ended,
        stopped=watched.stopped,
        duration_ms=None if seconds is None else round(seconds * 1000),
        stderr_tail=recorder.stderr_tail,
        workspace=workspace,
        lingered=watched.lingered,
        notes=notes,
    )


def _must_list(job: TrialJob) -> MustList | None:
    if job.checked.test.type not in claude_code.CALL_TYPES:
        return None
    if skill := job.checked.skill:
        return MustList("skills", skill.id, skill.description)
    if agent := job.checked.agent:
        return MustList("agents", agent.id, agent.description)
    return None


def _known_as(job: TrialJob, sandbox: Sandbox) -> dict[str, str]:
    """The plugins' own directories by where they stood; a temporary plugin stands for the one it is from."""
    own = {plugin.directory.name: plugin for plugin in job.checked.plugins.plugins}
    paths = zip(_plugin_paths(job, sandbox), job.plugins, strict=True)
    return {path: own[name].shown for path, (name, _) in paths if name in own}


def _plugin_paths(job: TrialJob, sandbox: Sandbox) -> list[str]:
    return [sandbox.plugin_path(job.id, index, name) for index, (name, _) in enumerate(job.plugins)]
