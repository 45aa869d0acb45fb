"""The way to allowed hosts out of containers without a network: what passes, and that nothing else does."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from network_support import company_proxy, echo, serving, tls_files
from registry_support import trusting_image, write_packages
from sandbox_support import Lab, open_lab
from tls_support import Authority

from skillwalker.sandbox.allowed import AllowList
from skillwalker.sandbox.company_proxy import WayOut
from skillwalker.sandbox.image import ImageInfo, ensure_image
from skillwalker.sandbox.network import Network, TrialNetwork
from skillwalker.sandbox.relay import PORT, PROXY_PORT

if TYPE_CHECKING:
    from docker import DockerClient

REGISTRY = "registry.example:443"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def image(docker_client: DockerClient, authority: Authority, image_info: ImageInfo) -> Iterator[str]:
    """One on top of ours that trusts the authority, made as users make theirs."""
    dockerfile = trusting_image(authority, authority.directory / "image")
    found = ensure_image(docker_client, dockerfile=dockerfile)
    yield found.id
    docker_client.images.remove(found.tag, force=True)


@pytest.fixture(scope="module")
def lab(docker_client: DockerClient, image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with open_lab(docker_client, image, tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@pytest.fixture(scope="module")
def registry(authority: Authority) -> Iterator[WayOut]:
    """`https://registry.example` with a package for each tool, behind the proxy of this machine's company."""
    files = authority.directory / "files"
    write_packages(files)
    with (
        tls_files(files, *authority.sign("registry.example")) as port,
        company_proxy({REGISTRY: port}) as proxy,
    ):
        yield WayOut.of({"HTTPS_PROXY": proxy})


class Opened:
    def __init__(self, log: Path, way: WayOut, *allow: str) -> None:
        self.log = log
        self.network: TrialNetwork = Network(AllowList.of(allow), way).open(log)

    def lines(self) -> list[dict[str, Any]]:
        self.network.close()
        return [json.loads(line) for line in self.log.read_text("ascii").splitlines()]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("curl -sS https://registry.example/data.txt", "some data\n"),
        (
            """python3 -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read())' """
            "https://registry.example/data.txt",
            "b'some data\\n'\n",
        ),
        ("git clone -q https://registry.example/repo.git r && cat r/README", "cloned\n"),
        ("uvx --quiet --index-url https://registry.example/simple greeter", "hello of greeter\n"),
        (
            "python3 -m venv v && v/bin/pip install -q --disable-pip-version-check "
            "-i https://registry.example/simple greeter && v/bin/greeter",
            "hello of greeter\n",
        ),
        ("npm view greeter version --registry https://registry.example/npm/", "1.2.3\n"),
    ],
    ids=["curl", "python", "git", "uv", "pip", "npm"],
)
def test_tools_find_the_way_and_trust_the_certificates(
    lab: Lab, registry: WayOut, tmp_path: Path, script: str, said: str
) -> None:
    opened = Opened(tmp_path / "network.jsonl", registry, REGISTRY)
    result = lab.run(script, network=opened.network)
    assert result.text == said, result.stderr.decode()
    lines = opened.lines()
    assert {(line["host"], line["port"], line["outcome"]) for line in lines} == {
        ("registry.example", 443, "passed")
    }
    assert all(line["sent"] > 100 and line["received"] > 100 for line in lines)


def test_what_is_not_listed_is_refused_by_the_settings_name_in_every_tool(
    lab: Lab, registry: WayOut, tmp_path: Path
) -> None:
    opened = Opened(tmp_path / "network.jsonl", registry, REGISTRY)
    script = """
        curl -sS https://pypi.org/; curl -sS http://pypi.org/
        python3 -c "import urllib.request as u; u.urlopen('https://api.anthropic.com/')"
        git ls-remote https://github.com/x/y
        """
    result = lab.run(script, network=opened.network)
    assert 'add "pypi.org:80" to sandbox.network.allow' in result.text
    assert b"403 Not in sandbox.network.allow" in result.stderr
    assert {(line["host"], line["port"], line["outcome"]) for line in opened.lines()} == {
        ("pypi.org", 443, "refused"),
        ("pypi.org", 80, "refused"),
        ("api.anthropic.com", 443, "refused"),
        ("github.com", 443, "refused"),
    }


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1:{port}",
        "localhost:{port}",
        "0.0.0.0:{port}",
        "[::ffff:127.0.0.1]:{port}",
        "2130706433:{port}",
        "169.254.169.254:80",
        "172.17.0.1:22",
    ],
)
def test_nothing_of_the_runners_machine_can_be_reached(lab: Lab, tmp_path: Path, address: str) -> None:
    with serving(echo) as server:
        opened = Opened(tmp_path / "network.jsonl", WayOut(), REGISTRY, f"localhost:{server.port}")
        target = address.format(port=server.port)
        script = f"""
            for at in 127.0.0.1:{PROXY_PORT} 127.0.0.1:{PORT}; do
              curl -sS -m 60 --noproxy '' -p -x http://$at http://{target}/ && echo REACHED
              curl -sS -m 60 --noproxy '' -x http://$at http://{target}/ -o /dev/null -w '%{{http_code}}\\n'
            done
        """
        result = lab.run(script, network=opened.network)
        assert "REACHED" not in result.text
        assert server.connections == 0
        assert {line["outcome"] for line in opened.lines()} == {"refused"}


