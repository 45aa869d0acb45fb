"""Expectations as `tests.json` has them, judged as in a run: no Docker, no key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skillwalker.evals import ExpectationSpec
from skillwalker.expectations import Verdict
from skillwalker.expectations.registry import Bound, Registry, judge_trial
from skillwalker.testing import TranscriptBuilder, trial

REGISTRY = Registry.scan()

Judge = Callable[..., Verdict]
Bind = Callable[..., Bound]


@pytest.fixture
def bind(tmp_path: Path) -> Bind:
    """Binds one entry of `expect`, `{type: value}`, in an eval that has `files` in its directory."""

    def bind(
        entry: dict[str, Any], eval_files: dict[str, str] | None = None, scaffold: Path | None = None
    ) -> Bound:
        one = trial(tmp_path, TranscriptBuilder().result("x"))
        _write(one.eval.directory, eval_files or {})
        test = one.test
        if scaffold is not None:
            from attrs import evolve

            test = evolve(test, scaffold=scaffold)
        [(key, value)] = entry.items()
        return REGISTRY.bind(ExpectationSpec(key, value, key), one.eval, test)

    return bind


@pytest.fixture
def judge(tmp_path: Path, bind: Bind) -> Judge:
    """What an entry says of a trial; `events` is its transcript, or `final` its answer."""

    def judge(
        entry: dict[str, Any],
        events: TranscriptBuilder | None = None,
        *,
        final: str | None = "Done.",
        eval_files: dict[str, str] | None = None,
        **more: Any,
    ) -> Verdict:
        bound = bind(entry, eval_files)
        assert bound.problems == (), bound.problems
        assert bound.broken is None
        events = events if events is not None else TranscriptBuilder().init().result(final)
        return judge_trial(bound, trial(tmp_path, events, **more))

    return judge


@pytest.fixture
def problems(bind: Bind) -> Callable[..., list[str]]:
    """What is wrong with an entry, as the author of `tests.json` reads it."""

    def problems(entry: dict[str, Any], eval_files: dict[str, str] | None = None, **more: Any) -> list[str]:
        return [str(problem) for problem in bind(entry, eval_files, **more).problems]

    return problems


def _write(directory: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
