"""Broken answers of a judge: unmeasured, never failed, and never guessed at."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import anthropic  # the first import takes a second, which is not the examples'
import httpx2
from fuzzing import JSON, assert_harmless, broken, fuzzed, in_time, mutated, written
from hypothesis import given
from hypothesis import strategies as st

from skillwalker.errors import JudgeError
from skillwalker.evals import ExpectationSpec
from skillwalker.expectations.base import Judge, Verdict
from skillwalker.expectations.bound import judge_trial
from skillwalker.expectations.grades import read_answer
from skillwalker.expectations.registry import Registry
from skillwalker.expectations.rubric import parse_rubric
from skillwalker.judge_client import AnthropicJudge
from skillwalker.outcomes import Outcome, Reason
from skillwalker.testing import FakeJudge, TranscriptBuilder, trial

assert anthropic.__version__

RUBRIC = "- It names the file\n- It is short\n- It invents nothing\n"
CRITERIA = parse_rubric(RUBRIC)
REGISTRY = Registry.scan()
ANSWER: dict[str, Any] = {
    "criteria": [
        {"id": "c1", "evidence": "Done.", "reasoning": "Seen.", "passed": True},
        {"id": "c2", "reasoning": "Long.", "passed": False},
        {"id": "c3", "reasoning": "Nothing.", "passed": True},
    ]
}
ANSWERS = mutated(ANSWER).filter(lambda answer: isinstance(answer, dict)) | st.dictionaries(
    st.just("criteria") | st.text(max_size=3), JSON, max_size=2
)


def grades(answer: Any) -> dict[str, bool] | None:
    """By another way than the code's: what a whole answer says, None for one that is not whole."""
    found = answer.get("criteria") if isinstance(answer, dict) else None
    if not isinstance(found, list) or len(found) != len(CRITERIA):
        return None
    told = {}
    for one in found:
        match one:
            case {"id": "c1" | "c2" | "c3" as name, "passed": bool(passed), "reasoning": str()}:
                if isinstance(one.get("evidence", ""), str):
                    told[name] = passed
    return told if len(told) == len(CRITERIA) else None


def judged(judge: Judge) -> Verdict:
    with tempfile.TemporaryDirectory() as name, in_time():
        events = TranscriptBuilder().init().result("Done.")
        on = trial(Path(name), events, rubrics={"r.md": RUBRIC}, judge=judge)  # type: ignore[arg-type]
        bound = REGISTRY.bind(
            ExpectationSpec("llm-judge", {"rubricFile": "r.md"}, "llm-judge"), on.eval, on.test
        )
        return judge_trial(bound, on)


def assert_follows(verdict: Verdict, answer: Any) -> None:
    assert_harmless(verdict.message)
    for detail in verdict.details:
        assert_harmless(detail.name)
        assert_harmless(detail.message, lines=True)
    told = grades(answer)
    if told is None:
        assert (verdict.outcome, verdict.reason) == (Outcome.UNMEASURED, Reason.JUDGE_ERROR), verdict
        assert verdict.message
    else:
        assert verdict.outcome is Outcome.of(all(told.values()))


@fuzzed(75)
@given(ANSWERS)
def test_an_answer_is_read_as_it_is_or_not_at_all(answer: dict[str, Any]) -> None:
    told = grades(answer)
    try:
        with in_time():
            found = read_answer(answer, CRITERIA)
    except JudgeError as error:
        assert told is None
        assert_harmless(str(error))
    else:
        assert {name: grade.passed for name, grade in found.items()} == told


@fuzzed(30)
@given(ANSWERS)
def test_a_broken_answer_is_unmeasured(answer: dict[str, Any]) -> None:
    assert_follows(judged(FakeJudge([answer, answer])), answer)


class Link:
    """A gateway that answers every request with these bytes."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def http_client(self) -> httpx2.Client:
        kind = {"content-type": "application/json"}
        return httpx2.Client(
            transport=httpx2.MockTransport(lambda _: httpx2.Response(200, headers=kind, content=self.body))
        )


def message(text: str) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [{"type": "thinking", "thinking": "", "signature": ""}, {"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


TEXTS = written(ANSWERS).map(lambda data: data.decode("utf-8", "replace")) | broken(
    json.dumps(ANSWER).encode()
).map(lambda data: data.decode("utf-8", "replace"))


@fuzzed(20)
@given(TEXTS)
def test_a_broken_text_of_an_answer_is_unmeasured(text: str) -> None:
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    assert_follows(judged(AnthropicJudge(Link(json.dumps(message(text)).encode()))), answer)


@fuzzed(20)
@given(
    written(mutated(message(json.dumps(ANSWER)))) | broken(json.dumps(message(json.dumps(ANSWER))).encode())
)
def test_a_broken_message_is_unmeasured_or_read(data: bytes) -> None:
    verdict = judged(AnthropicJudge(Link(data)))
    assert_harmless(verdict.message)
    if verdict.outcome is Outcome.UNMEASURED:
        assert verdict.reason is Reason.JUDGE_ERROR, verdict
    else:
        assert verdict.details
