"""An engine that is stopped in mid-run and started again, on a second engine that only this test uses."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from roots import an_eval, plugin, text
from waiting import wait_until

from skillwalker.sandbox.engine import connect

START_SECONDS = 120
APART = ("unshare", "--net")


class Engine:
    """A `dockerd` with a data directory, a socket and a process of its own."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.address = f"unix://{directory}/docker.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> bool:
        home = self._directory
        options = ["--data-root", home / "data", "--exec-root", home / "exec", "--pidfile", home / "pid"]
        with (home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                # In a network of its own: without a bridge, it would take the other engine's away.
                [*APART, "dockerd", "-H", self.address, *options, "--bridge", "none", "--iptables=false"],
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            if (home / "docker.sock").exists():
                try:
                    with closing(connect({"DOCKER_HOST": self.address})):
                        return True
                except Exception:
                    pass
            time.sleep(0.2)
        return False

    def stop(self) -> None:
        if self._process and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(120)


@pytest.fixture
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    if os.geteuid() or not shutil.which("dockerd") or not shutil.which("unshare"):
        pytest.skip("a second engine needs root, dockerd and unshare")
    directory = tmp_path_factory.mktemp("engine")
    engine = Engine(directory)
    try:
        if not engine.start():
            pytest.skip("a second engine does not start here")
        yield engine
    finally:
        engine.stop()
        subprocess.run(["umount", "-R", "-l", *directory.glob("*/netns/*")], capture_output=True, check=False)
        shutil.rmtree(directory, ignore_errors=True)


def test_trials_that_an_engine_took_with_it_are_unmeasured_and_can_be_made_up_for(
    engine, docker_client, sandbox_image, tmp_path
):
    with closing(connect({"DOCKER_HOST": engine.address})) as second:
        second.images.load(docker_client.api.get_image(sandbox_image))
    plugin(tmp_path)
    slow = [{"content": "done", "delay_seconds": 20}]
    tests = [{"name": name, "expect": [{"result-contains": "done"}]} for name in ("fast", "slow")]
    an_eval(tmp_path, tests, script={"fast": [text("done")], "slow": slow})
    environment = {**os.environ, "DOCKER_HOST": engine.address}
    program = [str(Path(sys.executable).with_name("skillwalker")), "--root", str(tmp_path), "run"]
    options = ["--isolated", "--rehearse", "--jobs", "1", "--image", sandbox_image, "--format", "json"]

    run = subprocess.Popen([*program, *options], stdout=subprocess.PIPE, text=True, env=environment)
    trials = tmp_path / ".skillwalker" / "runs"
    wait_until(lambda: list(trials.glob("*/trials/csv.fast.*/trial.json")))
    wait_until(lambda: any(path.stat().st_size for path in trials.glob("*/trials/csv.slow.*/events.jsonl")))
    engine.stop()
    out, _ = run.communicate(timeout=300)

    first = json.loads(out)
    assert run.returncode == 6
    assert [test["outcome"] for test in first["tests"]] == ["passed", "unmeasured"]
    assert first["tests"][1]["trials"][0]["reason"] == "sandbox-error"

    assert engine.start()
    again = subprocess.run(
        [*program, "--isolated", "--resume", "last", "--format", "json"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["run_id"] == first["run_id"]
    with closing(connect({"DOCKER_HOST": engine.address})) as second:
        assert second.containers.list(all=True) == []
