"""What went over one caller's connections: for health, stall detection, tokens, and gateway.jsonl."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from skillwalker.gateway.conversations import Place
from skillwalker.gateway.listing import Listing
from skillwalker.gateway.messages import CASSETTE_MISS, Aggregate

ANSWERS_KEPT = 4
"""Answers whose texts are remembered: the last one, and those that Claude Code may have gone back to."""

ERRORS_KEPT = 50
"""Error answers remembered per caller, the last ones."""


@frozen
class Tokens:
    """Tokens of one model as its answers told them; None where an answer did not tell."""

    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0

    def plus(self, usage: Mapping[str, Any]) -> Tokens:
        """With one more answer's `usage`."""
        return Tokens(
            _sum(self.input_tokens, usage.get("input_tokens")),
            _sum(self.output_tokens, usage.get("output_tokens")),
            _sum(self.cache_read_input_tokens, usage.get("cache_read_input_tokens")),
            _sum(self.cache_creation_input_tokens, usage.get("cache_creation_input_tokens")),
        )


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
        usage: By the model that answered; a broken-off answer counts with what it told before.
        listing: What the last request of the main conversation listed; None before the first one.
        last_texts: What the model said last in the main conversation: the texts of its last few answers.
        miss: What no script or cassette had an answer for.
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
    usage: Mapping[str, Tokens]
    listing: Listing | None
    last_texts: tuple[str, ...]
    miss: str | None
    log_problem: str | None

    @property
    def last_error(self) -> tuple[int, str, str] | None:
        return self.errors[-1] if self.errors else None


@define
class Record:
    """One request as the meter sees it."""

    request: Mapping[str, Any]
    place: Place
    started: float
    answer: Aggregate = field(factory=Aggregate)
    error: tuple[int, str, str] | None = None
    cancelled: bool = False


class Meter:
    """Counts on the gateway's loop, is read from any thread."""

    def __init__(self, caller: str, log: Path | None) -> None:
        self._caller = caller
        self._lock = threading.Lock()  # guards everything below
        self._last_activity = time.monotonic()
        self._requests = self._answers = self._open = 0
        self._errors: deque[tuple[int, str, str]] = deque(maxlen=ERRORS_KEPT)
        self._message_ids: set[str] = set()
        self._tool_use_ids: set[str] = set()
        self._usage: dict[str, Tokens] = {}
        self._listing: Listing | None = None
        self._last_texts: deque[tuple[str, ...]] = deque(maxlen=ANSWERS_KEPT)
        self._miss: str | None = None
        self._log_problem: str | None = None
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
        return Record(request, place, time.monotonic())

    @contextmanager
    def holding(self) -> Iterator[None]:
        """A request is held back inside of this; requests held at the same time count once."""
        with self._lock:
            if not self._holding:
                self._held_since = time.monotonic()
            self._holding += 1
        try:
            yield
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
            elif record.answer.complete:
                self._answers += 1
            if record.place.thread.kind == "main" and (texts := tuple(record.answer.texts)):
                self._last_texts.append(texts)
            if record.answer.model:
                before = self._usage.get(record.answer.model, Tokens())
                self._usage[record.answer.model] = before.plus(record.answer.usage)
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
                usage=dict(self._usage),
                listing=self._listing,
                last_texts=tuple(text for texts in self._last_texts for text in texts),
                miss=self._miss,
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
            "model": answer.model or record.request.get("model"),
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
        try:
            self._log.write(json.dumps(line).encode("ascii") + b"\n")
        except OSError as problem:  # a full disk must not change what the trial sees
            self._log_problem = f"gateway.jsonl: {problem.strerror}"


def _sum(total: int | None, more: Any) -> int | None:
    return total + more if total is not None and isinstance(more, int) else None
