"""What one trial is made of, as values: they pickle, so that any executor can carry them."""

from __future__ import annotations

from typing import Protocol

from attrs import field, frozen

from skillwalker.checks import CheckedTest
from skillwalker.names import Names
from skillwalker.prices import Prices
from skillwalker.results import MAIN, TrialResult
from skillwalker.sandbox.base import Limits
from skillwalker.store import RunDirectory
from skillwalker.tree import Tree


class Listener(Protocol):
    """Is told what happens; called from many threads."""

    def started(self, trial_id: str, test: CheckedTest, index: int) -> None: ...
    def doing(self, trial_id: str, text: str) -> None: ...
    def ended(self, test: CheckedTest, result: TrialResult) -> None: ...


@frozen
class Settings:
    """What holds for every trial of a run.

    Attributes:
        prices: What answers cost; None where nothing is spent.
        judged_by_claude_code: Ids of trials that a second Claude Code judges, and not a client of ours.
    """

    timeout_seconds: float = 600.0
    limits: Limits = field(factory=Limits)
    background: bool = False
    keep: bool = False
    judge_model: str | None = None
    claude_code_version: str | None = None
    prices: Prices | None = None
    judged_by_claude_code: frozenset[str] = frozenset()


@frozen
class TrialJob:
    """One trial to execute.

    Attributes:
        plugins: What is mounted: the eval's plugins, or the one temporary plugin.
        agent_id: The full id of the test's agent.
        arm: With what it runs; `control` where it only shows that the measurement works.
    """

    run: RunDirectory
    id: str
    index: int
    checked: CheckedTest
    model: str
    plugins: tuple[tuple[str, Tree], ...]
    scaffold: Tree | None
    names: Names
    agent_id: str | None
    settings: Settings
    arm: str = MAIN

    @property
    def test(self) -> tuple[str, str, str]:
        """Whose trial it is: eval, name of the test, arm."""
        return self.checked.eval.name, self.checked.test.name, self.arm
