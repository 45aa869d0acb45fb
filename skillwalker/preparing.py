"""What is to be run: found, checked and planned, and all because of which it could not start told at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from attrs import evolve

from skillwalker.answering import Asked, answering_problems, asked_of, model_source
from skillwalker.checks import check
from skillwalker.controls import with_controls
from skillwalker.credentials import find_credentials
from skillwalker.errors import ConfigurationError, NothingSelectedError, Problem
from skillwalker.history import REAL, spent_in
from skillwalker.kinship import kinship_notices
from skillwalker.models import is_model
from skillwalker.opening import PERMISSION
from skillwalker.outcomes import Outcome
from skillwalker.plan import PlannedTest, plan, tree_notices
from skillwalker.records import load_run
from skillwalker.request import Prepared, RunRequest
from skillwalker.results import Skipped
from skillwalker.sandbox.local import find_program
from skillwalker.sandbox.passing import passed_environment
from skillwalker.select import Selection
from skillwalker.store import Store
from skillwalker.text import listed

if TYPE_CHECKING:
    from skillwalker.sandbox.network import Network

_WHAT_TO_TYPE = "type `skillwalker run --isolated --rehearse` to run in containers"
_OR_HERE = ", or `skillwalker run --rehearse --yes` on this machine"
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
        lambda: network_of(request, environment),
    ):
        try:
            needed()
        except ConfigurationError as error:
            problems += error.problems
    unanswered = list(answering_problems(request, asked_by(prepared), environment))
    problems += [*unanswered, *_cap_problems(prepared)]
    no_model = model_source(request) == "api" and not find_credentials(environment).used
    if unanswered and no_model and not request.isolated:
        here = _OR_HERE if find_program(request.claude) else ""
        problems.insert(0, Problem(_WHAT_TO_TYPE + here))
    if problems:
        raise ConfigurationError(problems)


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
        either = "install Claude Code, or name it with --claude PATH"
        problems.append(Problem(f"add --isolated to run in containers: {what} (or {either})"))
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


def network_of(request: RunRequest, environment: Mapping[str, str]) -> Network | None:
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
