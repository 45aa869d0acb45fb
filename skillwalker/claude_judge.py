"""The judge as a second Claude Code without tools, in a sandbox of its own: for who has only a subscription.

Its token is for Claude Code's own requests, so Claude Code itself makes them; nothing imitates it.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from attrs import field, frozen

from skillwalker.claude_code import judge_arguments, judge_environment, prompt_line
from skillwalker.errors import (
    JudgeError,
    JudgeOverBudgetError,
    JudgeUnreadableError,
    JudgeUnscriptedError,
    SandboxError,
)
from skillwalker.events import iter_lines
from skillwalker.expectations.base import JudgeAnswer
from skillwalker.gateway.messages import CASSETTE_MISS
from skillwalker.gateway.traffic import Traffic
from skillwalker.sandbox.base import Connector, Limits, Sandbox, SandboxProcess, SandboxRequest
from skillwalker.text import safe

TIMEOUT_SECONDS = 900.0
"""From the start of its process; an answer to a large rubric takes some minutes."""

MOST_BYTES = 64 << 20
"""Of output; what a judge says is a few kilobytes."""


class Link(Connector, Protocol):
    """A way to the gateway that tells what went over it."""

    def traffic(self) -> Traffic: ...


@frozen
class ClaudeCodeJudge:
    """Asks in a sandbox of its own each time, without plugins, files, tools, or variables of the user.

    Attributes:
        trial_id: Of the trial that is judged; names the sandbox.
    """

    sandbox: Sandbox
    link: Link
    trial_id: str
    limits: Limits = field(factory=Limits)

    def ask(self, *, model: str, system: str, prompt: str, schema: Mapping[str, Any]) -> JudgeAnswer:
        request = SandboxRequest(
            trial_id=f"{self.trial_id}.judge",
            arguments=judge_arguments(model=model, system=system, schema=json.dumps(schema)),
            environment=judge_environment(timeout_seconds=TIMEOUT_SECONDS),
            line=prompt_line(prompt),
            plugins=(),
            scaffold=None,
            limits=self.limits,
            passed=False,  # it has no tool that could want them
        )
        try:
            result = self._result(request)
        except SandboxError as error:
            raise JudgeError(f"the judge's sandbox broke: {error}") from error
        traffic = self.link.traffic()
        if traffic.over_budget:
            raise JudgeOverBudgetError(f"the judge was not asked: {safe(traffic.over_budget, 300)}")
        if traffic.miss:
            raise JudgeUnscriptedError(safe(traffic.miss, 300))
        return self._answer(result)

    def _result(self, request: SandboxRequest) -> Mapping[str, Any]:
        """Claude Code's result event; {} where it gave none."""
        process = self.sandbox.start(request, self.link)
        late = threading.Timer(TIMEOUT_SECONDS, process.kill)
        late.daemon = True
        started = time.monotonic()
        result: Mapping[str, Any] = {}
        try:
            late.start()
            for line in iter_lines(_stdout(process)):
                if (event := _object(line)).get("type") == "result":
                    result = event
            process.wait()
        finally:
            late.cancel()
            process.close()
        if not result and time.monotonic() - started >= TIMEOUT_SECONDS:
            raise JudgeError(f"the judge gave no answer within {TIMEOUT_SECONDS:.0f} s")
        return result

    def _answer(self, result: Mapping[str, Any]) -> JudgeAnswer:
        traffic = self.link.traffic()
        if result.get("is_error") is not False:
            error = traffic.last_error
            if error and error[1] != CASSETTE_MISS:
                raise JudgeError(
                    safe(f"the judge could not be asked: HTTP {error[0]} {error[1]}: {error[2]}", 300)
                )
            said = result.get("result") or "it ended without a result"
            raise JudgeError(f"the judge could not be asked: {safe(str(said), 300)}")
        data = result.get("structured_output")
        if not isinstance(data, dict):
            raise JudgeUnreadableError(
                f"the judge gave no structured answer: {safe(str(result.get('result')), 200)}"
            )
        models = list(traffic.usage)
        usage = result.get("usage")
        tokens = usage if isinstance(usage, dict) else {}
        return JudgeAnswer(
            data,
            models[0] if len(models) == 1 else ", ".join(models) or "a model that gave no name",
            _count(tokens.get("input_tokens")),
            _count(tokens.get("output_tokens")),
        )


def _stdout(process: SandboxProcess) -> Iterator[bytes]:
    size = 0
    for chunk in process.output():
        if chunk.stream == "stdout" and size < MOST_BYTES:
            size += len(chunk.data)
            yield chunk.data


def _object(line: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
