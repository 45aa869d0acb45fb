from __future__ import annotations

import hashlib
import io
import os
import threading
import time
from collections.abc import Iterator

import pytest
from sandbox_support import LINE, Lab, open_lab, until

from skillwalker.errors import SandboxError
from skillwalker.sandbox import docker_process
from skillwalker.sandbox.base import Limits
from skillwalker.tree import Tree

HELLO = "curl -sS $ANTHROPIC_BASE_URL"


@pytest.fixture(scope="module")
def lab(docker_client, sandbox_image, tmp_path_factory) -> Iterator[Lab]:
    with open_lab(docker_client, sandbox_image, tmp_path_factory.mktemp("lab")) as lab:
        yield lab


def test_streams_exit_code_and_prompt(lab: Lab) -> None:
    result = lab.run("cat; echo oops >&2; exit 3")
    assert (result.stdout, result.stderr) == (LINE, b"oops\n")
    assert (result.exit.code, result.exit.out_of_memory) == (3, False)


def test_the_program_is_process_one_in_an_empty_work_directory(lab: Lab) -> None:
    result = lab.run(
        'echo $$ $(pwd) $(hostname) $(date +%Z); ls -A; echo "$HOME" $FOO', environment={"FOO": "bar"}
    )
    assert result.text == "1 /workspace sandbox UTC\n/home/agent bar\n"


def test_a_program_that_is_not_there(lab: Lab) -> None:
    result = lab.run("exec no-such-program")
    assert result.exit.code == 127
    assert b"not found" in result.stderr


def test_a_long_prompt_goes_in_while_output_comes_out(lab: Lab) -> None:
    line = os.urandom(2_000_000).hex().encode() + b"\n"
    result = lab.run("cat", line=line)
    assert hashlib.sha256(result.stdout).digest() == hashlib.sha256(line).digest()


def test_a_line_of_thirty_megabytes_is_whole(lab: Lab) -> None:
    result = lab.run("head -c 30000000 /dev/zero | tr '\\0' x; printf end")
    assert len(result.stdout) == 30_000_003
    assert result.stdout.endswith(b"xend")


def test_characters_cut_into_bytes_are_whole(lab: Lab) -> None:
    code = "import os\nfor b in 'café 😀 東京'.encode(): os.write(1, bytes([b]))"
    assert lab.run(f'python3 -c "{code}"').text == "café 😀 東京"


def test_the_gateway_answers_through_the_relay(lab: Lab) -> None:
    before = lab.gateway.requests
    result = lab.run(f"seq 60 | xargs -P 20 -I N {HELLO}")
    assert result.text == "hello 0" * 60
    assert lab.gateway.requests == before + 60


def test_a_large_request_passes(lab: Lab) -> None:
    assert lab.run(f"head -c 20000000 /dev/zero | {HELLO} --data-binary @-").text == "hello 20000000"


def test_plugins_are_where_they_are_said_to_be_and_read_only(lab: Lab) -> None:
    first = Tree.of_files({"skills/a/SKILL.md": b"A"})
    second = Tree.of_files({"run.sh": b"#!/bin/sh\necho ran"}, executable=["run.sh"])
    paths = [lab.sandbox.plugin_path("any", 0, "acme"), lab.sandbox.plugin_path("any", 1, "other tools")]
    result = lab.run(
        f'cat "{paths[0]}/skills/a/SKILL.md"; "{paths[1]}/run.sh"; ls -A "{paths[0]}"; touch "{paths[0]}/x"',
        plugins=[("acme", first), ("other tools", second)],
    )
    assert result.text == "Aran\nskills\n"
    assert b"Read-only file system" in result.stderr


