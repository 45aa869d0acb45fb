"""Expectations as `tests.json` has them, judged as in a run: no Docker, no key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from skillwalker.expectations import Verdict
from skillwalker.testing import TranscriptBuilder, trial
from skillwalker.testing import judge as verdict_on


@pytest.fixture
def judge(tmp_path: Path) -> Callable[..., Verdict]:
    """What an entry of `expect`, `{type: value}`, says of a trial with these events, or with this answer."""

    def judge(
        entry: Mapping[str, Any],
        events: TranscriptBuilder | None = None,
        *,
        final: str | None = "Done.",
        **more: Any,
    ) -> Verdict:
        events = events if events is not None else TranscriptBuilder().init().result(final)
        [(name, value)] = entry.items()
        return verdict_on(name, value, trial(tmp_path, events, **more))

    return judge


@pytest.fixture
def problems(tmp_path: Path) -> Callable[..., list[str]]:
    """What is wrong with an entry, as the author of `tests.json` reads it."""

    def problems(
        entry: Mapping[str, Any], eval_files: Mapping[str, str] | None = None, scaffold: Path | None = None
    ) -> list[str]:
        on = trial(tmp_path, TranscriptBuilder().init().result("x"), eval_files=eval_files)
        [(name, value)] = entry.items()
        try:
            verdict_on(name, value, evolve(on, test=evolve(on.test, scaffold=scaffold)))
        except AssertionError as error:
            return str(error).splitlines()
        return []

    return problems
