"""`skillwalker shell`, as somebody at a terminal uses it."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from roots import TIDY, an_eval, plugin

from skillwalker.sandbox.owner import OWNER, Owner

MAIN = "from skillwalker.cli.main import main; main()"
SAYS = {"result-contains": "done"}


@pytest.fixture
def root(tmp_path):
    plugin(tmp_path)
    tests = [
        {"name": "work", "scaffold": "start", "expect": [SAYS]},
        {"name": "call", "type": "skill-call", "skillFile": "acme:tidy", "expect": [{"skill-call": True}]},
    ]
    an_eval(tmp_path, tests, scaffolds={"start/a.csv": "x,y\n"})
    return tmp_path


@contextmanager
def at_a_terminal(root, *given):
    """The process, and a function that types and waits for what is to be seen."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, "--root", root, "shell", *given],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    seen = bytearray()

    def until(text, typed=b""):
        if typed:
            seen.clear()
            os.write(master, typed)
        deadline = time.monotonic() + 300
        while text not in seen:
            assert time.monotonic() < deadline, seen.decode()
            if select.select([master], [], [], 1)[0]:
                try:
                    data = os.read(master, 4096)
                except OSError:
                    data = b""
                assert data, seen.decode()
                seen.extend(data)
        return seen.decode()

    try:
        yield process, until
    finally:
        process.kill()
        process.wait()
        os.close(master)


def containers(client, process):
    """Those of the process; others run meanwhile."""
    found = client.api.containers(all=True, filters={"label": OWNER})
    owners = {one["Id"]: Owner.parse(one["Labels"][OWNER]) for one in found}
    return {name for name, owner in owners.items() if owner and owner.pid == process.pid}


def test_it_is_what_a_trial_finds_and_goes_with_the_shell(root, docker_client, image_info):
    with at_a_terminal(root, "csv::work") as (process, until):
        said = until(b"$ ")
        assert "the trial runs: claude --print" in said
        assert "rehearsed: no model is asked" in said
        typed = (
            b"pwd; id -u; cat a.csv; git log --oneline | wc -l; ls /plugins/0/acme/skills; echo END$((1+1))\n"
        )
        shown = until(b"END2", typed).splitlines()
        assert [line for line in shown if line in ("/workspace", "1000", "x,y", "1")] == [
            "/workspace",
            "1000",
            "x,y",
            "1",
        ]
        assert "tidy" in " ".join(shown)
        network = b"(exec 3<>/dev/tcp/1.1.1.1/53) 2>&1 | grep -o unreachable; echo END$((2+2))\n"
        assert "unreachable" in until(b"END4", network)
        claude = b"claude -p 'Say something' --model sonnet; echo END$((3+3))\n"
        assert "Rehearsed answer" in until(b"END6", claude)
        until(b"exit", b"exit\n")
        assert process.wait(300) == 0
    assert containers(docker_client, process) == set()


def test_an_activation_tests_plugin_is_the_temporary_one(root, image_info):
    with at_a_terminal(root, "-k", "call") as (process, until):
        until(b"$ ")
        shown = until(b"END2", b"cat /plugins/0/*/skills/*/SKILL.md; ls /plugins/0; echo END$((1+1))\n")
        assert TIDY[:20] in shown
        assert "How to tidy" not in shown
        until(b"exit", b"exit\n")
        process.wait(300)


def test_a_terminal_that_goes_away_leaves_nothing(root, docker_client, image_info):
    with at_a_terminal(root, "csv::work") as (process, until):
        until(b"$ ")
        assert len(containers(docker_client, process)) == 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 2
    assert containers(docker_client, process) == set()
