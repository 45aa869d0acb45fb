"""What is left on the engine: nothing of a run that is over or dead, everything of one that lives."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sandbox_support
from sandbox_support import Lab, left, open_lab, until
from typer.testing import CliRunner

import skillwalker
from skillwalker.cli.prune import prune
from skillwalker.diagnosis import examine
from skillwalker.errors import SandboxError
from skillwalker.sandbox import start_script
from skillwalker.sandbox.owner import CONTENT, KEPT, OWNER, RUN, Owner, kept_volumes, reap
from skillwalker.tree import Tree

TREE = Tree.of_files({"skills/a/SKILL.md": b"A"})


@pytest.fixture
def lab(docker_client, sandbox_image, tmp_path) -> Iterator[Lab]:
    with open_lab(docker_client, sandbox_image, tmp_path) as lab:
        yield lab


def of_run(lab: Lab) -> set[str]:
    return left(lab.client, f"{RUN}={lab.run_id}")


def test_everything_of_a_run_is_labelled_and_gone_when_the_sandbox_is_closed(lab: Lab) -> None:
    running = lab.start("echo up; sleep 1000", plugins=[("p", TREE)])
    until(running, b"up")
    container = lab.client.api.inspect_container(running._container)
    volumes = {mount["Name"] for mount in container["Mounts"] if mount["Destination"] == "/workspace"}
    assert of_run(lab) == {container["Name"].lstrip("/")} | volumes
    running.close()
    lab.run("true")
    never_closed = lab.start("sleep 1000")
    lab.sandbox.close()
    assert of_run(lab) == set()
    assert lab.sandbox.notes == []
    never_closed.close()


def test_a_start_that_fails_leaves_nothing(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_script, "SCRIPT", "echo it broke >&2; exit 5")
    with pytest.raises(SandboxError, match=r"exit 5\): it broke"):
        lab.start("true")
    monkeypatch.setattr("skillwalker.sandbox.relay.command", lambda *ports: ("no-such-program",))
    monkeypatch.setattr(start_script, "SCRIPT", "sleep 1000")
    with pytest.raises(SandboxError, match="relay did not start"):
        lab.start("true")
    lab.sandbox._cleaners.shutdown()
    assert of_run(lab) == set()


def test_what_is_kept_stays_until_it_is_pruned(lab: Lab, dead: Owner) -> None:
    lab.sandbox._owner = dead
    process = lab.start("echo result >file")
    list(process.output())
    process.close(keep=True)
    lab.sandbox.close()
    assert [one for one, _ in reap(lab.client).failed if one.run_id == lab.run_id] == []
    names = [name for name in of_run(lab) if name.startswith(KEPT)]
    assert len(names) == 1
    assert (
        of_run(lab) - set(names)
        == {name for name in kept_volumes(lab.client) if name in of_run(lab)}
        != set()
    )
    assert "by --keep" in {check.name: check.message for check in examine()}["kept"]
    (piece, _) = lab.client.api.get_archive(names[0], "/workspace/file")
    assert b"result" in b"".join(piece)
    result = CliRunner().invoke(app_of_prune(), [])
    assert result.exit_code == 0, result.output
    assert names[0] in result.output
    assert of_run(lab) == set()


def test_content_volumes_are_used_again_and_pruned_when_nothing_uses_them(lab: Lab) -> None:
    tree = Tree.of_files({"x": os.urandom(8)})
    running = lab.start("echo up; sleep 1000", plugins=[("p", tree)])
    until(running, b"up")
    volume = lab.sandbox._volumes.ensure(tree, "p")
    assert volume in content_volumes(lab)
    assert CliRunner().invoke(app_of_prune(), ["--volumes"]).exit_code == 0
    assert volume in content_volumes(lab)
    running.close()
    lab.sandbox.close()
    assert volume in content_volumes(lab)
    result = CliRunner().invoke(app_of_prune(), ["--volumes"])
    assert volume in result.output
    assert volume not in content_volumes(lab)


def test_a_content_volume_that_is_pruned_under_a_run_is_uploaded_again(lab: Lab) -> None:
    tree = Tree.of_files({"x": os.urandom(8)})
    lab.client.api.remove_volume(lab.sandbox._volumes.ensure(tree, "p"))
    assert lab.run("ls /plugins/0/p", plugins=[("p", tree)]).text == "x\n"
    assert lab.sandbox._volumes.ensure(tree, "p") in content_volumes(lab)


def test_a_volume_that_is_pruned_when_its_upload_begins_is_still_known_as_ours(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, create = lab.client.api, lab.client.api.create_volume

    def create_and_lose(name: str, **options: object) -> None:
        create(name, **options)
        api.remove_volume(name)

    monkeypatch.setattr(api, "create_volume", create_and_lose)
    volume = lab.sandbox._volumes.ensure(Tree.of_files({"x": os.urandom(8)}), "p")
    assert volume in content_volumes(lab)


def test_two_runs_upload_the_same_content_at_the_same_time(
    lab: Lab, docker_client, sandbox_image, tmp_path
) -> None:
    tree = Tree.of_files({f"{n}": os.urandom(100_000) for n in range(50)})
    said: list[str] = []

    def run(lab: Lab) -> None:
        said.append(lab.run("cat /plugins/0/p/* | sha256sum", plugins=[("p", tree)]).text)

    with open_lab(docker_client, sandbox_image, tmp_path) as other:
        threads = [threading.Thread(target=run, args=(one,)) for one in (lab, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(said) == 2
    assert len(set(said)) == 1
    assert len(said[0]) > 64


def test_an_upload_whose_run_died_is_finished_by_the_next(lab: Lab, dead: Owner) -> None:
    tree = Tree.of_files({"x": os.urandom(8)})
    dying = lab.sandbox._volumes
    dying._labels = dead.labels(lab.run_id)
    volume = dying.ensure(tree, "p")
    lab.client.api.remove_volume(volume)
    lab.client.api.create_volume(volume, labels={**dying._labels, CONTENT: volume})
    dying._helper(volume)  # its container, which is the lock, stays
    assert lab.run("ls /plugins/0/p", plugins=[("p", tree)]).text == "x\n"


RUNNER = """
import sys, threading
sys.path[:0] = sys.argv[1:3]
import docker
from pathlib import Path
from sandbox_support import Lab
from skillwalker.tree import Tree

