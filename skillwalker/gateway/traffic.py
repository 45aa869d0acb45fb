"""What went over one caller's connections: for health, stall detection, tokens, and gateway.jsonl."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from skillwalker.gateway.conversations import Place
from skillwalker.gateway.listing import Listing
from skillwalker.gateway.messages import CASSETTE_MISS, OVER_BUDGET, Aggregate
from skillwalker.tokens import Tokens

ANSWERS_KEPT = 4
"""Answers whose texts are remembered: the last one, and those that Claude Code may have gone back to."""

ERRORS_KEPT = 50
"""Error answers remembered per caller, the last ones."""

UNNAMED = "a model without a name"
"""Stands for the one that answered and did not say which it is; nobody knows its price."""

MAX_LOG_BYTES = 16 << 20
"""Of a caller's lines; a trial can ask for whatever it likes, as often as it likes."""


@frozen
class Answered:
    """One answer of a model, as far as it came.

    Attributes:
        conversation: `main`, `agent:<type>`, `skill:<name>` of a forked skill, `judge`, or `side`: what
            Claude Code asks for itself. Several agents of a type have one name.
        asked: The model that was asked for.
        model: The one that answered.
        cut: It was broken off; `tokens` is what it told before.
    """

    conversation: str
    asked: str
    model: str
    tokens: Tokens
    cut: bool = False


@frozen
class Traffic:
    """A snapshot.

    Attributes:
        requests: Requests for an answer of the model so far, those still open among them.
        answers: Whole answers given with status 200.
        errors: (status, type, message) of the last error answers, oldest first. Status 200 is an error in
            mid-stream, 0 a connection that the responder broke off.
        last_activity: `time.monotonic()` of the last byte in either direction.
        held_seconds: How long the gateway itself held requests back. Waiting for the model does not count.
        message_ids, tool_use_ids: All that was begun to be sent.
        answered: Every answer that began, in the order of their ends.
        unheard: Requests that were broken off before they told anything; what they cost is not known.
        listing: What the last request of the main conversation listed; None before the first one.
        last_texts: What the model said last in the main conversation: the texts of its last few answers.
        miss: What no script or cassette had an answer for.
        over_budget: Why the budget let no more turns start; None where it did not stop any.
        log_problem: Why gateway.jsonl is not whole.
    """

    requests: int
    answers: int
    open_requests: int
    errors: tuple[tuple[int, str, str], ...]
    last_activity: float
    held_seconds: float
    message_ids: frozenset[str]
    tool_use_ids: frozenset[str]
    answered: tuple[Answered, ...]
    unheard: int
    listing: Listing | None
    last_texts: tuple[str, ...]
    miss: str | None
    over_budget: str | None
    log_problem: str | None

    @property
    def usage(self) -> Mapping[str, Tokens]:
        """By the model that answered; a broken-off answer counts with what it told before."""
        found: dict[str, Tokens] = {}
        for one in self.answered:
            found[one.model] = found.get(one.model, Tokens()) + one.tokens
        return found

    @property
    def last_error(self) -> tuple[int, str, str] | None:
        return self.errors[-1] if self.errors else None


@define
class Record:
    """One request as the meter sees it.

    Attributes:
        left_waiting: It was broken off while it was held back, so that it cost nothing.
        lost: Its error says nothing of what the model made of it.
    """

    request: Mapping[str, Any]
    place: Place
    started: float
    listing: Listing | None = None
    answer: Aggregate = field(factory=Aggregate)
    error: tuple[int, str, str] | None = None
    cancelled: bool = False
    left_waiting: bool = False
    lost: bool = False


def unchanged(value: Any) -> Any:
    """What is done to a line of the log where there are no secrets."""
    return value


