"""The judge as one request of the `anthropic` SDK, sent through the gateway like everything else.

The SDK takes over a second to import, so it is imported by the first question, or in a thread of its own
before that where a run is known to need it.
"""

from __future__ import annotations

import importlib
import json
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from skillwalker.errors import (
    JudgeError,
    JudgeOverBudgetError,
    JudgeUnreadableError,
    JudgeUnscriptedError,
)
from skillwalker.expectations.base import JudgeAnswer
from skillwalker.gateway.messages import CASSETTE_MISS, OVER_BUDGET
from skillwalker.judging import output_config
from skillwalker.models import model_id
from skillwalker.text import safe

if TYPE_CHECKING:
    import anthropic
    import httpx2
    from anthropic.types import Message, OutputConfigParam

MAX_TOKENS = 32_000
"""Of an answer, thinking included; some 300 criteria with a quote and three sentences each."""
TIMEOUT_SECONDS = 600.0
"""Of one attempt; the gateway may hold a request back for a while."""
MAX_RETRIES = 3
"""After 408, 409, 429, 5xx and broken connections, unless the answer says `x-should-retry: false`."""

_NO_ANSWER = {
    "model_context_window_exceeded": "what the judge should read does not fit the model's context",
    "refusal": "the judge refused to answer",
}


class Link(Protocol):
    """A way to the gateway."""

    def http_client(self) -> httpx2.Client: ...


def import_ahead() -> None:
    """Begins to import the SDK in a thread of its own; the first question then finds it there."""
    threading.Thread(target=importlib.import_module, args=("anthropic",), daemon=True).start()


class AnthropicJudge:
    """Asks through `link`. May be shared by threads."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._client: anthropic.Anthropic | None = None
        self._lock = threading.Lock()  # guards _client

    def ask(self, *, model: str, system: str, prompt: str, schema: Mapping[str, Any]) -> JudgeAnswer:
        client = self._connected()
        import anthropic

        try:
            message = client.messages.create(
                model=model_id(model),
                max_tokens=MAX_TOKENS,
                system=system,
                messages=[{"role": "user", "content": prompt}],
                output_config=cast("OutputConfigParam", output_config(schema)),
            )
        except anthropic.APIStatusError as error:
            kind, said = _error_of(error).get("type"), safe(str(_error_of(error).get("message")), 300)
            if kind == CASSETTE_MISS:
                raise JudgeUnscriptedError(said) from error
            if kind == OVER_BUDGET:
                raise JudgeOverBudgetError(f"the judge was not asked: {said}") from error
            raise JudgeError(f"the judge could not be asked: {_of_status(error)}") from error
        except anthropic.AnthropicError as error:
            raise JudgeError(f"the judge could not be asked: {safe(str(error), 300)}") from error
        except (ValueError, RecursionError) as error:  # the SDK lets through what `json` raises
            raise JudgeError(f"the judge's answer is no JSON: {safe(str(error), 200)}") from error
        try:
            return _read(message)
        except (AttributeError, TypeError) as error:  # the SDK checks nothing of what it is sent
            raise JudgeError(f"the judge's answer is no message: {safe(str(error), 200)}") from error

    def _connected(self) -> anthropic.Anthropic:
        with self._lock:
            if self._client is None:
                import anthropic

                self._client = anthropic.Anthropic(
                    api_key="placeholder",  # the gateway alone holds a credential
                    base_url="http://gateway",
                    http_client=self._link.http_client(),
                    timeout=TIMEOUT_SECONDS,
                    max_retries=MAX_RETRIES,
                )
            return self._client


def _read(message: Message) -> JudgeAnswer:
    if message.stop_reason == "max_tokens":
        raise JudgeUnreadableError(f"the judge's answer was cut at {MAX_TOKENS} tokens")
    if message.stop_reason in _NO_ANSWER:
        raise JudgeError(_NO_ANSWER[message.stop_reason])
    text = "".join(block.text for block in message.content if block.type == "text")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise JudgeUnreadableError(
            f"the judge's answer is no JSON: {safe(text, 200) or 'it is empty'}"
        ) from error
    if not isinstance(data, dict):
        raise JudgeUnreadableError(f"the judge's answer is no JSON object: {safe(text, 200)}")
    if not isinstance(message.model, str):
        raise JudgeUnreadableError("the judge's answer does not say which model gave it")
    usage = message.usage
    return JudgeAnswer(data, message.model, usage.input_tokens, usage.output_tokens)


def _error_of(error: anthropic.APIStatusError) -> Mapping[str, Any]:
    details = error.body.get("error") if isinstance(error.body, dict) else None
    return details if isinstance(details, dict) else {}


def _of_status(error: anthropic.APIStatusError) -> str:
    if details := _error_of(error):
        return safe(f"HTTP {error.status_code} {details.get('type')}: {details.get('message')}", 300)
    return safe(f"HTTP {error.status_code}: {error.message}", 300)
