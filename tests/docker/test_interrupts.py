"""Runs that are cut short: what was measured is kept, nothing is left behind, and they can go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from rehearsed_model import RehearsedModel
from roots import an_eval, bash, plugin, text, write
from upstream_support import SECRET

SAYS = {"result-contains": "done"}
SLOW = {"content": "done", "delay_seconds": 900}
QUICK = {name: [text("done")] for name in ("fast", "slow", "slower")}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    plugin(tmp_path)
    tests = [{"name": name, "expect": [SAYS]} for name in ("fast", "slow", "slower")]
    an_eval(tmp_path, tests, script=QUICK | {"slow": [SLOW], "slower": [SLOW]})
    return tmp_path


def hurry(root: Path, slow: float = 0) -> None:
    """No answer takes long, but for one that takes `slow` seconds."""
    script = QUICK | {"slow": [{"content": "done", "delay_seconds": slow}]}
    write(root / "evals" / "csv" / "rehearsal.json", json.dumps({"tests": script}))


def start(
    root: Path, image: str, *more: str, model: tuple[str, ...] = ("--rehearse",)
) -> subprocess.Popen[str]:
    program = str(Path(sys.executable).with_name("skillwalker"))
    options = ["run", "--isolated", *model, "--image", image, "--jobs", "1", "--format", "json", *more]
    return subprocess.Popen(
        [program, "--root", str(root), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finished(root: Path) -> list[Path]:
    return sorted(root.glob(".skillwalker/runs/*/trials/*/trial.json"))


def wait_for(root: Path, count: int, process: subprocess.Popen[str]) -> None:
    wait_until(lambda: len(finished(root)) >= count, process)


def at_work(root: Path, test: str) -> bool:
    """Whether Claude Code has said something in the last run's trial of `test`."""
    last = sorted(root.glob(".skillwalker/runs/2*"))[-1:]
    return any(path.stat().st_size for run in last for path in run.glob(f"trials/csv.{test}.*/events.jsonl"))


def ours(docker_client, run_id: str) -> list[str]:
    label = {"label": f"skillwalker.run={run_id}"}
    containers = [one.name for one in docker_client.containers.list(all=True, filters=label)]
    volumes = [one.name for one in docker_client.volumes.list(filters=label)]
    return [*containers, *(name for name in volumes if not name.startswith("skillwalker-content-"))]


def run_id(root: Path) -> str:
    return next((root / ".skillwalker" / "runs").glob("2*")).name


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_reports_what_it_measured_and_leaves_nothing(
    root, sandbox_image, docker_client, number
):
    process = start(root, sandbox_image)
    wait_until(lambda: at_work(root, "slow"), process)
    process.send_signal(number)
    out, err = process.communicate(timeout=300)

    data = json.loads(out)
    assert process.returncode == 2, err
    assert [test["outcome"] for test in data["tests"]] == ["passed", "unmeasured", "unmeasured"]
    assert [trial["reason"] for trial in data["tests"][1]["trials"]] == ["interrupted"]
    assert data["tests"][2]["trials"] == []
    assert data["interrupted"] is True
    assert ours(docker_client, data["run_id"]) == []


def test_a_trial_that_was_cut_short_leaves_the_cassette_that_is_there(root, sandbox_image, monkeypatch):
    cassettes = root / "cassettes"
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    for index in range(3):  # by which the model knows who asks
        write(root / "evals" / "csv" / "prompts" / f"p{index}.md", f"Please do task {index}.")

    def recording(script: dict[str, Any]) -> subprocess.Popen[str]:
        write(root / "evals" / "csv" / "rehearsal.json", json.dumps({"tests": script}))
        model = stack.enter_context(RehearsedModel(root))
        monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
        return start(root, sandbox_image, "--record", str(cassettes), "--jobs", "3", model=())

    with ExitStack() as stack:
        whole = recording(QUICK)
        out, err = whole.communicate(timeout=300)
        assert whole.returncode == 0, out + err
        before = {path.name: path.read_bytes() for path in cassettes.glob("*.jsonl")}
        assert len(before) == 3
        (cassettes / next(name for name in before if "slower" in name)).unlink()

        hangs = [bash("true"), {"content": "done", "delay_seconds": 900}]
        process = recording({"fast": [text("well done")], "slow": hangs, "slower": hangs})
        wait_for(root, 4, process)
        wait_until(lambda: answered(root, "slow") and answered(root, "slower"), process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)

    assert process.returncode == 2, err
    after = {path.name.split(".")[1]: path.read_bytes() for path in cassettes.glob("*.jsonl")}
    assert set(after) == {"fast", "slow"}
    assert b"well done" in after["fast"]
    assert after["slow"] in before.values()
    told = [line for line in err.splitlines() if "(interrupted)" in line and ".jsonl" in line]
    (kept,) = (line for line in told if "kept as recorded before" in line)
    assert "csv.slow." in kept
    (dropped,) = (line for line in told if "not recorded, since the trials were cut short" in line)
    assert "csv.slower." in dropped


