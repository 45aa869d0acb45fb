"""What a trial tries and must not get. The scripts run as the trial's user, with all that the image has."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_support import LINE, Lab, open_lab, until

from skillwalker.sandbox.base import Limits, WorkspaceSize
from skillwalker.sandbox.relay import PORT
from skillwalker.tree import Tree

CONNECT = (
    "timeout 60 python3 -c "
    "'import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 30)'"
)


@pytest.fixture(scope="module")
def lab(docker_client, sandbox_image, tmp_path_factory) -> Iterator[Lab]:
    with open_lab(docker_client, sandbox_image, tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@pytest.mark.parametrize(
    ("host", "port"),
    [
        ("1.1.1.1", 443),
        ("8.8.8.8", 53),
        ("169.254.169.254", 80),  # metadata of clouds
        ("169.254.170.2", 80),
        ("100.100.100.200", 80),
        ("168.63.129.16", 80),
        ("fd00:ec2::254", 80),
        ("172.17.0.1", 22),  # the engine's host on its usual bridge
        ("host.docker.internal", 80),
        ("api.anthropic.com", 443),
        ("127.0.0.1", 2375),
    ],
)
def test_nothing_can_be_reached(lab: Lab, host: str, port: int) -> None:
    result = lab.run(f"{CONNECT} {host} {port} && echo REACHED")
    assert result.stdout == b""
    assert b"rror: " in result.stderr
    assert b"timed out" not in result.stderr  # refused at once, not waited for


def test_another_container_cannot_be_reached(lab: Lab) -> None:
    server = lab.start("echo up; exec python3 -m http.server 8000 --bind 0.0.0.0 >/dev/null 2>&1")
    rest = until(server, b"up")
    state = lab.client.api.inspect_container(server._container)
    assert all(network["IPAddress"] == "" for network in state["NetworkSettings"]["Networks"].values())
    script = f"for host in 172.17.0.2 172.17.0.3 sandbox; do {CONNECT} $host 8000 && echo REACHED; done"
    assert lab.run(script).stdout == b""
    server.kill()
    list(rest)
    server.close()


def test_only_the_loopback_interface_exists_and_no_name_resolves(lab: Lab) -> None:
    assert lab.run("ls /sys/class/net").text == "lo\n"
    assert lab.run("getent hosts example.com && echo RESOLVED").stdout == b""
    assert lab.run("cat /etc/resolv.conf").text.split() == ["nameserver", "127.0.0.1"]
    assert "127.0.0.1\tlocalhost" in lab.run("cat /etc/hosts").text


def test_the_engine_cannot_be_reached(lab: Lab) -> None:
    assert lab.run("find / -type s 2>/dev/null; ls -A /run | grep -E 'docker|containerd'").stdout == b""


def test_no_secret_of_this_process_is_inside(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary-7f3a9c0d")
    monkeypatch.setenv("CANARY", "sk-canary-7f3a9c0d")
    script = """
        env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null
        grep -rsI '7f3a[9]c0d' /etc /home /tmp /run /workspace /plugins /var 2>/dev/null
        curl -s $ANTHROPIC_BASE_URL
    """
    result = lab.run(script)
    assert b"7f3a9c0d" not in result.stdout
    assert b"hello 0" in result.stdout
    names = {line.partition("=")[0] for line in lab.run("env").text.splitlines()}
    ours = {"PATH", "HOME", "HOSTNAME", "LANG", "TZ", "PWD", "ANTHROPIC_BASE_URL"}
    assert names <= ours | image_env(lab)


def image_env(lab: Lab) -> set[str]:
    config = lab.client.api.inspect_image(lab.sandbox.image)["Config"]
    return {entry.partition("=")[0] for entry in config["Env"] or []}


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/etc/passwd",
        "/usr/bin/git",
        "/usr/local/bin/claude",
        "/plugins",
        "/plugins/0",
        "/scaffold",
        "/opt/x",
    ],
)
def test_nothing_outside_can_be_written(lab: Lab, path: str) -> None:
    tree = Tree.of_files({"x": b"1"})
    script = f'touch "{path}" && echo WRITTEN; [ -d "{path}" ] && touch "{path}/y" && echo WRITTEN; echo done'
    result = lab.run(script, plugins=[("p", tree)], scaffold=tree)
    assert result.text == "done\n"


def test_what_is_written_in_one_trial_is_not_in_the_next(lab: Lab) -> None:
    lab.run('for d in "$HOME" /tmp /workspace /dev/shm; do echo trace >"$d/trace"; done')
    assert lab.run('ls -A "$HOME" /tmp /workspace /dev/shm | grep trace; ls /tmp/*').stdout == b""


def test_scripts_run_in_tmp_and_home(lab: Lab) -> None:
    script = (
        'for d in "$HOME" /tmp /workspace; do printf "#!/bin/sh\\necho ran" >$d/x; chmod +x $d/x; $d/x; done'
    )
    assert lab.run(script).text == "ran\n" * 3


def test_root_cannot_be_gained(lab: Lab) -> None:
    script = """
        id -u; grep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs)' /proc/self/status
        su -c id </dev/null; sudo -n id; unshare -Ur id -u; mount -t tmpfs none /mnt
        find / -xdev -perm -4000 -type f -exec {} -c id \\; 2>/dev/null
        python3 -c 'import os; os.setuid(0); print("GAINED")'
        chmod u+s "$(command -v id)"; mknod disk b 8 0
    """
    lines = lab.run(script).text.splitlines()
    assert lines[0] == "1000"
    assert "CapEff:\t0000000000000000" in lines
    assert "CapBnd:\t0000000000000000" in lines
    assert "NoNewPrivs:\t1" in lines
    assert not [line for line in lines[5:] if "uid=0" in line or line in ("0", "GAINED")]


def test_the_relay_can_be_neither_stopped_nor_read_nor_imitated(lab: Lab) -> None:
    script = f"""
        kill -9 -1; pkill -9 python3; killall python3
        for p in /proc/[0-9]*; do
          [ "$(stat -c %u $p)" = 1001 ] || continue
          echo found; pid=${{p#/proc/}}
          kill -9 $pid && echo KILLED
          kill -STOP $pid && echo STOPPED
          cat $p/environ $p/mem $p/maps && echo READ
          ls $p/fd/ $p/root/ && echo READ
          echo x >$p/fd/1 && echo WRITTEN
          cat $p/fd/0 && echo READ
        done
        python3 - <<'END'
import ctypes, os, socket
for address in ("127.0.0.1", "0.0.0.0"):
    for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, option, 1)
        try:
            s.bind((address, {PORT}))
            s.listen()
            print("IMITATED", address, option)
        except OSError:
            pass
libc = ctypes.CDLL(None, use_errno=True)
for pid in (p for p in os.listdir("/proc") if p.isdigit()):
    if os.stat(f"/proc/{{pid}}").st_uid == 1001 and libc.ptrace(16, int(pid), 0, 0) == 0:
        print("TRACED")
END
        curl -s $ANTHROPIC_BASE_URL
    """
    result = lab.run(f"trap '' TERM; ({script})")
    assert result.text.split() == ["found", "hello", "0"]


def test_the_trial_cannot_write_into_the_relays_stream(lab: Lab) -> None:
    """Bytes that are no HTTP, and more connections than the relay takes, harm only the trial itself."""
    code = f"""
import socket, struct, time
socks = []
for n in range(200):
    s = socket.socket(); s.settimeout(2)
    try:
        s.connect(("127.0.0.1", {PORT})); socks.append(s)
    except OSError:
        break
for s in socks:
    try: s.send(struct.pack(">IBI", 1, 3, 0) * 100)
    except OSError: pass
for s in socks: s.close()
time.sleep(1)
"""
    result = lab.run(f"python3 -c '{code}'; curl -s --retry 5 --retry-all-errors $ANTHROPIC_BASE_URL")
    assert result.text == "hello 0"


def test_a_fork_bomb_ends_at_the_limit_and_the_relay_lives(lab: Lab) -> None:
    script = """
        python3 - <<'END'
import os, signal, time
pids = []
try:
    while True:
        pid = os.fork()
        if pid == 0:
            time.sleep(1000)
            os._exit(0)
        pids.append(pid)
except OSError as error:
    print(len(pids) < 64, error.errno)
for pid in pids: os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0)
END
        curl -s $ANTHROPIC_BASE_URL
    """
    result = lab.run(script, limits=Limits(memory_mib=512, pids=64))
    assert result.text == "True 11\nhello 0"
    assert result.exit.out_of_processes
    assert lab.run("echo few", limits=Limits(memory_mib=512, pids=64)).exit.out_of_processes is False


STOPS_OTHERS = """
import os, signal
print("up", flush=True)
while True:
    for pid in set(filter(str.isdigit, os.listdir("/proc"))) - {"1"}:
        try: os.kill(int(pid), signal.SIGSTOP)
        except OSError: pass
