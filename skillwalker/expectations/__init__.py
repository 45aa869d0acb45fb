"""What an expectation type is written with; `base` says how, `skillwalker.testing` helps to test it."""

from skillwalker.errors import JudgeError
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
from skillwalker.outcomes import Observation, Outcome

__all__ = [
    "INTERFACE_VERSION",
    "Detail",
    "Expectation",
    "Judge",
    "JudgeAnswer",
    "JudgeError",
    "NotObservedError",
    "Observation",
    "Outcome",
    "Services",
    "Trial",
    "Verdict",
]