lab = Lab(docker.from_env(), sys.argv[3], Path(sys.argv[4]))
print(lab.run_id, flush=True)
def trials():
    while True:
        tree = Tree.of_files({"x": b"%d" % threading.get_ident()})
        lab.run("echo x >file; sleep 0.2", plugins=[("p", tree)], scaffold=tree)
for _ in range(2):
    threading.Thread(target=trials).start()
"""


@pytest.mark.parametrize("seed", range(10))
def test_a_killed_runner_leaves_what_the_next_start_removes(
    lab: Lab, sandbox_image, tmp_path: Path, seed: int
) -> None:
    live = lab.start("echo up; sleep 1000")
    until(live, b"up")
    paths = [str(Path(skillwalker.__file__).parents[1]), str(Path(sandbox_support.__file__).parent)]
    command = [sys.executable, "-c", RUNNER, *paths, sandbox_image, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as runner:
        run_id = runner.stdout.readline().strip()
        time.sleep(random.Random(seed).uniform(0, 3))
        runner.kill()
    label = f"{RUN}={run_id}"
    started = time.monotonic()
    while True:
        with open_lab(lab.client, sandbox_image, tmp_path):  # the next start
            pass
        # What the engine was still making when its client died may come a moment later.
        if not left(lab.client, label) and time.monotonic() > started + 2:
            break
        assert time.monotonic() < started + 120, left(lab.client, label)
        time.sleep(0.5)
    assert len(of_run(lab)) == 2  # the live run's container and its volume
    live.close()


@pytest.fixture
def dead() -> Owner:
    from skillwalker.sandbox.owner import _started

    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = Owner(Owner.current().host, child.pid, _started(child.pid))
    child.communicate()
    return owner


def content_volumes(lab: Lab) -> set[str]:
    found = lab.client.api.volumes(filters={"label": CONTENT}).get("Volumes") or []
    assert all(OWNER in volume["Labels"] for volume in found)
    return {volume["Name"] for volume in found}


def app_of_prune() -> object:
    import typer

    app = typer.Typer()
    app.command()(prune)
    return app
