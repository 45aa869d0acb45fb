"""A terminal that is given to a program elsewhere."""

from __future__ import annotations

import os
import pty
import socket
import struct
import termios
import threading
from fcntl import ioctl

import pytest
from roots import an_eval, plugin
from waiting import PATIENCE, wait_until

from skillwalker.sandbox.terminal import connect_terminal, ended_by_signals


class Ends:
    """The stream to the program, over a pair of sockets."""

    def __init__(self, sock):
        self.sock = sock

    def receive(self, size=1024):
        return self.sock.recv(size)

    def send(self, data):
        self.sock.sendall(data)


@pytest.fixture
def terminal():
    master, slave = pty.openpty()
    ours, theirs = socket.socketpair()
    theirs.settimeout(PATIENCE)
    yield master, slave, Ends(ours), theirs
    for descriptor in (master, slave):
        os.close(descriptor)
    ours.close()
    theirs.close()


def read_until(descriptor, text):
    seen = b""
    while text not in seen:
        seen += os.read(descriptor, 1024)
    return seen


def test_keys_go_in_and_what_is_printed_comes_out(terminal):
    master, slave, stream, program = terminal
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    before = termios.tcgetattr(slave)
    sizes = []
    thread = threading.Thread(
        target=connect_terminal, args=(stream, lambda *size: sizes.append(size), slave, slave)
    )
    thread.start()
    program.sendall("ready é\r\n".encode())
    read_until(master, "é\r\n".encode())
    os.write(master, b"ls\r\x03")  # Ctrl-C belongs to the program
    got = b""
    while not got.endswith(b"\x03"):
        got += program.recv(100)
    assert got == b"ls\r\x03"
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 90, 0, 0))
    wait_until(lambda: sizes == [(40, 120), (30, 90)])
    program.shutdown(socket.SHUT_RDWR)
    thread.join(PATIENCE)

    assert not thread.is_alive()
    assert termios.tcgetattr(slave) == before


def test_an_engine_that_goes_away_gives_the_terminal_back(terminal):
    master, slave, stream, program = terminal
    before = termios.tcgetattr(slave)

    def refuse(*size):
        raise ConnectionError("gone")

    thread = threading.Thread(target=connect_terminal, args=(stream, refuse, slave, slave))
    thread.start()
    program.sendall(b"ready")
    read_until(master, b"ready")
    program.close()
    thread.join(PATIENCE)

    assert not thread.is_alive()
    assert termios.tcgetattr(slave) == before


def test_sigterm_is_an_interruption_inside_and_only_there():
    import signal

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), ended_by_signals():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


SAYS = {"result-contains": "done"}


def test_without_a_terminal_nothing_is_started(run_cli, tmp_path):
    plugin(tmp_path)
    an_eval(tmp_path, [{"name": "first", "expect": [SAYS]}])

    called = run_cli("--root", tmp_path, "shell", "csv::first")

    assert (called.code, called.err) == (
        4,
        "shell needs a terminal (of Linux or macOS) for its input and output\n",
    )


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ((), 4, "2 are selected: csv::first, csv::second"),
        (("csv::nothing",), 5, "matches no test"),
        (("-k", "nothing"), 5, "matches no name"),
        (("--failed",), 4, "there is no run yet"),
    ],
)
def test_it_takes_exactly_one_test(run_cli, tmp_path, monkeypatch, given, code, said):
    plugin(tmp_path)
    an_eval(tmp_path, [{"name": "first", "expect": [SAYS]}, {"name": "second", "expect": [SAYS]}])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)

    called = run_cli("--root", tmp_path, "shell", *given)

    assert (called.code, said in called.err) == (code, True), called.err
