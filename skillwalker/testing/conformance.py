"""What every expectation type promises, as a test that a package runs in one line."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from skillwalker.commands import CommandResult, CommandRunner
from skillwalker.evals import TestType
from skillwalker.expectations.base import Health, Judge, Services, Trial, Verdict
from skillwalker.expectations.bound import DETAIL_LIMIT, MESSAGE_LIMIT
from skillwalker.expectations.describe import describe, examples_of
from skillwalker.expectations.options import OptionsError, shown
from skillwalker.expectations.registry import Registry, instance_of
from skillwalker.names import Names
from skillwalker.outcomes import Outcome, Reason
from skillwalker.testing import garbage, stories
from skillwalker.testing.fakes import FakeCommands, FakeJudge
from skillwalker.testing.subject import Subject, require, verdict_of
from skillwalker.testing.watching import watched
from skillwalker.text import safe

LONGEST_SUMMARY = 160
DAMAGED_STREAMS = 40
"""For each good value."""


def is_described(subject: Subject) -> None:
    """Its docstring says what it does in one line, and its examples can be written as they stand."""
    summary = describe(subject.loaded.cls).summary
    require(summary, "its class has no docstring; the first line is shown in lists")
    require(len(summary) <= LONGEST_SUMMARY, f"the first line of its docstring is too long: {summary!r}")
    try:
        examples = examples_of(subject.loaded.cls)
    except ValueError as error:
        raise AssertionError(f"the section Examples: of its docstring cannot be read: {error}") from None
    test = subject.trial(stories.plain()).test
    for example in examples:
        [(type_, value)] = example.items()
        require(type_ == subject.type, f"an example is about {type_} instead of {subject.type}")
        try:
            instance_of(subject.loaded, subject.spec(value), test)
        except OptionsError as error:
            told = "; ".join(map(str, error.problems))
            raise AssertionError(f"the example {shown(example)} is refused: {told}") from None


def takes_good_values(subject: Subject) -> None:
    """Every good value is taken, without being changed and without side effects."""
    require(subject.good, "name at least one good value, as it stands in tests.json")
    on = subject.trial(stories.plain())
    for value in subject.good:
        before = copy.deepcopy(value)
        subject.expectation(value)
        with watched() as deeds:
            subject.bound(value, on)
        require(not deeds, f"taking {shown(before)}, it {'; '.join(deeds)}")
        require(value == before, f"taking {shown(before)} changed it to {shown(value)}")


def refuses_bad_values(subject: Subject) -> None:
    """Every bad value is a problem of the eval's author, and says so."""
    for value in subject.bad:
        _refused(subject, "the bad value", value)


def refuses_garbage(subject: Subject) -> None:
    """Unknown options and values of wrong kinds are refused; nothing odd breaks it."""
    for what, value in garbage.strays(subject.good):
        _refused(subject, what, value)
    for what, value in garbage.oddities(subject.good):
        bound = subject.bound(value)
        require(not bound.broken, f"{what} breaks it: {bound.broken}")
        if bound.expectation is not None:
            verdict_of(bound.expectation, subject.trial(stories.plain()))


def pickles(subject: Subject) -> None:
    """Its instances and verdicts can be sent to another process."""
    for value in subject.good:
        expectation = subject.expectation(value)
        for sent in (expectation, *(verdict_of(expectation, on) for on in subject.healthy(value))):
            try:
                arrived = pickle.loads(pickle.dumps(sent))  # noqa: S301 (its own)
            except Exception as error:
                raise AssertionError(f"{type(sent).__name__} does not pickle: {error}") from error
            require(arrived == sent, f"{type(sent).__name__} is another one after pickling: {arrived!r}")


def check_is_pure(subject: Subject) -> None:
    """The same verdict each time, whatever was checked before; no side effects, and the trial as it was."""
    for value in subject.good:
        expectation = subject.expectation(value)
        trials = list(subject.healthy(value))
        before = copy.deepcopy([expectation, *map(_parts, trials)])
        verdicts = [verdict_of(expectation, on) for on in trials]
        for on, first in reversed([*zip(trials, verdicts, strict=True)]):
            # Services of its own, since a fake may have no second answer.
            on = attrs.evolve(on, services=subject.services())
            with watched() as deeds:
                again = verdict_of(expectation, on)
            require(not deeds, f"`check` {'; '.join(dict.fromkeys(deeds))}")
            require(again == first, f"`check` says {again} where it said {first} of the same trial")
        after = [expectation, *map(_parts, trials)]
        require(after == before, "`check` changes the trial or its own instance")


def says_no_only_of_what_it_saw(subject: Subject) -> None:
    """In a trial that was cut off, a verdict is one that nothing which may have followed could change."""
    for value in subject.good:
        expectation = subject.expectation(value)
        words = subject.words(value)
        for story in (stories.plain(), stories.busy(words)):
            for length in stories.beginnings(story.events):
                begun = subject.trial(stories.of_events(story.events[:length]))
                whole = length in (0, len(story.events))
                for reason in Reason if whole else (Reason.TIMEOUT, Reason.CONTAMINATED):
                    on = attrs.evolve(
                        begun, health=Health(reason, "for the test"), services=subject.services()
                    )
                    _not_hasty(subject, expectation, on, story.events[:length], words)


