"""`--version`, and what a shell completes."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading

import pytest
from roots import an_eval, plugin

import skillwalker
from skillwalker.cli import version
from skillwalker.packaged import packaged

MAIN = "from skillwalker.cli.main import main; main()"
SAYS = {"result-contains": "done"}


def test_it_tells_ours_claude_codes_and_that_no_engine_answers(run_cli, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")

    called = run_cli("--version")

    pinned = packaged("Dockerfile.sandbox").read_text().partition("ARG CLAUDE_VERSION=")[2].split()[0]
    assert called.code == 0
    assert called.out.splitlines() == [
        f"skillwalker {skillwalker.__version__}",
        f"Claude Code {pinned} (in the sandbox image)",
        "Docker engine: none answers within 1 s (`skillwalker doctor` tells why)",
    ]


def test_an_engine_that_is_silent_does_not_hold_it_up(run_cli, monkeypatch, tmp_path):
    place = tmp_path / "d.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        server.listen()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{place}")
        called = run_cli("--version")

    assert "none answers" in called.out


def test_an_engine_tells_its_version(run_cli, monkeypatch, tmp_path):
    monkeypatch.setattr(version, "_SECONDS", 120.0)
    body = b'{"Version": "27.1.1\\u001b[2J", "ApiVersion": "1.46"}'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    place = tmp_path / "d.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        server.listen()

        def serve():
            for _ in range(3):
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    while client.recv(65536):
                        client.sendall(head % len(body) + body)

        threading.Thread(target=serve, daemon=True).start()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{place}")
        called = run_cli("--version")
        server.shutdown(socket.SHUT_RDWR)

    assert called.out.splitlines()[-1] == r"Docker engine 27.1.1\x1b[2J"


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("skillwalker va", "validate"),
        ("skillwalker run --isola", "--isolated"),
        ("skillwalker validate cs", "csv"),
        ("skillwalker show last m", "more"),
    ],
)
def test_a_shell_completes_commands_options_and_evals(tmp_path, typed, offered):
    plugin(tmp_path)
    for name in ("csv", "more"):
        an_eval(tmp_path, [{"name": "first", "expect": [SAYS]}], name=name)
    done = subprocess.run(
        [sys.executable, "-c", MAIN],
        cwd=tmp_path,
        env={
            "PATH": "/usr/bin:/bin",
            "_SKILLWALKER_COMPLETE": "complete_bash",
            "COMP_WORDS": typed,
            "COMP_CWORD": str(typed.count(" ")),
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.split() == [offered], done.stderr


def test_completion_is_installed_for_a_shell(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "--install-completion", "bash"],
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "skillwalker" in (tmp_path / ".bash_completions/skillwalker.sh").read_text()
