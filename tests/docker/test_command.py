"""Commands of an eval's author in real containers."""

from __future__ import annotations

import io
import json
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from roots import an_eval, bash, call, plugin, text, write
from waiting import wait_until

from skillwalker.commands import STREAM_LIMIT, CommandRequest, CommandResult
from skillwalker.errors import SandboxError
from skillwalker.sandbox.base import Limits
from skillwalker.sandbox.command import DockerCommands
from skillwalker.sandbox.owner import Owner
from skillwalker.tree import Tree
from skillwalker.workspace import Workspace

RUN = "20261130T101500Z-c0ffee"
Sh = Callable[..., CommandResult]


@pytest.fixture
def commands(docker_client, sandbox_image) -> Iterator[DockerCommands]:
    labels = Owner.current().labels(RUN)
    yield DockerCommands(docker_client, sandbox_image, labels, Limits(memory_mib=256, pids=64))
    assert left(docker_client) == []


def saved_workspace(directory: Path, files: dict[str, str]) -> Workspace:
    with (directory / "workspace.tar").open("wb") as tar:
        Tree.of_files({name: text.encode() for name, text in files.items()}).write_tar(tar)
    return Workspace(directory / "workspace.tar")


def left(client, *, running: bool = False) -> list[str]:
    mine = {"label": f"skillwalker.run={RUN}"}
    if running:
        return [one["Id"] for one in client.api.containers(filters=mine)]
    volumes = client.api.volumes(filters=mine).get("Volumes") or ()
    containers = client.api.containers(all=True, filters=mine)
    return [*(one["Id"] for one in containers), *(one["Name"] for one in volumes)]


@pytest.fixture
def sh(commands, tmp_path) -> Sh:
    def sh(script: str, *, files=None, checks=None, timeout=60.0, final="") -> CommandResult:
        if checks is not None:
            for name, content in checks.items():
                (tmp_path / "checks" / name).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / "checks" / name).write_text(content)
        return commands.run(
            CommandRequest(
                ("/bin/bash", "-c", script),
                saved_workspace(tmp_path, files or {}),
                tmp_path / "checks" if checks is not None else None,
                final,
                timeout,
            )
        )

    return sh


def test_a_command_finds_the_work_directory_and_the_author_s_files(sh: Sh) -> None:
    done = sh(
        "pwd; cat src/a.txt /checks/data/b.txt $SKILLWALKER_FINAL_TEXT; echo x >src/a.txt; ls; id -u; exit 3",
        files={"src/a.txt": "from the trial\n"},
        checks={"data/b.txt": "from the eval\n"},
        final="the answer\n",
    )
    assert done.stdout.splitlines() == [
        "/workspace",
        "from the trial",
        "from the eval",
        "the answer",
        "src",
        "1000",
    ]
    assert (done.exit_code, done.stderr, done.timed_out, done.out_of_memory, done.cut) == (
        3,
        "",
        False,
        False,
        False,
    )


def test_it_is_confined(sh: Sh) -> None:
    done = sh(
        """
        echo x 2>/dev/null >/checks/a.txt || echo checks cannot be written
        echo x 2>/dev/null >/usr/bin/x || echo nor can the system
        timeout 3 bash -c 'echo >/dev/tcp/1.1.1.1/443' 2>/dev/null || echo no network
        ls /sys/class/net
        grep CapEff /proc/self/status
        env | grep -c ANTHROPIC
        echo ok >/tmp/a && echo ok >~/a && cat /tmp/a
        """,
        checks={"a.txt": "a"},
    )
    assert done.stdout.splitlines() == [
        "checks cannot be written",
        "nor can the system",
        "no network",
        "lo",
        "CapEff:\t0000000000000000",
        "0",
        "ok",
    ]


def test_one_that_takes_too_long_is_killed(sh: Sh) -> None:
    started = time.monotonic()
    done = sh("echo begun; trap '' TERM INT; sleep 1000 & sleep 1000", timeout=6)
    assert time.monotonic() - started < 500
    assert (done.exit_code, done.timed_out, done.stdout) == (None, True, "begun\n")


