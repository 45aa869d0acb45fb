"""Runs one command and answers for everything that it starts.

A program of its own, started by its path with one end of a socket pair (`local_guard.py FD FILE_BYTES
COMMAND...`); needs only the standard library, without `site`. On Linux it adopts what its descendants leave
behind, so a process that left its group, its session or its parent is still found. When the command ends,
when it is told to, and when the other end of the socket is gone (the runner died), it kills all of them.

It reads `i` (SIGINT to the command) and `k` (SIGKILL to all), and writes lines: `started PID` or `failed
REASON`, then `ended CODE`.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import sys
import time

_LINUX = sys.platform == "linux"
_SET_CHILD_SUBREAPER = 36  # from linux/prctl.h
_KILL_SECONDS = 5.0
_DEFAULT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGQUIT)
"""What the command finds as the system has it, whatever the runner was started with (`nohup`, `&`)."""


def main() -> None:
    control, file_bytes, *command = sys.argv[1:]
    Guard(int(control)).run(int(file_bytes), command)


class Guard:
    def __init__(self, control: int) -> None:
        self.control = control
        os.set_inheritable(control, False)
        self.pid = 0
        self.status: int | None = None

    def run(self, file_bytes: int, command: list[str]) -> None:
        _adopt_orphans()
        os.umask(0o022)
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        limit = file_bytes if hard == resource.RLIM_INFINITY else min(file_bytes, hard)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        woken = _wake_on_signals()
        try:
            self.pid = os.posix_spawn(
                command[0], command, os.environ, setpgroup=0, setsigdef=_DEFAULT, setsigmask=()
            )
        except OSError as error:
            self.say(f"failed {error.strerror}")
            return
        self.say(f"started {self.pid}")
        while self.status is None:
            ready, _, _ = select.select([self.control, woken], [], [])
            if woken in ready and set(os.read(woken, 64)) - {signal.SIGCHLD}:
                self.kill_all()  # somebody ends the guard
            if self.control in ready:
                orders = self.listen()
                if b"k" in orders or not orders:
                    self.kill_all()
                elif b"i" in orders:
                    os.kill(self.pid, signal.SIGINT)  # still ours: it was not waited for
            self.reap()
        self.kill_all()
        self.say(f"ended {self.status}")

    def listen(self) -> bytes:
        try:
            return os.read(self.control, 64)
        except ConnectionResetError:  # the runner died before it had read all that was said
            return b""

    def say(self, line: str) -> None:
        with contextlib.suppress(OSError):  # nobody is there to hear it
            os.write(self.control, f"{line}\n".encode())

    def reap(self) -> None:
        """Takes note of every child that has ended."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self.pid:
                    code = os.waitstatus_to_exitcode(status)
                    self.status = 128 - code if code < 0 else code

    def kill_all(self) -> None:
        """Returns when nothing is left, or nothing more can be done."""
        deadline = time.monotonic() + _KILL_SECONDS
        while True:
            found = descendants() if _LINUX else self.alone()
            for pid in found:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            self.reap()
            if not found or time.monotonic() > deadline:
                return
            time.sleep(0.005)

    def alone(self) -> list[int]:
        """Kills the command's group, where the system lists no processes; what is left of it to wait for."""
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        return [] if self.status is not None else [self.pid]


def descendants() -> list[int]:
    """Of this process, from what `/proc` says of every process (`man 5 proc_pid_stat`, fields 1 and 4)."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError):
                continue
            children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _adopt_orphans() -> None:
    if _LINUX:
        with contextlib.suppress(ImportError, OSError, AttributeError):
            import ctypes

            ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wake_on_signals() -> int:
    """A descriptor that gives the numbers of the signals that came."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    return reader


if __name__ == "__main__":
    main()
