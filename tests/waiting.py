"""Waiting for what other threads and processes do: for a condition, as long as a busy machine may take."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from random import SystemRandom
from typing import TypeVar

_T = TypeVar("_T")

PATIENCE = 120.0
"""Seconds after which something hangs. No machine is so slow, and a test that passes never waits so long."""


def wait_until(condition: Callable[[], _T], seconds: float = PATIENCE) -> _T:
    """What `condition` says as soon as that is true."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)
    return found


def free_port() -> int:
    """A port of 127.0.0.1 for a program that must be told one.

    Below those that the system gives away by itself, so that nobody gets it in between, and nothing that
    connects to it while nobody listens meets itself.
    """
    chance = SystemRandom()
    while True:
        port = chance.randrange(12_000, 29_000)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