def test_one_that_needs_too_much_memory_is_told_apart(sh: Sh) -> None:
    done = sh("python3 -c 'x = bytearray(2 << 30)'")
    assert done.out_of_memory or done.exit_code == 1  # refused at once, where the engine does not overcommit
    done = sh("python3 -c 'x = [bytearray(1 << 20) for _ in range(2000)]'; echo after $?")
    assert done.out_of_memory


def test_only_the_end_of_a_long_output_is_kept(sh: Sh) -> None:
    done = sh("head -c 5000000 /dev/zero | tr '\\0' a; echo; echo the end; echo err >&2")
    assert done.cut
    assert len(done.stdout) == STREAM_LIMIT
    assert done.stdout.endswith("a\nthe end\n")
    assert done.stderr == "err\n"


def test_a_program_that_is_not_there_is_not_a_fault(commands, tmp_path) -> None:
    for program, code in (("/no/such", 127), ("no-such-program", 127), ("/etc/passwd", 126)):
        done = commands.run(CommandRequest((program,), saved_workspace(tmp_path, {})))
        assert done.exit_code == code, done


def test_a_hostile_work_directory_comes_whole_and_does_no_harm(sh: Sh, commands, tmp_path) -> None:
    def member(name: str, kind: bytes, link: str = "", size: int = 0) -> tarfile.TarInfo:
        info = tarfile.TarInfo(name)
        info.type, info.linkname, info.size, info.mode = kind, link, size, 0o777
        return info

    with tarfile.open(tmp_path / "hostile.tar", "w") as tar:
        tar.addfile(member("up", tarfile.SYMTYPE, "../../../etc/passwd"))
        tar.addfile(member("abs", tarfile.SYMTYPE, "/checks"))
        tar.addfile(member("dev", tarfile.CHRTYPE))
        tar.addfile(member("fifo", tarfile.FIFOTYPE))
        tar.addfile(member("a\nb", tarfile.REGTYPE, size=1), io.BytesIO(b"x"))
        tar.addfile(member("bytes-\udcff", tarfile.REGTYPE, size=1), io.BytesIO(b"x"))
    request = CommandRequest(
        (
            "/bin/bash",
            "-c",
            "find . -mindepth 1 -printf '%f %y %l\\0' | sort -z | tr '\\0' ';'; head -c 4 up",
        ),
        Workspace(tmp_path / "hostile.tar"),
    )
    done = commands.run(request)
    assert done.stdout == "a\nb f ;abs l /checks;bytes-\ufffd f ;up l /etc/passwd;root"


def test_what_a_command_needs_is_labelled_as_the_run_s_own(
    docker_client, commands, tmp_path, monkeypatch
) -> None:
    removed: list[str] = []
    remove = commands._remove
    monkeypatch.setattr(commands, "_remove", removed.append)
    try:
        commands.run(CommandRequest(("true",), saved_workspace(tmp_path, {})))
        assert len(left(docker_client)) == 3  # a container and its two volumes
    finally:
        for container in removed:
            remove(container)


def test_stopping_ends_what_runs_and_starts_nothing_more(docker_client, commands, tmp_path) -> None:
    request = CommandRequest(("sleep", "1000"), saved_workspace(tmp_path, {}), timeout_seconds=1000)
    failed: list[BaseException] = []

    def run() -> None:
        try:
            commands.run(request)
        except SandboxError as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: left(docker_client, running=True))
    commands.stop()
    thread.join(300)
    assert not thread.is_alive()
    assert [str(error) for error in failed] == ["the run is being stopped"]
    with pytest.raises(SandboxError, match="being stopped"):
        commands.run(request)