"""
LEAVES_NO_ROOM = """
import os, time
room = True
while True:
    try:
        if os.fork() == 0: time.sleep(1000)
    except OSError:
        if room: print("up", flush=True)
        room = False
        time.sleep(0.01)
"""


@pytest.mark.parametrize("code", [STOPS_OTHERS, LEAVES_NO_ROOM], ids=["stops it", "leaves it no room"])
def test_what_measures_the_work_directory_is_out_of_the_trials_reach(lab: Lab, code: str) -> None:
    process = lab.start(
        f"head -c 20M /dev/zero >big; exec python3 -c '{code}'", limits=Limits(memory_mib=512, pids=64)
    )
    rest = until(process, b"up")
    sizes: list[WorkspaceSize | None] = []
    asking = threading.Thread(target=lambda: sizes.append(process.workspace_size()), daemon=True)
    asking.start()
    asking.join(300)
    process.kill()
    list(rest)
    process.close()
    assert [size and round(size.mib) for size in sizes] == [20]


@pytest.mark.parametrize("directory", ["/tmp", "/home/agent", "/dev/shm"])
def test_what_lives_in_memory_is_full_before_memory_is(lab: Lab, directory: str) -> None:
    script = f"head -c 1G /dev/zero >{directory}/big; echo $?; echo alive"
    result = lab.run(script, limits=Limits(memory_mib=256))
    assert result.text == "1\nalive\n"
    assert b"No space left" in result.stderr
    assert not result.exit.out_of_memory


def test_a_file_ends_at_its_limit(lab: Lab) -> None:
    result = lab.run("head -c 10M /dev/zero >big; stat -c %s big", limits=Limits(memory_mib=256, file_mib=2))
    assert result.text == "2097152\n"


def test_the_engine_confirms_how_the_container_is_confined(lab: Lab) -> None:
    process = lab.start("cat")
    config = lab.client.api.inspect_container(process._container)["HostConfig"]
    assert config["Memory"] == config["MemorySwap"] == 512 << 20
    assert [config["Privileged"], config["Binds"], config["Devices"]] in (
        [False, None, None],
        [False, [], []],
    )
    assert b"".join(chunk.data for chunk in process.output()) == LINE
    process.close()


def test_nothing_of_this_machine_is_mounted(lab: Lab) -> None:
    process = lab.start("cat", plugins=[("p", Tree.of_files({"x": b""}))])
    mounts = lab.client.api.inspect_container(process._container)["Mounts"]
    assert {(mount["Type"], mount["Destination"], mount["RW"]) for mount in mounts} == {
        ("volume", "/workspace", True),
        ("volume", "/plugins/0", False),
    }
    list(process.output())
    process.close()


def test_a_link_out_of_the_root_leads_nowhere_inside(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of the host")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "secret")
    tree = Tree.of_directory(root, root=root)
    assert lab.run("cat link", scaffold=tree).stdout == b""


def test_trials_cannot_see_each_other(lab: Lab) -> None:
    other = lab.start("echo up; exec sleep 1000", environment={"CANARY": "of the other trial"})
    rest = until(other, b"up")
    result = lab.run(
        "cat /proc/[0-9]*/cmdline /proc/*/environ 2>/dev/null | tr '\\0' ' '; ls /dev/shm /dev/mqueue"
    )
    assert "sleep 1000" not in result.text
    assert "of the other trial" not in result.text
    other.kill()
    list(rest)
    other.close()
