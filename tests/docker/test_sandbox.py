from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator

import pytest
from sandbox_support import Lab, open_lab, until

from skillwalker.errors import SandboxError
from skillwalker.sandbox import docker_process
from skillwalker.sandbox.base import Limits
from skillwalker.tree import Tree


@pytest.fixture(scope="module")
def lab(docker_client, sandbox_image, tmp_path_factory) -> Iterator[Lab]:
    with open_lab(docker_client, sandbox_image, tmp_path_factory.mktemp("lab")) as lab:
        yield lab


def test_the_program_is_process_one_in_an_empty_work_directory(lab: Lab) -> None:
    result = lab.run(
        'echo $$ $(pwd) $(hostname) $(date +%Z); ls -A; echo "$HOME" $FOO', environment={"FOO": "bar"}
    )
    assert result.text == "1 /workspace sandbox UTC\n/home/agent bar\n"


def test_a_program_that_is_not_there(lab: Lab) -> None:
    result = lab.run("exec no-such-program")
    assert result.exit.code == 127
    assert b"not found" in result.stderr


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


def test_an_untouched_work_directory_is_told_from_one_whose_times_were_set_back(lab: Lab) -> None:
    assert lab.run("true").workspace.entries() == ()
    script = 'old=$(stat -c %y .); echo secret >hidden; touch -d "$old" . ; mkdir d; rmdir d'
    result = lab.run(script)
    assert result.workspace.created == ("hidden",)


def test_a_kill_takes_everything_and_is_not_out_of_memory(lab: Lab) -> None:
    process = lab.start(
        "(trap '' TERM INT; echo child; exec sleep 1000) & trap '' INT TERM; wait; sleep 1000"
    )
    rest = until(process, b"child")
    process.kill()
    assert list(rest) == []  # and not when what was started ends by itself
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


def test_silence_longer_than_the_clients_timeout_ends_nothing(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab.client.api, "timeout", 60)  # the SDK's own default
    result = lab.run("echo first; sleep 90; echo last")
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
