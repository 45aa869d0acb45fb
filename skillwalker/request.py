"""What a run was asked to be, and what has been made ready of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import asdict, evolve, field, fields, frozen

from skillwalker.plan import PlannedTest
from skillwalker.results import Skipped
from skillwalker.sandbox.base import Limits
from skillwalker.store import RunDirectory

_NOT_STORED = ("root", "cwd", "permitted")
_PATHS = ("record", "replay", "dockerfile")
_TUPLES = ("select", "sandbox_env", "network_allow")


@frozen
class RunRequest:
    """What a run was asked to be.

    Attributes:
        cwd: What paths in `select` are relative to.
        select: Names, globs and paths; none means all.
        keyword: An expression over test names, as pytest's `-k`.
        failed: Only tests that did not pass in the last run.
        record, replay: The directory of cassettes, absolute; at most one of these and `rehearse`.
        trials, model, judge_model: Beat what the tests say.
        stop_early: A test's trials stop when its outcome can no longer change.
        control: Adds tests that show whether activation can be measured at all.
        jobs: Trials at a time; None means what the engine or this machine can hold.
        timeout_seconds: Limit of one trial.
        max_cost_usd: What all trials and judges of the run may cost together; None means no limit.
        image: What trials run in; None means our own, or what `dockerfile` makes of it.
        dockerfile: Builds on top of our own image; absolute.
        claude: Path or name of the Claude Code that runs trials on this machine; None means the one on PATH.
        permitted: Whether the user agrees that it does so with permissions skipped.
        sandbox_env: Names of variables that are passed into every sandbox. Their values are secrets, and no
            part of a request.
        network_allow: `host:port` of what a sandbox may reach beside the gateway.
        subscription: Whether a subscription's token may be used, and not only an API key.
        prices: USD per million tokens by model: input, output, cache_read, cache_write_5m, cache_write_1h
            and more, see `load_prices`; they beat the packaged ones.
    """

    root: Path
    cwd: Path
    select: tuple[str, ...] = ()
    keyword: str | None = None
    failed: bool = False
    isolated: bool = False
    rehearse: bool = False
    record: Path | None = None
    replay: Path | None = None
    trials: int | None = None
    stop_early: bool = False
    control: bool = False
    jobs: int | None = None
    model: str | None = None
    judge_model: str | None = None
    timeout_seconds: float = 600.0
    max_cost_usd: float | None = None
    background: bool = False
    allow_unmeasured: int = 0
    keep: bool = False
    image: str | None = None
    dockerfile: Path | None = None
    claude: str | None = None
    permitted: bool = False
    limits: Limits = field(factory=Limits)
    sandbox_env: tuple[str, ...] = ()
    network_allow: tuple[str, ...] = ()
    subscription: bool = False
    prices: Mapping[str, Mapping[str, Any]] = field(factory=dict)

    def options(self) -> dict[str, Any]:
        """What `run.json` keeps of it, as JSON; paths below the root are relative to it."""
        found = asdict(self, filter=lambda attribute, _: attribute.name not in _NOT_STORED)
        for name in _PATHS:
            if (path := found[name]) is not None:
                found[name] = str(path.relative_to(self.root) if path.is_relative_to(self.root) else path)
        return found

    def with_options(self, stored: Mapping[str, Any]) -> RunRequest:
        """The request whose `options` these are, in this one's place; what is not stored is as here."""
        known = {one.name for one in fields(RunRequest)} - set(_NOT_STORED)
        found = {name: value for name, value in stored.items() if name in known}
        for name in _PATHS:
            if found.get(name) is not None:
                found[name] = self.root / found[name]
        for name in _TUPLES:
            if name in found:
                found[name] = tuple(found[name])
        if "limits" in found:
            found["limits"] = Limits(**found["limits"])
        return evolve(self, **found)


@frozen
class Resumed:
    """A stored run to go on with.

    Attributes:
        finished: Ids of the trials that were measured.
        image: What the first attempt ran in; the rest has to run in the same.
        claude_code_version: Likewise.
    """

    directory: RunDirectory
    finished: frozenset[str]
    image: str | None
    claude_code_version: str | None


@frozen
class Prepared:
    """A request whose tests are found, checked and planned.

    Attributes:
        notices: What a user should know before the start, a sentence each.
        resumed: The stored run that this one goes on with; None for a new run.
        skipped: Selected tests that are not to run.
    """

    request: RunRequest
    tests: tuple[PlannedTest, ...]
    notices: tuple[str, ...]
    resumed: Resumed | None = None
    skipped: tuple[Skipped, ...] = ()

    @property
    def finished(self) -> frozenset[str]:
        """Ids of trials that need not run."""
        return self.resumed.finished if self.resumed else frozenset()

    @property
    def trials(self) -> int:
        """How many trials will run."""
        return sum(trial not in self.finished for test in self.tests for trial in test.trial_ids())
