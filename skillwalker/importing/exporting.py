"""Evals -> the files of other tools, as far as those can say what the tests say; the rest is told."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from skillwalker.errors import ConfigurationError
from skillwalker.evals import Eval, ExpectationSpec, Test, TestType
from skillwalker.expectations.rubric import FOLDER, read_rubric
from skillwalker.importing.checks import OUTCOME, SAID
from skillwalker.importing.items import ID_TAG
from skillwalker.models import DEFAULT_MODEL
from skillwalker.parts import SKILL_FILE
from skillwalker.plugins import load_plugins
from skillwalker.text import listed

_KINDS = {TestType.SKILL_CALL: "skill-call", TestType.AGENT_CALL: "agent-call"}
_NUMBERED = re.compile(r"Case (\d{1,9})")

Exported = tuple[Any, tuple[str, ...]]
"""What is to be printed as JSON, and what could not be said in it, a line each."""


def trigger_list(evals: Sequence[Eval]) -> Exported:
    """Queries with `should_trigger`, of the activation tests of one skill or agent.

    Raises:
        ConfigurationError: there is none, or they are about several.
    """
    entries: list[dict[str, Any]] = []
    about: dict[str, None] = {}
    left: list[str] = []
    unfit: dict[TestType, list[str]] = {}
    for each in evals:
        for test in each.tests:
            kind = _KINDS.get(test.type)
            wanted = [
                spec.value for spec in test.expect if spec.type == kind and isinstance(spec.value, bool)
            ]
            if kind is None or not wanted:
                unfit.setdefault(test.type, []).append(f"{each.name}::{test.name}")
                continue
            about[test.skill_file or test.agent_file or ""] = None
            entries.append({"query": test.prompt, "should_trigger": wanted[0]})
            left += (f"{each.name}::{test.name}: {what}" for what in _beside(test, beyond=kind))
    left += _unfit(unfit, "of activation with true or false", {TestType.SKILL_PROMPT: "evals-json"})
    _require(entries, about, left, "tests of activation")
    return entries, tuple(left)


def evals_json(evals: Sequence[Eval]) -> Exported:
    """`skill_name` and `evals`, of the output tests of one skill.

    Raises:
        ConfigurationError: there is none, or they are about several.
    """
    cases: list[dict[str, Any]] = []
    about: dict[str, None] = {}
    left: list[str] = []
    unfit: dict[TestType, list[str]] = {}
    for each in evals:
        for test in each.tests:
            where = f"{each.name}::{test.name}"
            if test.type is not TestType.SKILL_PROMPT:
                unfit.setdefault(test.type, []).append(where)
                continue
            expected, criteria = "", list[str]()
            for spec in test.expect:
                try:
                    outcome, said = _said(each, spec)
                except ValueError as error:
                    outcome, said = "", None
                    left.append(f"{where}: {error}")
                expected = expected or outcome
                criteria += said or ()
                if said is None:
                    left.append(f"{where}: {spec.type}")
                if spec.type == "skill-call" and isinstance(spec.value, dict) and spec.value.get("expected"):
                    about[str(spec.value.get("skill"))] = None
            case = {**_named(test, len(cases) + 1), "prompt": test.prompt, "expected_output": expected}
            case |= {"files": list(_files(each, test)), "expectations": criteria}
            if tags := [tag for tag in test.tags if not tag.startswith(ID_TAG)]:
                case["tags"] = tags
            cases.append(case)
            if test.skill_file:
                about[test.skill_file] = None
            left += (f"{where}: {what}" for what in _beside(test))
    left += _unfit(unfit, "of a skill's output", dict.fromkeys(_KINDS, "trigger-evals"))
    for each in evals if not about else ():
        about |= dict.fromkeys(test.skill_file for test in each.tests if test.skill_file)
    for each in evals if not about else ():
        about |= dict.fromkeys(_only_skill(each))
    _require(cases, about, left, "tests of a skill's output")
    if not about:
        left.append(
            f"skill_name is the eval's name: no test of {evals[0].name} tells the skill; add skillFile"
        )
    name = next(iter(about), evals[0].name).rpartition(":")[2]
    return {"skill_name": name, "evals": cases}, tuple(left)


def _unfit(
    names: Mapping[TestType, list[str]], what: str, elsewhere: Mapping[TestType, str]
) -> Iterator[str]:
    """A line for each type: a list of queries would otherwise have one for each of its queries.

    Args:
        names: The tests that are not `what`, by their type.
        elsewhere: The `--as` that takes tests of a type.
    """
    for kind, tests in names.items():
        hint = f"; --as {elsewhere[kind]} takes those" if kind in elsewhere else ""
        if len(tests) == 1:
            yield f"{tests[0]}: no test {what}{hint}"
        else:
            yield f"{len(tests)} tests of type {kind}: no tests {what}{hint}"


def _named(test: Test, place: int) -> dict[str, Any]:
    """Its id and its name: an id that was a text, or a number in its name, is that again."""
    own = next((tag.removeprefix(ID_TAG) for tag in test.tags if tag.startswith(ID_TAG)), "")
    if own:
        return {"id": own} if own == test.name else {"id": own, "name": test.name}
    numbered = _NUMBERED.fullmatch(test.name)
    return {"id": int(numbered[1])} if numbered else {"id": place, "name": test.name}


def _only_skill(each: Eval) -> Iterator[str]:
    """The skill that an eval must be about: the one of its plugins, or the one after which it is named."""
    plugins = load_plugins(each.root, each.plugins).plugins
    skills = [skill for plugin in plugins for skill in plugin.skills if skill.path.name == SKILL_FILE]
    named = [skill for skill in skills if skill.id.rpartition(":")[2] == each.name]
    for found in (skills, named):
        if len(found) == 1:
            yield found[0].id
            return


def _require(found: Sequence[Any], about: dict[str, None], left: Sequence[str], what: str) -> None:
    if not found:
        raise ConfigurationError([f"there are no {what} among those selected", *left])
    if len(about) > 1:
        raise ConfigurationError(
            [
                f"such a file is about one skill, and these tests are about {listed(about)}: "
                "select the tests of one"
            ]
        )


def _said(each: Eval, spec: ExpectationSpec) -> tuple[str, list[str] | None]:
    """The outcome in prose, and the criteria; None: it cannot be said in words.

    Raises:
        ValueError: its rubric cannot be read.
    """
    if (
        spec.type == "llm-judge"
        and isinstance(spec.value, dict)
        and isinstance(spec.value.get("rubricFile"), str)
    ):
        file = spec.value["rubricFile"]
        criteria = [one.text for one in read_rubric(each.directory, file).criteria]
        prose = (each.directory / FOLDER / file).read_text("utf-8-sig").splitlines()
        quoted = "\n".join(line.removeprefix(">").strip() for line in prose if line.startswith(">"))
        if criteria and criteria[0].startswith(OUTCOME):
            return quoted or criteria[0].removeprefix(OUTCOME), criteria[1:]
        return quoted, criteria
    if spec.type in SAID and isinstance(spec.value, str):
        return "", [SAID[spec.type] + spec.value]
    return "", None


def _files(each: Eval, test: Test) -> Iterator[str]:
    """The files of its scaffold, by their paths from the root."""
    if test.scaffold is None:
        return
    for path in sorted(Path(test.scaffold).rglob("*")):
        if path.is_file():
            yield path.relative_to(each.root).as_posix()


def _beside(test: Test, beyond: str | None = None) -> Iterator[str]:
    """What a test says that the other file has no place for."""
    if beyond and len(test.expect) > 1:
        yield listed([spec.type for spec in test.expect if spec.type != beyond])
    if beyond and test.scaffold:
        yield "its scaffold"
    if test.model != DEFAULT_MODEL:
        yield f"the model {test.model}"
    if test.trials > 1 or test.pass_rate is not None:
        yield "trials and passRate"
    if test.skip:
        yield f"that it is skipped ({test.skip})"
