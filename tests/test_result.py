"""result-contains and result-does-not-contain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skillwalker.evals import ExpectationSpec
from skillwalker.expectations.base import Verdict
from skillwalker.expectations.registry import Bound, Registry, judge_trial
from skillwalker.outcomes import Outcome, Reason
from skillwalker.testing import TranscriptBuilder, trial

REGISTRY = Registry.scan()
TYPES = ("result-contains", "result-does-not-contain")


def bound(directory: Path, type: str, value: Any) -> Bound:
    on = trial(directory, TranscriptBuilder().result("x"))
    return REGISTRY.bind(ExpectationSpec(type, value, type), on.eval, on.test)


def verdict(directory: Path, type: str, value: Any, final: str | None, **more: Any) -> Verdict:
    expectation = bound(directory, type, value)
    assert expectation.problems == ()
    return judge_trial(expectation, trial(directory, TranscriptBuilder().init().result(final), **more))


@pytest.mark.parametrize(
    ("value", "final", "contains"),
    [
        ("# Code Review:", "# Code Review: fine", True),
        ("# Code Review:", "# code review: fine", False),
        ("東京", "café 😀 東京", True),
        ("a\nb", "a\r\nb", False),
        ({"text": "x"}, "xyz", True),
        ("[a-z]+", "abc", False),
    ],
)
def test_the_text_counts_exactly_as_written(tmp_path: Path, value: Any, final: str, contains: bool) -> None:
    assert verdict(tmp_path, TYPES[0], value, final).outcome is Outcome.of(contains)
    assert verdict(tmp_path, TYPES[1], value, final).outcome is Outcome.of(not contains)


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("final", ["", None, " \n"])
def test_an_empty_or_missing_final_text_fails_both(tmp_path: Path, type: str, final: str | None) -> None:
    found = verdict(tmp_path, type, "ERROR", final)
    assert found.outcome is Outcome.FAILED
    assert found.message == 'the final text is empty; looked for "ERROR"'


@pytest.mark.parametrize("type", TYPES)
def test_an_unhealthy_trial_is_unmeasured(tmp_path: Path, type: str) -> None:
    found = verdict(tmp_path, type, "x", "x and more", reason=Reason.API_ERROR)
    assert found.outcome is Outcome.UNMEASURED
    assert "api-error" in found.message


def test_messages_show_what_was_found(tmp_path: Path) -> None:
    long = "a" * 500 + "needle" + "b" * 500
    found = verdict(tmp_path, TYPES[1], "needle", long).message
    assert found == f'"needle" is in the final text: "…{"a" * 60}needle{"b" * 60}…"'
    missing = verdict(tmp_path, TYPES[0], "Needle", long).message
    assert missing.startswith(
        '"Needle" is not in the final text (it is there with other capitals), which begins'
    )
    assert len(missing) < 300


def test_messages_are_safe_to_print(tmp_path: Path) -> None:
    assert verdict(tmp_path, TYPES[0], "\x1b[2J", "\x1b]0;title\x07").message.isprintable()


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", "{0}: must not be empty: every text contains the empty text"),
        ({"text": ""}, "{0}.text: must not be empty: every text contains the empty text"),
        ({"text": 5}, "{0}.text: expected text, got 5"),
        (5, "{0}: expected text, or an object with the option text, got 5"),
        (None, "{0}: expected text, or an object with the option text, got null"),
        (["x"], '{0}: expected text, or an object with the option text, got ["x"]'),
        ({"txt": "x", "text": "x"}, '{0}: unknown option "txt" (did you mean text?); there are: text'),
    ],
)
def test_wrong_options_are_problems(tmp_path: Path, type: str, value: Any, problem: str) -> None:
    assert [str(found) for found in bound(tmp_path, type, value).problems] == [problem.format(type)]
