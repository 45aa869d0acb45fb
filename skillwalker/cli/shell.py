"""`skillwalker shell`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillwalker.cli.options import (
    Background,
    Failed,
    Image,
    Keyword,
    MaxCost,
    Model,
    Select,
    Timeout,
    globals_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import ExitStack

    from docker import DockerClient

    from skillwalker.plan import PlannedTest
    from skillwalker.redaction import Redactor
    from skillwalker.request import Prepared, RunRequest
    from skillwalker.sandbox.base import Connector

_PROGRAM = ("sleep", "infinity")
"""What runs in the container instead of Claude Code, and ends with it."""

_SHELL = ("/bin/sh", "-c", "command -v bash >/dev/null 2>&1 && exec bash; exec sh")


def shell(
    context: typer.Context,
    select: Select = None,
    keyword: Keyword = None,
    failed: Failed = False,
    rehearse: Annotated[
        bool | None,
        typer.Option(
            "--rehearse/--no-rehearse",
            help="A claude that you start there gets rehearsed answers [default: if there is no credential].",
        ),
    ] = None,
    image: Image = None,
    model: Model = None,
    timeout: Timeout = None,
    max_cost: MaxCost = None,
    background: Background = None,
) -> None:
    """Open a shell in the sandbox of one test, as its trial finds it; it is removed afterwards."""
    import os
    import sys

    from attrs import evolve

    from skillwalker.configuration import read_configuration
    from skillwalker.credentials import find_credentials
    from skillwalker.errors import ConfigurationError, Problem
    from skillwalker.preparing import prepare, require_startable
    from skillwalker.sources import settle
    from skillwalker.text import listed

    known = globals_of(context)
    given = {
        "rehearse": rehearse,
        "image": image,
        "model": model,
        "timeout": timeout,
        "max_cost": max_cost,
        "background": background,
    }
    known.look_in(select or ())
    settled = settle(given, os.environ, read_configuration(known.root))
    problems = list(settled.problems)
    if sys.platform == "win32" or not (sys.stdin.isatty() and sys.stdout.isatty()):
        problems.append(Problem("shell needs a terminal (of Linux or macOS) for its input and output"))
    if problems:
        raise ConfigurationError(problems)
    values = {"isolated": True, **{name: settled.values[name] for name in _KEPT if name in settled.values}}
    request = evolve(settled, values=values).request(known.root, Path.cwd(), tuple(select or ()))
    prepared = prepare(evolve(request, keyword=keyword, failed=failed))
    if len(prepared.tests) != 1:
        names = [f"{one.checked.eval.name}::{one.checked.test.name}" for one in prepared.tests]
        raise ConfigurationError(
            [f"shell opens the sandbox of one test; {len(names)} are selected: {listed(names, 5)}"]
        )
    credential = find_credentials(os.environ, subscription=request.subscription).used
    if not request.rehearse and rehearse is None and not credential:
        prepared = evolve(prepared, request=evolve(request, rehearse=True))
    require_startable(prepared, os.environ)
    known.tell_notes(prepared.notices)
    _open(prepared, prepared.tests[0], os.environ)


_KEPT = ("image", "model", "rehearse", "background", "timeout", "max_cost")
"""Settings that a trial's sandbox depends on, and what answers in it."""


