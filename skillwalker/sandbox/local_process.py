"""One trial's process on this machine, from its start to the removal of its directory."""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from skillwalker.errors import SandboxError
from skillwalker.redaction import NOTHING_SECRET, Redactor
from skillwalker.sandbox import local_guard
from skillwalker.sandbox.base import Chunk, Exit, Limits, WorkspaceSize
from skillwalker.sandbox.local_files import save_directory, size
from skillwalker.sandbox.local_places import kill_strays

_CONTROL = "control"
_MIB = 1 << 20
_BLOCK = 1 << 18
_START_SECONDS = 60.0
# After the guard's end: how long a pipe may be silent, how long it may be open, and how much it may hold.
_PIPE_SECONDS, _REST_SECONDS, _PIPE_BYTES = 3.0, 30.0, 1 << 21
# After SIGKILL: how long until a guard that still does not end is killed itself.
_KILL_SECONDS = 10.0


class LocalProcess:
    """A trial's Claude Code. See `SandboxProcess` for what each method promises.

    Attributes:
        directory: Everything of the trial; `workspace` in it is the work directory.
    """

    def __init__(self, directory: Path, limits: Limits, remove: Callable[[bool], None]) -> None:
        """
        Args:
            remove: Called once, after the end of all processes, with whether to keep what the trial made.
        """
        self.directory, self._limits, self._remove = directory, limits, remove
        self._guard: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._said = b""  # by the guard, since its last whole line
        self._ended = threading.Event()
        self._exit: Exit | None = None
        self._closed = False

    @property
    def workspace(self) -> Path:
        return self.directory / "workspace"

    def start(self, command: Sequence[str], environment: Mapping[str, str], line: bytes) -> None:
        """Returns when the command runs.

        Raises:
            SandboxError: it could not be started.
        """
        self._control, theirs = socket.socketpair()
        limit = str(self._limits.file_mib * _MIB)
        with theirs, tempfile.TemporaryFile() as prompt:
            prompt.write(line)
            prompt.seek(0)
            try:
                self._guard = subprocess.Popen(
                    [sys.executable, "-I", "-S", local_guard.__file__, str(theirs.fileno()), limit, *command],
                    stdin=prompt,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=self.workspace,
                    env=dict(environment),
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,  # a Ctrl-C at the terminal is the runner's to handle
                )
            except (OSError, ValueError) as error:
                raise SandboxError(f"starting {command[0]}: {error}") from error
        self._control.settimeout(_START_SECONDS)
        try:
            while b"\n" not in self._said:
                if not (data := self._control.recv(256)):
                    break
                self._said += data
        except OSError as error:
            raise SandboxError(f"starting {command[0]}: {error}") from error
        finally:
            self._control.settimeout(None)
        verb, _, rest = self._next_line().partition(" ")
        if verb != "started":
            raise SandboxError(f"starting {command[0]}: {rest or 'its guard ended at once'}")

    def output(self) -> Iterator[Chunk]:
        assert self._guard is not None
        with selectors.DefaultSelector() as selector:
            files = {"stdout": self._guard.stdout, "stderr": self._guard.stderr, _CONTROL: self._control}
            for name, file in files.items():
                assert file is not None
                selector.register(file, selectors.EVENT_READ, name)
            rest = _Rest()
            while selector.get_map() and (ready := selector.select(rest.seconds)) and not rest.is_over():
                for key, _ in ready:
                    if key.data == _CONTROL:
                        if not self._listen():
                            selector.unregister(key.fileobj)
                            rest.begin()
                    elif data := os.read(key.fd, _BLOCK):
                        rest.count(data)
                        yield Chunk(key.data, data)
                    else:
                        selector.unregister(key.fileobj)
        self._end()
        if self._exit is None:
            raise SandboxError("the process that guards the trial was killed")

    def interrupt(self) -> None:
        self._order(b"i")

    def kill(self) -> None:
        if not self._ended.is_set():
            self._order(b"k")
            threading.Thread(target=self._give_up, name="kill", daemon=True).start()

    def wait(self) -> Exit:
        if self._exit is None:
            raise SandboxError("how the trial ended is not known")
        return self._exit

    def workspace_size(self) -> WorkspaceSize | None:
        if self._ended.is_set():
            return None
        return size(self.workspace, self._limits)

    def save_workspace(
        self, target: BinaryIO, limit_mib: int, redactor: Redactor = NOTHING_SECRET
    ) -> tuple[str, ...]:
        limit, read_limit = limit_mib * _MIB, max(limit_mib, self._limits.workspace_mib) * _MIB
        try:
            return save_directory(
                self.workspace, target, limit=limit, read_limit=read_limit, redactor=redactor
            )
        except OSError as error:
            raise SandboxError(f"saving the work directory: {error}") from error

    def close(self, keep: bool = False) -> None:
        if self._closed:
            return
        self._closed = True
        if self._guard is not None:
            self._order(b"k")
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._guard.wait(_KILL_SECONDS)
            self._end()
        if self._control is not None:
            self._control.close()
        self._remove(keep)

    def _order(self, what: bytes) -> None:
        if self._control is not None and not self._ended.is_set():
            with contextlib.suppress(OSError):  # the guard is gone, which `output` sees
                self._control.send(what)

    def _listen(self) -> bool:
        """Takes what the guard says; whether it may say more."""
        assert self._control is not None
        try:
            data = self._control.recv(256)
        except OSError:
            data = b""
        self._said += data
        while b"\n" in self._said:
            verb, _, code = self._next_line().partition(" ")
            if verb == "ended":
                self._exit = Exit(int(code))
        if not data and self._exit is None:
            kill_strays(self.directory)  # the guard was killed and cannot
        return data != b""

    def _next_line(self) -> str:
        line, _, self._said = self._said.partition(b"\n")
        return line.decode("utf-8", "replace")

    def _end(self) -> None:
        """Whatever the guard came to, nothing of the trial runs on."""
        assert self._guard is not None
        if self._exit is None or self._guard.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._guard.wait(_PIPE_SECONDS if self._exit else 0)
            if self._guard.poll() is None:
                self._guard.kill()
            kill_strays(self.directory)
        self._guard.wait()
        self._ended.set()
        for file in (self._guard.stdout, self._guard.stderr):
            assert file is not None
            file.close()

    def _give_up(self) -> None:
        if not self._ended.wait(_KILL_SECONDS) and self._guard is not None:
            self._guard.kill()


class _Rest:
    """How long to read on after the guard's end, from pipes that only somebody unreachable can hold."""

    def __init__(self) -> None:
        self.seconds: float | None = None
        self._bytes, self._deadline = 0, math.inf

    def begin(self) -> None:
        self.seconds, self._deadline = _PIPE_SECONDS, time.monotonic() + _REST_SECONDS
        self._bytes = 0

    def count(self, data: bytes) -> None:
        self._bytes += len(data)

    def is_over(self) -> bool:
        return self.seconds is not None and (self._bytes > _PIPE_BYTES or time.monotonic() > self._deadline)
