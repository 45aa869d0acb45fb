"""The image for real: what is in it, which other images are accepted, and building on top of it."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from roots import an_eval, plugin

from skillwalker.errors import CannotStartError
from skillwalker.sandbox.base_image import find_base, pull
from skillwalker.sandbox.building import BuildContext, build
from skillwalker.sandbox.image import (
    DOCKERFILE,
    ImageInfo,
    build_custom_image,
    ensure_image,
    sandbox_dockerfile,
)

if TYPE_CHECKING:
    from docker import DockerClient

TEST_IMAGE = os.environ.get("SKILLWALKER_TEST_IMAGE")  # before a fixture clears it


@pytest.fixture
def scratch_tags(docker_client: DockerClient) -> Iterator[list[str]]:
    """Tags that a test makes; gone afterwards."""
    tags: list[str] = []
    yield tags
    for tag in tags:
        docker_client.images.remove(tag, force=True)


def run_in(client: DockerClient, image: str, script: str, **options: object) -> str:
    """Output of a shell script in a container as locked up as a trial's."""
    container = client.containers.create(
        image,
        ["sh", "-euc", script],
        network_mode="none",
        read_only=True,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        tmpfs={"/tmp": "exec", "/home/agent": "exec,uid=1000,gid=1000"},
        **options,
    )
    try:
        container.start()
        # Read after the end: what the engine sends while it runs may lack the end.
        code = container.wait(timeout=600)["StatusCode"]
        assert code == 0, container.logs().decode()
        return str(container.logs(stderr=False).decode())
    finally:
        container.remove(force=True, v=True)


def test_the_tools_are_there_and_run_without_network(docker_client: DockerClient, sandbox_image: str) -> None:
    run_in(
        docker_client,
        sandbox_image,
        """
        git --version; rg --version; jq --version; curl --version; ps
        node --version; npm --version; npx --version
        uv --version; python3 -m venv /tmp/venv; /tmp/venv/bin/pip --version
        uv venv --quiet /tmp/uv; /tmp/uv/bin/python --version
        """,
    )


def test_claude_code_is_the_version_that_the_label_says(
    docker_client: DockerClient, image_info: ImageInfo
) -> None:
    assert run_in(docker_client, image_info.id, "claude --version").split()[0] == image_info.claude_version
    assert f"ARG CLAUDE_VERSION={image_info.claude_version}\n" in sandbox_dockerfile().decode()


def test_the_users(docker_client: DockerClient, sandbox_image: str) -> None:
    assert run_in(docker_client, sandbox_image, "id -un; id -u; echo $HOME; pwd").split() == [
        "agent",
        "1000",
        "/home/agent",
        "/workspace",
    ]
    output = run_in(docker_client, sandbox_image, "stat -c %U:%G:%a /workspace; id -u relay; id -Gn")
    assert output.split() == ["root:agent:775", "1001", "agent"]


def test_git_is_ready_for_a_commit(docker_client: DockerClient, sandbox_image: str) -> None:
    script = """
        mkdir /tmp/repo; cd /tmp/repo; git init --quiet
        touch file; git add .; git commit --quiet --message first
        git branch --show-current; git log --format='%an <%ae>'
    """
    assert run_in(docker_client, sandbox_image, script).splitlines() == [
        "main",
        "Agent <agent@skillwalker.invalid>",
    ]


def test_the_environment_holds_nothing_of_the_build(docker_client: DockerClient, sandbox_image: str) -> None:
    details = docker_client.api.inspect_image(sandbox_image)
    assert {entry.partition("=")[0] for entry in details["Config"]["Env"]} == {"PATH", "LANG", "TZ"}
    assert details["Config"]["User"] == "agent"
    assert not details["Config"].get("Entrypoint")
    history = json.dumps(docker_client.api.history(sandbox_image)).lower()
    assert "_proxy=" not in history
    assert "password" not in history


