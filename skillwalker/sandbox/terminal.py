"""This terminal, connected to a program that runs on a terminal of the engine."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

_BLOCK = 1 << 16
_PAUSE_SECONDS = 0.1
"""How often it is looked whether the terminal has another size: a signal may not interrupt the waiting."""


class Stream(Protocol):
    """What leads to the program."""

    def receive(self, size: int = ...) -> bytes: ...
    def send(self, data: bytes) -> None: ...


def connect_terminal(
    stream: Stream, resize: Callable[[int, int], None], source: int = 0, target: int = 1
) -> None:
    """Returns when the program has ended. The terminal is then as it was.

    Args:
        resize: Is told lines and columns, at the start and when they change.
        source, target: Descriptors of the terminal to read from and to write to.
    """
    over_read, over_write = os.pipe()

    def show() -> None:
        try:
            while data := stream.receive(_BLOCK):
                while data:
                    data = data[os.write(target, data) :]
        except OSError:  # the engine or the terminal has gone
            pass
        finally:
            os.write(over_write, b"x")

    thread = threading.Thread(target=show, name="terminal", daemon=True)
    with _raw(source):
        thread.start()
        size: tuple[int, int] | None = None
        while True:
            if (now := _size(target)) != size and now:
                size = now
                with contextlib.suppress(Exception):  # a wrong size is no reason to end
                    resize(*now)
            ready, _, _ = select.select([source, over_read], [], [], _PAUSE_SECONDS)
            if over_read in ready:
                break
            if source in ready:
                data = os.read(source, _BLOCK)
                if not data:  # the terminal has gone
                    break
                try:
                    stream.send(data)
                except OSError:
                    break
    if not thread.is_alive():
        os.close(over_read)
        os.close(over_write)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP raise KeyboardInterrupt inside, so that what has to be removed is."""

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None))]
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _raw(descriptor: int) -> Iterator[None]:
    """Every key goes to the program, Ctrl-C too."""
    import termios
    import tty

    before = termios.tcgetattr(descriptor)
    try:
        tty.setraw(descriptor)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _size(descriptor: int) -> tuple[int, int] | None:
    try:
        found = os.get_terminal_size(descriptor)
    except OSError:
        return None
    return (found.lines, found.columns) if found.lines and found.columns else None
