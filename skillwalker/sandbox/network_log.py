"""`network.jsonl`: a line for each connection that a trial made or tried to make to a host."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

from attrs import define, field

from skillwalker.text import count

LINES = 10_000
"""Kept of one trial; more is a program that repeats itself. What came after is counted."""

_SHOWN = 5


@define
class Connection:
    """One connection as its line tells it.

    Attributes:
        host, port: None where the request did not tell.
        address: The IP address behind it; None where none was reached, or a proxy in between knows.
        outcome: `passed`, `refused` by the rules, or `failed` on the way.
        message: Why it was refused or failed.
        sent, received: Bytes from the trial and to it, once the way was open.
    """

    method: str | None = None
    host: str | None = None
    port: int | None = None
    address: str | None = None
    outcome: str = "failed"
    message: str | None = None
    sent: int = 0
    received: int = 0
    time: str = field(factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))
    _began: float = field(factory=monotonic)

    def line(self) -> dict[str, Any]:
        return {
            "time": self.time,
            "method": self.method,
            "host": self.host,
            "port": self.port,
            "address": self.address,
            "outcome": self.outcome,
            "message": self.message,
            "sent": self.sent,
            "received": self.received,
            "ms": round((monotonic() - self._began) * 1000, 1),
        }


class NetworkLog:
    """Written by many threads. The file is made with its first line."""

    def __init__(self, path: Path, redact: Callable[[Any], Any]) -> None:
        """Args: redact: Takes a line as a JSON value and returns it without secrets."""
        self._path, self._redact = path, redact
        self._lock = threading.Lock()  # guards all below, and the file
        self._lines = self._left_out = 0
        self._refused: Counter[str] = Counter()
        self._problem: str | None = None

    def add(self, connection: Connection) -> None:
        """Tells of a connection that is over."""
        line = self._redact(connection.line())
        with self._lock:
            if connection.outcome == "refused":
                host = line["host"]
                target = "?" if host is None else f"[{host}]" if ":" in host else host
                target += "" if host is None else f":{line['port']}"
                # Names are the trial's to choose: no more than can be shown.
                if target in self._refused or len(self._refused) < LINES:
                    self._refused[target] += 1
            if self._lines >= LINES:
                self._left_out += 1
                return
            self._lines += 1
            self._write(line)

    def close(self) -> None:
        """Adds how many lines were left out, if any were."""
        with self._lock:
            if self._left_out:
                self._write({"left_out": self._left_out})
                self._left_out = 0

    def notes(self) -> tuple[str, ...]:
        """For people: what was refused, and what was not written."""
        with self._lock:
            found = []
            if self._refused:
                named = [f"{target} ({times} x)" for target, times in self._refused.most_common(_SHOWN)]
                more = "; ..." if len(self._refused) > _SHOWN else ""
                total = count(sum(self._refused.values()), "connection")
                found.append(f"{total} refused: {'; '.join(named)}{more}; network.jsonl tells why")
            if self._problem:
                found.append(self._problem)
            return tuple(found)

    def _write(self, line: dict[str, Any]) -> None:
        try:
            with self._path.open("ab") as file:
                file.write(json.dumps(line).encode("ascii") + b"\n")
        except OSError as problem:  # a full disk must not change what the trial sees
            self._problem = f"network.jsonl: {problem.strerror}"
