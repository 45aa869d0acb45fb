"""The replay responder: answers from cassettes, by what is asked and not by when."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from attrs import define, field

from skillwalker.gateway.cassettes.cassette import Answer, Cassette, CassetteError, cassette_file
from skillwalker.gateway.cassettes.files import read, said
from skillwalker.gateway.cassettes.misses import differences, nearest, tell
from skillwalker.gateway.cassettes.normalise import Names, Normal, normalise
from skillwalker.gateway.cassettes.shared import SharedParts
from skillwalker.gateway.cassettes.times import Clock, Starts, now
from skillwalker.gateway.cassettes.varying import Window
from skillwalker.gateway.messages import ApiError, Event, cassette_miss, events_of
from skillwalker.gateway.responders import ConnectionDroppedError, Exchange
from skillwalker.redaction import Redactor

RECORD = "record it with --record"


class ReplayResponder:
    """Answers every trial from its own cassette below `directory`.

    The n-th of equal requests gets the n-th of the answers recorded for it, later ones get the last again.
    """

    def __init__(self, directory: Path, *, redactor: Redactor | None = None, clock: Clock = now) -> None:
        self._directory = directory
        self._shared = SharedParts(directory)
        self._redactor = redactor or Redactor()
        self._clock = clock
        self._starts = Starts(clock)
        self._tapes: dict[tuple[str, str], _Tape] = {}

    async def reply(self, exchange: Exchange) -> AsyncGenerator[Event, None]:
        tape = self._tape(exchange)
        request, names = normalise(
            self._redactor.value(exchange.request),
            Window(tape.started, self._clock()),
            judge=exchange.caller.purpose == "judge",
            heard=tape.heard,
        )
        answer = tape.answer(request)
        if answer is None:
            raise cassette_miss(tape.miss(request, exchange))
        for event in _events(answer, names):
            yield event
        if answer.error:
            error = names.show(answer.error)
            retry = error.get("should_retry")
            headers = {} if retry is None else {"x-should-retry": "true" if retry else "false"}
            raise ApiError(error["status"], error["type"], error["message"], headers)
        if answer.dropped:
            raise ConnectionDroppedError("recorded")

    def _ended(self, key: tuple[str, str]) -> None:
        del self._tapes[key]

    def _tape(self, exchange: Exchange) -> _Tape:
        """
        Raises:
            ApiError: a `cassette_miss`: there is no cassette, or none that can be read.
        """
        caller = exchange.caller
        key = (caller.trial_id, caller.purpose)
        if key not in self._tapes:
            path = cassette_file(self._directory, caller.trial_id, caller.purpose)
            try:
                cassette = read(path, self._shared)
            except FileNotFoundError:
                raise cassette_miss(f"there is no cassette {path}: {RECORD}") from None
            except CassetteError as error:
                place = f":{error.line}" if error.line else ""
                raise cassette_miss(f"{path}{place}: {error.reason}") from None
            except OSError as error:
                raise cassette_miss(f"{path} cannot be read: {error.strerror}") from None
            heard = said(self._directory, caller.trial_id) if caller.purpose == "judge" else ()
            self._tapes[key] = _Tape(path, cassette, self._starts.of(exchange), heard)
            exchange.at_end(partial(self._ended, key))
        return self._tapes[key]


@define
class _Tape:
    """One cassette, and how often each of its requests was made in this run."""

    _path: Path
    _cassette: Cassette
    started: datetime
    heard: tuple[str, ...]
    _answers: dict[Normal, list[Answer]] = field(init=False)
    _asked: Counter[Normal] = field(factory=Counter)

    def __attrs_post_init__(self) -> None:
        self._answers = {}
        for one in self._cassette.exchanges:
            self._answers.setdefault(one.request, []).append(one.answer)

    def answer(self, request: Normal) -> Answer | None:
        if request not in self._answers:
            return None
        answers = self._answers[request]
        self._asked[request] += 1
        return answers[min(self._asked[request], len(answers)) - 1]

    def miss(self, request: Normal, exchange: Exchange) -> str:
        near = nearest(request, list(self._answers))
        found = differences(request, near) if near else []
        thread = exchange.thread
        who = {"main": "", "judge": "the judge's ", "side": "a side request, "}.get(
            thread.kind, "a sub-agent's "
        )
        text = f"{self._path.name}: in {who}turn {exchange.turn + 1} {tell(found)}"
        if self._cassette.cut and not found:
            text += "; the recorded trial was stopped in mid-answer"
        return text


def _events(answer: Answer, names: Names) -> Iterator[Event]:
    if answer.message is None:
        return
    events = list(events_of(names.show(answer.message)))
    if answer.error is not None or answer.dropped:
        del events[-2:]  # the message has no end
        if answer.open and answer.message["content"]:
            del events[-1]  # Claude Code goes on with a block that was ended, and asks again otherwise
            while _is_empty(events[-1].get("delta")):
                del events[-1]
    yield from events


def _is_empty(delta: Any) -> bool:
    """Whether a delta says nothing; how far the input of a tool came is not known."""
    return isinstance(delta, dict) and (
        "partial_json" in delta or not any(value for key, value in delta.items() if key != "type")
    )
