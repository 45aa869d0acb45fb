"""Faults that an author wants to see a skill meet, in front of any responder: `faults` in `rehearsal.json`.

They are the outermost of all: what is recorded is the model's answers, never these.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from attrs import evolve

from skillwalker.gateway.conversations import Thread
from skillwalker.gateway.messages import ApiError, Event
from skillwalker.gateway.replies import Fault, called
from skillwalker.gateway.responders import ConnectionDroppedError, Exchange, Responder, close

_LAST = ("message_stop", "message")


class FaultsResponder:
    """Injects the faults of a test's script, and otherwise lets `inner` answer."""

    def __init__(self, inner: Responder) -> None:
        self._inner = inner

    async def reply(self, exchange: Exchange) -> AsyncGenerator[Event, None]:
        fault, unseen = _due(exchange)
        if fault and fault.delay_seconds:
            await asyncio.sleep(fault.delay_seconds)
        breaks = fault is not None and fault.breaks
        if fault and breaks and not fault.after_events:
            await _break(fault)
        sent = 0
        # For the responder behind, the requests that it never saw were never made.
        inner = self._inner.reply(evolve(exchange, attempt=exchange.attempt - unseen))
        async with aclosing(inner) as events:
            async for event in events:
                # At the latest before the end: a fault that is asked for and does not come would mislead.
                if fault and breaks and (sent >= fault.after_events or event.get("type") in _LAST):
                    await _break(fault)
                yield event
                sent += event.get("type") != "ping"

    async def aclose(self) -> None:
        await close(self._inner)


def _due(exchange: Exchange) -> tuple[Fault | None, int]:
    """The fault for a request, and how many requests of its turn earlier faults kept from the model."""
    script = exchange.caller.script
    faults = script.for_trial(exchange.caller.index).faults if script else None
    attempt, unseen = exchange.attempt, 0
    for fault in faults or ():
        if fault.turn != exchange.turn + 1 or not _concerns(fault, exchange.thread):
            continue
        hides = fault.breaks and not fault.after_events
        if attempt <= fault.times:
            return fault, unseen + (attempt - 1 if hides else 0)
        attempt -= fault.times
        unseen += fault.times if hides else 0
    return None, unseen


def _concerns(fault: Fault, thread: Thread) -> bool:
    if fault.agent is None:
        return thread.kind == "main"
    return (thread.kind == "agent" or thread.fork) and called(fault.agent, thread.agent)


async def _break(fault: Fault) -> None:
    """Ends the answer as the fault has it."""
    if error := fault.error:  # a new one: a raised exception collects tracebacks
        raise ApiError(error.status, error.type, error.message, error.headers)
    if fault.fault == "drop":
        raise ConnectionDroppedError("scripted")
    await asyncio.Event().wait()
