"""What a run found: verdicts, trials, tests, the run, and the rules that lead from one to the next."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor

from attrs import frozen

from skillwalker.expectations.base import Verdict
from skillwalker.gateway.spending import Spend
from skillwalker.outcomes import Outcome, Reason
from skillwalker.transcript import AgentUse, SkillUse, Usage


@frozen
class Judged:
    """One verdict with the expectation it belongs to.

    Attributes:
        position: Place in the test's `expect`, from 0.
    """

    position: int
    type: str
    verdict: Verdict


@frozen
class TrialResult:
    """One execution of a test, measured and judged.

    Attributes:
        reason: Why it is not healthy, or why a verdict of a healthy one could not be given; None: neither.
        message: What is behind the reason, in words.
        healthy: Whether it ran to its end, so that it may say *no*.
        duration_ms: From the container's start to its end; None where it did not start.
        cost_usd: Its answers at the prices of the run, without its judges; None where it is not known, and
            for rehearsed and replayed trials.
        judge_cost_usd: Likewise of its judges; 0 where none was asked.
        turns: Main-thread answers of the model.
        notes: What a reader should know beside the verdicts.
        spent: Its answers and its judges', by conversation and model.
    """

    id: str
    index: int
    outcome: Outcome
    arm: str = "main"
    reason: Reason | None = None
    message: str = ""
    healthy: bool = True
    duration_ms: int | None = None
    cost_usd: float | None = None
    judge_cost_usd: float | None = None
    turns: int | None = None
    usage: Usage | None = None
    skills: tuple[SkillUse, ...] = ()
    agents: tuple[AgentUse, ...] = ()
    judged: tuple[Judged, ...] = ()
    notes: tuple[str, ...] = ()
    spent: tuple[Spend, ...] = ()


@frozen
class TestResult:
    """A test with its trials.

    Attributes:
        need: How many trials must pass.
        planned: How many trials were planned; those that did not run count as unmeasured.
        scripted: Whether a rehearsal has a script for it; None where that was not written down.
    """

    __test__ = False

    eval: str
    name: str
    type: str
    model: str
    planned: int
    need: int
    trials: tuple[TrialResult, ...]
    scripted: bool | None = None

    @property
    def passed(self) -> int:
        return sum(trial.outcome is Outcome.PASSED for trial in self.trials)

    @property
    def measured(self) -> int:
        return sum(trial.outcome is not Outcome.UNMEASURED for trial in self.trials)

    @property
    def outcome(self) -> Outcome:
        return test_outcome(self.planned, self.passed, self.planned - self.measured, self.need)


@frozen
class RunResult:
    """A finished or interrupted run.

    Attributes:
        model_source: `api`, `record`, `replay` or `rehearsal`.
        duration_ms: Of the trials together; None while they go on, or after a crash.
        interrupted: Whether it was ended early; None while it goes on, or after a crash.
        allow_unmeasured: How many tests may be unmeasured without changing the exit code.
    """

    run_id: str
    sandbox: str
    model_source: str
    tests: tuple[TestResult, ...]
    duration_ms: int | None
    claude_code_version: str | None = None
    image: str | None = None
    allow_unmeasured: int = 0
    interrupted: bool | None = False

    def count(self, outcome: Outcome) -> int:
        return sum(test.outcome is outcome for test in self.tests)

    @property
    def outcome(self) -> Outcome:
        if self.count(Outcome.FAILED):
            return Outcome.FAILED
        too_many = self.count(Outcome.UNMEASURED) > self.allow_unmeasured
        nothing = not self.count(Outcome.PASSED)
        return Outcome.UNMEASURED if too_many or nothing else Outcome.PASSED

    @property
    def cost_usd(self) -> float | None:
        """Sum over all trials, without judges; None where any trial's cost is unknown."""
        return _sum([trial.cost_usd for test in self.tests for trial in test.trials])

    @property
    def judge_cost_usd(self) -> float | None:
        """Sum over the judges of all trials; None where any is unknown."""
        return _sum([trial.judge_cost_usd for test in self.tests for trial in test.trials])

    @property
    def exit_code(self) -> int:
        if self.interrupted:
            return 2
        return {Outcome.FAILED: 1, Outcome.UNMEASURED: 6, Outcome.PASSED: 0}[self.outcome]


def _sum(costs: list[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None


def trials_needed(planned: int, pass_rate: float | None) -> int:
    """How many of `planned` trials must pass: more than half, or `pass_rate` of them, at least one."""
    if pass_rate is None:
        return floor(planned / 2) + 1
    return max(1, ceil(pass_rate * planned - 1e-9))  # 0.1 * 30 is a little more than 3 in floating point


def trial_outcome(verdicts: Iterable[Verdict]) -> Outcome:
    """Failed if one failed, else unmeasured if one is unmeasured or there is none, else passed."""
    outcomes = {verdict.outcome for verdict in verdicts}
    if Outcome.FAILED in outcomes:
        return Outcome.FAILED
    if Outcome.UNMEASURED in outcomes or not outcomes:
        return Outcome.UNMEASURED
    return Outcome.PASSED


def test_outcome(planned: int, passed: int, unmeasured: int, need: int) -> Outcome:
    """Passed or failed only where the unmeasured trials could not have changed it.

    Args:
        unmeasured: Trials that were not measured or did not run at all.
        need: How many must pass; see `trials_needed`.
    """
    if planned and passed >= need:
        return Outcome.PASSED
    return Outcome.FAILED if passed + unmeasured < need else Outcome.UNMEASURED


test_outcome.__test__ = False  # type: ignore[attr-defined]
