"""The judge over the SDK: through a real gateway, and against answers that no gateway of ours would give."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from skillwalker.errors import JudgeError, JudgeOverBudgetError, JudgeUnscriptedError
from skillwalker.gateway.rehearsal import RehearsalResponder
from skillwalker.gateway.server import Caller, Gateway
from skillwalker.judge_client import MAX_RETRIES, AnthropicJudge
from skillwalker.judging import answer_schema

SCHEMA = answer_schema(["c1"])
ANSWER = {"criteria": [{"id": "c1", "reasoning": "so", "passed": True}]}


class FakeLink:
    """Answers every request by `reply`; remembers the requests."""

    def __init__(self, reply: Callable[[int], httpx2.Response]) -> None:
        self.requests: list[httpx2.Request] = []
        self._reply = reply

    def http_client(self) -> httpx2.Client:
        return httpx2.Client(transport=httpx2.MockTransport(self._answer))

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        return self._reply(len(self.requests))


def message(text: str, **changes: Any) -> httpx2.Response:
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [
            {"type": "thinking", "thinking": "", "signature": "x"},
            {"type": "text", "text": text},
        ],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 12, "output_tokens": 3},
    }
    return httpx2.Response(200, json={**body, **changes})


def error(status: int, type: str, **headers: str) -> httpx2.Response:
    body = {"type": "error", "error": {"type": type, "message": "not now"}}
    return httpx2.Response(status, json=body, headers={"retry-after-ms": "1", **headers})


def ask(link: Any, model: str = "opus") -> Any:
    return AnthropicJudge(link).ask(model=model, system="Be strict.", prompt="Look.", schema=SCHEMA)


def test_an_answer_comes_through_the_gateway() -> None:
    with Gateway(RehearsalResponder()) as gateway, gateway.open(Caller("t", "judge")) as link:
        answer = ask(link)
        assert answer.data["criteria"][0]["passed"] is True
        assert answer.model == "claude-opus-5-5"
        assert link.traffic().answers == 1


def test_the_request_asks_for_the_schema_and_forces_no_tool() -> None:
    link = FakeLink(lambda _: message(json.dumps(ANSWER)))
    answer = ask(link)
    assert (answer.data, answer.input_tokens, answer.output_tokens) == (ANSWER, 12, 3)
    body = json.loads(link.requests[0].content)
    assert body["model"] == "claude-opus-5-5"
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
    assert body["system"] == "Be strict."
    assert body["messages"] == [{"role": "user", "content": "Look."}]
    assert not {"tools", "tool_choice", "thinking", "temperature"} & set(body)


def test_no_credential_of_this_process_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "canary")
    link = FakeLink(lambda _: message(json.dumps(ANSWER)))
    ask(link)
    assert "canary" not in str(link.requests[0].headers)


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (message("", stop_reason="refusal", content=[]), "the judge refused to answer"),
        (message('{"criteria": [', stop_reason="max_tokens"), "was cut at"),
        (message("", stop_reason="model_context_window_exceeded"), "does not fit"),
        (message("I think it passes."), "is no JSON: I think it passes."),
        (message(""), "is no JSON: it is empty"),
        (message("[true]"), "is no JSON object"),
        (message('```json\n{"criteria": []}\n```'), "is no JSON"),
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_told(response: httpx2.Response, said: str) -> None:
    with pytest.raises(JudgeError, match=said):
        ask(FakeLink(lambda _: response))


def test_what_no_script_answers_is_told_as_that() -> None:
    link = FakeLink(lambda _: error(409, "cassette_miss", **{"x-should-retry": "false"}))
    with pytest.raises(JudgeUnscriptedError, match=r"^not now$"):
        ask(link)
    assert len(link.requests) == 1


def test_what_the_budget_refuses_is_told_as_that() -> None:
    link = FakeLink(lambda _: error(409, "over_budget", **{"x-should-retry": "false"}))
    with pytest.raises(JudgeOverBudgetError, match=r"^the judge was not asked: not now$"):
        ask(link)
    assert len(link.requests) == 1


@pytest.mark.parametrize(("status", "type"), [(529, "overloaded_error"), (500, "api_error")])
def test_passing_failures_are_tried_again_and_not_for_ever(status: int, type: str) -> None:
    link = FakeLink(lambda n: message(json.dumps(ANSWER)) if n == 2 else error(status, type))
    assert ask(link).data == ANSWER
    for_ever = FakeLink(lambda _: error(status, type))
    with pytest.raises(JudgeError, match=f"could not be asked: HTTP {status} {type}: not now"):
        ask(for_ever)
    assert len(for_ever.requests) == 1 + MAX_RETRIES


@pytest.mark.parametrize(
    "reply",
    [
        lambda _: error(401, "authentication_error"),
        lambda _: error(400, "invalid_request_error"),
        lambda _: error(529, "overloaded_error", **{"x-should-retry": "false"}),
    ],
    ids=["401", "400", "told not to"],
)
def test_lasting_failures_are_not_tried_again(reply: Callable[[int], httpx2.Response]) -> None:
    link = FakeLink(reply)
    with pytest.raises(JudgeError, match="not now"):
        ask(link)
    assert len(link.requests) == 1


def test_an_error_that_is_no_json_and_a_broken_connection() -> None:
    with pytest.raises(JudgeError, match="HTTP 404"):
        ask(FakeLink(lambda _: httpx2.Response(404, text="<html>")))

    def breaks(_: int) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    with pytest.raises(JudgeError, match="could not be asked"):
        ask(FakeLink(breaks))


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'"text"', b"{}", b'{"content": [1]}', b"[" * 100_000]
)
def test_an_answer_that_is_no_message_is_a_judges_error(body: bytes) -> None:
    headers = {"content-type": "application/json"}
    with pytest.raises(JudgeError, match="the judge's answer is no"):
        ask(FakeLink(lambda _: httpx2.Response(200, headers=headers, content=body)))


def test_a_text_nested_without_end_is_a_judges_error() -> None:
    with pytest.raises(JudgeError, match="is no JSON"):
        ask(FakeLink(lambda _: message("[" * 100_000)))


def test_a_full_model_name_is_sent_as_it_is() -> None:
    link = FakeLink(lambda _: message(json.dumps(ANSWER)))
    ask(link, "claude-opus-4-8")
    assert json.loads(link.requests[0].content)["model"] == "claude-opus-4-8"


def test_the_sdk_is_imported_by_the_first_question_only() -> None:
    code = (
        "import sys; from skillwalker.judge_client import AnthropicJudge, import_ahead; AnthropicJudge(None);"
        "assert 'anthropic' not in sys.modules; import_ahead(); import anthropic"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
