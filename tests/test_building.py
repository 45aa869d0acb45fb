"""Building through the engine's API, against a small fake of it; tests/docker builds for real."""

from __future__ import annotations

import io
import os
import tarfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from skillwalker.errors import CannotStartError
from skillwalker.sandbox.building import CONTEXT_MIB, BuildContext, build, build_lock

CONTEXT = BuildContext.of_files({"Dockerfile": b"FROM x\n"}, "Dockerfile")


@define
class FakeEngine:
    """Answers a build with `events`; remembers what it was asked."""

    events: list[Mapping[str, Any]]
    asked: dict[str, Any] = field(factory=dict)

    @property
    def api(self) -> FakeEngine:
        return self

    def build(self, **arguments: Any) -> Iterator[Mapping[str, Any]]:
        self.asked = arguments
        return iter(self.events)


def run(
    engine: FakeEngine, environment: Mapping[str, str] | None = None, *, of_user: bool = False
) -> list[str]:
    told: list[str] = []
    build(
        engine,  # type: ignore[arg-type]
        CONTEXT,
        tag="tag:1",
        arguments={"BASE": "debian"},
        environment=environment or {},
        progress=told.append,
        of_user=of_user,
    )
    return told


def test_lines_for_people_are_passed_on_however_they_are_cut() -> None:
    events = [
        {"stream": "Step 1/2 : RUN\nskillwalker: fet"},
        {"stream": "ching\n"},
        {"aux": {"ID": "sha256:1"}},
    ]
    assert run(FakeEngine(events)) == ["fetching"]


def test_the_steps_of_a_users_dockerfile_are_told() -> None:
    events = [{"stream": "Step 1/2 : FROM x\n ---> 1234\nStep 2/2 : RUN \x1b[2Jmake\nskillwalker: mine\n"}]
    assert run(FakeEngine(events), of_user=True) == [
        "Step 1/2 : FROM x",
        r"Step 2/2 : RUN \x1b[2Jmake",
        "mine",
    ]
    assert run(FakeEngine(events)) == ["mine"]


def test_a_users_dockerfile_that_fails_is_the_users_to_mend() -> None:
    events = [{"stream": "E: Unable to connect\n"}, {"error": "returned a non-zero code: 100"}]
    with pytest.raises(CannotStartError, match=r"(?s)Unable to connect.*Mend the Dockerfile"):
        run(FakeEngine(events), of_user=True)


def test_proxies_and_mirrors_go_in_as_arguments() -> None:
    engine = FakeEngine([])
    run(
        engine,
        {
            "https_proxy": "http://proxy.example:3128",
            "NO_PROXY": "",
            "SKILLWALKER_NPM_REGISTRY": "https://npm.example",
            "ANTHROPIC_API_KEY": "secret",
        },
    )
    assert engine.asked["buildargs"] == {
        "BASE": "debian",
        "https_proxy": "http://proxy.example:3128",
        "NPM_REGISTRY": "https://npm.example",
    }
    assert engine.asked["network_mode"] is None


@pytest.mark.parametrize("proxy", ["http://localhost:3128", "http://127.0.0.1:3128", "http://[::1]:3128"])
def test_a_proxy_of_this_machine_is_reached_from_the_build(proxy: str) -> None:
    engine = FakeEngine([])
    run(engine, {"HTTPS_PROXY": proxy})
    assert engine.asked["network_mode"] == "host"


def test_a_password_of_a_mirror_would_stay_in_the_image() -> None:
    with pytest.raises(CannotStartError, match="SKILLWALKER_PIP_INDEX_URL holds a user or password"):
        run(FakeEngine([]), {"SKILLWALKER_PIP_INDEX_URL": "https://me:secret@pypi.example/simple"})


@pytest.mark.parametrize(
    ("output", "advice"),
    [
        ("curl: (60) SSL certificate problem: self-signed certificate", "--ca-file"),
        ("curl: (6) Could not resolve host: registry.npmjs.org", "SKILLWALKER_NPM_REGISTRY"),
        ("Claude Code 1.2.3: wrong hash sha512-x", "--no-cache"),
    ],
)
def test_a_failed_build_shows_its_last_lines_and_what_to_do(output: str, advice: str) -> None:
    events = [{"stream": f"{number}\n"} for number in range(100)]
    with pytest.raises(CannotStartError) as caught:
        run(FakeEngine([*events, {"stream": output}, {"error": "returned a non-zero code: 1"}]))
    message = str(caught.value)
    assert output in message
    assert advice in message
    assert "tag:1 could not be built: returned a non-zero code: 1" in message
    assert "  99\n" in message
    assert "  50\n" not in message


