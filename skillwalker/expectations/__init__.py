"""What an expectation type is written with; `base` says how, `skillwalker.testing` helps to test it."""

from skillwalker.commands import CommandRequest, CommandResult, CommandRunner
from skillwalker.errors import JudgeError, NotSavedError, SandboxError
from skillwalker.evals import Eval, Test, TestType
from skillwalker.expectations.base import (
    INTERFACE_VERSION,
    Detail,
    Expectation,
    Judge,
    JudgeAnswer,
    NotObservedError,
    Services,
    Trial,
    Verdict,
)
from skillwalker.expectations.options import shown
from skillwalker.folders import find_inside, path_fault
from skillwalker.outcomes import Observation, Outcome, Reason
from skillwalker.text import listed, safe

__all__ = [
    "INTERFACE_VERSION",
    "CommandRequest",
    "CommandResult",
    "CommandRunner",
    "Detail",
    "Eval",
    "Expectation",
    "Judge",
    "JudgeAnswer",
    "JudgeError",
    "NotObservedError",
    "NotSavedError",
    "Observation",
    "Outcome",
    "Reason",
    "SandboxError",
    "Services",
    "Test",
    "TestType",
    "Trial",
    "Verdict",
    "find_inside",
    "listed",
    "path_fault",
    "safe",
    "shown",
]
