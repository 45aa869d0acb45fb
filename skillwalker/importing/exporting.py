"""Evals -> the files of other tools, as far as those can say what the tests say; the rest is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from skillwalker.errors import ConfigurationError
from skillwalker.evals import Eval, ExpectationSpec, Test, TestType
from skillwalker.expectations.rubric import FOLDER, read_rubric
from skillwalker.parts import SKILL_FILE
from skillwalker.plugins import load_plugins
from skillwalker.text import listed

_KINDS = {TestType.SKILL_CALL: "skill-call", TestType.AGENT_CALL: "agent-call"}
_OUTCOME = "The outcome is as follows: "

Exported = tuple[Any, tuple[str, ...]]
"""What is to be printed as JSON, and what could not be said in it, a line each."""


def trigger_list(evals: Sequence[Eval]) -> Exported:
    """Queries with `should_trigger`, of the activation tests of one skill or agent.

    Raises:
        ConfigurationError: there is none, or they are about several.
    """
    entries: list[dict[str, Any]] = []
    about: dict[str, None] = {}
    left = []
    for each in evals:
        for test in each.tests:
            kind = _KINDS.get(test.type)
            wanted = [
                spec.value for spec in test.expect if spec.type == kind and isinstance(spec.value, bool)
            ]
            if kind is None or not wanted:
                left.append(f"{each.name}::{test.name}: no test of activation with true or false")
                continue
            about[test.skill_file or test.agent_file or ""] = None
            entries.append({"query": test.prompt, "should_trigger": wanted[0]})
            left += (f"{each.name}::{test.name}: {what}" for what in _beside(test, beyond=kind))
    _require(entries, about, left, "tests of activation")
    return entries, tuple(left)


def evals_json(evals: Sequence[Eval]) -> Exported:
    """`skill_name` and `evals`, of the output tests of one skill.

    Raises:
        ConfigurationError: there is none, or they are about several.
    """
    cases: list[dict[str, Any]] = []
    about: dict[str, None] = {}
    left = []
    for each in evals:
        for test in each.tests:
            where = f"{each.name}::{test.name}"
            if test.type is not TestType.SKILL_PROMPT:
                left.append(f"{where}: no test of a skill's output")
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
            case: dict[str, Any] = {"id": len(cases) + 1, "name": test.name, "prompt": test.prompt}
            case |= {"expected_output": expected, "files": list(_files(each, test)), "expectations": criteria}
            cases.append(case)
            if test.skill_file:
                about[test.skill_file] = None
            left += (f"{where}: {what}" for what in _beside(test))
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
        if len(criteria) == 1 and criteria[0].startswith(_OUTCOME):
            return quoted or criteria[0].removeprefix(_OUTCOME), []
        return quoted, criteria
    if spec.type == "result-contains" and isinstance(spec.value, str):
        return "", [f"The final answer contains the text: {spec.value}"]
    if spec.type == "result-does-not-contain" and isinstance(spec.value, str):
        return "", [f"The final answer does not contain the text: {spec.value}"]
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
    if test.trials > 1 or test.pass_rate is not None:
        yield "trials and passRate"
    if test.skip:
        yield f"that it is skipped ({test.skip})"
