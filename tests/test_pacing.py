"""All trials wait together, on a clock that only these tests move."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest

from skillwalker.gateway.messages import ApiError
from skillwalker.gateway.pacing import (
    FIRST_PAUSE_SECONDS,
    MAX_ATTEMPTS,
    MAX_HELD_SECONDS,
    MAX_PAUSE_SECONDS,
    SPACING_SECONDS,
    Pacer,
    Patience,
    Ticket,
    is_hopeless,
    retry_after,
)


class Clock:
    """Goes on to the next sleeper's time when nobody has anything else to do."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._sleeping: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = 0

    def time(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._numbers += 1
        heapq.heappush(self._sleeping, (self.now + seconds, self._numbers, woken))
        await woken

    def run(self, *work: Coroutine[Any, Any, Any]) -> list[Any]:
        async def drive() -> list[Any]:
            tasks = [asyncio.create_task(each) for each in work]
            while not all(task.done() for task in tasks):
                for _ in range(20):
                    await asyncio.sleep(0)
                if self._sleeping:
                    at, _, woken = heapq.heappop(self._sleeping)
                    self.now = max(self.now, at)
                    if not woken.done():
                        woken.set_result(None)
            return [task.result() for task in tasks]

        return asyncio.run(drive())


class Holding:
    """Counts who is being held."""

    def __init__(self) -> None:
        self.inside = self.entered = 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        self.inside += 1
        self.entered += 1
        try:
            yield
        finally:
            self.inside -= 1


class Paced:
    def __init__(self, chance: float = 0.5) -> None:
        self.clock, self.holding, self.said = Clock(), Holding(), list[str]()
        self.pacer = Pacer(
            self.said.append,
            clock=self.clock.time,
            wall_clock=self.clock.time,
            sleep=self.clock.sleep,
            chance=lambda: chance,
        )

    async def admitted(self, patience: Patience | None = None) -> float:
        """When a request starts, seen from the beginning."""
        await self.pacer.admitted(patience or Patience(), self.holding())
        return self.clock.now - 1000.0

    def refused(
        self,
        status: int = 429,
        patience: Patience | None = None,
        ticket: Ticket | None = None,
        **headers: str,
    ) -> bool:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        error = ApiError(status, "rate_limit_error", "slow down", given)
        return self.pacer.refused(error, ticket or Ticket(self.pacer._pauses), patience or Patience())


def test_nobody_waits_as_long_as_nobody_is_refused():
    paced = Paced()
    assert paced.clock.run(*(paced.admitted() for _ in range(20))) == [0.0] * 20
    assert paced.holding.entered == 0
    assert paced.said == []


def test_one_refusal_makes_all_wait_and_they_start_again_one_after_the_other():
    paced = Paced()
    assert paced.refused(retry_after="12")
    starts = sorted(paced.clock.run(*(paced.admitted() for _ in range(8))))
    assert starts[0] >= 12
    gaps = [later - earlier for earlier, later in pairwise(starts)]
    assert gaps == pytest.approx([SPACING_SECONDS] * 7)
    assert paced.said == ["the API asks to slow down: all trials wait 12 s"]
    assert (paced.holding.entered, paced.holding.inside) == (8, 0)


def test_chance_spreads_the_starts():
    starts = []
    for chance in (0.0, 0.999):
        paced = Paced(chance)
        paced.refused(retry_after="5")
        starts.append(sorted(paced.clock.run(*(paced.admitted() for _ in range(3)))))
    assert starts[0] == pytest.approx([5.0, 5.0 + SPACING_SECONDS / 2, 5.0 + SPACING_SECONDS])
    assert starts[1][0] > 5.2
    assert starts[1][2] > starts[0][2]


def test_who_comes_when_the_pause_is_over_does_not_overtake_those_that_waited():
    paced = Paced()
    paced.refused(retry_after="5")

    async def latecomer() -> float:
        await paced.clock.sleep(5.3)
        return await paced.admitted()

    *waited, late = paced.clock.run(*(paced.admitted() for _ in range(4)), latecomer())
    assert late > max(waited)
    assert paced.clock.run(paced.admitted()) == [
        paced.clock.now - 1000.0
    ]  # at once, now that all are through


def test_without_a_hint_pauses_double_as_long_as_they_do_not_help():
    paced = Paced(chance=1.0)
    waits = []
    for _ in range(8):
        before = paced.clock.now
        paced.refused(529)
        paced.clock.run(paced.admitted())
        waits.append(paced.clock.now - before - SPACING_SECONDS)
    doubled = [min(FIRST_PAUSE_SECONDS * 2**n, MAX_PAUSE_SECONDS) for n in range(8)]
    assert waits == pytest.approx(doubled)
    assert paced.said[0] == "the API is overloaded: all trials wait 2 s"


def test_jitter_shortens_a_pause_by_half_at_most():
    paced = Paced(chance=0.0)
    paced.refused(529)
    paced.clock.run(paced.admitted())
    assert paced.clock.now - 1000.0 == pytest.approx(FIRST_PAUSE_SECONDS / 2)


def test_an_answer_sets_the_doubling_back():
    paced = Paced(chance=1.0)
    for _ in range(3):
        paced.refused(529)
    paced.pacer.answered(
        Ticket(paced.pacer._pauses - 1)
    )  # one that began before the last pause proves nothing
    paced.refused(529)
    assert paced.said[-1].endswith("wait 16 s")
    paced.pacer.answered(Ticket(paced.pacer._pauses))
    paced.clock.run(paced.admitted())
    paced.refused(529)
    assert paced.said[-1].endswith("wait 2 s")


def test_refusals_of_requests_that_were_on_their_way_together_are_one_pause():
    paced = Paced(chance=1.0)
    ticket = Ticket(0)
    for _ in range(10):
        assert paced.refused(529, ticket=ticket)
    assert paced.said == ["the API is overloaded: all trials wait 2 s"]


def test_a_longer_hint_makes_the_pause_longer_and_those_that_wait_look_again():
    paced = Paced()
    ticket = Ticket(0)
    paced.refused(ticket=ticket, retry_after="5")

    async def late_refusal() -> None:
        await paced.clock.sleep(4)
        paced.refused(ticket=ticket, retry_after="3")  # ends at 7
        paced.refused(ticket=ticket, retry_after="1")  # ends at 5: nothing new

    *starts, _ = paced.clock.run(*(paced.admitted() for _ in range(3)), late_refusal())
    assert min(starts) >= 7
    assert paced.said == [
        "the API asks to slow down: all trials wait 5 s",
        "the API asks to slow down: all trials wait 3 s",
    ]


def test_a_request_is_asked_again_a_bounded_number_of_times():
    paced, patience = Paced(), Patience()
    again = [paced.refused(patience=patience, retry_after="1") for _ in range(MAX_ATTEMPTS)]
    assert again == [True] * (MAX_ATTEMPTS - 1) + [False]


def test_who_asks_for_too_little_again_and_again_gets_more():
    paced, patience = Paced(chance=1.0), Patience()
    early = Ticket(0)
    while paced.refused(patience=patience, retry_after="1"):
        if patience.attempts == 4:
            paced.refused(ticket=early, retry_after="1")  # on its way since before: nothing new
        paced.clock.run(paced.admitted(patience))
    waits = [said.rpartition("wait ")[2] for said in paced.said]
    assert waits == ["1 s", "4 s", "8 s", "16 s", "32 s", "64 s"]
    assert patience.held > 60  # so long it takes until a limit per minute is over


def test_a_request_is_held_for_a_bounded_time():
    paced, patience = Paced(), Patience()
    rounds = 0
    while paced.refused(patience=patience, retry_after="80"):
        paced.clock.run(paced.admitted(patience))
        rounds += 1
    assert rounds == 2
    assert patience.held <= MAX_HELD_SECONDS


def test_who_never_gets_its_turn_is_told():
    paced = Paced()
    paced.refused(529, retry_after="80")

    async def refuse_always() -> None:
        for _ in range(6):
            await paced.clock.sleep(70)
            paced.refused(529, retry_after="80")

    async def wait() -> ApiError:
        with pytest.raises(ApiError) as caught:
            await paced.admitted()
        return caught.value

    error, _ = paced.clock.run(wait(), refuse_always())
    assert (error.status, error.type) == (529, "overloaded_error")
    assert error.headers["x-should-retry"] == "false"
    assert paced.holding.inside == 0


@pytest.mark.parametrize(
    "headers",
    [
        {"retry_after": str(MAX_PAUSE_SECONDS + 1)},
        {"retry_after": "3600"},
        {"x_should_retry": "false", "retry_after": "1"},
        {"anthropic_ratelimit_unified_status": "rejected", "retry_after": "1"},
        {"anthropic_ratelimit_unified_5h_status": "rejected"},
    ],
)
def test_what_waiting_does_not_help_is_given_up_at_once_and_stops_nobody_else(headers):
    paced = Paced()
    assert not paced.refused(**headers)
    assert paced.said == []
    assert paced.clock.run(paced.admitted()) == [0.0]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, False),
        ({"x-should-retry": "true"}, False),
        ({"anthropic-ratelimit-unified-status": "allowed_warning"}, False),
        (
            {
                "anthropic-ratelimit-unified-status": "allowed",
                "anthropic-ratelimit-unified-7d-status": "rejected",
            },
            False,
        ),
        ({"anthropic-ratelimit-unified-overage-status": "rejected"}, False),
        ({"anthropic-ratelimit-unified-7d-status": "Rejected"}, True),
        ({"anthropic-ratelimit-tokens-remaining": "0"}, False),
    ],
)
def test_which_errors_are_hopeless(headers, expected):
    assert is_hopeless(ApiError(429, "rate_limit_error", "no", headers)) is expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:20:00 GMT"}, 200.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "later"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:20:00 -99999999999999999"}, None),
    ],
)
def test_what_an_answer_asks_to_wait(headers, expected):
    assert retry_after(headers, now=1000.0) == expected


def test_zero_seconds_say_nothing():
    paced = Paced(chance=1.0)
    paced.refused(retry_after="0")
    assert paced.said == ["the API asks to slow down: all trials wait 2 s"]


def test_who_leaves_while_it_waits_is_held_no_longer():
    paced = Paced()
    paced.refused(retry_after="12")

    async def leave() -> None:
        task = asyncio.create_task(paced.admitted())
        await asyncio.sleep(0)
        assert paced.holding.inside == 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    paced.clock.run(leave())
    assert paced.holding.inside == 0