def test_a_scaffold_is_one_commit_with_the_same_hash_every_time(lab: Lab) -> None:
    scaffold = Tree.of_files(
        {
            "a.txt": b"a",
            "dir/run.sh": b"#!/bin/sh\necho ran",
            ".gitignore": b"ignored\n",
            "ignored": b"x",
            "-f": b"",
        },
        executable=["dir/run.sh"],
    )
    script = (
        "git log --all --format='%H %an %ad %s %D' --date=iso; git status --short; dir/run.sh; "
        "stat -c %Y a.txt dir dir/run.sh; ls -A; touch new"
    )
    results = [lab.run(script, scaffold=scaffold) for _ in range(2)]
    assert results[0].text == results[1].text
    lines = results[0].text.splitlines()
    assert lines[0].split(" ", 1)[1] == "Skillwalker 2001-09-09 01:46:40 +0000 Scaffold HEAD -> main"
    assert lines[1:] == ["ran", *["1000000000"] * 3, "-f", ".git", ".gitignore", "a.txt", "dir", "ignored"]
    assert results[0].workspace.created == ("new",)
    assert results[0].workspace.changed == results[0].workspace.deleted == ()


def test_an_empty_scaffold_is_a_repository_too(lab: Lab) -> None:
    assert lab.run("git rev-list --count HEAD", scaffold=Tree()).text == "1\n"


def test_the_trial_can_commit(lab: Lab) -> None:
    result = lab.run("git init -q . && touch a && git add a && git commit -qm x && git log --format=%s")
    assert result.text == "x\n", result.stderr


def test_what_a_trial_did_to_its_files_is_found_by_content(lab: Lab) -> None:
    scaffold = Tree.of_files({"keep": b"1", "edit": b"2", "delete": b"3", ".gitignore": b"*.log\n"})
    script = """
        printf 9 >edit; rm delete; touch build.log
        touch "$(printf 'r\\303\\251sum\\303\\251\\n2.md')" "$(printf 'caf\\351')"
        ln -s /etc/passwd link; mkfifo pipe; mkdir -p empty; truncate -s 100M sparse
        git add -A; git commit -qm all
    """
    found = lab.run(script, scaffold=scaffold, limit_mib=1)
    assert found.workspace.created == (
        "build.log",
        os.fsdecode(b"caf\xe9"),
        "link",
        "pipe",
        "résumé\n2.md",
        "sparse",
    )
    assert (found.workspace.changed, found.workspace.deleted) == (("edit",), ("delete",))
    assert found.notes == ("1 files are listed without their content (104857600 bytes): over the size limit",)
    assert found.workspace.read("edit") == b"9"


def test_an_untouched_work_directory_is_told_from_one_whose_times_were_set_back(lab: Lab) -> None:
    assert lab.run("true").workspace.entries() == ()
    script = 'old=$(stat -c %y .); echo secret >hidden; touch -d "$old" . ; mkdir d; rmdir d'
    result = lab.run(script)
    assert result.workspace.created == ("hidden",)


def test_an_interrupt_reaches_the_program(lab: Lab) -> None:
    process = lab.start("trap 'echo interrupted; exit 7' INT; echo up; while :; do sleep 0.1; done")
    rest = until(process, b"up")
    process.interrupt()
    assert b"".join(chunk.data for chunk in rest) == b"interrupted\n"
    assert process.wait().code == 7
    process.interrupt()
    process.kill()
    process.close()


def test_a_kill_takes_everything_and_is_not_out_of_memory(lab: Lab) -> None:
    process = lab.start(
        "(trap '' TERM INT; echo child; exec sleep 1000) & trap '' INT TERM; wait; sleep 1000"
    )
    rest = until(process, b"child")
    start = time.monotonic()
    process.kill()
    assert list(rest) == []
    assert time.monotonic() - start < 10
    assert (process.wait().code, process.wait().out_of_memory) == (137, False)
    process.close()


HUNGRY = "python3 -c 'x = bytearray(900 << 20)'"


def test_the_memory_limit_is_told_when_it_hits_the_program(lab: Lab) -> None:
    result = lab.run(f"exec {HUNGRY}", limits=Limits(memory_mib=256))
    assert (result.exit.code, result.exit.out_of_memory) == (137, True)


