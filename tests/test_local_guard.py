"""The guard answers for everything that its command starts."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from attrs import frozen
from waiting import PATIENCE, wait_until

from skillwalker.sandbox import local_guard

# Leaves the group, the session, the parent and the environment, and ignores what can be ignored.
AWAY = (
    "import os, signal, sys, time\n"
    "for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    "open(sys.argv[1], 'w').write(str(os.getpid()) + '\\n')\n"
    "time.sleep(1000)\n"
)


@frozen
class Guarded:
    guard: subprocess.Popen[bytes]
    control: socket.socket

    def says(self) -> list[str]:
        """All that the guard says until it has ended."""
        said = b""
        while data := self.control.recv(1000):
            said += data
        self.guard.wait(PATIENCE)
        return said.decode().splitlines()


@contextmanager
def guarded(*command: str, limit: int = 1 << 20) -> Iterator[Guarded]:
    ours, theirs = socket.socketpair()
    ours.settimeout(PATIENCE)
    guard = subprocess.Popen(
        [sys.executable, "-I", "-S", local_guard.__file__, str(theirs.fileno()), str(limit), *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
        start_new_session=True,
    )
    theirs.close()
    try:
        yield Guarded(guard, ours)
    finally:
        ours.close()
        guard.wait(PATIENCE)


def shell(script: str) -> tuple[str, str, str]:
    return ("/bin/sh", "-c", script)


def away(file: Path) -> str:
    return f'env -i {sys.executable} -c "{AWAY}" {file}'


def pid_in(file: Path) -> int:
    wait_until(lambda: file.exists() and file.read_text().endswith("\n"))
    return int(file.read_text())


def gone(pid: int) -> bool:
    def is_gone() -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
        except OSError:  # it goes while it is read
            return True

    return wait_until(is_gone)


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("kill $$", 143)])
def test_how_the_command_ended_is_told(script, code):
    with guarded(*shell(script)) as one:
        started, ended = one.says()
        assert started.startswith("started ")
        assert ended == f"ended {code}"


def test_a_command_that_is_none_is_told():
    with guarded("/no/such/program") as one:
        assert one.says() == ["failed No such file or directory"]


def test_what_the_command_left_behind_ends_with_it(tmp_path):
    file = tmp_path / "pid"
    with guarded(
        *shell(f"{away(file)}; while [ ! -s {file} ]; do sleep 0.02; done; sleep 1000 & exit 3")
    ) as one:
        pid = pid_in(file)
        assert one.says()[-1] == "ended 3"
        assert gone(pid)


def test_all_are_killed_on_demand(tmp_path):
    file = tmp_path / "pid"
    with guarded(*shell(f"{away(file)}; trap '' TERM INT; while :; do sleep 1; done")) as one:
        pid = pid_in(file)
        one.control.send(b"k")
        assert one.says()[-1] == "ended 137"
        assert gone(pid)


def test_all_are_killed_when_the_runner_is_gone(tmp_path):
    file = tmp_path / "pid"
    with guarded(*shell(f"{away(file)}; sleep 1000")) as one:
        pid = pid_in(file)
        one.control.close()
        one.guard.wait(PATIENCE)
        assert gone(pid)


def test_all_are_killed_when_somebody_ends_the_guard(tmp_path):
    file = tmp_path / "pid"
    with guarded(*shell(f"{away(file)}; sleep 1000")) as one:
        pid = pid_in(file)
        one.guard.send_signal(signal.SIGTERM)
        assert one.says()[-1] == "ended 137"
        assert gone(pid)


def test_an_interrupt_is_for_the_command_alone_even_where_the_runner_ignores_it(tmp_path):
    armed, ready, got, go_on = (tmp_path / name for name in ("armed", "ready", "got", "go-on"))
    ignored = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        # The child is a Python of its own: a shell has its background commands ignore the signal.
        code = (
            "import os, signal, time\n"
            "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
            f"open({str(ready)!r}, 'w')\n"
            f"while not os.path.exists({str(go_on)!r}): time.sleep(0.02)\n"
        )
        script = (
            f"trap ': >{got}; wait $child; exit 1$?' INT\n"
            f'{sys.executable} -c "{code}" & child=$!; : >{armed}\n'
            "while :; do sleep 0.1; done"
        )
        with guarded(*shell(script)) as one:
            wait_until(lambda: armed.exists() and ready.exists())
            one.control.send(b"i")
            wait_until(got.exists)
            go_on.touch()
            assert one.says()[-1] == "ended 10"
    finally:
        signal.signal(signal.SIGINT, ignored)


def test_a_file_has_its_limit_and_there_are_no_core_dumps(tmp_path):
    out = tmp_path / "out"
    with guarded(*shell(f"ulimit -f -S >{out}; ulimit -c >>{out}"), limit=1 << 20) as one:
        assert one.says()[-1] == "ended 0"
    assert out.read_text().split() == ["2048", "0"]


def test_the_command_gets_nothing_but_the_three_streams(tmp_path):
    out = tmp_path / "out"
    code = (
        "import os, sys\n"
        "there = [n for n in range(100) if os.path.exists(f'/proc/self/fd/{n}')]\n"
        "open(sys.argv[1], 'w').write(f'{there} {os.umask(0):o}')\n"
    )
    with guarded(sys.executable, "-c", code, str(out)) as one:
        assert one.says()[-1] == "ended 0"
    assert out.read_text() == "[0, 1, 2] 22"


def test_descendants_of_descendants_are_found():
    child = subprocess.Popen(["/bin/sh", "-c", "sleep 1000 & wait"], start_new_session=True)
    try:
        wait_until(lambda: len(local_guard.descendants()) >= 2)
        assert child.pid in local_guard.descendants()
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
