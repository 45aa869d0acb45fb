"""Tests of the measurement itself: a prompt that names a skill or an agent, and one that is about neither.

The first must call it and the second must not. Where one fails, whatever else is measured of that skill or
agent says nothing: it is not seen, or it is called whatever the prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import evolve, frozen

from skillwalker.checks import CheckedTest
from skillwalker.evals import ExpectationSpec, TestType
from skillwalker.expectations.registry import Registry
from skillwalker.plan import PlannedTest, target_of
from skillwalker.results import CONTROL, Target

_NAMED = {
    "skill": "Call the skill {id} now, with the Skill tool. After that answer with the single word done.",
    "agent": "Call the agent {id} now, with the Agent tool. After that answer with the single word done.",
}

# Questions that nobody needs help with, on things far from each other: one is far from any description.
_UNRELATED = (
    "What is 17 plus 25? Answer with the number alone.",
    "What is the capital of France? Answer with the name alone.",
    "Which day of the week comes after Tuesday?",
    "Name three colours of the rainbow.",
    "How many legs does a spider have?",
)


@frozen
class _About:
    """What one pair of controls is for: the same eval, skill or agent, and model."""

    eval: str
    kind: str
    id: str
    model: str


def with_controls(planned: Iterable[PlannedTest]) -> tuple[PlannedTest, ...]:
    """The tests, and for each skill or agent that tests of activation are about, a pair of controls first."""
    planned = tuple(planned)
    first: dict[_About, tuple[PlannedTest, Target]] = {}
    for one in planned:
        if target := target_of(one.checked):
            about = _About(one.checked.eval.name, target.kind, target.id, one.model)
            first.setdefault(about, (one, target))
    registry = Registry.scan()
    controls = [control for one, target in first.values() for control in _pair(one, target, registry)]
    return (*controls, *planned)


def _pair(one: PlannedTest, target: Target, registry: Registry) -> Iterator[PlannedTest]:
    prompts = {"named": _NAMED[target.kind].format(id=target.id), "unrelated": _far_from(one.checked)}
    for what, prompt in prompts.items():
        name = f"{CONTROL}: {target.id} {what}, {one.model}"
        checked = _control(one.checked, name, prompt, what == "named", registry)
        # A skill that the model may not call cannot be called by its name either.
        if not any(bound.problems for bound in checked.expectations):
            yield evolve(one, checked=checked, trials=1, need=1, scaffold=None, arm=CONTROL)


def _control(checked: CheckedTest, name: str, prompt: str, should: bool, registry: Registry) -> CheckedTest:
    spec = ExpectationSpec(str(checked.test.type), should, name)
    test = evolve(checked.test, name=name, prompt=prompt, expect=(spec,), scaffold=None, pass_rate=None)
    bound = registry.bind(spec, checked.eval, test)
    return evolve(checked, test=test, expectations=(bound,), script=None)


def _far_from(checked: CheckedTest) -> str:
    """The first prompt that has the fewest words in common with the skill or the agent."""
    from skillwalker.gateway.rule import stems

    part = checked.skill if checked.test.type is TestType.SKILL_CALL else checked.agent
    assert part, "only tests of a skill or an agent have a target"
    known = stems(f"{part.id} {part.description or ''}")
    return min(_UNRELATED, key=lambda prompt: len(stems(prompt) & known))
