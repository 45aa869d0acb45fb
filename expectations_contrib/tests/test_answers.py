"""result-matches and result-equals."""

from __future__ import annotations

import time

import pytest

from skillwalker.expectations import NotObservedError, Outcome, Reason
from skillwalker.testing import TranscriptBuilder, trial
from skillwalker_expectations_contrib.answers import ResultEquals

CATASTROPHIC = r"^(\w+\s?)*$"
LONG = "word " * 20_000 + "!"


@pytest.mark.parametrize(
    ("value", "final", "outcome"),
    [
        (r"^# Review", "# Review: fine", "passed"),
        (r"^# Review", "Here: # Review", "failed"),
        ({"pattern": r"^# review", "flags": "im"}, "Here:\n# Review", "passed"),
        ({"pattern": "a.b", "flags": "s"}, "a\nb", "passed"),
        ({"pattern": "a b # both", "flags": "x"}, "ab", "passed"),
        ({"pattern": "TODO", "expected": False}, "all done", "passed"),
        ({"pattern": "TODO", "expected": False}, "TODO: all", "failed"),
        ({"pattern": "^$", "expected": False}, "", "failed"),
        ("^$", "", "failed"),
        (r"\p{Han}", "東京", "passed"),
    ],
)
def test_a_pattern_matches_anywhere_in_the_final_text(judge, value, final, outcome) -> None:
    assert judge({"result-matches": value}, final=final).outcome == outcome


def test_what_was_found_is_shown_short_and_safe(judge) -> None:
    found = judge({"result-matches": "b+"}, final="x" * 100 + "\x1b[2Jbbb" + "y" * 100)
    assert found.message == f'/b+/ matches in the final text: "…{"x" * 56}\\x1b[2Jbbb{"y" * 60}…"'
    found = judge({"result-matches": "z"}, final="y" * 1000)
    assert found.message.startswith('/z/ matches nothing in the final text, which begins: "yyy')
    assert len(found.message) < 300


def test_a_pattern_that_tries_too_many_ways_is_unmeasured_and_ends(judge, monkeypatch) -> None:
    monkeypatch.setattr("skillwalker_expectations_contrib.patterns.SEARCH_SECONDS", 0.5)
    started = time.monotonic()
    found = judge({"result-matches": r"^(\w|\w\w)*$"}, final="a" * 5000 + "!")
    assert time.monotonic() - started < 100
    assert (found.outcome, found.reason) == (Outcome.UNMEASURED, None)
    assert "tries too many ways" in found.message


def test_only_so_much_of_a_text_is_searched(judge, monkeypatch) -> None:
    monkeypatch.setattr("skillwalker_expectations_contrib.patterns.TEXT_LIMIT", 10)
    assert judge({"result-matches": "b"}, final="ab" + "a" * 20).outcome is Outcome.PASSED
    found = judge({"result-matches": {"pattern": "b", "expected": False}}, final="a" * 20 + "b")
    assert found.outcome is Outcome.UNMEASURED
    assert "first 10 characters" in found.message
    assert judge({"result-matches": "a$"}, final="a" * 20).outcome is Outcome.UNMEASURED


@pytest.mark.parametrize("expected", [True, False])
def test_an_unhealthy_trial_has_no_final_text(judge, expected) -> None:
    for entry in ({"result-matches": {"pattern": "x", "expected": expected}}, {"result-equals": "x"}):
        found = judge(entry, final="x", reason=Reason.TIMEOUT)
        assert found.outcome is Outcome.UNMEASURED
        assert "timeout" in found.message


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("(", "result-matches: is no regular expression: missing ) at position 1"),
        ("", "result-matches: must not be empty: the empty pattern matches every text"),
        ({"pattern": "a", "flags": "g"}, "result-matches.flags: has g; there are i "),
        (True, "result-matches: expected "),
        ({"patern": "a"}, 'result-matches: unknown option "patern" (did you mean pattern?)'),
    ],
)
def test_what_cannot_be_a_pattern_is_told_before_the_run(problems, value, problem) -> None:
    assert any(one.startswith(problem) for one in problems({"result-matches": value})), problems(
        {"result-matches": value}
    )


@pytest.mark.parametrize(
    ("value", "final", "outcome"),
    [
        ("42", "42", "passed"),
        ("42", "\n 42 \n", "passed"),
        ("42", "The answer is 42", "failed"),
        ({"text": "42", "trim": False}, "42\n", "failed"),
        ({"text": "Yes", "ignoreCase": True}, "YES", "passed"),
        ("a\nb", "a\r\nb", "passed"),
        ("42", "", "failed"),
        ({"file": "golden/answer.md"}, "# Answer\n\n42", "passed"),
    ],
)
def test_a_final_text_is_the_one_that_is_given(judge, value, final, outcome) -> None:
    found = judge({"result-equals": value}, final=final, eval_files={"golden/answer.md": "# Answer\n\n42\n"})
    assert found.outcome == outcome


def test_the_first_difference_is_shown(judge) -> None:
    found = judge({"result-equals": "one\ntwo\nthree"}, final="one\ntoo\nthree")
    assert found.message == (
        'the final text differs from the expected one in line 2: found "one\\ntoo\\nthree", '
        'expected "one\\ntwo\\nthree"'
    )
    assert judge({"result-equals": "one two"}, final="one").message.endswith(
        'found "one", expected "one two"'
    )


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({}, "result-equals: needs one of the options text and file, not both"),
        ({"text": "a", "file": "b"}, "result-equals: needs one of the options text and file, not both"),
        ("  ", "result-equals: must not be empty: an empty final text always fails"),
        ({"file": "../tests.json"}, "result-equals: file: must not lead upwards (..): ../tests.json"),
        ({"file": "gone.md"}, "result-equals: file: gone.md does not exist"),
        (
            {"file": "empty.md"},
            "result-equals: file: empty.md is empty, and an empty final text always fails",
        ),
    ],
)
def test_what_cannot_be_compared_with_is_told_before_the_run(problems, value, problem) -> None:
    assert problems({"result-equals": value}, {"empty.md": "\n"}) == [problem]


def test_a_file_that_went_away_is_unmeasured(tmp_path) -> None:
    on = trial(tmp_path, TranscriptBuilder().init().result("x"), eval_files={"golden.md": "x"})
    expectation = ResultEquals(file="golden.md")
    assert expectation.check(on).outcome is Outcome.PASSED
    (on.eval.directory / "golden.md").unlink()
    with pytest.raises(NotObservedError, match=r"golden\.md does not exist"):
        expectation.check(on)


def test_a_text_that_only_looks_the_same_is_told(judge) -> None:
    found = judge({"result-equals": "caf\u00e9"}, final="cafe\u0301")
    assert found.outcome is Outcome.FAILED
    assert found.message.startswith("the final text looks like the expected one, but has other code points")
