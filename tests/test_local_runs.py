"""Runs on this machine: what is asked first, what is refused, and what is left when the runner dies."""

from __future__ import annotations

import json
import os
import pty
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from local_support import a_root, run
from roots import an_eval, call, plugin, text
from waiting import PATIENCE, wait_until

from skillwalker.sandbox.local_places import clear
from skillwalker.store import Store

MAIN = "from skillwalker.cli.main import main; main()"


def command(root: Path, claude: Path, *options: str) -> list[str]:
    given = ["--root", str(root), "run", "--rehearse", "--claude", str(claude), *options]
    return [sys.executable, "-c", MAIN, *given]


def environment(temporary: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(temporary), **more}


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:  # it goes while it is read
        return False
    return state not in "ZX"


def of_directory(directory: Path) -> list[int]:
    """Processes whose temporary directory is below `directory`."""
    mark = os.fsencode(f"TMPDIR={directory}")
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                if mark in (process / "environ").read_bytes():
                    found.append(int(process.name))
            except OSError:
                continue
    return found


@contextmanager
def runner(
    arguments: list[str], temporary: Path, said: Path | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """`said` gets what it writes to its stderr."""
    with open(said or os.devnull, "wb") as stderr:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            env=environment(temporary),
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_without_a_terminal_and_without_yes_nothing_starts(run_cli, tmp_path, claude, temporary):
    root = a_root(tmp_path / "root", ["ends well"])

    called = run_cli("--root", root, "run", "--claude", claude, "--image", "x")

    assert called.code == 4
    assert "runs Claude Code with permissions skipped on this machine; add --yes" in called.err
    assert "--image is for runs in containers" in called.err
    assert "--rehearse" in called.err
    assert not (root / ".skillwalker").exists()
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(("answer", "code"), [(b"n\n", 4), (b"y\n", 0)])
def test_at_a_terminal_it_asks_first(tmp_path, claude, temporary, answer, code):
    root = a_root(tmp_path / "root", ["ends well"])
    terminal, theirs = pty.openpty()
    process = subprocess.Popen(
        command(root, claude),
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=environment(temporary),
        start_new_session=True,
    )
    os.close(theirs)
    said = b""
    while b"[y/N]" not in said:
        said += os.read(terminal, 1000)
    assert b"This runs Claude Code with permissions skipped on this machine. Go on?" in said
    os.write(terminal, answer)
    try:
        while os.read(terminal, 1000):
            pass
    except OSError:  # the other end was closed
        pass
    os.close(terminal)
    assert process.wait() == code
    assert (root / ".skillwalker").exists() is (code == 0)


@pytest.mark.parametrize("command_line", [("run",), ("try", "acme", "repeats what the gateway says")])
def test_one_pipe_for_both_streams_has_the_banner_twice(tmp_path, claude, temporary, command_line):
    root = a_root(tmp_path / "root", ["ends well"])
    more = ["--rehearse", "--yes", "--no-isolated", "--claude", str(claude)]
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "--root", str(root), *command_line, *more],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(temporary),
        cwd=root,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert [b"REHEARSED" in line for line in lines] == [True, *[False] * (len(lines) - 2), True]


@pytest.mark.parametrize("together", [True, False])
def test_each_output_begins_and_ends_with_the_banner_and_one_terminal_has_it_twice(
    tmp_path, claude, temporary, together
):
    root = a_root(tmp_path / "root", ["ends well"])
    terminal, theirs = pty.openpty()
    process = subprocess.Popen(
        command(root, claude, "--yes"),
        stdin=subprocess.DEVNULL,
        stdout=theirs if together else subprocess.PIPE,
        stderr=theirs,
        env=environment(temporary, NO_COLOR="1"),
    )
    os.close(theirs)
    said = b""
    try:
        while data := os.read(terminal, 1000):
            said += data
    except OSError:  # the other end was closed
        pass
    os.close(terminal)
    out = process.communicate()[0] or b""
    assert process.returncode == 0
    for lines in [said.splitlines()] if together else [said.splitlines(), out.splitlines()]:
        assert [b"REHEARSED" in line for line in lines] == [True, *[False] * (len(lines) - 2), True]


def test_no_claude_is_told_with_everything_else(run_cli, tmp_path, monkeypatch):
    root = a_root(tmp_path / "root", ["ends well"])
    monkeypatch.setenv("PATH", str(tmp_path))

    called = run_cli("--root", root, "run", "--rehearse", "--yes")
    assert (called.code, "no claude on PATH" in called.err) == (4, True)
    called = run_cli("--root", root, "run", "--rehearse", "--yes", "--claude", "no/such")
    assert (called.code, "--claude no/such is no program" in called.err) == (4, True)
    called = run_cli("--root", root, "run", "--rehearse", "--isolated", "--claude", "x")
    assert (called.code, "the image has its own" in called.err) == (4, True)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo hello", "is no Claude Code: its --version prints 'hello'"),
        ("echo boom >&2; exit 9", "ended with exit code 9: boom"),
        ('[ "$1" = --help ] && echo "--print --model"; echo "1.0.3 (Claude Code)"', "has no --verbose, "),
    ],
)
def test_a_program_that_cannot_run_trials_stops_the_run(run_cli, tmp_path, temporary, script, said):
    root = a_root(tmp_path / "root", ["ends well"])
    program = tmp_path / "claude"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)

    called = run(run_cli, root, program)

    assert called.code == 4
    assert said in json.loads(called.out)["problems"][0]["message"]
    assert not (root / ".skillwalker").exists()
    assert list(temporary.iterdir()) == []


