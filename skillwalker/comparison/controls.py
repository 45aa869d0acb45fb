"""What the controls of two runs say: whether a rate of one can be put beside that of the other."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from skillwalker.outcomes import Outcome
from skillwalker.reports.figures import controls
from skillwalker.results import RunResult, TestResult

ABSENT = "absent"


@frozen
class ControlChange:
    """A control that did not end alike in both runs.

    Attributes:
        before, after: Outcomes; `absent` where that run does not have it.
    """

    eval: str
    name: str
    before: str
    after: str


def control_changes(before: RunResult, after: RunResult) -> tuple[ControlChange, ...]:
    """Failed ones first; one that passed and that the other run does not have changes nothing."""
    theirs, ours = _outcomes(before), _outcomes(after)
    found = [
        ControlChange(*name, theirs.get(name, ABSENT), ours.get(name, ABSENT))
        for name in dict.fromkeys([*ours, *theirs])
        if theirs.get(name) != ours.get(name)
    ]
    telling = [one for one in found if {one.before, one.after} != {ABSENT, Outcome.PASSED}]
    return tuple(sorted(telling, key=lambda one: Outcome.FAILED not in (one.before, one.after)))


def only_one_has_controls(before: RunResult, after: RunResult) -> str | None:
    """Such as `only the later run has controls: 2 controls: 2 passed`; None where both have some, or none."""
    if bool(before.controls) is bool(after.controls):
        return None
    which, run = ("earlier", before) if before.controls else ("later", after)
    return f"only the {which} run has controls; {controls(run)}"


def not_comparable(before: TestResult, after: TestResult) -> str | None:
    """Why two rates of a test cannot be compared, where the measurement of one is known to be blind."""
    blind = [which for which, test in (("earlier", before), ("later", after)) if test.blind]
    if not blind:
        return None
    return (
        f"not comparable: the measurement is blind in {'both runs' if blind[1:] else f'the {blind[0]} run'}"
    )


def blindness(before: TestResult, after: TestResult) -> Iterator[str]:
    """Why, a line for each run."""
    for which, test in (("earlier", before), ("later", after)):
        if test.blind:
            yield f"{which} run: {test.blind}; what its trials saw counts for nothing"


def _outcomes(run: RunResult) -> dict[tuple[str, str], str]:
    return {(one.test.eval, one.test.name): str(one.test.outcome) for one in run.controls}