def test_nothing_of_this_machine_is_in_it(docker_client: DockerClient, sandbox_image: str) -> None:
    """Neither its name, which tools that make root file systems copy, nor how its pip and npm are set up."""
    script = """
        cat /etc/pip.conf /usr/local/etc/npmrc; find /root -newer /etc/os-release -type f 2>/dev/null || true
        grep -rlsF "$NAME" /etc --exclude=hostname --exclude=hosts || true
    """
    output = run_in(docker_client, sandbox_image, script, environment={"NAME": f"{socket.gethostname()}."})
    assert output.splitlines() == [
        "[global]",
        "cert = /etc/ssl/certs/ca-certificates.crt",
        "cafile=/etc/ssl/certs/ca-certificates.crt",
        "update-notifier=false",
    ]


def test_the_second_time_nothing_is_built(docker_client: DockerClient, image_info: ImageInfo) -> None:
    told: list[str] = []
    again = ensure_image(docker_client, TEST_IMAGE, progress=told.append)
    assert again == image_info
    assert told == []


def test_a_base_that_is_there_is_used(docker_client: DockerClient, image_info: ImageInfo) -> None:
    if TEST_IMAGE:
        pytest.skip("the image given to these tests may have been built on what is not there any more")
    told: list[str] = []
    assert find_base(docker_client, sandbox_dockerfile().decode(), told.append) == image_info.base
    assert told == []


def test_an_image_that_nobody_has(docker_client: DockerClient) -> None:
    with pytest.raises(CannotStartError, match=r"has no image '127\.0\.0\.1:1/none:1' and cannot pull it"):
        ensure_image(docker_client, "127.0.0.1:1/none:1")


