"""What is wrong with a set of prompts that shall show whether a description is found and left alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from skillwalker.checks import CheckedTest
from skillwalker.drafting import EDIT_ME
from skillwalker.evals import TestType
from skillwalker.expectations.rubric import read_rubric
from skillwalker.lint.finding import Remark, prompt_path, test_path
from skillwalker.mentions import is_far, mention
from skillwalker.parts import Agent, Skill
from skillwalker.plan import target_of
from skillwalker.results import Target
from skillwalker.text import count, safe


def remarks(tests: Sequence[CheckedTest]) -> Iterator[Remark]:
    """What is to be said of the tests of one eval."""
    about: dict[tuple[str, str], list[tuple[CheckedTest, Target]]] = {}
    for test in tests:
        if target := target_of(test):
            about.setdefault((target.kind, target.id), []).append((test, target))
            yield from _prompt(test, target)
        if test.test.prompt.startswith(EDIT_ME):
            message = f"the prompt still says {EDIT_ME}; write what somebody would type"
            yield Remark("edit-me", test, prompt_path(test), message)
        yield from _criteria(test)
        yield from _twice_expected(test)
    for pairs in about.values():
        yield from _one_sided(pairs)
    yield from _twice(tests)


def _prompt(test: CheckedTest, target: Target) -> Iterator[Remark]:
    path = prompt_path(test)
    part = part_of(test)
    if target.should and (said := mention(test.test.prompt, target.kind, target.id)):
        message = (
            f"the prompt names the {target.kind} ({safe(said, 60)!r}): it tests the name, not the description"
        )
        yield Remark("names-target", test, path, f"{message}; say what is wanted in other words")
    if not target.should and part and is_far(test.test.prompt, f"{part.id} {part.description or ''}"):
        message = f"no word of the prompt is in the description of {target.id}, so it is left alone anyway"
        yield Remark("far-negative", test, path, f"{message}; write one that comes near")


def _criteria(test: CheckedTest) -> Iterator[Remark]:
    for bound in test.expectations:
        if isinstance(name := getattr(bound.expectation, "rubric_file", None), str):
            try:
                criteria = read_rubric(test.eval.directory, name).criteria
            except ValueError:
                continue  # a problem of its own, or a type that has rubrics of another kind
            if marked := sum(one.text.startswith(EDIT_ME) for one in criteria):
                said = f"{marked} of {count(len(criteria), 'criterion', 'criteria')} in {safe(name)}"
                message = f"{said} still marked {EDIT_ME}; write what the work must show"
                yield Remark("edit-me", test, bound.spec.path, message)


def part_of(test: CheckedTest) -> Skill | Agent | None:
    """The skill or the agent that a test of activation is about."""
    return test.skill if test.test.type is TestType.SKILL_CALL else test.agent


def _one_sided(pairs: Sequence[tuple[CheckedTest, Target]]) -> Iterator[Remark]:
    test, target = pairs[0]
    if any(other.should is not target.should for _, other in pairs):
        return
    told = f"{count(len(pairs), 'test')} of {target.id}"
    if target.should:
        message = f"{told}, and none expects it not to be called; add prompts that only come near"
        yield Remark("no-negative", test, test_path(test), message)
    else:
        message = f"{told}, and none expects it to be called; add prompts that need it"
        yield Remark("no-positive", test, test_path(test), message)


def _twice(tests: Sequence[CheckedTest]) -> Iterator[Remark]:
    """Tests with the same prompt under the same circumstances; the opposite is wrong for any model."""
    seen: dict[str, list[CheckedTest]] = {}
    for test in tests:
        others = seen.setdefault(_circumstances(test), [])
        for other in others:
            one, two = target_of(other), target_of(test)
            if one and two and one.id == two.id and one.should is not two.should:
                named = f"{safe(other.test.name, 80)!r}"
                message = f"the same prompt as in {named}, which expects the opposite; one of them is wrong"
                yield Remark("contradiction", test, test_path(test), message)
                break
        else:
            same = [one for one in others if _expected(one) == _expected(test)]
            if first := next((one for one in same if one.test.model == test.test.model), None):
                named = f"{safe(first.test.name, 80)!r}"
                message = f"the same prompt and expectations as {named}; raise its `trials` instead"
                yield Remark("duplicate-test", test, test_path(test), message)
        others.append(test)


def _circumstances(test: CheckedTest) -> str:
    given = test.test
    return repr((given.type, given.skill_file, given.agent_file, given.scaffold, given.prompt.split()))


def _expected(test: CheckedTest) -> str:
    return json.dumps([[spec.type, spec.value] for spec in test.test.expect], sort_keys=True)


def _twice_expected(test: CheckedTest) -> Iterator[Remark]:
    seen: dict[str, str] = {}
    for spec in test.test.expect:
        first = seen.setdefault(json.dumps([spec.type, spec.value], sort_keys=True), spec.path)
        if first != spec.path:
            yield Remark(
                "duplicate-expectation", test, spec.path, f"is the same as {first}; keep one of them"
            )