def test_the_memory_limit_is_told_when_it_hits_a_child(lab: Lab) -> None:
    result = lab.run(f"{HUNGRY}; echo alive", limits=Limits(memory_mib=256))
    assert result.text == "alive\n"
    assert (result.exit.code, result.exit.out_of_memory) == (0, True)


def test_the_size_of_the_work_directory_can_be_asked_while_it_grows(lab: Lab) -> None:
    process = lab.start(
        "head -c 40M /dev/zero >big; mkdir -m 700 d; head -c 9M /dev/zero >d/x; echo up; sleep 1000"
    )
    rest = until(process, b"up")
    size = process.workspace_mib()
    assert size is not None
    assert 49 <= size < 51
    process.kill()
    assert list(rest) == []
    assert process.workspace_mib() is None
    process.close()


def test_silence_longer_than_the_clients_timeout_ends_nothing(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab.client.api, "timeout", 10)
    result = lab.run("echo first; sleep 15; echo last")
    assert result.text == "first\nlast\n"


def test_a_broken_stream_is_an_error_of_the_sandbox(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker_process, "_END_SECONDS", 1.0)
    process = lab.start("echo up; sleep 1000")
    rest = until(process, b"up")
    process._stream.close()
    with pytest.raises(SandboxError, match="still runs"):
        list(rest)
    process.close()


def test_a_dead_relay_is_an_error_of_the_sandbox(lab: Lab) -> None:
    process = lab.start("echo up; sleep 1000")
    rest = until(process, b"up")
    api = lab.client.api
    killer = api.exec_create(process._container, ["sh", "-c", "kill -9 -1"], user="1001")
    api.exec_start(killer["Id"])
    with pytest.raises(SandboxError, match="way to the model"):
        list(rest)
    process.close()


def test_a_volume_that_was_cut_off_is_uploaded_again(lab: Lab) -> None:
    plugin = Tree.of_files({"x": os.urandom(8)})
    scaffold = Tree.of_files({"y": os.urandom(8)})
    volumes = lab.sandbox._volumes
    monkey = volumes._upload
    volumes._upload = lambda volume, tree, name: lab.client.api.create_volume(volume)
    try:
        for tree, name in ((plugin, "acme"), (scaffold, "files")):
            volumes.ensure(tree, name)
    finally:
        volumes._upload = monkey
    result = lab.run("ls /plugins/0/acme; ls", plugins=[("acme", plugin)], scaffold=scaffold)
    assert result.text == "x\ny\n"


def test_many_trials_at_once_upload_once(lab: Lab) -> None:
    plugin = Tree.of_files({"x": os.urandom(8)})
    uploads: list[str] = []
    upload = lab.sandbox._volumes._upload
    lab.sandbox._volumes._upload = lambda volume, *rest: (uploads.append(volume), upload(volume, *rest))
    outputs: list[str] = []

    def trial() -> None:
        outputs.append(lab.run("ls /plugins/0/acme", plugins=[("acme", plugin)]).text)

    try:
        threads = [threading.Thread(target=trial) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        lab.sandbox._volumes._upload = upload
    assert outputs == ["x\n"] * 3
    assert len(uploads) == 1


def test_the_engine_says_how_many_trials_fit(lab: Lab) -> None:
    assert 1 <= lab.sandbox.default_jobs(2048) <= lab.client.info()["NCPU"]
    assert lab.sandbox.default_jobs(1 << 30) == 1


def test_an_image_that_does_not_exist_is_an_error_of_the_sandbox(lab: Lab, docker_client, tmp_path) -> None:
    with open_lab(docker_client, "skillwalker-no-such-image", tmp_path) as other, pytest.raises(SandboxError):
        other.run("true")


def test_saving_says_when_the_directory_is_too_much(lab: Lab) -> None:
    process = lab.start("truncate -s 900M sparse; touch z", limits=Limits(memory_mib=256, workspace_mib=10))
    list(process.output())
    target = io.BytesIO()
    (note,) = process.save_workspace(target, 5)
    assert "not listed" in note
    process.close()
