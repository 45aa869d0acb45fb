"""What only the local sandbox does: whose environment, whose secret, and what goes wrong around a trial."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_lab import Lab, until
from waiting import wait_until

from skillwalker.errors import SandboxError
from skillwalker.sandbox import local
from skillwalker.sandbox.local import LocalSandbox, environment, find_program
from skillwalker.sandbox.owner import Owner
from skillwalker.tree import Tree

OUTER = {
    "PATH": os.environ["PATH"],
    "LANG": "C.UTF-8",
    "LC_TIME": "C",
    "TERM": "xterm",
    "SSL_CERT_FILE": "/ca.pem",
    "HOME": "/home/me",
    "USER": "me",
    "TZ": "Asia/Tokyo",
    "ANTHROPIC_API_KEY": "sk-real",
    "CLAUDE_CODE_OAUTH_TOKEN": "real",
    "AWS_SECRET_ACCESS_KEY": "real",
    "SSH_AUTH_SOCK": "/agent",
    "LD_PRELOAD": "x.so",
}


@pytest.fixture
def lab(tmp_path: Path, temporary: Path) -> Iterator[Lab[LocalSandbox]]:
    sandbox = LocalSandbox.open(Path("/bin/sh"), Owner.current(), OUTER)
    yield Lab(sandbox, tmp_path)
    sandbox.close()
    assert sandbox.notes == []
    assert list(temporary.iterdir()) == []


def trials(temporary: Path) -> list[Path]:
    return [path for path in temporary.glob("*/*") if path.is_dir()]


def test_the_environment_is_a_short_list(lab):
    said = lab.run("env", environment={"API_TIMEOUT_MS": "5"}).text
    names = {line.partition("=")[0] for line in said.splitlines()} - {"PWD", "OLDPWD", "SHLVL", "_"}
    expected = {"PATH", "LANG", "LC_TIME", "TERM", "SSL_CERT_FILE", "TZ", "HOME", "TMPDIR", "API_TIMEOUT_MS"}
    expected |= {"CLAUDE_CONFIG_DIR", "CLAUDE_CODE_TMPDIR", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"}
    assert names - {"IS_SANDBOX"} == expected
    assert "real" not in said


def test_home_and_temporary_directory_are_the_trials_own(tmp_path):
    found = environment(tmp_path, OUTER, {"HOME": "/elsewhere", "TZ": "Asia/Tokyo"})

    assert found["HOME"] == str(tmp_path / "home")
    assert found["CLAUDE_CONFIG_DIR"] == str(tmp_path / "home" / ".claude")
    assert found["TMPDIR"] == found["CLAUDE_CODE_TMPDIR"] == str(tmp_path / "tmp")
    assert found["TZ"] == "Asia/Tokyo"
    assert environment(tmp_path, OUTER, {})["TZ"] == "UTC"


@pytest.mark.parametrize(("uid", "there"), [(0, True), (1000, False)])
def test_root_must_say_that_it_knows_what_it_does(tmp_path, monkeypatch, uid, there):
    monkeypatch.setattr(os, "getuid", lambda: uid)
    assert ("IS_SANDBOX" in environment(tmp_path, OUTER, {})) is there


def test_the_secret_of_a_trial_is_its_own_and_ends_with_it(lab):
    first, second = (lab.start("echo $ANTHROPIC_API_KEY $ANTHROPIC_BASE_URL; cat") for _ in range(2))
    said = [lab.finish(process).text.split() for process in (first, second)]
    assert said[0][0] != said[1][0]
    assert said[0][1] == said[1][1]
    ask = f'curl -sS -o /dev/null -w "%{{http_code}} " {said[0][1]} -H "x-api-key: '
    first.close()
    codes = lab.run(f'{ask}{said[0][0]}"; {ask}{said[1][0]}"; {ask}no-key-in-the-sandbox"')
    second.close()
    assert codes.text == "401 200 401 "


def test_the_work_directory_tells_nothing_of_the_test(lab):
    assert "secret-test" not in lab.run("pwd; env", trial_id="csv.secret-test.01234567.main.1").text


def test_plugins_are_read_only_by_their_modes(lab):
    path = lab.sandbox.plugin_path("t", 0, "acme")
    plugin = Tree.of_files({"skills/a/SKILL.md": b"A", "run": b"x"}, executable=["run"])
    result = lab.run(
        f'cd "{path}"; stat -c %a . skills skills/a/SKILL.md run', trial_id="t", plugins=[("acme", plugin)]
    )
    assert result.text.split() == ["555", "555", "444", "555"]


def test_many_trials_at_a_time(lab):
    said = []

    def trial(number: int) -> None:
        hello = 'curl -sS -H "x-api-key: $ANTHROPIC_API_KEY" $ANTHROPIC_BASE_URL'
        said.append(lab.run(f'sleep 0.2; {hello}; echo " {number}" >f; cat f').text)

    threads = [threading.Thread(target=trial, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == [f"hello 0 {number}\n" for number in range(8)]


def test_a_trial_that_kills_its_guard_is_an_error_and_ends(lab, temporary):
    # Not before the runner has started: the guard's word of the start would be lost with it.
    kill = "until [ -e ../go ]; do sleep 0.01; done; kill -9 $PPID"
    process = lab.start(f"sleep 1000 & (while :; do echo x; sleep 0.01; done) & {kill}; echo up; sleep 1000")
    (trial,) = trials(temporary)
    (trial / "go").touch()
    with pytest.raises(SandboxError, match="guards the trial"):
        lab.finish(process)
    with pytest.raises(SandboxError):
        process.wait()
    process.close()
    assert trials(temporary) == []
    wait_until(lambda: not running_in(temporary))


def running_in(directory: Path) -> list[str]:
    """Processes that have their home there."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if f"HOME={directory}".encode() in Path("/proc", process, "environ").read_bytes():
                found.append(process)
    return found