def messages_are_short_and_safe(subject: Subject) -> None:
    """One line that no terminal can be steered with, whatever the trial holds."""
    for value in subject.good:
        expectation = subject.expectation(value)
        hostile = subject.trial(*stories.hostile(subject.words(value)))
        for on in (*subject.healthy(value), hostile, *_damaged(subject, value, 8)):
            _tidy(verdict_of(expectation, on))


def survives_damage(subject: Subject) -> None:
    """Whatever lines a stream holds, `check` gives a verdict."""
    for value in subject.good:
        expectation = subject.expectation(value)
        for on in _damaged(subject, value, DAMAGED_STREAMS):
            for reason in (None, Reason.TIMEOUT, Reason.CONTAMINATED):
                verdict = verdict_of(expectation, attrs.evolve(on, health=Health(reason, "for the test")))
                require(
                    reason is not Reason.CONTAMINATED or verdict.outcome is Outcome.UNMEASURED,
                    f"in a contaminated trial nothing counts, but `check` said {verdict}",
                )


RULES: tuple[Callable[[Subject], None], ...] = (
    is_described,
    takes_good_values,
    refuses_bad_values,
    refuses_garbage,
    pickles,
    check_is_pure,
    says_no_only_of_what_it_saw,
    messages_are_short_and_safe,
    survives_damage,
)
"""What is tested, each by itself."""


def conformance(
    type: str,
    *,
    good: Sequence[Any],
    bad: Sequence[Any] = (),
    judge: Callable[[], Judge] = lambda: FakeJudge(otherwise=True),
    commands: Callable[[], CommandRunner] = lambda: FakeCommands(otherwise=CommandResult(0)),
    test_type: TestType = TestType.SKILL_PROMPT,
    prompt: str = "Do the task.",
    skill_file: str | None = None,
    agent_file: str | None = None,
    names: Names | None = None,
    rubrics: Mapping[str, str] | None = None,
    eval_files: Mapping[str, str | bytes] | None = None,
) -> Callable[..., None]:
    """A pytest test that holds an installed type against every rule of `RULES`.

        test_conformance = conformance("max-turns", good=[3, {"turns": 3}], bad=[0, "three"])

    Args:
        type: The key in `tests.json`; its package must be installed, so that its entry point is tested too.
        good: Values that it takes, one for each form and combination of options that matters.
        bad: Values that it must refuse beside the obvious ones, which are made from the good ones.
        judge: Makes a judge that answers every question.
        commands: Makes what ends every command.
        rubrics, eval_files, skill_file, agent_file: What the values name, as for `trial`.
    """
    import pytest

    given = {
        "type": test_type,
        "prompt": prompt,
        "skill_file": skill_file,
        "agent_file": agent_file,
        "names": names,
        "rubrics": rubrics,
        "eval_files": eval_files,
    }

    def services() -> Services:
        return Services(judge=judge(), commands=commands())

    @pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__.replace("_", "-"))
    def test_conformance(rule: Callable[[Subject], None], tmp_path: Path) -> None:
        registry = Registry.scan()
        registry.load(type)
        rule(Subject(type, good, bad, given, services, tmp_path, registry))

    return test_conformance


def _parts(on: Trial) -> tuple[Any, ...]:
    return on.eval, on.test, on.transcript, on.health, on.names


def _refused(subject: Subject, what: str, value: Any) -> None:
    bound = subject.bound(value)
    require(not bound.broken, f"{what} breaks it ({shown(value)}): {bound.broken}")
    require(bound.problems, f"{what} is taken: {shown(value, 200)}")


def _not_hasty(
    subject: Subject, expectation: Any, on: Trial, begun: Sequence[Mapping[str, Any]], words: Sequence[str]
) -> None:
    verdict = verdict_of(expectation, on)
    if verdict.outcome is Outcome.UNMEASURED:
        return
    reason = on.health.reason
    require(begun, f"nothing was seen of the trial ({reason}), but `check` said {verdict}")
    require(
        reason is not Reason.CONTAMINATED,
        f"in a contaminated trial nothing counts, but `check` said {verdict}",
    )
    for end in (stories.plain(), stories.busy(words)):
        later = subject.trial(stories.of_events((*begun, *end.events[1:])), stories.files_of(words))
        after = verdict_of(expectation, later)
        require(
            after.outcome in (verdict.outcome, Outcome.UNMEASURED),
            f"`check` said {verdict.outcome} ({verdict.message}) of a trial that was cut off ({reason}), "
            f"and {after.outcome} ({after.message}) of the same one when it had gone on",
        )


def _damaged(subject: Subject, value: Any, number: int) -> Iterator[Trial]:
    words = subject.words(value)
    for stream in stories.fuzzed(stories.busy(words).events, number):
        yield subject.trial(stream, stream.files)


def _tidy(verdict: Verdict) -> None:
    message = verdict.message
    require(
        message or verdict.outcome is Outcome.UNMEASURED, "a verdict needs a message that says what was found"
    )
    require(
        safe(message, MESSAGE_LIMIT) == message,
        f"the message is longer than {MESSAGE_LIMIT} characters, of several lines or could steer a terminal; "
        f"pass what comes from the trial through `safe(text, limit)`: {safe(message, 300)}",
    )
    for detail in verdict.details:
        require(
            safe(detail.message, DETAIL_LIMIT, lines=True) == detail.message
            and safe(detail.name, MESSAGE_LIMIT) == detail.name,
            f"a detail is too long or could steer a terminal: {safe(detail.name, 100)}",
        )
