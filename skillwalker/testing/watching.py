"""Notices what code does beside computing: files it writes, programs it starts, connections it opens.

An audit hook of Python, which cannot be removed again: it is added on first use and idle but for the time in
which something is watched.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import sys
import threading
from collections.abc import Iterator
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = frozenset(
    (
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.mkdir",
        "os.truncate",
        "os.chmod",
        "os.chown",
        "os.link",
        "os.symlink",
        "os.utime",
    )
)
_PROGRAMS = frozenset(
    (
        "subprocess.Popen",
        "os.system",
        "os.exec",
        "os.posix_spawn",
        "os.spawn",
        "os.fork",
        "os.forkpty",
    )
)
_CONNECTIONS = frozenset(
    (
        "socket.connect",
        "socket.bind",
        "socket.getaddrinfo",
        "socket.sendto",
    )
)

_watching: list[list[str]] = []
"""What is being watched, the innermost last; each a list of deeds."""
_added: list[bool] = []


@contextlib.contextmanager
def watched() -> Iterator[list[str]]:
    """Gives the list of deeds, in words; it is complete when the block has ended."""
    if not _added:
        sys.addaudithook(_hook)
        _added.append(True)
    deeds: list[str] = []
    before = _surroundings()
    printed = io.StringIO()
    _watching.append(deeds)
    try:
        with contextlib.redirect_stdout(printed):
            yield deeds
    finally:
        _watching.remove(deeds)
    if printed.getvalue():
        deeds.append("prints to standard output")
    deeds += [f"changes {what}" for what, value in _surroundings().items() if value != before[what]]


def _surroundings() -> dict[str, Any]:
    return {
        "the environment": dict(os.environ),
        "the current directory": os.getcwd(),
        "sys.path": list(sys.path),
        "the state of random": random.getstate(),
        "the running threads": {thread.ident for thread in threading.enumerate()},
    }


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watching:
        return
    if (deed := _deed(event, arguments)) is not None:
        _watching[-1].append(deed)


def _deed(event: str, arguments: tuple[Any, ...]) -> str | None:
    if event in _PROGRAMS:
        return f"starts a program ({event})"
    if event in _CONNECTIONS:
        return f"uses the network ({event})"
    path = str(arguments[0]) if arguments else ""
    if "__pycache__" in path or path == os.devnull:  # Python's own cache of what is imported late
        return None
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING:
        return f"writes {path}"
    return f"changes {path} ({event})" if event in _CHANGES else None
