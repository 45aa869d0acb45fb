"""An entry of `expect` that is bound to its type, and the one place where its `check` is called.

An expectation that breaks has measured nothing, so its verdict is unmeasured and never failed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from attrs import evolve, frozen

from skillwalker.errors import JudgeError, JudgeOverBudgetError, JudgeUnscriptedError, Problem, SandboxError
from skillwalker.evals import ExpectationSpec
from skillwalker.expectations.base import Detail, Expectation, NotObservedError, Trial, Verdict
from skillwalker.expectations.quiet import quiet
from skillwalker.outcomes import Outcome, Reason
from skillwalker.text import safe

MESSAGE_LIMIT = 1_000
"""Characters of a verdict's message; a model's whole answer does not belong there."""
CHECK_SECONDS = 60.0
"""For one `check`; it has everything at hand."""
JUDGE_SECONDS = 1_800.0
"""For one that asks a model, whose answer may take ten minutes and be asked for again."""

LOOK_SECONDS = 0.25
"""How often whoever waits for a `check` looks whether the run was ended meanwhile."""

DETAIL_LIMIT = 4_000
"""Characters of a detail's message, which may be a judge's reasoning."""

_run_ended: ContextVar[threading.Event | None] = ContextVar("run_ended", default=None)


class _RunEndedError(Exception):
    """Nobody waits for a `check` any more."""


@contextmanager
def until(run_ended: threading.Event) -> Iterator[None]:
    """What is judged in the block, by this thread, is given up when the event is set."""
    token = _run_ended.set(run_ended)
    try:
        yield
    finally:
        _run_ended.reset(token)


@frozen
class Bound:
    """One entry of `expect`, bound to its type.

    Exactly one of the three is there: the expectation, the reason why its type is broken (its test is then
    unmeasured), or what is wrong with the entry.

    Attributes:
        origin: Distribution and version that the type comes from.
    """

    spec: ExpectationSpec
    expectation: Expectation | None = None
    broken: str | None = None
    problems: tuple[Problem, ...] = ()
    origin: str = ""

    @property
    def expects_call(self) -> tuple[str, bool] | None:
        """The skill or agent that it is about, and whether that is to be called; None: about none."""
        found = getattr(self.expectation, "expects_call", None)
        return found if isinstance(found, tuple) else None


def judge_trial(bound: Bound, trial: Trial) -> Verdict:
    """What `bound` says of `trial`; never raises but for an interrupt.

    Raises:
        ValueError: `bound` has problems; a test with problems is never run.
    """
    if bound.problems:
        raise ValueError(f"{bound.spec.path} has problems and cannot be judged")
    if bound.expectation is None:
        return _unmeasured(bound.broken or "its type cannot be used", Reason.EXPECTATION_ERROR)
    who = " of ".join(part for part in (bound.spec.type, bound.origin) if part)
    try:
        with quiet():
            return _tidied(_checked(bound.expectation, trial))
    except NotObservedError as error:
        return _unmeasured(str(error))
    except JudgeUnscriptedError as error:
        return _unmeasured(str(error), Reason.CASSETTE_MISS)
    except JudgeOverBudgetError as error:
        return _unmeasured(str(error), Reason.BUDGET)
    except JudgeError as error:
        return _unmeasured(str(error), Reason.JUDGE_ERROR)
    except SandboxError as error:
        return _unmeasured(str(error), Reason.SANDBOX_ERROR)
    except _RunEndedError:
        return _unmeasured("the run was ended while it was judged", Reason.INTERRUPTED)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 (whatever another package raises, as `pytest.fail` does)
        return _unmeasured(f"the expectation {who} broke: {in_words(error)}", Reason.EXPECTATION_ERROR)


def in_words(error: BaseException) -> str:
    """Its type and message; an error of another package may not even be able to print itself."""
    name = type(error).__name__
    try:
        return f"{name}: {error}" if str(error) else name
    except Exception:  # noqa: BLE001 (whatever another package raises)
        return name


def _in_time(expectation: Expectation, trial: Trial) -> Any:
    """What `check` returns or raises.

    Raises:
        TimeoutError, _RunEndedError: it does neither; it is left alone in its thread then, since nothing can
            end it.
    """
    answer: list[Any] = []
    raised: list[BaseException] = []

    def call() -> None:
        try:
            answer.append(expectation.check(trial))
        except BaseException as error:  # noqa: BLE001 (raised again in the thread that asked)
            raised.append(error)

    usual = JUDGE_SECONDS if getattr(expectation, "uses_judge", False) else CHECK_SECONDS
    seconds = float(getattr(expectation, "check_seconds", usual))
    thread = threading.Thread(target=call, name="check", daemon=True)
    thread.start()
    ended, deadline = _run_ended.get(), time.monotonic() + seconds
    while thread.is_alive() and (left := deadline - time.monotonic()) > 0:
        thread.join(min(left, LOOK_SECONDS) if ended else left)
        if ended and ended.is_set() and thread.is_alive():
            raise _RunEndedError
    if raised and isinstance(raised[0], KeyboardInterrupt):  # a user's reaches the waiting thread alone
        raise RuntimeError("`check` raised KeyboardInterrupt")
    if raised:
        raise raised[0]
    if not answer:
        raise TimeoutError(f"`check` did not end within {seconds:g} s")
    return answer[0]


def _checked(expectation: Expectation, trial: Trial) -> Verdict:
    verdict: Any = _in_time(expectation, trial)  # another package's code: what it promises is not relied on
    if not isinstance(verdict, Verdict):
        raise TypeError(f"`check` returned {type(verdict).__name__} instead of a Verdict")
    whole = evolve(verdict, details=tuple(verdict.details))
    parts: tuple[Any, ...] = (whole, *whole.details)
    if not all(isinstance(detail, Detail) for detail in parts[1:]):
        raise TypeError("`check` returned a verdict with details that are no Detail")
    if not all(isinstance(part.outcome, Outcome) and isinstance(part.message, str) for part in parts):
        raise TypeError("`check` returned an outcome that is no Outcome or a message that is no text")
    if not isinstance(verdict.reason, Reason | None):
        raise TypeError("`check` returned a reason that is no Reason")
    return whole


def _tidied(verdict: Verdict) -> Verdict:
    """The same verdict, its texts short and safe to print: they may quote what a model wrote."""
    details = tuple(
        evolve(
            detail,
            name=safe(str(detail.name), MESSAGE_LIMIT),
            message=safe(detail.message, DETAIL_LIMIT, lines=True),
        )
        for detail in verdict.details
    )
    return evolve(verdict, message=safe(verdict.message, MESSAGE_LIMIT), details=details)


def _unmeasured(message: str, reason: Reason | None = None) -> Verdict:
    return Verdict(Outcome.UNMEASURED, safe(message, MESSAGE_LIMIT), reason=reason)
