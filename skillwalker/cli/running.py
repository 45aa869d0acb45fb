"""What `run` and `demo` share: carries a request out and prints what came of it."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
from pathlib import Path

import typer
from attrs import evolve

from skillwalker.cli.options import Format
from skillwalker.errors import ConfigurationError
from skillwalker.loading import find_root
from skillwalker.opening import PERMISSION
from skillwalker.records import run_object
from skillwalker.redaction import Redactor, secrets_in
from skillwalker.reports.console import Paint, banner, plain, run_report
from skillwalker.reports.live import LiveProgress, PlainProgress
from skillwalker.request import Prepared, RunRequest
from skillwalker.resume import prepare_resumed
from skillwalker.session import prepare, require_startable
from skillwalker.session import run as run_session
from skillwalker.text import count, safe


def carry_out(
    request: RunRequest,
    output: Format,
    *,
    dry_run: bool = False,
    resume: str | None = None,
    hint: str | None = None,
) -> int:
    """Prepares, runs and reports; returns the exit code.

    Args:
        resume: The stored run to go on with.
        hint: What to do next, for a run that will not be there for `skillwalker show`.
    """
    prepared = prepare(request) if resume is None else prepare_resumed(request, resume)
    request = prepared.request
    if dry_run:
        typer.echo(_plan_as_json(prepared) if output is Format.JSON else _plan_as_text(prepared))
        return 0
    request = ask_permission(request)
    require_startable(request)
    prepared = evolve(prepared, request=request)
    note = banner("rehearsal")
    if note:
        _tell(note, err=True)
    for notice in prepared.notices:
        _tell(f"note: {safe(notice)}", err=True)
    # What an expectation of another package prints must not end up in the result.
    with _progress(prepared.trials) as progress, contextlib.redirect_stdout(sys.stderr):
        result = run_session(prepared, progress, progress.say, Redactor(secrets_in(os.environ)))
    together = output is Format.CONSOLE and sys.stdout.isatty() and sys.stderr.isatty()
    if note and not together:  # else this would be the middle of what one terminal shows
        _tell(note, err=True)
    if output is Format.JSON:
        _tell(json.dumps(run_object(result)))
    else:
        program = command(request.root)
        more = hint or f"more: {program} show {result.run_id}"
        go_on = None if hint else f"{program} run --resume {result.run_id}"
        _tell(run_report(result, paint(sys.stdout.isatty()), more, go_on, begun=together))
    return result.exit_code


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


def ask_permission(request: RunRequest) -> RunRequest:
    """The request with the user's answer, where one is needed and somebody is there to give it.

    Raises:
        ConfigurationError: it could not be started whatever the answer.
    """
    if request.isolated or request.permitted or not _can_ask():
        return request
    require_startable(evolve(request, permitted=True))
    return evolve(request, permitted=typer.confirm(f"This {PERMISSION}. Go on?", err=True))


def paint(terminal: bool) -> Paint:
    """Colours for a terminal, unless NO_COLOR or TERM=dumb says otherwise."""
    if not terminal or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return plain

    def coloured(text: str, style: str) -> str:
        if style in ("bold", "dim"):
            return typer.style(text, bold=style == "bold", dim=style == "dim")
        return typer.style(text, fg=style)

    return coloured


def _progress(total: int) -> LiveProgress | PlainProgress:
    still = os.environ.get("NO_COLOR") or os.environ.get("CI") or os.environ.get("TERM") == "dumb"
    if sys.stderr.isatty() and not still:
        return LiveProgress(sys.stderr, total)
    return PlainProgress(sys.stderr, total)


def _plan_as_text(prepared: Prepared) -> str:
    request = prepared.request
    lines = [f"note: {safe(notice)}" for notice in prepared.notices]
    for test in prepared.tests:
        one = test.checked
        answers = f"; rehearsed {'scripted' if one.script else 'by the rule'}" if request.rehearse else ""
        lines.append(
            f"{safe(one.eval.name)}::{safe(one.test.name)}  ({one.test.type}, {test.model}, "
            f"{count(test.trials, 'trial')}, "
            f"{count(len(one.expectations), 'expectation')}{answers})"
        )
    own = f"on this machine, with {request.claude or 'the claude on PATH'}"
    where = f"in containers, image {request.image or 'our own'}" if request.isolated else own
    lines += [
        f"{count(len(prepared.tests), 'test')}, {count(prepared.trials, 'trial')}, cost unknown; "
        "nothing was started",
        f"root {request.root}; timeout {request.timeout_seconds:g} s; "
        f"jobs {request.jobs or 'as many as fit'}; {where}; "
        f"background tasks {'on' if request.background else 'off'}",
    ]
    lines += [f"this run would be refused: {safe(why)}" for why in _refusals(request)]
    return "\n".join(lines)


def _refusals(request: RunRequest) -> list[str]:
    """Why the command could not be carried out; a question that it would ask first is no refusal."""
    try:
        require_startable(evolve(request, permitted=request.permitted or _can_ask()))
    except ConfigurationError as error:
        return [problem.message for problem in error.problems]
    return []


def _can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _plan_as_json(prepared: Prepared) -> str:
    tests = [
        {
            "eval": test.checked.eval.name,
            "name": test.checked.test.name,
            "type": str(test.checked.test.type),
            "model": test.model,
            "trials": test.trials,
            "need": test.need,
        }
        for test in prepared.tests
    ]
    return json.dumps(
        {
            "tests": tests,
            "trials": prepared.trials,
            "cost_usd": None,
            "notes": prepared.notices,
            "refused": _refusals(prepared.request),
        }
    )