def test_a_run_judges_by_a_command(run_cli, tmp_path, sandbox_image) -> None:
    plugin(tmp_path)
    script = """
import json, sys
total = sum(map(int, open(sys.argv[1])))
print(json.dumps({"passed": total == 10, "message": f"the sum is {total}"}))
"""
    directory = an_eval(
        tmp_path,
        [
            {
                "name": "by command",
                "expect": [
                    {"command": "python3 /checks/sum.py out.txt"},
                    {"command": "git status --porcelain | grep -q out.txt"},
                    {"command": "exit 3"},
                    {"command": "grep -qx done $SKILLWALKER_FINAL_TEXT && grep -q kept a.txt"},
                ],
                "scaffold": "start",
            }
        ],
        scaffolds={"start/a.txt": "kept"},
        script={"by command": [bash("seq 1 4 >out.txt"), text("done")]},
    )
    write(directory / "checks" / "sum.py", script)
    done = run_cli("--root", tmp_path, "run", "--isolated", "--rehearse", "--format", "json")
    [trial] = json.loads(done.out)["tests"][0]["trials"]
    found = [(each["outcome"], each["message"]) for each in trial["expectations"]]
    assert found == [
        ("passed", "the sum is 10"),
        ("passed", "`git status --porcelain | grep -q out.txt` exited with 0"),
        (
            "unmeasured",
            "`exit 3` exited with 3, which says neither passed nor failed; if it means failed, add "
            '"failOn": [1, 3]; it printed nothing',
        ),
        ("passed", "`grep -qx done $SKILLWALKER_FINAL_TEXT && grep -q kept a.txt` exited with 0"),
    ]
    assert done.code == 6


def test_every_type_of_the_second_distribution_judges_a_real_trial(run_cli, tmp_path, sandbox_image) -> None:
    plugin(tmp_path)
    expected = [
        ({"result-matches": "^don"}, "passed"),
        ({"result-equals": "done"}, "passed"),
        ({"result-json": True}, "failed"),
        ({"json-file": {"path": "out/*.json", "schema": {"required": ["a"]}}}, "passed"),
        ({"file-exists": {"path": "out/a.json", "change": "created"}}, "passed"),
        ({"file-exists": {"path": "gone.txt", "expected": False}}, "passed"),
        ({"file-contains": {"path": "kept.txt", "text": "changed"}}, "passed"),
        ({"file-matches": {"path": "**", "pattern": "^secret", "expected": False}}, "passed"),
        ({"files-unchanged": {"exclude": ["out/**", "gone.txt"]}}, "failed"),
        ({"files-unchanged": "tests/**"}, "passed"),
        (
            {"tool-call": {"tool": "Bash", "input": {"command": "^mkdir"}, "count": 1, "after": "Read"}},
            "passed",
        ),
        ({"tool-not-used": ["WebFetch", "mcp__*"]}, "passed"),
        ({"tool-not-used": "Bash"}, "failed"),
        ({"max-cost": 5}, "unmeasured"),
        ({"max-turns": 3}, "passed"),
        ({"max-turns": 2}, "failed"),
        ({"max-seconds": 300}, "passed"),
        ({"max-tokens": 1}, "failed"),
        ({"command": "test -e out/a.json && ! test -e gone.txt"}, "passed"),
    ]
    an_eval(
        tmp_path,
        [{"name": "all", "expect": [entry for entry, _ in expected], "scaffold": "start"}],
        scaffolds={"start/kept.txt": "x", "start/gone.txt": "x", "start/tests/a.py": "x"},
        script={
            "all": [
                call("Read", file_path="/workspace/kept.txt"),
                bash("mkdir out; echo '{\"a\": 1}' >out/a.json; echo changed >kept.txt; rm gone.txt"),
                text("done"),
            ]
        },
    )
    done = run_cli("--root", tmp_path, "run", "--isolated", "--rehearse", "--format", "json")
    [trial] = json.loads(done.out)["tests"][0]["trials"]
    found = [(each["type"], each["outcome"], each["message"]) for each in trial["expectations"]]
    assert [outcome for _, outcome, _ in found] == [outcome for _, outcome in expected], found