def test_an_older_version_is_not_given_what_it_does_not_know(run_cli, tmp_path, claude, temporary):
    root = a_root(tmp_path / "root", ["ends well"])
    old = claude.read_text().replace("2.1.332 (Claude", "2.1.197 (Claude")
    claude.write_text(
        old.replace("def main():\n", 'def main():\n    assert "--forward-subagent-text" not in sys.argv\n')
    )

    called = run(run_cli, root, claude)

    assert called.code == 0
    assert json.loads(called.out)["claude_code_version"] == "2.1.197"


def test_a_run_goes_on_with_the_same_version_only(run_cli, tmp_path, claude, temporary):
    root = a_root(tmp_path / "root", ["exits 0 in silence"])
    assert run(run_cli, root, claude).code == 6
    assert Store(root).find("last").manifest()["options"].get("permitted") is None
    claude.write_text(
        claude.read_text().replace(
            "exits_0_in_silence(prompt):\n    pass", "exits_0_in_silence(prompt):\n    ends_well(prompt)"
        )
    )
    again = ["--root", root, "run", "--resume", "last"]

    assert "add --yes" in run_cli(*again).err
    changed = run_cli(*again, "-k", "x", "--trials", "3", "evals/")
    assert (changed.code, "; SELECT, -k, --trials cannot be changed: " in changed.err) == (4, True)
    claude.write_text(claude.read_text().replace("2.1.332 (Claude", "2.1.400 (Claude"))
    refused = run_cli(*again, "--yes")
    assert (refused.code, "began with Claude Code 2.1.332" in refused.err) == (4, True)
    claude.write_text(claude.read_text().replace("2.1.400 (Claude", "2.1.332 (Claude"))
    assert run_cli(*again, "--yes").code == 0
    nothing = run_cli("--root", root, "run", "--failed")
    assert (nothing.code, "nothing failed in run " in nothing.err) == (5, True)


