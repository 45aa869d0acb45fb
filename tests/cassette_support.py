"""What the tests of cassettes share: an upstream that says what it is told, and links."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attrs import define, field

from skillwalker.gateway.cassettes.recording import RecordingResponder
from skillwalker.gateway.cassettes.replaying import ReplayResponder
from skillwalker.gateway.messages import Event, message_events
from skillwalker.gateway.responders import Exchange, Responder
from skillwalker.gateway.server import Caller, Gateway, Link
from skillwalker.outcomes import Outcome, Reason
from skillwalker.redaction import Redactor

TRIAL = "garden.greets.01234567.main.1"
THEN = datetime(2026, 11, 30, 14, 23, 4, tzinfo=UTC)
LATER = datetime(2027, 3, 1, 9, 11, 59, tzinfo=UTC)
LONG = "It has a long description. " * 20
USAGE = {"input_tokens": 900, "output_tokens": 40}


def answer(*blocks: Mapping[str, Any], id: str = "msg_1", **more: Any) -> list[Event]:
    """The events of one answer."""
    stop = "tool_use" if blocks and blocks[-1]["type"] == "tool_use" else "end_turn"
    given = {"model": "claude-sonnet-5-5", "stop_reason": stop, "usage": USAGE, **more}
    return list(message_events(id=id, content=blocks, **given))


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def bash(command: str, id: str = "toolu_1") -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}


def result(words: str, id: str = "toolu_1") -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": id, "content": words}
    return {"role": "user", "content": [block]}


@define
class Upstream:
    """Gives one answer after the other; an exception in an answer is raised there."""

    answers: list[Sequence[Event | Exception]]
    asked: list[Exchange] = field(factory=list)

    async def reply(self, exchange: Exchange) -> AsyncGenerator[Event, None]:
        self.asked.append(exchange)
        for event in self.answers[len(self.asked) - 1]:
            if isinstance(event, Exception):
                raise event
            yield event


@contextmanager
def linked(
    responder: Responder,
    trial_id: str = TRIAL,
    purpose: Any = "trial",
    outcome: Outcome = Outcome.PASSED,
    reason: Reason | None = None,
) -> Iterator[Link]:
    """A link; when the block is left, its trial ends with `outcome`."""
    with Gateway(responder) as gateway, gateway.open(Caller(trial_id, purpose)) as link:
        yield link
    if isinstance(responder, RecordingResponder):
        responder.settle(trial_id, outcome, reason)


def recording(
    directory: Path,
    *answers: Sequence[Event | Exception],
    when: datetime = THEN,
    secrets: tuple[str, ...] = (),
) -> RecordingResponder:
    redactor = Redactor(secrets)
    return RecordingResponder(Upstream([*answers]), directory, redactor=redactor, clock=lambda: when)


def replaying(directory: Path, when: datetime = LATER, secrets: tuple[str, ...] = ()) -> ReplayResponder:
    return ReplayResponder(directory, redactor=Redactor(secrets), clock=lambda: when)
