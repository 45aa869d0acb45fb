"""What a run was asked to be, and what has been made ready of it."""

from __future__ import annotations

from pathlib import Path

from attrs import field, frozen

from skillwalker.plan import PlannedTest
from skillwalker.sandbox.base import Limits
from skillwalker.store import RunDirectory


@frozen
class RunRequest:
    """What a run was asked to be.

    Attributes:
        cwd: What paths in `select` are relative to.
        select: Names, globs and paths; none means all.
        keyword: An expression over test names, as pytest's `-k`.
        failed: Only tests that did not pass in the last run.
        trials, model, judge_model: Beat what the tests say.
        jobs: Trials at a time; None means what the engine or this machine can hold.
        timeout_seconds: Limit of one trial.
        claude: Path or name of the Claude Code that runs trials on this machine; None means the one on PATH.
        permitted: Whether the user agrees that it does so with permissions skipped.
    """

    root: Path
    cwd: Path
    select: tuple[str, ...] = ()
    keyword: str | None = None
    failed: bool = False
    isolated: bool = False
    rehearse: bool = False
    trials: int | None = None
    jobs: int | None = None
    model: str | None = None
    judge_model: str | None = None
    timeout_seconds: float = 600.0
    background: bool = False
    allow_unmeasured: int = 0
    keep: bool = False
    image: str | None = None
    claude: str | None = None
    permitted: bool = False
    limits: Limits = field(factory=Limits)


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
    """

    request: RunRequest
    tests: tuple[PlannedTest, ...]
    notices: tuple[str, ...]
    resumed: Resumed | None = None

    @property
    def finished(self) -> frozenset[str]:
        """Ids of trials that need not run."""
        return self.resumed.finished if self.resumed else frozenset()

    @property
    def trials(self) -> int:
        """How many trials will run."""
        return sum(trial not in self.finished for test in self.tests for trial in test.trial_ids())
