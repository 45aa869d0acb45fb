"""What differs between two stored runs, test by test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import field, frozen

from skillwalker.comparison.changes import Change, changes_of
from skillwalker.comparison.controls import (
    ABSENT,
    ControlChange,
    blindness,
    control_changes,
    not_comparable,
    only_one_has_controls,
)
from skillwalker.comparison.noise import SAME, Noise, noise
from skillwalker.comparison.observed import SeenTest, SeenTrial, see
from skillwalker.comparison.settings import setting_changes
from skillwalker.reports.changes import Line, diff_lines
from skillwalker.reports.console import banner, counts
from skillwalker.reports.excerpt import Budget
from skillwalker.reports.source import Source
from skillwalker.results import RunResult, TestResult
from skillwalker.statistics import is_fixed
from skillwalker.text import count, safe

_DIFF = 16  # lines of a final text's diff
_WITH_A_MODEL = ("api", "record")

NO_MODEL = "no model was asked, so there is no noise to compare with"
STOPPED_EARLY = "trials stopped early, so what their number says of a rate is not known"
DIFFERENT_SOURCES = (
    "NOT COMPARABLE: one run asked a model and the other did not ({before} and {after}); "
    "a difference says nothing of the model, the skill or the agent"
)


@frozen
class Difference:
    """One test in two runs.

    Attributes:
        before, after: None where that run does not have the test.
        noise: What to think of the rates; None where they cannot be compared.
        no_noise: Why not.
        inputs: What the trials depend on and is not the same, such as `prompt` or `plugin acme`.
        changes: Verdicts, calls, files and figures that are not the same.
        texts_differ: Of so many pairs of trials the final texts differ; None where no pair could be compared.
        pairs: How many pairs could be.
        text_diff: Of the first pair whose texts differ.
    """

    eval: str
    name: str
    before: SeenTest | None
    after: SeenTest | None
    noise: Noise | None = None
    no_noise: str | None = None
    inputs: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    texts_differ: int | None = None
    pairs: int = 0
    text_diff: tuple[Line, ...] = field(default=(), repr=False)

    @property
    def outcomes(self) -> tuple[str, str]:
        before, after = (str(one.test.outcome) if one else ABSENT for one in (self.before, self.after))
        return before, after

    @property
    def only_in(self) -> str | None:
        """`earlier` or `later` where only that run has the test: it may just not have been selected."""
        if self.before and self.after:
            return None
        return "earlier" if self.before else "later"

    @property
    def same_outcome(self) -> bool:
        return self.outcomes[0] == self.outcomes[1]

    @property
    def differs(self) -> bool:
        """Whether both runs have it and something is not the same."""
        return self.only_in is None and (
            not self.same_outcome
            or self._sight_differs
            or bool(self.inputs or self.changes or self.texts_differ)
        )

    @property
    def _sight_differs(self) -> bool:
        """Whether one run could measure it, and the other is known to have been blind."""
        if self.before is None or self.after is None:
            return False
        return self.before.test.blind != self.after.test.blind

    @property
    def rate(self) -> str:
        """Both rates, such as `1 of 3 → 3 of 3, within noise (p = 0.4)`."""
        if self.before is None or self.after is None:
            return ""
        told = ""
        if self.noise:
            p_value = "" if self.noise.word == SAME else f" (p = {self.noise.p_value:.2g})"
            told = f", {self.noise.word}{p_value}"
        elif why := not_comparable(self.before.test, self.after.test):
            told = f", {why}"
        return f"{self.before.rate} → {self.after.rate}{told}"

    def lines(self) -> Iterator[str]:
        """What differs, a line each."""
        if self.before is None or self.after is None:
            return
        yield from map(safe, blindness(self.before.test, self.after.test))
        if self.inputs:
            yield f"changed inputs: {', '.join(self.inputs)}"
        for change in self.changes:
            yield f"{change.label}: {change.before} → {change.after}"
        if self.texts_differ:
            of = f"in {self.texts_differ} of {self.pairs} pairs of trials" if self.pairs > 1 else ""
            yield f"final text differs {of}".rstrip()


@frozen
class Apart:
    """Tests that only one of the runs has, and that are compared with nothing.

    Attributes:
        run: `earlier` or `later`.
    """

    run: str
    tests: tuple[Difference, ...]

    @property
    def told(self) -> str:
        """Such as `2 tests are only in the earlier run`."""
        verb = "is" if len(self.tests) == 1 else "are"
        return f"{count(len(self.tests), 'test')} {verb} only in the {self.run} run"


@frozen
class Comparison:
    """Two runs.

    Attributes:
        warnings: What a reader must know before anything else; every report begins and ends with them.
        changed: Versions and options that are not the same.
        controls: Those that did not end alike.
        controls_note: What to know where only one of the runs has controls.
    """

    before: RunResult
    after: RunResult
    warnings: tuple[str, ...]
    changed: tuple[Change, ...]
    tests: tuple[Difference, ...]
    controls: tuple[ControlChange, ...] = ()
    controls_note: str | None = None

    @property
    def summary(self) -> str:
        """Both runs' counts, and how many of the tests that both have differ."""
        both = [one for one in self.tests if one.only_in is None]
        other = sum(not one.same_outcome for one in both)
        differ = sum(one.differs for one in both)
        controls = f"; {count(len(self.controls), 'control')} with another outcome" if self.controls else ""
        of = f"of {count(len(both), 'test')}{'' if len(both) == len(self.tests) else ' in both runs'}"
        compared = f"{of} {other} with another outcome, {differ - other} more with other differences"
        told = compared if both else "no test is in both runs"
        return f"{counts(self.before)} → {counts(self.after)}; {told}{controls}"

    @property
    def apart(self) -> tuple[Apart, ...]:
        """What only the earlier run has, and what only the later one; neither counts as a difference."""
        sides = [
            Apart(run, tuple(one for one in self.tests if one.only_in == run)) for run in ("earlier", "later")
        ]
        return tuple(one for one in sides if one.tests)