def _open(prepared: Prepared, planned: PlannedTest, environment: Mapping[str, str]) -> None:
    from contextlib import ExitStack, closing
    from datetime import UTC, datetime

    from skillwalker import claude_code
    from skillwalker.answering import answering
    from skillwalker.gateway.server import Caller, Gateway
    from skillwalker.redaction import Redactor, secrets_in
    from skillwalker.sandbox.base import SandboxRequest
    from skillwalker.sandbox.docker import DockerSandbox
    from skillwalker.sandbox.engine import connect
    from skillwalker.sandbox.image import ensure_image
    from skillwalker.sandbox.local_places import temporary_directory
    from skillwalker.sandbox.owner import RUN, Owner
    from skillwalker.sandbox.passing import passed_environment
    from skillwalker.sandbox.terminal import ended_by_signals
    from skillwalker.store import new_run_id

    request, checked = prepared.request, planned.checked
    test, trial, run_id = checked.test, planned.trial_ids()[0], new_run_id(datetime.now(UTC))
    redactor = Redactor(secrets_in(environment))
    with ExitStack() as stack:
        stack.enter_context(ended_by_signals())
        client = stack.enter_context(closing(connect()))
        image = ensure_image(client, request.image, dockerfile=request.dockerfile, progress=_tell)
        sandbox = DockerSandbox.open(
            client,
            image.id,
            Owner.current(),
            run_id,
            passed=passed_environment(request.sandbox_env, environment),
            program=_PROGRAM[0],
        )
        stack.enter_context(closing(sandbox))
        answers = answering(request, environment, redactor, _tell)
        gateway = stack.enter_context(Gateway(answers.responder))
        link = gateway.open(Caller(trial_id=trial, purpose="trial", index=1, script=checked.script))
        stack.callback(link.close)
        place = stack.enter_context(temporary_directory())
        paths = [sandbox.plugin_path(trial, index, name) for index, (name, _) in enumerate(planned.plugins)]
        process = sandbox.start(
            SandboxRequest(
                trial_id=trial,
                arguments=_PROGRAM[1:],
                environment=claude_code.environment(
                    test, background=request.background, timeout_seconds=request.timeout_seconds
                ),
                line=b"\n",
                plugins=planned.plugins,
                scaffold=planned.scaffold,
                limits=request.limits,
            ),
            link,
            _network(request, environment, place, stack, redactor),
        )
        stack.callback(process.close)
        [container] = client.api.containers(filters={"label": f"{RUN}={run_id}"})
        command = claude_code.arguments(
            test, model=planned.model, plugin_paths=paths, version=image.claude_version
        )
        _greet(planned, paths, command, answers.source)
        _attach(client, container["Id"])
    for note in sandbox.notes:
        _tell(note)


def _attach(client: DockerClient, container: str) -> None:
    """Gives this terminal to a shell in the container until it ends."""
    import os

    from skillwalker.sandbox.start_script import AGENT, WORKSPACE
    from skillwalker.sandbox.streams import EngineStream
    from skillwalker.sandbox.terminal import connect_terminal

    api = client.api
    made = api.exec_create(
        container,
        list(_SHELL),
        stdin=True,
        tty=True,
        user=f"{AGENT}:{AGENT}",
        workdir=WORKSPACE,
        environment={"TERM": os.environ.get("TERM") or "xterm"},
    )
    stream = EngineStream(api.exec_start(made["Id"], tty=True, socket=True))
    try:
        connect_terminal(stream, lambda lines, columns: api.exec_resize(made["Id"], lines, columns))
    finally:
        stream.close()


def _network(
    request: RunRequest, environment: Mapping[str, str], place: Path, stack: ExitStack, redactor: Redactor
) -> Connector | None:
    """The way to the hosts that trials may reach; None where there are none."""
    from skillwalker.sandbox.allowed import AllowList
    from skillwalker.sandbox.company_proxy import WayOut
    from skillwalker.sandbox.network import Network

    if not request.network_allow:
        return None
    network = Network(AllowList.of(request.network_allow), WayOut.of(environment))
    way = network.open(place / "network.jsonl", redactor.value)
    stack.callback(way.close)
    return way


def _greet(planned: PlannedTest, paths: list[str], command: tuple[str, ...], source: str) -> None:
    import shlex

    from skillwalker.text import listed, safe

    test = planned.checked.test
    who = {"rehearsal": "rehearsed: no model is asked", "api": "the model's, at its price"}
    _tell(
        f"{planned.checked.eval.name}::{test.name} ({test.type}): this is what its trial finds. "
        "`exit` or Ctrl-D ends the shell, and nothing of it is kept."
    )
    _tell(f"plugins: {listed(paths)}; answers for claude here are {who.get(source, source)}")
    _tell(f"the trial runs: claude {safe(shlex.join(command))}")
    _tell(f"with the prompt of {test.prompt_file}")


def _tell(text: str) -> None:
    from skillwalker.text import safe

    typer.echo(safe(text), err=True)