def test_a_registry_that_does_not_answer_is_given_up(docker_client: DockerClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        start = time.monotonic()
        problem = pull(docker_client, f"127.0.0.1:{silent.getsockname()[1]}/debian:none", seconds=0.5)
        assert problem
        assert time.monotonic() - start < 100


def derive(client: DockerClient, dockerfile: str, tag: str, base: str) -> None:
    build(
        client,
        BuildContext.of_files({"Dockerfile": f"FROM {base}\n{dockerfile}".encode()}, "Dockerfile"),
        tag=tag,
        arguments={},
        environment={},
        progress=print,
    )


@pytest.mark.parametrize(
    ("dockerfile", "complaint"),
    [
        ("USER root", "its user is root"),
        ("USER root\nRUN rm /usr/local/bin/claude\nUSER agent", "no `claude`"),
        ("USER root\nRUN chmod 0755 /workspace\nUSER agent", "cannot write to /workspace"),
        ("USER root\nRUN rm /usr/bin/git /usr/bin/python3\nUSER agent", "it lacks git, python3"),
        ("USER root\nRUN rm /bin/sh\nUSER agent", "does not start"),
    ],
    ids=["root", "no-claude", "no-workspace", "no-tools", "no-shell"],
)
def test_images_that_cannot_run_trials_are_refused(
    docker_client: DockerClient, sandbox_image: str, scratch_tags: list[str], dockerfile: str, complaint: str
) -> None:
    tag = f"skillwalker-test:{abs(hash(complaint)):x}"
    derive(docker_client, dockerfile, tag, sandbox_image)
    scratch_tags.append(tag)
    with pytest.raises(CannotStartError) as caught:
        ensure_image(docker_client, tag)
    assert complaint in str(caught.value)
    assert tag in str(caught.value)


def test_an_image_whose_claude_hangs_is_refused(
    docker_client: DockerClient, sandbox_image: str, scratch_tags: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tag = "skillwalker-test:hangs"
    program = "printf '#!/bin/sh\\nexec sleep 1000\\n' > /usr/local/bin/claude"
    derive(docker_client, f"USER root\nRUN {program}\nUSER agent", tag, sandbox_image)
    scratch_tags.append(tag)
    monkeypatch.setattr("skillwalker.sandbox.image_check._SECONDS", 2)
    with pytest.raises(CannotStartError, match="`claude --version` does not end in it within 2 seconds"):
        ensure_image(docker_client, tag)


def test_a_run_in_such_an_image_does_not_start(
    docker_client: DockerClient,
    sandbox_image: str,
    scratch_tags: list[str],
    run_cli: Callable[..., Any],
    tmp_path: Path,
) -> None:
    tag = "skillwalker-test:refused"
    derive(docker_client, "USER root\nRUN rm /usr/local/bin/claude", tag, sandbox_image)
    scratch_tags.append(tag)
    plugin(tmp_path)
    an_eval(tmp_path, [{"name": "one", "expect": [{"result-contains": "x"}]}])

    called = run_cli("--root", tmp_path, "run", "--isolated", "--rehearse", "--image", tag)

    assert called.code == 4
    assert "no `claude`" in called.err
    assert "its user is root" in called.err
    assert not (tmp_path / ".skillwalker").exists()


def test_an_image_of_the_users_own_is_accepted(
    docker_client: DockerClient, image_info: ImageInfo, scratch_tags: list[str]
) -> None:
    derive(docker_client, "LABEL mine=1", "skillwalker-test:good", image_info.id)
    scratch_tags.append("skillwalker-test:good")
    found = ensure_image(docker_client, "skillwalker-test:good")
    assert found.claude_version == image_info.claude_version
    assert found.id != image_info.id
    assert not docker_client.api.containers(all=True, filters={"label": "skillwalker.run=image-check"})


@pytest.fixture
def users_dockerfile(tmp_path: Path) -> Path:
    (tmp_path / "greeting.txt").write_text("hello")
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text(
        "ARG SKILLWALKER_IMAGE\nFROM ${SKILLWALKER_IMAGE}\nCOPY greeting.txt /etc/greeting\n"
    )
    return dockerfile


def test_a_dockerfile_on_top_is_built_when_something_changed(
    docker_client: DockerClient, image_info: ImageInfo, users_dockerfile: Path, scratch_tags: list[str]
) -> None:
    told: list[str] = []

    def ensure() -> ImageInfo:
        found = build_custom_image(docker_client, users_dockerfile, ours=image_info, progress=told.append)
        if found.tag not in scratch_tags:
            scratch_tags.append(found.tag)
        return found

    first = ensure()
    assert run_in(docker_client, first.id, "cat /etc/greeting") == "hello"
    assert first.claude_version == image_info.claude_version
    assert ensure() == first
    assert told[0] == f"building the image of {users_dockerfile}"
    assert [step.split(" : ")[0] for step in told[1:]] == [
        f"Step {number}/{len(told) - 1}" for number in range(1, len(told))
    ]
    (users_dockerfile.parent / "greeting.txt").write_text("good morning")
    second = ensure()
    assert second.tag != first.tag
    assert run_in(docker_client, second.id, "cat /etc/greeting") == "good morning"


def test_a_dockerfile_that_does_not_build(
    docker_client: DockerClient, image_info: ImageInfo, users_dockerfile: Path
) -> None:
    with users_dockerfile.open("a") as file:
        file.write("RUN echo what went wrong; exit 7\n")
    with pytest.raises(CannotStartError, match=r"(?s)returned a non-zero code: 7.*what went wrong"):
        build_custom_image(docker_client, users_dockerfile, ours=image_info)


def test_what_was_fetched_is_compared_with_its_hash(
    docker_client: DockerClient, image_info: ImageInfo
) -> None:
    """With a mirror that answers something else: a directory of the build, so that no network is needed."""
    dockerfile = sandbox_dockerfile().decode()
    _, _, steps = dockerfile.partition("ARG NPM_REGISTRY=")
    step = "ARG NPM_REGISTRY=" + steps.partition("\n# pip checks")[0]
    served = (
        "USER root\nRUN rm -rf /usr/local/lib/node_modules /usr/local/bin/np? && mkdir -p /srv/npm/- "
        "&& echo other > /srv/npm/-/npm-10.9.9.tgz\n"
    )
    text = f"FROM {image_info.id}\n{served}{step}"
    with pytest.raises(CannotStartError, match=r"npm 10\.9\.9: wrong hash sha512-"):
        build(
            docker_client,
            BuildContext.of_files({DOCKERFILE: text.encode()}, DOCKERFILE),
            tag="skillwalker-test:never",
            arguments={"NPM_REGISTRY": "file:///srv"},
            environment={},
            progress=print,
        )


def test_two_processes_build_it_once(
    docker_client: DockerClient, image_info: ImageInfo, users_dockerfile: Path, scratch_tags: list[str]
) -> None:
    with users_dockerfile.open("a") as file:
        file.write("RUN sleep 1\n")
    program = """
import sys
from contextlib import closing
from pathlib import Path
from skillwalker.sandbox.engine import connect
from skillwalker.sandbox.image import build_custom_image, find_image
with closing(connect()) as client:
    ours = find_image(client, sys.argv[1])
    print(build_custom_image(client, Path(sys.argv[2]), ours=ours, progress=print).tag)
"""
    arguments = [sys.executable, "-c", program, image_info.id, str(users_dockerfile)]
    both = [subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=600)[0] for process in both]
    tags = {output.splitlines()[-1] for output in outputs}
    scratch_tags.extend(tags)
    assert len(tags) == 1
    assert sum("building the image" in output for output in outputs) == 1


def skillwalker(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from skillwalker.cli.main import main; main()", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_image_info_tells_what_it_is_made_from(docker_client: DockerClient) -> None:
    result = skillwalker("image", "info", "--format", "json")
    assert result.returncode == 0, result.stderr
    facts = json.loads(result.stdout)
    assert facts["tag"].startswith("skillwalker-sandbox:")
    assert facts["inputs"]["dockerfile"].startswith("sha256:")
    other = json.loads(skillwalker("image", "info", "--format", "json", "--base", "debian:none").stdout)
    assert other["tag"] != facts["tag"]
    assert [other[name] for name in ("id", "size_bytes", "claude_code_version")] == [None, None, None]
    assert "not built yet" in skillwalker("image", "info", "--base", "debian:none").stdout


def test_image_info_tells_what_is_used_instead(docker_client: DockerClient, tmp_path: Path) -> None:
    root = ("--root", str(tmp_path))
    shown = ("image", "info", "--format", "json")
    assert json.loads(skillwalker(*root, *shown).stdout)["configured"] == {"image": None, "dockerfile": None}
    (tmp_path / "skillwalker.toml").write_text('[sandbox]\nimage = "registry.example/mine:1"\n')
    named = json.loads(skillwalker(*root, *shown).stdout)["configured"]
    assert named == {"image": "registry.example/mine:1", "dockerfile": None}
    assert "names the image registry.example/mine:1" in skillwalker(*root, "image", "info").stdout
    (tmp_path / "Dockerfile").write_text("FROM x\n")
    (tmp_path / "skillwalker.toml").write_text('[sandbox]\ndockerfile = "Dockerfile"\n')
    on_top = {"image": None, "dockerfile": str(tmp_path / "Dockerfile")}
    assert json.loads(skillwalker(*root, *shown).stdout)["configured"] == on_top
    other = json.loads(skillwalker(*root, *shown, SKILLWALKER_IMAGE="a:b").stdout)["configured"]
    assert other == {"image": "a:b", "dockerfile": None}


def test_a_users_dockerfile_can_be_built_ahead(
    docker_client: DockerClient, users_dockerfile: Path, scratch_tags: list[str]
) -> None:
    result = skillwalker("image", "build", "--dockerfile", str(users_dockerfile))
    assert result.returncode == 0, result.stderr
    tag = result.stdout.split()[0]
    scratch_tags.append(tag)
    assert tag.startswith("skillwalker-custom:")
    assert run_in(docker_client, tag, "cat /etc/greeting") == "hello"
    gone = skillwalker("image", "build", "--dockerfile", "no/such/Dockerfile")
    assert gone.returncode == 4
    assert "no/such/Dockerfile" in gone.stderr


def test_doctor_finds_the_engine_and_the_image(docker_client: DockerClient) -> None:
    result = skillwalker("doctor", "--format", "json")
    checks = {one["name"]: one for one in json.loads(result.stdout)["checks"]}
    assert result.returncode == 0, result.stdout
    assert docker_client.version()["Version"] in checks["engine"]["message"]
    assert checks["engine"]["status"] == checks["python"]["status"] == "ok"
    assert {"capacity", "cgroup", "storage", "image", "left-overs"} <= set(checks)


def test_doctor_without_an_engine_says_what_to_do(tmp_path: Path) -> None:
    result = skillwalker("doctor", DOCKER_HOST=f"unix://{tmp_path}/none.sock")
    assert result.returncode == 4
    assert re.search(r"^fail  engine +No Docker engine answers\.", result.stdout, re.MULTILINE)