def test_what_is_kept_stays_until_it_is_pruned(run_cli, tmp_path, claude, temporary, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    root = a_root(tmp_path / "root", ["ends well"])

    called = run(run_cli, root, claude, "--keep")
    (kept,) = temporary.iterdir()
    assert str(kept) in called.err
    assert (kept / "owner").exists()
    assert len(list(kept.glob("*/workspace"))) == 1
    clear()
    assert kept.exists()

    pruned = run_cli("prune")
    assert (pruned.code, f"removed directory {kept}" in pruned.out) == (0, True)
    assert "no container was looked for" in pruned.err
    assert list(temporary.iterdir()) == []
    assert "nothing to remove" in run_cli("prune").out


def test_when_the_runner_is_killed_its_processes_end_and_its_directory_is_found(
    run_cli, tmp_path, claude, temporary, monkeypatch
):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    root = a_root(tmp_path / "root", ["waits with children"])
    with runner(command(root, claude, "--yes"), temporary) as process:
        wait_until(lambda: list(temporary.glob("*/*/workspace/pids")))
        (file,) = temporary.glob("*/*/workspace/pids")
        pids = [int(pid) for pid in file.read_text().split()]
        assert clear().removed == ()
        assert all(map(alive, pids))
        process.kill()
        process.wait()
        wait_until(lambda: not any(map(alive, pids)))
    (left,) = temporary.iterdir()

    assert f"removed directory {left}" in run_cli("prune").out
    assert list(temporary.iterdir()) == []


def test_a_runner_that_is_killed_at_any_moment_leaves_nothing_for_long(tmp_path, claude, temporary):
    root = a_root(
        tmp_path / "root", ["ends well", "leaves a child that holds the pipe", "waits with children"]
    )
    seen = set()
    chance = random.Random(7)
    for number in range(10):
        with runner(command(root, claude, "--yes"), temporary) as process:
            if number % 2:  # how long it takes until anything is there depends on the machine
                wait_until(lambda: list(temporary.iterdir()))
            time.sleep(chance.uniform(0.0, 2.0))
            process.send_signal(signal.SIGKILL)
        wait_until(lambda: not of_directory(temporary))
        seen.add(len(list(temporary.iterdir())))
        clear()
        assert list(temporary.iterdir()) == []
    assert 1 in seen, "no run was killed in its middle"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_its_processes_and_leaves_nothing(tmp_path, claude, temporary, number):
    root, said = a_root(tmp_path / "root", ["waits with children"]), tmp_path / "stderr"
    name = "Ctrl-C" if number == signal.SIGINT else "SIGTERM"
    with runner(command(root, claude, "--yes"), temporary, said) as process:
        wait_until(lambda: list(temporary.glob("*/*/workspace/pids")))
        process.send_signal(number)
        wait_until(lambda: f"stopping: what is measured is kept; {name} again kills" in said.read_text())
        assert process.wait(PATIENCE) == 2
    assert list(temporary.iterdir()) == []
    wait_until(lambda: not of_directory(temporary))  # killed, all of them
    (file,) = root.glob(".skillwalker/runs/*/trials/*/trial.json")
    assert json.loads(file.read_text())["message"] == f"the run was stopped by {name}"
    assert Store(root).find("last").manifest()["interrupted"] is True


def test_an_interrupted_run_does_not_wait_for_its_judges(tmp_path, claude, temporary):
    root = tmp_path / "root"
    plugin(root)
    judged = {"name": "ends well", "expect": [{"llm-judge": {"rubricFile": "r.md"}}]}
    an_eval(
        root,
        [judged],
        prompts={"ends well": "ends well"},
        rubrics={"r.md": "- It is short\n"},
        script={
            "ends well": {"main": [text("done")], "judge": [{"passed": [True], "delay_seconds": 3000}]},
        },
    )
    with runner(command(root, claude, "--yes"), temporary) as process:
        wait_until(lambda: list((root / ".skillwalker").glob("runs/*/trials/*/workspace.tar")))
        time.sleep(1.5)  # most likely the judge is asked by now; before that the end is the same
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 2
    (file,) = root.glob(".skillwalker/runs/*/trials/*/trial.json")
    trial = json.loads(file.read_text())
    assert (trial["outcome"], trial["reason"]) == ("unmeasured", "interrupted")


REAL = os.environ.get("SKILLWALKER_TEST_CLAUDE") or shutil.which("claude")


@pytest.mark.skipif(REAL is None, reason="no Claude Code here; name one with SKILLWALKER_TEST_CLAUDE")
def test_the_real_claude_code_runs_here_and_touches_nothing_of_its_user(
    run_cli, tmp_path, temporary, monkeypatch
):
    home = tmp_path / "home"
    (home / ".claude" / "skills" / "mine").mkdir(parents=True)
    (home / ".claude.json").write_text('{"numStartups": 7}')
    (home / ".claude" / "settings.json").write_text('{"env": {"MINE": "1"}}')
    (home / ".claude" / "CLAUDE.md").write_text("Always answer in Latin.")
    (home / ".claude" / "skills" / "mine" / "SKILL.md").write_text(
        "---\nname: mine\ndescription: Mine\n---\nx\n"
    )
    monkeypatch.setenv("HOME", str(home))
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    root = tmp_path / "root"
    plugin(root)
    uses = {"skill-call": {"skill": "acme:tidy", "expected": True}}
    says = {"result-contains": "done"}
    tests = [
        {"name": "uses a skill", "scaffold": "shop", "expect": [uses, says]},
        {
            "name": "description",
            "type": "skill-call",
            "skillFile": "acme:tidy",
            "expect": [{"skill-call": True}],
        },
    ]
    turns = [
        call("Skill", skill="acme:tidy"),
        call("Bash", command="env; pwd", description="x"),
        text("done"),
    ]
    an_eval(
        root,
        tests,
        prompts={"description": "Remove the duplicate rows from these CSV files"},
        scaffolds={"shop/a.csv": "1,2\n"},
        script={"uses a skill": turns},
    )

    called = run(run_cli, root, Path(REAL))

    assert called.code == 0, called.out
    (events,) = root.glob(".skillwalker/runs/*/trials/csv.uses-a-skill.*/events.jsonl")
    said = events.read_text()
    assert "MINE=1" not in said
    assert f"HOME={temporary}" in said
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before
    assert list(temporary.iterdir()) == []


def test_reports_are_written_with_the_run_and_what_cannot_be_is_told_before(
    run_cli, tmp_path, claude, temporary
):
    root = a_root(tmp_path / "root", ["ends well", "is killed"])

    refused = run(run_cli, root, claude, "--report", f"junit={tmp_path}", "--report", "pdf=x")
    assert refused.code == 4
    assert len(json.loads(refused.out)["problems"]) == 2
    assert not (root / ".skillwalker").exists()

    called = run(
        run_cli,
        *(root, claude, "--report", f"junit={tmp_path}/r.xml", "--report", f"html={tmp_path}/r.html"),
    )
    assert called.code == 6
    assert "<error" in (tmp_path / "r.xml").read_text("utf-8")
    assert "is killed" in (tmp_path / "r.html").read_text("utf-8")