def test_an_address_of_the_runners_machine_that_is_listed_can_be_reached(lab: Lab, tmp_path: Path) -> None:
    with serving(lambda sock: sock.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + sock.recv(4000))) as server:
        opened = Opened(tmp_path / "network.jsonl", WayOut(), server.address)
        result = lab.run(
            f"curl -sS --noproxy '' http://{server.address}/x; curl -sS --noproxy '' -p http://{server.address}/y",
            network=opened.network,
        )
        assert "GET /x HTTP/1.1" in result.text
        assert "GET /y HTTP/1.1" in result.text
        assert [line["method"] for line in opened.lines()] == ["GET", "CONNECT"]


def test_the_container_still_has_no_network(lab: Lab, registry: WayOut, tmp_path: Path) -> None:
    opened = Opened(tmp_path / "network.jsonl", registry, REGISTRY)
    process = lab.start(
        "ls /sys/class/net; getent hosts registry.example; "
        "curl -sS --noproxy '*' https://registry.example/ && echo REACHED",
        network=opened.network,
    )
    config = lab.client.api.inspect_container(process._container)["HostConfig"]
    assert config["NetworkMode"] == "none"
    assert lab.finish(process).text == "lo\n"
    process.close()
    opened.network.close()


def test_the_gateway_is_reached_without_the_proxy(lab: Lab, registry: WayOut, tmp_path: Path) -> None:
    opened = Opened(tmp_path / "network.jsonl", registry, REGISTRY)
    assert lab.run("curl -sS $ANTHROPIC_BASE_URL", network=opened.network).text == "hello 0"
    opened.network.close()
    assert not opened.log.exists()


def test_a_trial_that_has_no_list_has_no_proxy(lab: Lab) -> None:
    result = lab.run(f"env | grep -i proxy; curl -sS -m 5 http://127.0.0.1:{PROXY_PORT}/ && echo REACHED")
    assert result.stdout == b""


def test_connections_to_hosts_do_not_use_up_those_to_the_model(lab: Lab, tmp_path: Path) -> None:
    with serving(echo) as server:
        opened = Opened(tmp_path / "network.jsonl", WayOut(), server.address)
        code = f"""
import os, socket, subprocess
socks = []
for n in range(64):
    s = socket.create_connection(("127.0.0.1", {PROXY_PORT}))
    s.sendall(b"CONNECT {server.address} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
    assert s.recv(100).startswith(b"HTTP/1.1 200"), n
    socks.append(s)
extra = socket.create_connection(("127.0.0.1", {PROXY_PORT}))
extra.sendall(b"CONNECT {server.address} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
print(subprocess.check_output(["curl", "-sS", os.environ["ANTHROPIC_BASE_URL"]], text=True))
socks[0].close()
print(extra.recv(100)[:12])
"""
        result = lab.run(f"python3 - <<'END'\n{code}\nEND", network=opened.network)
        assert result.text == "hello 0\nb'HTTP/1.1 200'\n", result.stderr.decode()
        assert len(opened.lines()) == 65


def test_a_large_download_passes_while_the_gateway_answers(lab: Lab, tmp_path: Path) -> None:
    size = 64 << 20

    def flood(sock: Any) -> None:
        sock.recv(4000)
        sock.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(size >> 16):
            sock.sendall(bytes(1 << 16))

    with serving(flood) as server:
        opened = Opened(tmp_path / "network.jsonl", WayOut(), server.address)
        script = f"""
            curl -sS --noproxy '' -p http://{server.address}/ | wc -c &
            for i in 1 2 3; do curl -sS $ANTHROPIC_BASE_URL; done; wait
        """
        result = lab.run(script, network=opened.network)
        assert str(size) in result.text
        assert result.text.count("hello 0") == 3
        (line,) = opened.lines()
        assert line["received"] > size


def test_what_is_under_way_counts_as_activity_and_ends_with_the_trial(lab: Lab, tmp_path: Path) -> None:
    over = threading.Event()

    def drip(sock: Any) -> None:
        try:
            while True:
                sock.sendall(b"x")
                time.sleep(0.05)
        finally:
            over.set()

    with serving(drip) as server:
        opened = Opened(tmp_path / "network.jsonl", WayOut(), server.address)
        request = f"CONNECT {server.address} HTTP/1.0\\r\\n\\r\\n"
        drips = f"(printf '{request}'; sleep 100) | curl -sSN telnet://127.0.0.1:{PROXY_PORT} >/dev/null"
        started = time.monotonic()
        lab.run(f"{drips} & sleep 3", network=opened.network)
        assert opened.network.last_activity > started
        opened.network.close()
        assert over.wait(120)
