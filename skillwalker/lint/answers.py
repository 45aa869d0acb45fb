"""What passes without any work: expectations are put to an answer that does nothing and to one that repeats
the prompt. No model is asked: a judge finds no criterion met."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from skillwalker.checks import CheckedTest
from skillwalker.errors import JudgeError
from skillwalker.expectations.base import JudgeAnswer, Services, Trial
from skillwalker.expectations.bound import judge_trial
from skillwalker.judging import answer_text, asked_ids, output_config
from skillwalker.lint.finding import Remark, test_path
from skillwalker.outcomes import Outcome
from skillwalker.testing.transcripts import TranscriptBuilder
from skillwalker.text import safe
from skillwalker.transcript import Transcript
from skillwalker.tree import Tree
from skillwalker.workspace import Workspace

NOTHING = "-"
"""The answer of an agent that does nothing; no expectation looks for it."""


def remarks(test: CheckedTest) -> Iterator[Remark]:
    """What is too easily passed in one test."""
    if test.broken:
        return
    idle, parrot = _passed(test, NOTHING), _passed(test, test.test.prompt)
    if all(idle) and not any(map(_is_negative, test.expectations)):
        yield Remark(
            "do-nothing",
            test,
            test_path(test),
            "every expectation passes where nothing is done; add one that only the work can meet",
        )
    for bound, does_nothing, repeats in zip(test.expectations, idle, parrot, strict=True):
        if repeats and not does_nothing:
            yield _repeated(test, bound.spec.value, bound.spec.path)


def _passed(test: CheckedTest, answer: str) -> list[bool]:
    """Which expectations pass where this is the whole answer, and all else is as it was."""
    with TemporaryDirectory(prefix="skillwalker-lint-") as name:
        directory = Path(name)
        builder = TranscriptBuilder().init().text(answer).result(cost_usd=0.001)
        scaffold = test.test.scaffold
        tree = Tree.of_directory(scaffold, root=scaffold) if scaffold else Tree.of_files({})
        with (directory / "workspace.tar").open("wb") as tar:
            tree.write_tar(tar)
        names = test.plugins.names
        trial = Trial(
            eval=test.eval,
            test=test.test,
            transcript=Transcript.read(builder.write(directory / "events.jsonl"), names, test.test.prompt),
            names=names,
            duration_ms=1000,
            cost_usd=0.001,
            services=Services(judge=_Denies()),
            workspace=Workspace(directory / "workspace.tar", tree if scaffold else None),
        )
        return [judge_trial(bound, trial).outcome is Outcome.PASSED for bound in test.expectations]


class _Denies:
    """A judge that finds nothing good; what passes all the same needs no judge."""

    def ask(self, *, model: str, system: str, prompt: str, schema: Mapping[str, Any]) -> JudgeAnswer:
        ids = asked_ids({"output_config": output_config(schema)})
        if ids is None:
            raise JudgeError("no model is asked")
        return JudgeAnswer(json.loads(answer_text((one, False, "") for one in ids)), model)


def _is_negative(bound: Any) -> bool:
    """Whether it expects that something is not called, as a near miss does."""
    return bound.expects_call is not None and not bound.expects_call[1]


def _repeated(test: CheckedTest, value: Any, path: str) -> Remark:
    prompt = test.test.prompt.casefold()
    words = [text for text in _texts(value) if text.strip() and text.casefold() in prompt]
    if words:
        said = f"{safe(words[0], 60)!r} stands in the prompt"
        todo = "expect what only the work can bring, or take it out of the prompt"
        return Remark(
            "expected-in-prompt", test, path, f"{said}, so an answer that repeats it passes; {todo}"
        )
    return Remark("parrot", test, path, "passes for an answer that only repeats the prompt; expect more")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
