"""The box fits real skills: what the configuration says of it, up to a whole run of the real Claude Code."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from network_support import company_proxy, tls_files
from registry_support import trusting_image, write_packages
from roots import an_eval, bash, plugin, text, write
from sandbox_lab import LINE, HelloGateway
from tls_support import Authority

from skillwalker.sandbox.base import Limits, SandboxRequest
from skillwalker.sandbox.docker import DockerSandbox
from skillwalker.sandbox.image import CUSTOM_REPOSITORY
from skillwalker.sandbox.owner import Owner

if TYPE_CHECKING:
    from docker import DockerClient

TOKEN = "tok-5f1d0c7be2a94"
CONFIGURATION = """
[run]
isolated = true
rehearse = true

[sandbox]
dockerfile = "box/Dockerfile"
env = ["GREETER_TOKEN"]
memory_mib = 1024
cpus = 64
pids = 300

[sandbox.network]
allow = ["registry.example:443"]
"""

STEPS = {
    "git": (
        "git init -q . && echo hi >a.txt && git add . && git commit -qm first && git log --format='%an: %s'",
        "Agent: first",
    ),
    "a script in /tmp": (
        r"printf '#!/bin/sh\necho from tmp\n' >/tmp/x.sh && chmod +x /tmp/x.sh && /tmp/x.sh",
        "from tmp",
    ),
    "home": (
        "mkdir -p ~/.config/tool && echo kept >~/.config/tool/state && cat ~/.config/tool/state",
        "kept",
    ),
    "uv": (
        "uv venv -q /tmp/v && uv pip install -q --python /tmp/v "
        "--index-url https://registry.example/simple greeter "
        "&& /tmp/v/bin/greeter",
        "hello of greeter",
    ),
    "fetching": ("curl -sS https://registry.example/data.txt", "some data"),
    "limits": ("cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null; true", "300"),
    "a variable": ('test -n "$GREETER_TOKEN" && echo it is $GREETER_TOKEN | tee token.txt | base64', None),
    "what is not allowed": (
        "curl -sS https://elsewhere.example/ 2>&1; true",
        "response 403",
    ),
    "what is not there": ("pandoc --version; true", "pandoc: command not found"),
}


@pytest.fixture
def root(tmp_path: Path, docker_client: DockerClient) -> Iterator[tuple[Path, dict[str, str]]]:
    """A root with everything configured, and the environment that leads to its registry."""
    before = {image.id for image in docker_client.images.list(name=CUSTOM_REPOSITORY)}
    authority = Authority(tmp_path / "authority")
    root = tmp_path / "root"
    plugin(root)
    trusting_image(authority, root / "box")
    write(root / "skillwalker.toml", CONFIGURATION)
    script = [*(bash(command) for command, _ in STEPS.values()), text("all done")]
    tests = [{"name": "real", "expect": [{"result-contains": "all done"}]}]
    an_eval(root, tests, script={"real": script})
    write_packages(tmp_path / "files")
    with (
        tls_files(tmp_path / "files", *authority.sign("registry.example")) as port,
        company_proxy({"registry.example:443": port}) as proxy,
    ):
        yield root, {"HTTPS_PROXY": proxy, "GREETER_TOKEN": TOKEN}
    for image in docker_client.images.list(name=CUSTOM_REPOSITORY):
        if image.id not in before:
            docker_client.images.remove(image.id, force=True)


def skillwalker(root: Path, *arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).with_name("skillwalker")), "--root", str(root), *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )


def results(trial: Path) -> list[str]:
    """What came back from the calls of a trial, in their order."""
    events = [json.loads(line) for line in (trial / "events.jsonl").read_text("utf-8").splitlines()]
    blocks = [
        block
        for event in events
        if event["type"] == "user" and isinstance(event["message"]["content"], list)
        for block in event["message"]["content"]
    ]
    return [str(block["content"]) for block in blocks if block["type"] == "tool_result"]


def test_a_skill_that_does_what_real_skills_do(root: tuple[Path, dict[str, str]]) -> None:
    directory, environment = root

    done = skillwalker(directory, "run", "--format", "json", environment=environment)

    assert done.returncode == 0, done.stdout + done.stderr
    (trial,) = directory.glob(".skillwalker/runs/*/trials/*")
    came_back = dict(zip(STEPS, results(trial), strict=True))
    for name, (_, expected) in STEPS.items():
        assert expected is None or expected in came_back[name], (name, came_back[name])
    lines = [json.loads(line) for line in (trial / "network.jsonl").read_text("ascii").splitlines()]
    assert {(line["host"], line["outcome"]) for line in lines} == {
        ("registry.example", "passed"),
        ("elsewhere.example", "refused"),
    }

    shown = skillwalker(directory, "show", "last", "csv::real", environment=environment)
    assert "programs that were called and are not there: pandoc" in shown.stdout
    assert "1 connection refused: elsewhere.example:443" in shown.stdout

    hidden = [TOKEN.encode(), base64.b64encode(b"it is " + TOKEN.encode())[8:-4]]
    assert "*" * len(TOKEN) in (trial / "workspace.tar").read_bytes().decode("latin-1")
    for path in (*directory.rglob("*"), None):
        if path is None or path.is_file():
            kept = path.read_bytes() if path else (done.stdout + done.stderr + shown.stdout).encode()
            assert not [form for form in hidden if form in kept], path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"GREETER_TOKEN": ""}, "GREETER_TOKEN is not set"),
        ({"HTTPS_PROXY": "socks5://me:hunter2@127.0.0.1:1"}, "HTTPS_PROXY must name a proxy"),
    ],
)
def test_what_is_missing_is_told_before_anything_starts(
    root: tuple[Path, dict[str, str]], change: dict[str, str], message: str
) -> None:
    directory, environment = root
    done = skillwalker(directory, "run", environment={**environment, **change})
    assert done.returncode == 4
    assert message in done.stderr
    assert TOKEN not in done.stderr
    assert "hunter2" not in done.stderr
    assert not list(directory.glob(".skillwalker/runs/*"))


@pytest.fixture(scope="module")
def inspected(docker_client: DockerClient, sandbox_image: str) -> dict[str, Any]:
    """How the engine describes a trial's container that got a variable and limits."""
    run_id = "20261130T101500Z-b0b0b0"
    sandbox = DockerSandbox.open(
        docker_client,
        sandbox_image,
        Owner.current(),
        run_id,
        passed={"GREETER_TOKEN": TOKEN, "HOME": "/elsewhere"},
        program="sh",
    )
    limits = Limits(memory_mib=300, pids=100, cpus=0.5)
    request = SandboxRequest("t", ("-c", "cat"), {}, LINE, (), None, limits)
    with closing(sandbox):
        process = sandbox.start(request, HelloGateway())
        found: dict[str, Any] = docker_client.api.inspect_container(process._container)
        list(process.output())
        process.close()
        wide = sandbox.start(
            SandboxRequest("t", ("-c", "cat"), {}, LINE, (), None, Limits(cpus=1000)), HelloGateway()
        )
        found["wide"] = docker_client.api.inspect_container(wide._container)["HostConfig"]["NanoCpus"]
        list(wide.output())
        wide.close()
    return found


def test_a_variable_is_in_the_environment_and_nowhere_else(inspected: dict[str, Any]) -> None:
    assert f"GREETER_TOKEN={TOKEN}" in inspected["Config"]["Env"]
    assert "HOME=/home/agent" in inspected["Config"]["Env"]
    inspected["Config"]["Env"] = []
    assert TOKEN not in json.dumps(inspected)


def test_limits_are_the_engines_to_keep(inspected: dict[str, Any]) -> None:
    config = inspected["HostConfig"]
    assert (config["Memory"], config["PidsLimit"], config["NanoCpus"]) == (300 << 20, 100, 500_000_000)


def test_more_cpus_than_there_are_is_no_limit(inspected: dict[str, Any]) -> None:
    assert inspected["wide"] == 0
