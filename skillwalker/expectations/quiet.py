"""Keeps what expectation types print away from standard output, where a report or its JSON belongs."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import TextIO

_lock = threading.Lock()
_inside = 0
_real: TextIO | None = None


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What is printed goes to standard error.

    For all threads, as long as one of them is inside: trials are judged side by side, and
    `contextlib.redirect_stdout` in two threads can leave the output redirected for good.
    """
    global _inside, _real  # standard output is one for the whole process
    with _lock:
        _inside += 1
        if _inside == 1:
            _real, sys.stdout = sys.stdout, sys.stderr
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _real is not None:
                sys.stdout, _real = _real, None
