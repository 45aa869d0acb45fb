"""One pace for all trials of a run: when the API asks one of them to slow down, all of them wait."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from email.utils import parsedate_to_datetime

from attrs import define, frozen

from skillwalker.gateway.messages import ERROR_TYPES, ApiError

PACED = frozenset({429, 529})
"""Rate limit and overload: what waiting helps against."""

MAX_ATTEMPTS = 6
"""Of one request. Limits are per minute and refill all the time; pauses of 2, 4, ... 32 s span a minute."""

MAX_PAUSE_SECONDS = 90.0
"""The longest pause that is waited for. A limit per minute is over by then; what wants more is a limit per
hour, day or week, and no run should stand still for that long without its owner."""

MAX_HELD_SECONDS = 240.0
"""How long one request may be held back in all; well below the ten minutes that clients wait."""

FIRST_PAUSE_SECONDS = 2.0
"""Where the API does not say how long; doubled with each pause that did not help. Where it says too little,
such as one second each time, so much is waited all the same."""

_SUBSCRIPTION = "anthropic-ratelimit-unified-"

SPACING_SECONDS = 0.25
"""Between requests that start again after a pause, on average: eight trials are back within two seconds."""


@frozen
class Ticket:
    """An admission: how many pauses there had been when a request was let through."""

    pauses: int


@define
class Patience:
    """What one request has used up of the attempts and seconds that it has."""

    attempts: int = 0
    held: float = 0.0


class Pacer:
    """Shared by all requests of a run; used on the gateway's loop only.

    Args:
        on_pause: Called with a line for the display when a pause begins or becomes longer.
    """

    def __init__(
        self,
        on_pause: Callable[[str], None] = lambda _: None,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._on_pause = on_pause
        self._clock, self._wall_clock, self._sleep, self._chance = clock, wall_clock, sleep, chance
        self._pauses = 0
        self._status = 429  # of the last pause
        self._in_vain = 0  # pauses in a row after which the API still said no
        self._until = 0.0  # the end of the last pause
        self._next = 0.0  # when the next of those that waited may start

    async def admitted(self, patience: Patience, holding: AbstractContextManager[object]) -> Ticket:
        """Returns when a request may start: at once, or when a pause is over and its turn has come.

        Args:
            patience: Of this request; is told how long it waited.
            holding: Entered only if the request has to wait, and as long as it waits.

        Raises:
            ApiError: it waited for too long.
        """
        if self._clock() >= max(self._until, self._next):
            return Ticket(self._pauses)
        began = self._clock()
        try:
            with holding:
                while (start := self._turn()) > self._clock():
                    pauses = self._pauses
                    await self._sleep(start - self._clock())
                    if pauses == self._pauses:
                        break
                    if patience.held + self._clock() - began > MAX_HELD_SECONDS:
                        text = f"the API kept asking to slow down for {MAX_HELD_SECONDS:.0f} s"
                        hopeless = {"x-should-retry": "false"}
                        raise ApiError(self._status, ERROR_TYPES[self._status], text, hopeless)
        finally:
            patience.held += self._clock() - began
        return Ticket(self._pauses)

    def answered(self, ticket: Ticket) -> None:
        """A request was not told to slow down."""
        if ticket.pauses == self._pauses:
            self._in_vain = 0

    def refused(self, error: ApiError, ticket: Ticket, patience: Patience) -> bool:
        """Makes all wait after a 429 or 529; whether the request is to be asked again then."""
        patience.attempts += 1
        asked = retry_after(error.headers, self._wall_clock()) or None  # `0` says nothing
        if is_hopeless(error) or (asked is not None and asked > MAX_PAUSE_SECONDS):
            return False
        self._pause(error.status, asked, ticket)
        wait = max(self._until - self._clock(), 0.0)
        return patience.attempts < MAX_ATTEMPTS and patience.held + wait <= MAX_HELD_SECONDS

    def _pause(self, status: int, asked: float | None, ticket: Ticket) -> None:
        now, new = self._clock(), ticket.pauses == self._pauses
        if new:
            self._in_vain += 1
        elif asked is None:
            return  # it was on its way before the pause began, so that it says nothing new
        if asked is None or (new and self._in_vain > 1):  # what it asked for before was too short
            longest = min(FIRST_PAUSE_SECONDS * 2 ** (self._in_vain - 1), MAX_PAUSE_SECONDS)
            asked = max(asked or 0.0, longest * (0.5 + self._chance() / 2))
        until = now + asked
        if not new and until <= self._until:
            return
        # Those that are waiting for their turns must look again.
        self._pauses += 1
        self._status = status
        self._until = max(self._until, until)
        self._next = self._until + SPACING_SECONDS * self._chance()
        why = "the API asks to slow down" if status == 429 else "the API is overloaded"
        self._on_pause(f"{why}: all trials wait {max(round(self._until - now), 1)} s")

    def _turn(self) -> float:
        """When one more of those that wait may start."""
        start = max(self._clock(), self._until, self._next)
        self._next = start + SPACING_SECONDS * (0.5 + self._chance())
        return start


def is_hopeless(error: ApiError) -> bool:
    """Whether an error says that a short wait is useless: a used-up subscription, or in so many words."""
    if error.headers.get("x-should-retry", "").lower() == "false":
        return True
    if (status := error.headers.get(f"{_SUBSCRIPTION}status")) is not None:
        return status.lower() == "rejected"
    return any(
        name.startswith(_SUBSCRIPTION) and name.endswith("-status") and status.lower() == "rejected"
        for name, status in error.headers.items()
        if "overage" not in name  # whether more can be bought; says nothing of the limit itself
    )


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """How many seconds an answer asks to wait; None where it does not say, or cannot be read.

    Args:
        headers: Names in lower case.
        now: Seconds since the epoch, for a `retry-after` that is a date.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        return max(parsedate_to_datetime(headers["retry-after"]).timestamp() - now, 0.0)
    except (KeyError, ValueError, OverflowError):
        return None