class Meter:
    """Counts on the gateway's loop, is read from any thread."""

    def __init__(self, caller: str, log: Path | None, redact: Callable[[Any], Any] = unchanged) -> None:
        self._caller = caller
        self._redact = redact
        self._lock = threading.Lock()  # guards everything below
        self._last_activity = time.monotonic()
        self._requests = self._answers = self._open = 0
        self._errors: deque[tuple[int, str, str]] = deque(maxlen=ERRORS_KEPT)
        self._message_ids: set[str] = set()
        self._tool_use_ids: set[str] = set()
        self._answered: list[Answered] = []
        self._unheard = 0
        self._listing: Listing | None = None
        self._listed: dict[str, list[str]] = {}  # as the log has it
        self._last_texts: deque[tuple[str, ...]] = deque(maxlen=ANSWERS_KEPT)
        self._miss: str | None = None
        self._over_budget: str | None = None
        self._log_problem: str | None = None
        self._logged = 0
        self._held_seconds = 0.0
        self._holding = 0  # requests that are held back now
        self._held_since = 0.0
        # Unbuffered: what a full disk refused is not tried again with the next line.
        self._log = log.open("ab", buffering=0) if log else None

    def touch(self) -> None:
        """Bytes went through."""
        self._last_activity = time.monotonic()  # one store, so no lock

    def begin(self, request: Mapping[str, Any], place: Place, listing: Listing | None) -> Record:
        with self._lock:
            self._requests += 1
            self._open += 1
            if place.thread.kind == "main" and listing is not None:
                self._listing = listing
        return Record(request, place, time.monotonic(), listing)

    @contextmanager
    def holding(self, record: Record) -> Iterator[None]:
        """A request is held back inside of this; requests held at the same time count once."""
        with self._lock:
            if not self._holding:
                self._held_since = time.monotonic()
            self._holding += 1
        record.left_waiting = True
        try:
            yield
            record.left_waiting = False
        finally:
            with self._lock:
                self._holding -= 1
                if not self._holding:
                    self._held_seconds += time.monotonic() - self._held_since

    def announce(self, *, message_id: str | None = None, tool_use_id: str | None = None) -> None:
        """Tells an id before it is sent, so that no transcript knows more than the meter."""
        with self._lock:
            if message_id:
                self._message_ids.add(message_id)
            if tool_use_id:
                self._tool_use_ids.add(tool_use_id)

    def end(self, record: Record) -> None:
        """Counts a request that is over, however it ended, and writes its line."""
        with self._lock:
            self._open -= 1
            if record.error:
                self._errors.append(record.error)
                if record.error[1] == CASSETTE_MISS:
                    self._miss = record.error[2]
                elif record.error[1] == OVER_BUDGET:
                    self._over_budget = record.error[2]
            elif record.answer.complete:
                self._answers += 1
            if record.place.thread.kind == "main" and (texts := tuple(record.answer.texts)):
                self._last_texts.append(texts)
            if record.answer.model or record.answer.complete:
                self._answered.append(_answered(record))
            elif not record.left_waiting and (record.cancelled or record.lost):
                self._unheard += 1
            self._write(record)

    def snapshot(self) -> Traffic:
        with self._lock:
            now = time.monotonic()
            held = now - self._held_since if self._holding else 0.0
            return Traffic(
                requests=self._requests,
                answers=self._answers,
                open_requests=self._open,
                errors=tuple(self._errors),
                last_activity=now if self._holding else self._last_activity,  # held is not stalled
                held_seconds=self._held_seconds + held,
                message_ids=frozenset(self._message_ids),
                tool_use_ids=frozenset(self._tool_use_ids),
                answered=tuple(self._answered),
                unheard=self._unheard,
                listing=self._listing,
                last_texts=tuple(text for texts in self._last_texts for text in texts),
                miss=self._miss,
                over_budget=self._over_budget,
                log_problem=self._log_problem,
            )

    def close(self) -> None:
        """Closes the log; what ends later is still counted."""
        with self._lock:
            if self._log:
                self._log.close()
                self._log = None

    def _write(self, record: Record) -> None:
        if self._log is None:
            return
        error, answer = record.error, record.answer
        status = error[0] if error else None if record.cancelled else 200
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "caller": self._caller,
            "thread": record.place.thread.label,
            "agent": record.place.thread.agent,
            "asked": record.request.get("model"),
            "model": answer.model,
            "turn": record.place.turn,
            "attempt": record.place.attempt,
            "status": status or None,
            "error": {"type": error[1], "message": error[2]} if error else None,
            "message_id": answer.id,
            "stop_reason": answer.stop_reason,
            "usage": answer.usage or None,
            "tool_uses": [{"id": block.get("id"), "name": block.get("name")} for block in answer.tool_uses],
            "ms": round((time.monotonic() - record.started) * 1000, 1),
        }
        listed = _ids(record.listing) if record.listing else {}
        if listed and listed != self._listed:
            line["listed"] = self._listed = listed
        data = json.dumps(self._redact(line)).encode("ascii") + b"\n"
        self._logged += len(data)
        if self._logged > MAX_LOG_BYTES:
            self._log_problem = f"gateway.jsonl: more than {MAX_LOG_BYTES >> 20} MiB; the rest is not in it"
            return
        try:
            self._log.write(data)
        except OSError as problem:  # a full disk must not change what the trial sees
            self._log_problem = f"gateway.jsonl: {problem.strerror}"


def tokens_of(request: Mapping[str, Any], answer: Aggregate) -> Tokens:
    """What an answer has told of its tokens so far."""
    usage = answer.usage
    if usage.get("cache_creation_input_tokens") and usage.get("cache_creation") is None:
        return Tokens.of(usage, writes_kept_1h=_asks_for_an_hour(request))
    return Tokens.of(usage)


def _ids(listing: Listing) -> dict[str, list[str]]:
    return {"skills": [one.id for one in listing.skills], "agents": [one.id for one in listing.agents]}


def _answered(record: Record) -> Answered:
    thread, answer = record.place.thread, record.answer
    kind = "skill" if thread.kind == "agent" and thread.fork else thread.kind
    return Answered(
        f"{kind}:{thread.agent}" if thread.kind == "agent" and thread.agent else kind,
        str(record.request.get("model")),
        str(answer.model or UNNAMED),
        tokens_of(record.request, answer),
        cut=not answer.complete,
    )


def _asks_for_an_hour(value: Any) -> bool:
    """Whether anything in a request is to be kept in the cache for an hour."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if isinstance(kept := one.get("cache_control"), dict) and kept.get("ttl") == "1h":
                return True
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return False
