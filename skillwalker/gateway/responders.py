"""What a responder is: whatever stands behind the gateway and answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, Protocol, runtime_checkable

from attrs import field, frozen

from skillwalker.errors import SkillwalkerError
from skillwalker.gateway.conversations import Thread
from skillwalker.gateway.messages import Event
from skillwalker.gateway.replies import TestScript


@frozen
class Caller:
    """Who speaks over a connection; known from the connection, never from what is said on it.

    Attributes:
        index: Number of the trial among those of its test, from 1.
        script: What a rehearsal answers; None leaves it to the rule.
        by_claude_code: Whether Claude Code makes the requests, and not a client of ours.
    """

    trial_id: str
    purpose: Literal["trial", "judge"]
    index: int = 1
    script: TestScript | None = field(default=None, repr=False)
    by_claude_code: bool = True


@frozen
class Exchange:
    """One request and its place among the others of its caller.

    Attributes:
        headers: Names in lower case.
        turn: Number of answers of the model that the conversation already holds; of a judge: number of the
            question among those of its trial. From 0.
        attempt: How often this turn was asked for, with this request; from 1.
        holding: What a responder is inside of while it holds the request back without asking the model; the
            trial's clock stands still meanwhile.
        query: What the request's path was followed by, such as `beta=true`.
        at_end: Takes what is to be called, in a thread, when the caller's link is closed and its last answer
            over.
        age_seconds: How long ago the caller's link was opened.
        body: The request as it came; empty where it did not come over a connection.
    """

    caller: Caller
    request: Mapping[str, Any] = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    thread: Thread
    turn: int
    attempt: int
    holding: Callable[[], AbstractContextManager[None]] = field(default=nullcontext, repr=False, eq=False)
    query: str = ""
    at_end: Callable[[Callable[[], None]], None] = field(default=lambda _: None, repr=False, eq=False)
    age_seconds: float = 0.0
    body: bytes = field(default=b"", repr=False, eq=False)


class Responder(Protocol):
    """Answers requests, many at a time, all on the gateway's loop."""

    def reply(self, exchange: Exchange) -> AsyncGenerator[Event, None]:
        """The events of the answer, as they become known; closed when nobody listens any more.

        Raises:
            ApiError: before the first event it is the answer; later it goes out as an `error` event.
            ConnectionDroppedError: the connection shall break off here.
        """


@runtime_checkable
class Closing(Protocol):
    """A responder that keeps connections open; one that wraps others passes it on."""

    async def aclose(self) -> None:
        """All answers are over. Called on the gateway's loop, as the last thing there."""


async def close(responder: Responder) -> None:
    """Closes what a responder keeps open, if it does."""
    if isinstance(responder, Closing):
        await responder.aclose()


class ConnectionDroppedError(SkillwalkerError):
    """Raised by a responder whose connection is to break off without an end of the answer."""
