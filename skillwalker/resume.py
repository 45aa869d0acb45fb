"""Goes on with a run that was cut short: its own plan and options, and nothing finished is run again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from attrs import evolve

from skillwalker.checks import check
from skillwalker.controls import with_controls
from skillwalker.errors import ConfigurationError, Problem
from skillwalker.events import as_dict
from skillwalker.expectations.options import OptionsError, structurer
from skillwalker.kinship import kinship_notices
from skillwalker.outcomes import Outcome
from skillwalker.plan import PlannedTest, plan, tree_notices
from skillwalker.records import load_run
from skillwalker.request import Prepared, Resumed, RunRequest
from skillwalker.results import MAIN, RunResult
from skillwalker.sandbox.base import Limits
from skillwalker.sandbox.owner import Owner
from skillwalker.select import Selection
from skillwalker.settings import OPTIONS, option_faults
from skillwalker.sources import FIELDS
from skillwalker.store import Store
from skillwalker.text import safe

KEPT = ("jobs", "timeout_seconds", "max_cost_usd", "allow_unmeasured")
"""What the new call may say, beside --format and --yes; all else comes from the run."""

_MAY = "-j, --timeout, --max-cost, --allow-unmeasured, --format and --yes"
_SPELT = {field: option for option, field in FIELDS.items()}
_KINDS = {
    **dict.fromkeys(("select", "sandbox_env", "network_allow"), list),
    "subscription": bool,
    "prices": dict,
    "dockerfile": str | None,
}
_TYPED = {"select": "SELECT", "keyword": "-k"}


def prepare_resumed(request: RunRequest, reference: str, said: Collection[str] = frozenset()) -> Prepared:
    """As `prepare`, for the trials of a stored run that were not measured.

    Args:
        said: The fields of `request` that the new call names; the others are the run's own.

    Raises:
        ConfigurationError: there is no such run, nothing is left to do, the call says something else than the
            run, or what a trial depends on has changed since.
    """
    directory = Store(request.root).find(reference)
    run = load_run(directory)
    manifest = directory.manifest()
    if (pid := _goes_on_in(manifest)) is not None:
        now = "two would write over each other; wait for its end, or stop it"
        raise ConfigurationError([f"run {run.run_id} still goes on, in process {pid}: {now}"])
    if faults := tuple(_faults(manifest["options"])):
        told = "; ".join(faults)
        raise ConfigurationError(
            [f"the options of run {run.run_id} cannot be read, start a new run: {safe(told, 500)}"]
        )
    same = _as_before(request, said, manifest["options"])
    finished = frozenset(
        trial.id for test in run.all_tests for trial in test.trials if trial.outcome is not Outcome.UNMEASURED
    )
    left = {(test.eval, test.name, test.arm) for test in run.all_tests if test.left}
    if not left:
        but = " that was needed" if any(test.stop_early for test in run.all_tests) else ""
        raise ConfigurationError([f"run {run.run_id} has no trial left: every one{but} was measured"])
    planned, notices = _plan(same, run, left)
    if problems := list(_changed(planned, manifest["tests"])):
        raise ConfigurationError(problems)
    return Prepared(same, planned, notices, Resumed(directory, finished, run.image, run.claude_code_version))


def _goes_on_in(manifest: Mapping[str, Any]) -> int | None:
    """The process that works at the run; None where that is over, or cannot be told from here."""
    owner = Owner.parse(str(manifest.get("owner") or ""))
    if owner is None or manifest.get("interrupted") is not None or owner == Owner.current():
        return None
    return owner.pid if owner.is_dead() is False else None


def _faults(options: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with stored options, which another version or another hand may have written."""
    for name, value in options.items():
        if (option := _SPELT.get(name, name)) in OPTIONS:
            yield from (f"{name}: {fault}" for fault in option_faults(option, value))
        elif name == "limits":
            try:
                structurer(Limits)(value, name)
            except OptionsError as error:
                yield from (f"{name}: {problem.message}" for problem in error.problems)
        elif name in _KINDS and not isinstance(value, _KINDS[name]):
            yield f"{name}: it is of another type"
        elif isinstance(value, list) and not all(isinstance(one, str) for one in value):
            yield f"{name}: something in it is no text"


def kept_options(request: RunRequest) -> dict[str, Any]:
    """What `run.json` says from now on: a new cap is the whole run's, and holds for the next call too."""
    options = request.options()
    return {name: options[name] for name in KEPT}


def _as_before(request: RunRequest, said: Collection[str], options: Mapping[str, Any]) -> RunRequest:
    """The request of the stored run with what the new call may change."""
    before = request.with_options(options)
    named = [*(["select"] if request.select else []), *sorted(set(said) - {"permitted"})]
    changed = [name for name in named if getattr(request, name) != getattr(before, name)]
    refused = [name for name in changed if name not in KEPT]
    if refused:
        names = ", ".join(_TYPED.get(name, "--" + name.replace("_", "-")) for name in refused)
        raise ConfigurationError(
            [
                f"--resume takes its options from the run; {names} cannot be changed: leave it out, or start "
                f"a new run; {_MAY} may be given"
            ]
        )
    return evolve(before, **{name: getattr(request, name) for name in changed})


def _plan(
    request: RunRequest, run: RunResult, left: set[tuple[str, str, str]]
) -> tuple[tuple[PlannedTest, ...], tuple[str, ...]]:
    evals = tuple(dict.fromkeys(name for name, _, _ in sorted(left)))
    checked, notes = check(Selection(request.cwd, evals), request.root, rehearsed=request.rehearse)
    if checked.problems:
        raise ConfigurationError(checked.problems)
    ran = {(test.eval, test.name) for test in run.tests}
    tests = [one for one in checked.tests if (one.eval.name, one.test.name) in ran]
    planned = plan(tests, model=request.model, trials=request.trials)
    if request.control:
        planned = with_controls(planned)
    planned = tuple(one for one in planned if one.key in left)
    gone = left - {one.key for one in planned}
    if gone:
        raise ConfigurationError(
            [
                f"{eval_name}::{name} is in the run and no longer in its eval"
                for eval_name, name, _ in sorted(gone)
            ]
        )
    kin = kinship_notices(request, [(one.checked, one.model) for one in planned])
    return planned, (*notes, *checked.notices, *tree_notices(planned), *kin)


def _changed(planned: Iterable[PlannedTest], stored: Iterable[Mapping[str, Any]]) -> Iterable[Problem]:
    before = {(test["eval"], test["name"], test.get("arm", MAIN)): test for test in stored}
    for one in planned:
        eval_name, name = one.checked.eval.name, one.checked.test.name
        then = before[one.key]
        now = {**one.inputs(), "model": one.model, "trials": one.trials}
        was = {**as_dict(then.get("inputs")), "model": then["model"], "trials": then["planned"]}
        was.setdefault("files", now["files"])  # earlier versions did not write them down
        differing = [key for key, value in now.items() if was.get(key) != value]
        if differing:
            told = [part for key in differing for part in (_files(was, now) if key == "files" else [key])]
            instead = "; what ran can be judged again with rejudge" if differing == ["files"] else ""
            yield Problem(
                f"{eval_name}::{name} has changed since the run began ({', '.join(told)}); "
                f"start a new run{instead}"
            )


def _files(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The files that verdicts depend on and that are not what they were."""
    before, after = as_dict(was["files"]), now["files"]
    return [path for path in dict.fromkeys([*before, *after]) if before.get(path) != after.get(path)]