def test_a_start_that_fails_leaves_nothing(tmp_path, temporary, monkeypatch):
    sandbox = LocalSandbox.open(tmp_path / "no-such-program", Owner.current(), OUTER)
    lab = Lab(sandbox, tmp_path)
    with pytest.raises(SandboxError, match="No such file or directory"):
        lab.start("true")
    monkeypatch.setattr(local, "COMMIT", "echo it broke >&2; exit 5")
    with pytest.raises(SandboxError, match="committing the scaffold: it broke"):
        lab.start("true", scaffold=Tree())
    with pytest.raises(SandboxError, match="preparing a trial"):
        lab.start("true", plugins=[("acme", Tree.of_files({"x" * 300: b""}))])
    with pytest.raises(SandboxError):
        lab.start("true", environment={"A": "nul\0"})
    assert trials(temporary) == []
    sandbox.close()
    assert list(temporary.iterdir()) == []


def test_no_room_for_a_temporary_directory_is_an_error(temporary):
    temporary.rmdir()
    with pytest.raises(SandboxError, match="making a temporary directory"):
        LocalSandbox.open(Path("/bin/sh"), Owner.current(), OUTER)


def test_closing_in_the_middle_of_a_trial_ends_it(lab, temporary):
    process = lab.start("trap '' TERM INT; echo up; sleep 1000; sleep 1000")
    until(process, b"up")
    process.close()
    assert trials(temporary) == []


def test_asking_the_program(tmp_path, temporary, monkeypatch):
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho "$1 $HOME"; [ "$1" != --bad ] || { echo no >&2; exit 3; }\n')
    program.chmod(0o755)
    sandbox = LocalSandbox.open(program, Owner.current(), OUTER)
    try:
        assert sandbox.ask("--version").startswith(f"--version {temporary}")
        with pytest.raises(SandboxError, match="--bad ended with exit code 3: no"):
            sandbox.ask("--bad")
        program.write_text("#!/bin/sh\nsleep 1000\n")
        monkeypatch.setattr(local, "_ASK_SECONDS", 0.3)
        with pytest.raises(SandboxError, match="exit code 137"):
            sandbox.ask("--version")
    finally:
        sandbox.close()


def test_the_program_is_found_as_a_shell_finds_it(tmp_path, monkeypatch):
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_program(None) is None
    program.chmod(0o755)
    assert find_program(None) == program
    assert find_program(str(program)) == program
    monkeypatch.chdir(tmp_path)
    assert find_program("./claude") == program
    assert find_program("nothing") is None


@pytest.mark.parametrize("passed", [True, False])
def test_variables_of_the_user_come_along_unless_the_request_says_not(
    tmp_path: Path, temporary: Path, passed: bool
) -> None:
    sandbox = LocalSandbox.open(Path("/bin/sh"), Owner.current(), OUTER, {"SHOP_TOKEN": "hush"})
    with contextlib.closing(sandbox):
        result = Lab(sandbox, tmp_path).run('echo "token: $SHOP_TOKEN"', passed=passed)

    assert result.text == ("token: hush\n" if passed else "token: \n")