def compare(before: Source, after: Source) -> Comparison:
    """What differs; reads both runs' streams and work directories, a test at a time."""
    measurable = all(one.run.model_source in _WITH_A_MODEL for one in (before, after))
    theirs = {(test.eval, test.name): test for test in before.run.tests}
    ours = {(test.eval, test.name): test for test in after.run.tests}
    found = []
    for name in dict.fromkeys([*ours, *theirs]):
        old, new = theirs.get(name), ours.get(name)
        found.append(_difference(name, _seen(before, old), _seen(after, new), before, after, measurable))
    found.sort(key=lambda one: (one.only_in or "", one.same_outcome, not one.differs))
    return Comparison(
        before.run,
        after.run,
        _warnings(before, after),
        tuple(setting_changes(before, after)),
        tuple(found),
        control_changes(before.run, after.run),
        only_one_has_controls(before.run, after.run),
    )


def _seen(source: Source, test: TestResult | None) -> SeenTest | None:
    return see(source, test) if test else None


def _difference(
    name: tuple[str, str],
    old: SeenTest | None,
    new: SeenTest | None,
    before: Source,
    after: Source,
    measurable: bool,
) -> Difference:
    if old is None or new is None:
        return Difference(*name, old, new)
    found = no_noise = None
    if why := not_comparable(old.test, new.test):
        no_noise = why
    elif not measurable:
        no_noise = NO_MODEL
    elif not (is_fixed(old.test) and is_fixed(new.test)):
        no_noise = STOPPED_EARLY
    else:
        found = noise(old.test.passed, old.test.measured, new.test.passed, new.test.measured)
        no_noise = None if found else "a run has no measured trial of it"
    pairs = [(one, other) for one in old.trials for other in new.trials if _pairs(one, other)]
    texts = [
        (a.final_text, b.final_text)
        for a, b in pairs
        if a.final_text is not None and b.final_text is not None
    ]
    differing = [(a, b) for a, b in texts if a != b]
    return Difference(
        *name,
        old,
        new,
        found,
        no_noise,
        tuple(_inputs(before.scaffolds.inputs(old.test), after.scaffolds.inputs(new.test))),
        tuple(changes_of(old, new)),
        len(differing) if texts else None,
        len(texts),
        _text_diff(*differing[0]) if differing else (),
    )


def _pairs(one: SeenTrial, other: SeenTrial) -> bool:
    return (one.arm, one.index) == (other.arm, other.index)


def _inputs(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    if not old or not new:  # not written down: nothing is known
        return
    for key in dict.fromkeys([*old, *new]):
        one, other = old.get(key), new.get(key)
        if one == other:
            continue
        if isinstance(one, dict) and isinstance(other, dict):
            what = key.removesuffix("s")
            yield from (
                f"{what} {safe(str(name))}"
                for name in dict.fromkeys([*one, *other])
                if one.get(name) != other.get(name)
            )
        else:
            yield safe(str(key))


def _text_diff(old: str, new: str) -> tuple[Line, ...]:
    lines, _ = diff_lines(old, new, Budget(8_000), most=_DIFF)
    return lines


def _warnings(before: Source, after: Source) -> tuple[str, ...]:
    sources = [one.run.model_source for one in (before, after)]
    asked = [source in _WITH_A_MODEL for source in sources]
    if asked[0] != asked[1]:
        return (DIFFERENT_SOURCES.format(before=sources[0], after=sources[1]),)
    return tuple(dict.fromkeys(note for source in sources if (note := banner(source))))
