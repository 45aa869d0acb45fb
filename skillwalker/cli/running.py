"""What `run` and `demo` share: carries a request out and prints what came of it."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import typer
from attrs import evolve

from skillwalker.answering import answering_notices, model_source
from skillwalker.cli.dry_run import can_ask, plan_as_json, plan_as_text
from skillwalker.cli.options import Format
from skillwalker.cli.surroundings import surroundings
from skillwalker.credentials import find_credentials
from skillwalker.errors import ConfigurationError, NothingSelectedError, Problem
from skillwalker.loading import find_root
from skillwalker.opening import PERMISSION
from skillwalker.preparing import asked_by, prepare, require_startable
from skillwalker.records import run_object
from skillwalker.redaction import Redactor, secrets_in
from skillwalker.reports.console import Paint, banner, plain, run_report
from skillwalker.reports.formats import ReportSpec, parse_reports, write_reports
from skillwalker.reports.live import LiveProgress, PlainProgress
from skillwalker.reports.moments import Moments
from skillwalker.request import Prepared, RunRequest
from skillwalker.results import RunResult
from skillwalker.resume import prepare_resumed
from skillwalker.sandbox.passing import passed_environment, passing_notices, secrets_of
from skillwalker.session import run as run_session
from skillwalker.sources import Settled
from skillwalker.store import Store
from skillwalker.text import safe

NOTHING_SAID = Settled({}, {})


def carry_out(
    request: RunRequest,
    output: Format,
    *,
    dry_run: bool = False,
    resume: str | None = None,
    settled: Settled = NOTHING_SAID,
    reports: Sequence[str] = (),
    hint: str | None = None,
    quiet: bool | None = None,
) -> int:
    """Prepares, runs and reports; returns the exit code.

    Args:
        resume: The stored run to go on with.
        settled: Where the request's values come from.
        reports: More reports that are wanted, each `FORMAT=FILE`.
        hint: What to do next, for a run that will not be there for `skillwalker show`.
        quiet: Whether notes are left out; None: as was settled.
    """
    prepared, specs = _prepare(request, resume, settled, reports, output)
    request = prepared.request
    if dry_run:
        told = answering_notices(request, asked_by(prepared), os.environ)
        prepared = evolve(prepared, notices=(*prepared.notices, *told))
        typer.echo((plan_as_json if output is Format.JSON else plan_as_text)(prepared, settled))
        return 0
    prepared = permitted(prepared)
    quiet = settled.values.get("quiet", False) if quiet is None else quiet
    result = perform(prepared, progress_for(prepared.trials), quiet=quiet)
    note = banner(result.model_source)
    together = output is Format.CONSOLE and one_output()
    if note and not together:  # else this would be the middle of one output
        _tell(note, err=True)
    directory = Store(request.root).find(result.run_id)
    if output is Format.JSON:
        _tell(json.dumps(run_object(result)))
    else:
        program = command(request.root)
        more = hint or f"more: {program} show {result.run_id}"
        go_on = None if hint else f"{program} run --resume {result.run_id}"
        colours = paint(sys.stdout.isatty())
        _tell(run_report(result, colours, more, go_on, begun=together, moments=Moments(directory)))
    for failure in write_reports(directory, specs, root=request.root, surroundings=surroundings()):
        _tell(failure, err=True)
    return result.exit_code


def one_output() -> bool:
    """Whether stdout and stderr lead to the same place: a terminal, a file, or a pipe as after `2>&1`."""
    try:
        ours, theirs = (os.fstat(stream.fileno()) for stream in (sys.stdout, sys.stderr))
    except (OSError, ValueError):  # no files: a test reads them
        return False
    return os.path.samestat(ours, theirs)


def perform(prepared: Prepared, progress: LiveProgress | PlainProgress, *, quiet: bool = False) -> RunResult:
    """Runs what was prepared; what is to be known before the start, and while it goes on, goes to stderr.

    Args:
        quiet: Whether notes are left out.
    """
    request = prepared.request
    require_startable(prepared, os.environ)
    passed = passed_environment(request.sandbox_env, os.environ)
    answering = answering_notices(request, asked_by(prepared), os.environ)
    prepared = evolve(prepared, notices=(*prepared.notices, *passing_notices(passed), *answering))
    note = banner(model_source(request))
    if note:
        _tell(note, err=True)
    for notice in () if quiet else prepared.notices:
        _tell(f"note: {safe(notice)}", err=True)
    credentials = find_credentials(os.environ, subscription=request.subscription).secrets
    redactor = Redactor((*secrets_in(os.environ), *credentials, *secrets_of(passed)))
    # What an expectation of another package prints must not end up in the result.
    with progress as shown, contextlib.redirect_stdout(sys.stderr):
        return run_session(prepared, shown, shown.say, redactor, os.environ)


def _prepare(
    request: RunRequest, resume: str | None, settled: Settled, reports: Sequence[str], output: Format
) -> tuple[Prepared, tuple[ReportSpec, ...]]:
    """With the problems of options and configuration, those of the evals are told too."""
    problems: list[Problem] = [*settled.problems]
    prepared: Prepared | None = None
    specs: tuple[ReportSpec, ...] = ()
    try:
        specs = parse_reports(reports, stdout="--format json" if output is Format.JSON else None)
    except ConfigurationError as error:
        problems += error.problems
    try:
        said = settled.said()
        prepared = prepare(request) if resume is None else prepare_resumed(request, resume, said)
    except ConfigurationError as error:
        problems += error.problems
    except NothingSelectedError:
        if not problems:
            raise
    if problems or prepared is None:
        raise ConfigurationError(problems)
    return evolve(prepared, notices=(*settled.notes, *prepared.notices)), specs


def command(root: Path) -> str:
    """How to call the program here so that it finds the runs of `root`."""
    here = find_root(Path.cwd()) or Path.cwd()
    return (
        "skillwalker" if here.resolve() == root.resolve() else f"skillwalker --root {shlex.quote(str(root))}"
    )


def _tell(text: str, *, err: bool = False) -> None:
    """Prints; that nobody reads any more must not cost a run its exit code."""
    with contextlib.suppress(OSError):
        typer.echo(text, err=err)


def permitted(prepared: Prepared) -> Prepared:
    """With the user's answer, where one is needed and somebody is there to give it.

    Raises:
        ConfigurationError: it could not be started whatever the answer.
    """
    request = prepared.request
    if request.isolated or request.permitted or not can_ask():
        return prepared
    agreed = evolve(prepared, request=evolve(request, permitted=True))
    require_startable(agreed, os.environ)
    return agreed if typer.confirm(f"This {PERMISSION}. Go on?", err=True) else prepared


def paint(terminal: bool) -> Paint:
    """Colours for a terminal, unless NO_COLOR or TERM=dumb says otherwise."""
    if not terminal or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return plain

    def coloured(text: str, style: str) -> str:
        if style in ("bold", "dim"):
            return typer.style(text, bold=style == "bold", dim=style == "dim")
        return typer.style(text, fg=style)

    return coloured


def progress_for(total: int) -> LiveProgress | PlainProgress:
    still = os.environ.get("NO_COLOR") or os.environ.get("CI") or os.environ.get("TERM") == "dumb"
    if sys.stderr.isatty() and not still:
        return LiveProgress(sys.stderr, total)
    return PlainProgress(sys.stderr, total)