def names(context: BuildContext) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(context.tar)) as archive:
        return archive.getnames()


def test_runs_and_history_are_no_part_of_a_build(tmp_path: Path) -> None:
    """Otherwise each run would change what the next one is built from."""
    for name in ("Dockerfile", ".git/HEAD", ".skillwalker/runs/x/run.json", "sub/.git", "evals/x/tests.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    before = BuildContext.of_directory(tmp_path / "Dockerfile")
    assert names(before) == ["Dockerfile", "evals/x/tests.json", "sub/.git"]
    (tmp_path / ".skillwalker" / "more").write_text("x")
    assert BuildContext.of_directory(tmp_path / "Dockerfile").digest == before.digest
    (tmp_path / ".dockerignore").write_text("evals\nsub\n!.git\n")
    assert names(BuildContext.of_directory(tmp_path / "Dockerfile")) == [
        ".dockerignore",
        ".git/HEAD",
        "Dockerfile",
    ]


def test_a_directory_that_is_too_much_is_told_before_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM x")
    with (tmp_path / "big.bin").open("wb") as file:
        file.truncate((CONTEXT_MIB << 20) + 1)
    with pytest.raises(CannotStartError, match=r"more than 256 MiB \(the largest: big\.bin, Dockerfile\)"):
        BuildContext.of_directory(tmp_path / "Dockerfile")
    (tmp_path / ".dockerignore").write_text("*.bin")
    assert "big.bin" not in names(BuildContext.of_directory(tmp_path / "Dockerfile"))


def test_a_directory_without_what_dockerignore_leaves_out(tmp_path: Path) -> None:
    for name in ("Dockerfile.mine", "tool.sh", "cache/big.bin", "cache/keep.txt", "sub/deep.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / ".dockerignore").write_text("# comment\ncache\n!cache/keep.txt\nDockerfile.mine\n")
    found = BuildContext.of_directory(tmp_path / "Dockerfile.mine")
    assert names(found) == [".dockerignore", "Dockerfile.mine", "cache/keep.txt", "sub/deep.txt", "tool.sh"]


def test_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM x")
    (tmp_path / "link").symlink_to("/etc/hostname")
    found = BuildContext.of_directory(tmp_path / "Dockerfile")
    with tarfile.open(fileobj=io.BytesIO(found.tar)) as archive:
        assert archive.getmember("link").linkname == "/etc/hostname"
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("/etc/passwd")
    assert BuildContext.of_directory(tmp_path / "Dockerfile").digest != found.digest


def test_the_digest_is_of_content_and_modes_not_of_times(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM x")
    tool = tmp_path / "tool.sh"
    tool.write_text("echo")
    first = BuildContext.of_directory(tmp_path / "Dockerfile")
    os.utime(tool, (1, 1))
    assert BuildContext.of_directory(tmp_path / "Dockerfile").digest == first.digest
    tool.chmod(0o755)
    executable = BuildContext.of_directory(tmp_path / "Dockerfile")
    assert executable.digest != first.digest
    tool.write_text("echo more")
    assert BuildContext.of_directory(tmp_path / "Dockerfile").digest not in (first.digest, executable.digest)


def test_a_dockerfile_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CannotStartError, match="Dockerfile"):
        BuildContext.of_directory(tmp_path / "Dockerfile")


@pytest.mark.usefixtures("temporary")  # where the lock is: another one may be building
def test_one_build_at_a_time() -> None:
    told: list[str] = []
    order: list[str] = []
    waiting = threading.Event()

    def second() -> None:
        def progress(message: str) -> None:
            told.append(message)
            waiting.set()

        with build_lock(progress):
            order.append("second")

    with build_lock(told.append):
        thread = threading.Thread(target=second)
        thread.start()
        assert waiting.wait(120)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert told == ["waiting for another process that builds an image"]
