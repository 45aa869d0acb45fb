"""The built-in expectation types enter by the door that is there for everybody."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

import skillwalker.expectations
from skillwalker.evals import ExpectationSpec, TestType
from skillwalker.expectations.registry import Registry, judge_trial
from skillwalker.names import Names
from skillwalker.outcomes import Outcome, Reason
from skillwalker.testing import FakeJudge, TranscriptBuilder, trial

PACKAGE = Path(__file__).parent.parent / "skillwalker"
REGISTRY = Registry.scan()
BUILT_IN = {
    name: candidates
    for name, candidates in REGISTRY.candidates.items()
    if any(candidate.distribution == "skillwalker" for candidate in candidates)
}
NAMES = Names(skills={"acme:tidy": "acme:tidy"}, agents={"acme:auditor": "acme:auditor"})


def says(text: str) -> TranscriptBuilder:
    return TranscriptBuilder().init().text(text).result()


@frozen
class Sample:
    """A value of the type with a trial that passes and one that fails; broken off, either shows nothing."""

    value: Any
    passes: TranscriptBuilder
    fails: TranscriptBuilder
    passes_by_judge: tuple[bool, ...] = ()
    fails_by_judge: tuple[bool, ...] = ()


SAMPLES = {
    "result-contains": Sample("# Report", says("# Report: fine"), says("no report")),
    "result-does-not-contain": Sample("ERROR", says("fine"), says("ERROR 7")),
    "skill-call": Sample(
        True, TranscriptBuilder().init().skill("acme:tidy").text("Tidied.").result(), says("Tidied.")
    ),
    "agent-call": Sample(
        True, TranscriptBuilder().init().agent("acme:auditor").text("Audited.").result(), says("Audited.")
    ),
    "llm-judge": Sample({"rubricFile": "r.md"}, says("Done."), says("Done."), (True,), (False,)),
}


def outcome(
    directory: Path, type: str, events: TranscriptBuilder, judged: tuple[bool, ...], reason: Reason | None
) -> Outcome:
    on = trial(
        directory,
        events,
        reason=reason,
        type=TestType.SKILL_PROMPT,
        skill_file="acme:tidy",
        agent_file="acme:auditor",
        names=NAMES,
        rubrics={"r.md": "- It names the file.\n"},
        judge=FakeJudge([judged] if judged and reason is None else []),
    )
    bound = REGISTRY.bind(ExpectationSpec(type, SAMPLES[type].value, type), on.eval, on.test)
    assert (bound.problems, bound.broken) == ((), None)
    return judge_trial(bound, on).outcome


@pytest.mark.parametrize("type", sorted(BUILT_IN))
def test_each_type_passes_fails_and_does_not_measure(tmp_path: Path, type: str) -> None:
    sample = SAMPLES[type]
    passes, fails = (sample.passes, sample.passes_by_judge), (sample.fails, sample.fails_by_judge)
    assert outcome(tmp_path, type, *passes, None) is Outcome.PASSED
    assert outcome(tmp_path, type, *fails, None) is Outcome.FAILED
    assert outcome(tmp_path, type, *fails, Reason.TIMEOUT) is Outcome.UNMEASURED


def test_every_type_of_the_package_is_an_entry_point() -> None:
    folder = Path(skillwalker.expectations.__file__).parent
    written = {
        f"skillwalker.expectations.{path.stem}:{node.name}"
        for path in folder.glob("*.py")
        if path.stem != "base"
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
        and not node.name.startswith("_")
        and any(isinstance(part, ast.FunctionDef) and part.name == "check" for part in node.body)
    }
    registered = {candidate.reference for candidates in BUILT_IN.values() for candidate in candidates}
    assert registered == written
    assert all(len(candidates) == 1 for candidates in BUILT_IN.values())


# What writes evals, or makes another tool's of them, names types as any author does.
WRITE_EVALS = {"first_eval.py", "importing"}


def test_no_code_outside_the_package_knows_a_built_in_type() -> None:
    """Neither its name nor its class. `TestType` has values with the same names that mean something else."""
    loaded = [REGISTRY.load(name) for name in BUILT_IN]
    names, classes = set(BUILT_IN), {cls.__name__ for cls in loaded}
    modules = {cls.__module__ for cls in loaded}
    for path in PACKAGE.rglob("*.py"):
        if path.parent.name == "expectations" and path.parent.parent == PACKAGE:
            continue
        allowed = {each.value for each in TestType} if path.name == "evals.py" else set()
        if WRITE_EVALS & {path.name, path.parent.name}:
            allowed = names
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert node.value not in names - allowed, f"{path}:{node.lineno}"
            elif isinstance(node, ast.Name | ast.Attribute):
                assert (node.id if isinstance(node, ast.Name) else node.attr) not in classes, path
            elif isinstance(node, ast.ImportFrom):
                assert node.module not in modules, f"{path}:{node.lineno}"


def test_inside_the_package_the_general_parts_do_not_know_them_either() -> None:
    general = {
        "base",
        "bound",
        "describe",
        "discovery",
        "new",
        "options",
        "quiet",
        "registry",
        "schema",
        "__init__",
    }
    for name in general:
        text = (PACKAGE / "expectations" / f"{name}.py").read_text("utf-8")
        constants = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
        assert not constants & set(BUILT_IN), name


def test_the_samples_are_of_the_types_there_are() -> None:
    assert SAMPLES.keys() == BUILT_IN.keys()
