"""What differs between two stored runs, test by test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from attrs import field, frozen

from skillwalker.comparison.controls import (
    ABSENT,
    ControlChange,
    blindness,
    control_changes,
    not_comparable,
    only_one_has_controls,
)
from skillwalker.comparison.noise import SAME, Noise, noise
from skillwalker.comparison.observed import SeenTest, SeenTrial, mean, see
from skillwalker.events import as_dict
from skillwalker.outcomes import Outcome
from skillwalker.reports.changes import Line, diff_lines
from skillwalker.reports.console import banner, counts
from skillwalker.reports.excerpt import Budget
from skillwalker.reports.source import Source
from skillwalker.results import RunResult, TestResult
from skillwalker.statistics import is_fixed
from skillwalker.text import count, safe

_DIFF = 16  # lines of a final text's diff
_WITH_A_MODEL = ("api", "record")
_VERSIONS = ("skillwalker", "claude_code_version", "image", "sandbox", "python")
_NOT_TOLD = ("select", "keyword", "failed", "jobs", "keep")  # they choose tests, or change no trial

NO_MODEL = "no model was asked, so there is no noise to compare with"
STOPPED_EARLY = "trials stopped early, so what their number says of a rate is not known"
DIFFERENT_SOURCES = (
    "NOT COMPARABLE: one run asked a model and the other did not ({before} and {after}); "
    "a difference says nothing of the model, the skill or the agent"
)


@frozen
class Change:
    """A value that is not the same in both runs, in words; `none` where there is none."""

    label: str
    before: str
    after: str


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
    def same_outcome(self) -> bool:
        return self.outcomes[0] == self.outcomes[1]

    @property
    def differs(self) -> bool:
        return (
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
            yield f"only the {'later' if self.before is None else 'earlier'} run has this test"
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
        """Both runs' counts, and how many tests differ."""
        other = sum(not one.same_outcome for one in self.tests)
        differ = sum(one.differs for one in self.tests)
        controls = f"; {count(len(self.controls), 'control')} with another outcome" if self.controls else ""
        return (
            f"{counts(self.before)} → {counts(self.after)}; of {count(len(self.tests), 'test')} "
            f"{other} with another outcome, {differ - other} more with other differences{controls}"
        )


def compare(before: Source, after: Source) -> Comparison:
    """What differs; reads both runs' streams and work directories, a test at a time."""
    measurable = all(one.run.model_source in _WITH_A_MODEL for one in (before, after))
    theirs = {(test.eval, test.name): test for test in before.run.tests}
    ours = {(test.eval, test.name): test for test in after.run.tests}
    found = []
    for name in dict.fromkeys([*ours, *theirs]):
        old, new = theirs.get(name), ours.get(name)
        found.append(_difference(name, _seen(before, old), _seen(after, new), before, after, measurable))
    found.sort(key=lambda one: (one.same_outcome, not one.differs))
    return Comparison(
        before.run,
        after.run,
        _warnings(before, after),
        _versions(before, after),
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
        tuple(_changes(old, new)),
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


def _changes(old: SeenTest, new: SeenTest) -> Iterator[Change]:
    if old.test.model != new.test.model:
        yield Change("model", safe(old.test.model), safe(new.test.model))
    seen = [] if old.test.blind or new.test.blind else [*old.verdicts, *new.verdicts]
    for key in dict.fromkeys(seen):  # those of a blind measurement say nothing
        one, other = old.verdicts.get(key, {}), new.verdicts.get(key, {})
        if _shares(one) != _shares(other):
            label = f"{safe(key[1])} (expectation {key[0] + 1})"
            yield Change(label, _verdicts(one), _verdicts(other))
    yield from _calls(old, new)
    yield from _files(old, new)
    figures = (
        ("turns", old.turns, new.turns, "{:.4g}"),
        ("cost", old.cost_usd, new.cost_usd, "{:.4f} USD"),
        ("judges' cost", old.judge_cost_usd, new.judge_cost_usd, "{:.4f} USD"),
    )
    for label, left, right, shown in figures:
        if left is not None and right is not None and shown.format(left) != shown.format(right):
            each = " a trial" if max(len(old.trials), len(new.trials)) > 1 else ""
            yield Change(f"{label}{each}", shown.format(left), shown.format(right))


def _shares(counts: Mapping[Outcome, int]) -> dict[Outcome, Fraction]:
    """Of all trials those with each outcome: how many there are is no difference."""
    return {outcome: Fraction(number, sum(counts.values())) for outcome, number in counts.items()}


def _verdicts(counts: Mapping[Outcome, int]) -> str:
    if not counts:
        return "none"
    if len(counts) == 1 and sum(counts.values()) == 1:
        return str(next(iter(counts)))
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts.get(outcome))


def _calls(old: SeenTest, new: SeenTest) -> Iterator[Change]:
    """Calls a trial, for tools whose number is not the same."""
    names = dict.fromkeys(name for one in (*old.trials, *new.trials) for name in one.calls or ())
    for name in names:
        left, right = (
            mean(None if one.calls is None else one.calls.get(name, 0) for one in side.trials)
            for side in (old, new)
        )
        if left is not None and right is not None and left != right:
            yield Change(f"calls of {name}", f"{left:.4g}", f"{right:.4g}")


def _files(old: SeenTest, new: SeenTest) -> Iterator[Change]:
    """Files that are not created, changed or deleted in as many trials, or with other content."""
    sides = [[one.files for one in side.trials if one.files is not None] for side in (old, new)]
    if not all(sides):
        return
    for path in dict.fromkeys(path for side in sides for files in side for path in files):
        left, right = (_touched(path, side) for side in sides)
        label = f"file {safe(path, 200)}"
        if left != right:
            yield Change(label, left, right)
        elif len(sides[0]) == len(sides[1]) and (digests := _digests(path, sides))[0] != digests[1]:
            yield Change(label, left, f"{right}, other content")


def _touched(path: str, side: list[Mapping[str, Any]]) -> str:
    found = [files[path].what for files in side if path in files]
    if not found:
        return "untouched"
    what = " or ".join(dict.fromkeys(found))
    return what if len(found) == len(side) else f"{what} in {len(found)} of {len(side)}"


def _digests(path: str, sides: list[list[Mapping[str, Any]]]) -> list[list[str | None]]:
    return [[files[path].digest if path in files else None for files in side] for side in sides]


def _text_diff(old: str, new: str) -> tuple[Line, ...]:
    lines, _ = diff_lines(old, new, Budget(8_000), most=_DIFF)
    return lines


def _warnings(before: Source, after: Source) -> tuple[str, ...]:
    sources = [one.run.model_source for one in (before, after)]
    asked = [source in _WITH_A_MODEL for source in sources]
    if asked[0] != asked[1]:
        return (DIFFERENT_SOURCES.format(before=sources[0], after=sources[1]),)
    return tuple(dict.fromkeys(note for source in sources if (note := banner(source))))


def _versions(before: Source, after: Source) -> tuple[Change, ...]:
    pairs = {key: (before.manifest.get(key), after.manifest.get(key)) for key in _VERSIONS}
    options = [as_dict(one.manifest.get("options")) for one in (before, after)]
    for key in dict.fromkeys([*options[0], *options[1]]):
        if key not in _NOT_TOLD and key not in pairs:
            pairs[key] = (options[0].get(key), options[1].get(key))
    return tuple(
        Change(key.replace("_", " "), _value(left), _value(right))
        for key, (left, right) in pairs.items()
        if left != right
    )


def _value(value: Any) -> str:
    return "none" if value is None else safe(str(value), 80)
