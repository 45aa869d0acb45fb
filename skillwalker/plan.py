"""From checked tests to what will be executed: models, trials, trees to mount, and hashes of all inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from attrs import frozen

from skillwalker.checks import CheckedTest
from skillwalker.claude_code import CALL_TYPES
from skillwalker.errors import ConfigurationError, Problem
from skillwalker.evals import TestType, trial_ids
from skillwalker.isolate import one_agent_plugin, one_skill_plugin
from skillwalker.jobs import Settings, TrialJob
from skillwalker.judged_by import expect_digest, judged_by, prompt_digest
from skillwalker.results import MAIN, Target, TestResult, TrialResult, trials_needed
from skillwalker.store import RunDirectory
from skillwalker.text import safe
from skillwalker.tree import Tree

NOTES_SHOWN = 5
"""Of one plugin or scaffold; a directory full of links would bury everything else."""


@frozen
class PlannedTest:
    """One test of a run.

    Attributes:
        need: How many of `trials` must pass.
        plugins: What is mounted: the eval's plugins, or one temporary plugin.
        arm: With what its trials run; `control` for a test of the measurement itself.
    """

    checked: CheckedTest
    model: str
    trials: int
    need: int
    plugins: tuple[tuple[str, Tree], ...]
    scaffold: Tree | None
    arm: str = MAIN

    @property
    def key(self) -> tuple[str, str, str]:
        """Eval, name, arm."""
        return self.checked.eval.name, self.checked.test.name, self.arm

    def trial_ids(self) -> list[str]:
        """The ids of its trials, the first trial first."""
        return trial_ids(*self.key, self.trials)

    def result(self, trials: tuple[TrialResult, ...]) -> TestResult:
        """The test's result with the trials that there are."""
        return TestResult(
            eval=self.checked.eval.name,
            name=self.checked.test.name,
            type=str(self.checked.test.type),
            model=self.model,
            planned=self.trials,
            need=self.need,
            trials=trials,
            scripted=self.checked.script is not None and self.checked.script.answers,
            tags=self.checked.test.tags,
            target=target_of(self.checked),
            arm=self.arm,
        )

    def inputs(self) -> dict[str, Any]:
        """Hashes of everything that a trial's course depends on, for `run.json`."""
        test, script = self.checked.test, self.checked.script
        return {
            "prompt": prompt_digest(test),
            "expect": expect_digest(test),
            "files": judged_by(self.checked),
            "plugins": {name: tree.digest for name, tree in self.plugins},
            "scaffold": self.scaffold.digest if self.scaffold else None,
            "script": hashlib.sha256(repr(script).encode()).hexdigest() if script else None,
        }


def plan(
    tests: Iterable[CheckedTest], *, model: str | None = None, trials: int | None = None
) -> tuple[PlannedTest, ...]:
    """What a run of `tests` consists of; reads plugins and scaffolds, each only once.

    Args:
        model, trials: Beat what the tests say.

    Raises:
        ConfigurationError: a plugin or a scaffold holds something that cannot be read.
    """
    scaffolds: dict[Path, Tree] = {}
    planned = []
    problems: dict[Problem, None] = {}
    for checked in tests:
        test = checked.test
        count = trials or test.trials
        try:
            if test.scaffold and test.scaffold not in scaffolds:
                scaffolds[test.scaffold] = Tree.of_directory(test.scaffold, root=test.scaffold)
            plugins = _plugins(checked)
        except OSError as error:
            problems[Problem(f"cannot be read: {error.strerror}", file=str(error.filename))] = None
            continue
        planned.append(
            PlannedTest(
                checked=checked,
                model=model or test.model,
                trials=count,
                need=trials_needed(count, test.pass_rate),
                plugins=plugins,
                scaffold=scaffolds[test.scaffold] if test.scaffold else None,
            )
        )
    if problems:
        raise ConfigurationError(problems)
    return tuple(planned)


def target_of(checked: CheckedTest) -> Target | None:
    """Whose activation a test measures; None for a test of another kind, or without such an expectation."""
    kind, part = (
        ("skill", checked.skill) if checked.test.type is TestType.SKILL_CALL else ("agent", checked.agent)
    )
    if part is None or checked.test.type not in CALL_TYPES:
        return None
    for position, bound in enumerate(checked.expectations):
        expects = bound.expects_call
        if expects and _is(checked, kind, expects[0], part.id):
            return Target(kind, part.id, bool(expects[1]), position)
    return None


def _is(checked: CheckedTest, kind: str, reference: str, id_: str) -> bool:
    try:
        found = checked.plugins.skill(reference) if kind == "skill" else checked.plugins.agent(reference)
    except LookupError:
        return False
    return found.id == id_


def tree_notices(planned: Iterable[PlannedTest]) -> tuple[str, ...]:
    """What plugins and scaffolds hold that no sandbox gets, each once."""
    notices: dict[str, None] = {}
    planned = tuple(planned)
    for plugin in {id(one): one for test in planned for one in test.checked.plugins.plugins}.values():
        notices.update(dict.fromkeys(f"{plugin.written}: {notice}" for notice in plugin.withheld))
    for one in planned:
        trees = [(f"plugin {name}", tree) for name, tree in one.plugins]
        if one.scaffold and one.checked.test.scaffold:
            trees.append((f"scaffold {one.checked.test.scaffold.name}", one.scaffold))
        for name, tree in trees:
            shown = [*tree.notes[:NOTES_SHOWN]]
            if more := len(tree.notes) - len(shown):
                shown.append(f"{more} more that did not come along as they are")
            notices.update(dict.fromkeys(f"{safe(name)}: {safe(note)}" for note in shown))
    return tuple(notices)


def jobs(
    planned: Iterable[PlannedTest], run: RunDirectory, settings: Settings, skip: Collection[str] = ()
) -> list[TrialJob]:
    """One job a trial; the first trial of every test comes before the second of any.

    Args:
        skip: Ids of trials that need not run.
    """
    found = [
        (
            index,
            TrialJob(
                run=run,
                id=trial,
                index=index + 1,
                checked=one.checked,
                model=one.model,
                plugins=one.plugins,
                scaffold=one.scaffold,
                names=one.checked.plugins.names,
                agent_id=one.checked.agent.id if one.checked.agent else None,
                settings=settings,
                arm=one.arm,
            ),
        )
        for one in planned
        if not one.checked.broken
        for index, trial in enumerate(one.trial_ids())
        if trial not in skip
    ]
    return [job for _, job in sorted(found, key=lambda pair: pair[0])]  # stable: tests keep their order


def _plugins(checked: CheckedTest) -> tuple[tuple[str, Tree], ...]:
    if checked.test.type is TestType.SKILL_CALL and checked.skill:
        return (one_skill_plugin(checked.skill),)
    if checked.test.type is TestType.AGENT_CALL and checked.agent:
        return (one_agent_plugin(checked.agent),)
    return checked.plugins.trees()
