"""Everything that can be known of evals without starting anything: all problems, each with its place."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from attrs import evolve, frozen

from skillwalker.claude_code import CALL_TYPES
from skillwalker.errors import ConfigurationError, Problem
from skillwalker.evals import Eval, Test, TestType
from skillwalker.expectations.bound import Bound
from skillwalker.expectations.registry import Registry
from skillwalker.gateway.script import Scripts, TestScript, read_scripts
from skillwalker.jsonfile import read_bytes
from skillwalker.listing import SHOWN_CHARACTERS, is_cut
from skillwalker.loading import find_evals, load_eval, place
from skillwalker.plugins import Agent, PluginSet, Skill, UnresolvedError, load_plugins
from skillwalker.script_checks import script_misfits, script_notices
from skillwalker.select import Selection
from skillwalker.text import safe

REHEARSAL_FILE = "rehearsal.json"
SETTINGS = ".claude"

_FIELD = re.compile(r"\.(skill|agent)File$")
_ALONE = re.compile(r'^must be plugin:.*, not "([^":]+)"$')


@frozen
class CheckedTest:
    """A test with all it refers to.

    Attributes:
        skill, agent: What `skillFile` and `agentFile` name; None where the test has none.
        script: What a rehearsed model answers; None where the built-in rule does.
    """

    eval: Eval
    test: Test
    plugins: PluginSet
    expectations: tuple[Bound, ...]
    skill: Skill | None = None
    agent: Agent | None = None
    script: TestScript | None = None

    @property
    def broken(self) -> tuple[str, ...]:
        """Why expectation types that the test names cannot be loaded; such a test is not run."""
        return tuple(bound.broken for bound in self.expectations if bound.broken)

    @property
    def notices(self) -> tuple[str, ...]:
        """What its author should know before a run."""
        return (
            *self._own_notices,
            *(script_notices(self.script, self.test) if self.script else ()),
        )

    @property
    def _own_notices(self) -> tuple[str, ...]:
        if self.skill and self.skill.description and is_cut(self.skill.description):
            limit = f"{SHOWN_CHARACTERS:,} characters"
            return (
                f"{self.skill.id}: its description is longer than the {limit} that Claude Code shows; "
                "tests of its activation cannot be measured",
            )
        return _scaffold_notices(self.test)

    @property
    def uses_judge(self) -> bool:
        """Whether an expectation says that it asks the judge model."""
        return any(getattr(bound.expectation, "uses_judge", False) for bound in self.expectations)


@frozen
class Checked:
    """What checking found; nothing may start while there are problems.

    Attributes:
        script_notes: What is to be said of scripts that has no meaning for the outcome.
    """

    tests: tuple[CheckedTest, ...]
    problems: tuple[Problem, ...]
    script_notes: tuple[Problem, ...] = ()

    @property
    def notices(self) -> tuple[str, ...]:
        """What a user should know of the tests before a run, once."""
        found = [notice for test in self.tests for notice in (*test.plugins.notices, *test.notices)]
        return tuple(dict.fromkeys((*found, *map(str, self.script_notes))))

    @property
    def broken(self) -> tuple[str, ...]:
        """Every reason why an installed expectation type cannot be loaded, once."""
        return tuple(dict.fromkeys(reason for test in self.tests for reason in test.broken))


def check(selection: Selection, root: Path, *, rehearsed: bool = True) -> tuple[Checked, tuple[str, ...]]:
    """The selected tests, checked, and notes on what else lies in `evals/`; problems are in the answer.

    Args:
        rehearsed: As in `check_evals`.

    Raises:
        NothingSelectedError: there is no eval, or a part of the selection matches nothing.
    """
    found = find_evals(root)
    registry = Registry.scan()
    checked = check_evals(selection.directories(found.evals), root, registry, rehearsed=rehearsed)
    notes = (*found.notes, *registry.problems)
    if checked.problems:
        return checked, notes  # what cannot be read cannot be selected from
    evals = tuple({id(test.eval): test.eval for test in checked.tests}.values())
    chosen = {(each.name, test.name) for each, test in selection.tests(evals)}
    tests = tuple(one for one in checked.tests if (one.eval.name, one.test.name) in chosen)
    return evolve(checked, tests=tests), notes


def check_evals(
    directories: Iterable[Path], root: Path, registry: Registry, *, rehearsed: bool = True
) -> Checked:
    """Loads and checks evals; never raises for what their files hold.

    Args:
        rehearsed: Whether scripts are to answer. Where they are not, what is wrong with them is no problem:
            nothing but their faults is used then.
    """
    tests: list[CheckedTest] = []
    problems: list[Problem] = []
    notes: list[Problem] = []
    for directory in directories:
        found = _check_eval(directory, root, registry, rehearsed=rehearsed)
        tests += found.tests
        problems += found.problems
        notes += found.script_notes
    return Checked(tuple(tests), tuple(problems), tuple(notes))


def _check_eval(directory: Path, root: Path, registry: Registry, *, rehearsed: bool) -> Checked:
    loaded = load_eval(directory, root)
    draft = loaded.draft
    if draft is None:
        return Checked((), loaded.placed())
    plugins = load_plugins(root, draft.plugins)
    loaded = evolve(loaded, problems=tuple(_hinted(one, plugins) for one in loaded.problems))
    problems = [
        Problem(safe(message), path="plugins" if index is None else f"plugins[{index}]")
        for index, message in plugins.problems
    ]
    told = {problem.path for problem in loaded.problems}
    scripts, unread = _scripts(draft, plugins)
    unused = [one for one in scripts.unused if rehearsed or _may_have_faults(directory)]
    tests = []
    misfits: list[Problem] = []
    for test in draft.tests:
        checked, found = _check_test(draft, test, plugins, registry, scripts.by_test.get(test.name), told)
        tests.append(checked)
        # What a field's text or its plugin makes impossible is told once, not again for all that follows.
        problems += (one for one in found if draft.plugins and one.path not in told)
        usable = all(bound.expectation for bound in checked.expectations) and not plugins.problems
        if checked.script and usable and loaded.eval:
            misfits += script_misfits(checked.script, draft, plugins, checked.expectations)
    problems = list(dict.fromkeys(problems))  # the tests of one list of queries have the same ones
    scripted = place(misfits, directory / REHEARSAL_FILE, root)
    if not rehearsed:
        beside = [_of_no_use(one) for one in scripted]
        if unread and not _may_have_faults(directory):
            beside += map(_of_no_use, unread)
            unread = ()
        unread = [evolve(one, message=f"{one.message} (its faults count in every run)") for one in unread]
        return Checked(tuple(tests), (*loaded.placed(problems), *unread), (*unused, *beside))
    return Checked(tuple(tests), (*loaded.placed(problems), *unread), (*unused, *scripted))


def _hinted(problem: Problem, plugins: PluginSet) -> Problem:
    """With the full name, where `skillFile` or `agentFile` has a name alone that a plugin knows."""
    field, alone = _FIELD.search(problem.path or ""), _ALONE.search(problem.message)
    if not (field and alone):
        return problem
    return evolve(problem, message=problem.message + plugins.hint_for(alone[1], field[1]))


def _of_no_use(problem: Problem) -> Problem:
    return evolve(problem, message=f"{problem.message} (matters for rehearsals only)")


def _may_have_faults(directory: Path) -> bool:
    """Whether a script may inject faults, which real runs do as well; yes where nobody can tell."""
    try:
        return b'"faults"' in read_bytes(directory / REHEARSAL_FILE)
    except ConfigurationError:
        return True


def _check_test(
    evaluation: Eval,
    test: Test,
    plugins: PluginSet,
    registry: Registry,
    script: TestScript | None,
    told: Collection[str | None],
) -> tuple[CheckedTest, list[Problem]]:
    """`told` are the paths that have a problem already."""
    problems: list[Problem] = []
    expectations = tuple(registry.bind(spec, evaluation, test) for spec in test.expect)
    for bound in expectations:
        if not (isinstance(bound.spec.value, bool) and _file_field(test, bound.spec.type) in told):
            problems += bound.problems
    skill = agent = None
    if test.skill_file and test.type is TestType.SKILL_CALL:
        try:
            skill = plugins.skill(test.skill_file)
        except UnresolvedError as error:
            problems += _unresolved(plugins, test.skill_file, error, f"{test.path}.skillFile")
    if test.agent_file and test.type in (TestType.AGENT_CALL, TestType.AGENT_PROMPT):
        try:
            agent = plugins.agent(test.agent_file)
        except UnresolvedError as error:
            problems += _unresolved(plugins, test.agent_file, error, f"{test.path}.agentFile")
    return CheckedTest(evaluation, test, plugins, expectations, skill, agent, script), problems


def _file_field(test: Test, expectation: str) -> str:
    """Where the test says what `true` and `false` of `skill-call` and `agent-call` are about."""
    return f"{test.path}.{expectation.removesuffix('-call')}File"


def _unresolved(plugins: PluginSet, reference: str, error: UnresolvedError, path: str) -> list[Problem]:
    """None where the plugin it may belong to is a problem already: this would only follow from that."""
    prefix = reference.partition(":")[0]
    known = any(prefix in plugin.answers_to for plugin in plugins.plugins)
    return [Problem(safe(str(error)), path=path)] if known or not plugins.problems else []


def _scripts(evaluation: Eval, plugins: PluginSet) -> tuple[Scripts, Sequence[Problem]]:
    path = evaluation.directory / REHEARSAL_FILE
    if not os.path.lexists(path):
        return Scripts(), ()
    parts = None if plugins.problems or not evaluation.plugins else plugins.part_names
    try:
        return read_scripts(path, evaluation.root, [test.name for test in evaluation.tests], parts), ()
    except ConfigurationError as error:
        return Scripts(), error.problems


def _scaffold_notices(test: Test) -> tuple[str, ...]:
    """What Claude Code will do because of a scaffold's own settings: its hooks run, its settings hold."""
    if test.scaffold is None or test.type in CALL_TYPES:
        return ()
    settings = [
        f"{SETTINGS}/{name}"
        for name in ("settings.json", "settings.local.json")
        if os.path.exists(test.scaffold / SETTINGS / name)
    ]
    if not settings:
        return ()
    return (
        f"scaffold {test.scaffold.name}: its {' and '.join(settings)} hold in the trial, hooks among them",
    )
