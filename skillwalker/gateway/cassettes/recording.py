"""The recording responder: passes on what another answers, and keeps it as cassettes."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from attrs import define, evolve, field

from skillwalker import __version__
from skillwalker.gateway.cassettes.cassette import Answer, Cassette, Recorded
from skillwalker.gateway.cassettes.keeping import Keeping
from skillwalker.gateway.cassettes.normalise import Normal, Part, normalise
from skillwalker.gateway.cassettes.times import Clock, Starts, now
from skillwalker.gateway.cassettes.varying import Window
from skillwalker.gateway.messages import CASSETTE_MISS, Aggregate, ApiError, Event
from skillwalker.gateway.responders import Caller, ConnectionDroppedError, Exchange, Responder, close
from skillwalker.outcomes import Outcome, Reason
from skillwalker.redaction import Redactor

_PROGRAM = re.compile(r"\bclaude-cli/(\d+(?:\.\d+)+)")
_ORDER = ("main", "agent", "side", "judge")


class RecordingResponder:
    """Keeps what `inner` answers: a cassette per trial and one per judge of a trial.

    They are written when `settle` says what came of the trial (see `Keeping`). Who asked for nothing leaves
    no cassette, and what was there before stays.
    """

    def __init__(
        self,
        inner: Responder,
        directory: Path,
        *,
        rehearsed: bool = False,
        redactor: Redactor | None = None,
        clock: Clock = now,
    ) -> None:
        """
        Args:
            rehearsed: Whether `inner` is a rehearsal; the cassettes say so.
        """
        self._inner = inner
        self._keeping = Keeping(directory)
        self._redactor = redactor or Redactor()
        self._clock = clock
        self._rehearsed = rehearsed
        self._starts = Starts(clock)
        self._tapes: dict[tuple[str, str], _Tape] = {}

    async def reply(self, exchange: Exchange) -> AsyncGenerator[Event, None]:
        tape = self._tape(exchange)
        answer = Aggregate()
        over = opened = False
        try:
            async with aclosing(self._inner.reply(exchange)) as events:
                async for event in events:
                    answer.add(event)
                    opened = _opened(event, opened)
                    if answer.complete and not over:
                        # Before its end is sent: who has read that may be gone at once.
                        over = True
                        tape.keep(exchange, Answer(answer.message))
                    yield event
        except ApiError as error:
            over = True
            if error.type != CASSETTE_MISS:  # that is the want of an answer, and will be again
                tape.keep(exchange, Answer(_begun(answer), _error(error), open=opened))
            raise
        except ConnectionDroppedError:
            over = True
            tape.keep(exchange, Answer(_begun(answer), dropped=True, open=opened))
            raise
        finally:
            tape.cut = tape.cut or not over

    def _ended(self, caller: Caller) -> None:
        tape = self._tapes.pop((caller.trial_id, caller.purpose))
        if tape.exchanges:
            self._keeping.hold(tape.cassette(caller, rehearsed=self._rehearsed))

    def settle(self, trial_id: str, outcome: Outcome, reason: Reason | None = None) -> None:
        """To be called, from any thread, when all links of a trial have ended and it was judged."""
        self._keeping.settle(trial_id, outcome, reason)

    async def aclose(self) -> None:
        await close(self._inner)

    def close(self) -> tuple[str, ...]:
        """To be called after the last trial; what was not kept, a sentence each."""
        return self._keeping.close()

    def _tape(self, exchange: Exchange) -> _Tape:
        caller = exchange.caller
        key = (caller.trial_id, caller.purpose)
        if key not in self._tapes:
            heard = self._keeping.said(caller.trial_id) if caller.purpose == "judge" else ()
            self._tapes[key] = _Tape(self._redactor, self._clock, self._starts.of(exchange), heard)
            exchange.at_end(partial(self._ended, caller))
        return self._tapes[key]


@define
class _Tape:
    """What one caller asked and was answered so far."""

    _redactor: Redactor
    _clock: Clock
    _started: datetime
    _heard: tuple[str, ...]
    exchanges: list[tuple[tuple[Any, ...], Recorded]] = field(factory=list)
    cut: bool = False
    _claude_code: str | None = None
    _parts: dict[str, Part] = field(factory=dict)

    def keep(self, exchange: Exchange, answer: Answer) -> None:
        self.cut = False
        thread = exchange.thread
        normal, names = normalise(
            self._redactor.value(exchange.request),
            Window(self._started, self._clock()),
            judge=exchange.caller.purpose == "judge",
            heard=self._heard,
        )
        kept = self._redactor.value({"message": answer.message, "error": answer.error})
        answer = evolve(answer, message=names.hide(kept["message"]), error=names.hide(kept["error"]))
        who = " ".join(filter(None, (thread.kind, names.hide(thread.agent))))
        place = (_ORDER.index(thread.kind), thread.key, exchange.turn, exchange.attempt)
        recorded = Recorded(self._interned(normal), answer, f"{who} {exchange.turn + 1}")
        self.exchanges.append((place, recorded))
        if match := _PROGRAM.search(exchange.headers.get("user-agent", "")):
            self._claude_code = match[1]

    def cassette(self, caller: Caller, *, rehearsed: bool) -> Cassette:
        """In an order that does not depend on which of parallel agents was faster."""
        ordered = sorted(self.exchanges, key=lambda one: one[0])
        return Cassette(
            trial_id=caller.trial_id,
            purpose=caller.purpose,
            skillwalker=__version__,
            claude_code=self._claude_code,
            exchanges=tuple(recorded for _, recorded in ordered),
            rehearsed=rehearsed,
            cut=self.cut,
        )

    def _interned(self, normal: Normal) -> Normal:
        """Every request holds its whole conversation; what is equal is kept once."""

        def one(parts: tuple[Part, ...]) -> tuple[Part, ...]:
            return tuple(self._parts.setdefault(part.digest, part) for part in parts)

        return evolve(
            normal, system=one(normal.system), tools=one(normal.tools), messages=one(normal.messages)
        )


def _opened(event: Event, before: bool) -> bool:
    """Whether a block is begun and not ended."""
    match event.get("type"):
        case "content_block_start":
            return True
        case "content_block_stop":
            return False
    return before


def _begun(answer: Aggregate) -> Mapping[str, Any] | None:
    return answer.message if answer.id else None


def _error(error: ApiError) -> dict[str, Any]:
    """Without its headers, but for whether to ask again; how long to wait is no part of a replay."""
    found: dict[str, Any] = {"status": error.status, "type": error.type, "message": error.message}
    if retry := error.headers.get("x-should-retry"):
        found["should_retry"] = retry == "true"
    return found