def answered(root: Path, test: str) -> bool:
    """Whether the model has answered a trial of `test` once in the last run."""
    last = sorted((root / ".skillwalker" / "runs").glob("2*"))[-1]
    return any(
        b'"status": 200' in log.read_bytes() for log in last.glob(f"trials/csv.{test}.*/gateway.jsonl")
    )


def wait_until(holds: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 300
    while not holds() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert holds()


def test_a_second_interrupt_ends_at_once(root, sandbox_image, docker_client):
    process = start(root, sandbox_image)
    wait_until(lambda: at_work(root, "slow"), process)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)

    assert process.returncode == 2
    assert ours(docker_client, run_id(root)) == []


def test_a_killed_run_is_cleaned_up_by_the_next_start_and_can_go_on(root, sandbox_image, docker_client):
    hurry(root, slow=20)
    process = start(root, sandbox_image)
    wait_until(lambda: at_work(root, "slow"), process)
    process.kill()
    process.communicate()
    [first] = finished(root)
    before = first.stat().st_mtime_ns
    identity = run_id(root)

    changed = write(root / "evals" / "csv" / "prompts" / "p1.md", "Something else.")
    refused = start(root, sandbox_image, "--resume", "last")
    out, _ = refused.communicate(timeout=300)
    assert refused.returncode == 4
    assert "csv::slow has changed since the run began (prompt)" in json.loads(out)["problems"][0]["message"]
    write(changed, "Please do the task.")

    resumed = start(root, sandbox_image, "--resume", "last")
    out, err = resumed.communicate(timeout=300)

    data = json.loads(out)
    assert resumed.returncode == 0, err
    assert data["run_id"] == identity
    assert [test["outcome"] for test in data["tests"]] == ["passed"] * 3
    assert first.stat().st_mtime_ns == before  # nothing finished is run again
    kept = [path.name for path in first.parent.parent.iterdir() if ".old-" in path.name]
    assert len(kept) == 1  # the attempt that was cut short is not lost
    assert ours(docker_client, identity) == []

    again = start(root, sandbox_image, "--resume", identity)
    out, _ = again.communicate(timeout=300)
    assert again.returncode == 4
    assert "no trial left" in json.loads(out)["problems"][0]["message"]


def test_a_resumed_run_takes_its_options_from_the_run(root, sandbox_image):
    process = start(root, sandbox_image)
    wait_for(root, 1, process)
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=300)

    refused = start(root, sandbox_image, "--resume", "last", "--trials", "5")
    out, _ = refused.communicate(timeout=300)

    assert refused.returncode == 4
    assert "--trials cannot be changed" in json.loads(out)["problems"][0]["message"]


def test_a_disk_that_is_full_loses_no_report(root, sandbox_image, docker_client):
    hurry(root)
    place = root / ".skillwalker"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this user may not mount a small disk")
    try:
        process = start(root, sandbox_image)
        out, err = process.communicate(timeout=300)

        data = json.loads(out)
        assert process.returncode == 6, err
        assert "Traceback" not in err
        assert data["totals"]["passed"] < 3
        assert any(
            "No space left" in trial["message"] for test in data["tests"] for trial in test["trials"]
        ) or any(not test["trials"] for test in data["tests"])
        assert ours(docker_client, data["run_id"]) == []
    finally:
        subprocess.run(["umount", str(place)], check=True)
