"""What a run found: verdicts, trials, tests, the run, and the rules that lead from one to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import ceil, floor

from attrs import evolve, frozen

from skillwalker.expectations.base import Verdict
from skillwalker.gateway.spending import Spend
from skillwalker.outcomes import NO_ANSWER, NO_ANSWER_ADVICE, Outcome, Reason
from skillwalker.transcript import AgentUse, SkillUse, Usage

MAIN, CONTROL = "main", "control"
"""Arms: with what a trial runs. Those of a control show whether the measurement works."""


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
    arm: str = MAIN
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

    @property
    def advice(self) -> str | None:
        """What to do about its reason; None where it has none."""
        if self.reason is Reason.INTERRUPTED and self.outcome is not Outcome.UNMEASURED:
            return "what decides it had been seen before, so there is nothing to go on with"
        if self.reason is Reason.API_ERROR and self.message.startswith(NO_ANSWER):
            return NO_ANSWER_ADVICE
        return self.reason.advice if self.reason else None


@frozen
class Target:
    """The skill or agent whose activation a test measures.

    Attributes:
        kind: `skill` or `agent`.
        should: Whether the test expects it to be called.
        position: Place of that expectation in the test's `expect`, from 0.
    """

    kind: str
    id: str
    should: bool
    position: int


@frozen
class TestResult:
    """A test with its trials.

    Attributes:
        need: How many trials must pass.
        planned: How many trials were planned; those that did not run count as unmeasured, unless they were
            not needed.
        scripted: Whether a rehearsal has a script for it; None where that was not written down.
        target: Whose activation it measures; None where it measures something else.
        stop_early: Whether its trials stop when its outcome can no longer change.
        real: Whether a model answered; nothing else enters a rate.
        blind: Why its measurement is worth nothing, whatever its trials say; None: it is not known to be so.
        tags: What `-k` finds it by, beside its name.
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
    target: Target | None = None
    arm: str = MAIN
    stop_early: bool = False
    real: bool = True
    blind: str | None = None
    tags: tuple[str, ...] = ()

    @property
    def passed(self) -> int:
        return 0 if self.blind else self._count(Outcome.PASSED)

    @property
    def measured(self) -> int:
        return 0 if self.blind else self._count(Outcome.PASSED, Outcome.FAILED)

    @property
    def not_needed(self) -> int:
        """Trials that did not run because the outcome could not change any more."""
        passed, failed = self._count(Outcome.PASSED), self._count(Outcome.FAILED)
        unmeasured = len(self.trials) - passed - failed
        if self.stop_early and is_settled(self.planned, passed, failed, unmeasured, self.need):
            return max(0, self.planned - len(self.trials))
        return 0

    @property
    def unmeasured(self) -> int:
        """Planned trials that measured nothing although they were needed."""
        return self.planned - self.measured - self.not_needed

    @property
    def left(self) -> int:
        """Planned trials that would have to run for the whole test to be measured; where trials stop early,
        for its outcome to be certain."""
        passed, measured = self._count(Outcome.PASSED), self._count(Outcome.PASSED, Outcome.FAILED)
        outcome = test_outcome(self.planned, passed, self.planned - measured, self.need)
        if self.stop_early and outcome is not Outcome.UNMEASURED:
            return 0
        return self.planned - self.not_needed - measured

    @property
    def flaky(self) -> bool:
        """Whether measured trials disagree."""
        return 0 < self.passed < self.measured

    @property
    def outcome(self) -> Outcome:
        if self.blind:
            return Outcome.UNMEASURED
        return test_outcome(self.planned, self.passed, self.planned - self.measured, self.need)

    def _count(self, *outcomes: Outcome) -> int:
        return sum(trial.outcome in outcomes for trial in self.trials)


@frozen
class Control:
    """A test of the measurement itself: its prompt names a skill or an agent, or is about neither.

    Attributes:
        test: Its trials are those of the arm `control`; its target is what it is about.
    """

    test: TestResult

    @property
    def target(self) -> Target:
        assert self.test.target, "a control without a target controls nothing"
        return self.test.target

    def is_of(self, test: TestResult) -> bool:
        """Whether it shows that `test` can be measured, or that it cannot."""
        own, other = self.target, test.target
        if other is None or (self.test.eval, self.test.model) != (test.eval, test.model):
            return False
        return (own.kind, own.id) == (other.kind, other.id)


@frozen
class Skipped:
    """A selected test that its author does not want to run for now; it counts nowhere."""

    eval: str
    name: str
    type: str
    reason: str


@frozen
class RunResult:
    """A finished or interrupted run.

    Attributes:
        model_source: `api`, `record`, `replay` or `rehearsal`.
        duration_ms: Of the trials together; None while they go on, or after a crash.
        interrupted: Whether it was ended early; None while it goes on, or after a crash.
        allow_unmeasured: How many tests may be unmeasured without changing the exit code.
        controls: Counted apart; where one failed, the tests of its target are unmeasured.
        skipped: Neither passed nor failed, and no part of `tests`.
        uncounted: Trials that asked a model and left no result, so that nobody knows what they cost.
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
    controls: tuple[Control, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    uncounted: int = 0

    @property
    def all_tests(self) -> tuple[TestResult, ...]:
        """The tests, and then the controls."""
        return (*self.tests, *(control.test for control in self.controls))

    @property
    def is_whole(self) -> bool:
        """Whether every trial that was needed has been measured."""
        return not any(test.left for test in self.all_tests)

    @property
    def not_needed(self) -> int:
        """Trials that did not run because they could not have changed an outcome."""
        return sum(test.not_needed for test in self.all_tests)

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
        """Sum over all trials and controls, without judges; None where any trial's cost is unknown."""
        return self._total(lambda trial: trial.cost_usd)

    @property
    def judge_cost_usd(self) -> float | None:
        """Sum over the judges of all trials; None where any is unknown."""
        return self._total(lambda trial: trial.judge_cost_usd)

    def _total(self, cost: Callable[[TrialResult], float | None]) -> float | None:
        if self.uncounted:
            return None
        return _sum([cost(trial) for test in self.all_tests for trial in test.trials])

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


def is_settled(planned: int, passed: int, failed: int, unmeasured: int, need: int, *, more: int = 0) -> bool:
    """Whether `test_outcome` is certain; with `more`, whether so many more trials could make it certain.

    Exact: it is certain if and only if every course of the trials that are left gives the same outcome.

    Args:
        unmeasured: Trials that ran and were not measured.
    """
    left = planned - passed - failed - unmeasured
    if left <= more:
        return True
    passes = passed + more >= need
    fails = failed + more > planned - need
    neither = passed + left - more < need <= passed + unmeasured + more
    return passes or fails or neither


def with_blind(tests: Iterable[TestResult], controls: Iterable[Control]) -> tuple[TestResult, ...]:
    """The tests, those unmeasured whose control failed: what cannot see a skill called by its name, or sees
    one where there is nothing to see, measures nothing. A control that was not measured shows nothing."""
    failed = [control for control in controls if control.test.outcome is Outcome.FAILED]
    return tuple(evolve(test, blind=_why_blind([one for one in failed if one.is_of(test)])) for test in tests)


def _why_blind(failed: list[Control]) -> str | None:
    if not failed:
        return None
    what = {
        True: "{} was not called by a prompt that names it",
        False: "{} was called by an unrelated prompt",
    }
    told = "; ".join(what[one.target.should].format(one.target.id) for one in failed)
    return f"the measurement is blind: {told}"
