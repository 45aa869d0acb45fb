"""What a trial's container executes and how it is confined: start script and configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skillwalker.sandbox.base import Limits
from skillwalker.sandbox.owner import CONTENT
from skillwalker.sandbox.relay import PORT, PROXY_PORT
from skillwalker.tree import COMPLETE, MTIME

AGENT, RELAY = 1000, 1001
"""User ids of the trial and of the relay; the image's users `agent` and `relay`."""

WORKSPACE, HOME, SCAFFOLD = "/workspace", "/home/agent", "/scaffold"
SCAFFOLD_NAME = "files"

INCOMPLETE = 97
"""The script's exit code where a mounted volume was not uploaded to its end."""
NO_LINE = 98
"""The script's exit code where the runner went away before it had sent the prompt."""

READY = b"ready\n"
"""What the script prints before it waits for the prompt; everything after it is the program's."""

COMMIT = f"""
config=$(mktemp) || exit 1
printf '[safe]\n\tdirectory = *\n' >"$config"
(
  export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL="$config"
  export GIT_AUTHOR_NAME=Skillwalker GIT_AUTHOR_EMAIL=scaffold@skillwalker.invalid
  export GIT_COMMITTER_NAME=Skillwalker GIT_COMMITTER_EMAIL=scaffold@skillwalker.invalid
  export GIT_AUTHOR_DATE="@{MTIME} +0000" GIT_COMMITTER_DATE="@{MTIME} +0000"
  git init -q -b main --template= &&
  git -c core.autocrlf=false add -A &&
  git -c gc.auto=0 -c maintenance.auto=false commit -q --allow-empty --no-verify -m "Scaffold"
) >&2 || exit 1
rm -f "$config"
""".strip()
"""For `sh`: commits what is in the current directory to a fresh repository. The same content gives the same
hash everywhere; nobody's configuration of git has a say."""

# Arguments: the number of mounts to check, their paths, the scaffold's path or nothing, the command.
# `exec`, so that the command is process 1: it gets the signals, and everything else ends with it.
SCRIPT = f"""
umask 022
count=$1; shift
while [ "$count" -gt 0 ]; do
  [ -e "$1/{COMPLETE}" ] || exit {INCOMPLETE}
  shift; count=$((count - 1))
done
scaffold=$1; shift
if [ -n "$scaffold" ]; then
  # Not "$scaffold/.": the times of the work directory itself are not the trial's user to set.
  find "$scaffold" -mindepth 1 -maxdepth 1 -exec cp -a -t {WORKSPACE} {{}} + || exit 1
  {COMMIT}
fi
printf '{READY.decode().strip()}\\n'
line=$(mktemp) || exit 1
head -n 1 >"$line"
[ -s "$line" ] || exit {NO_LINE}
exec <"$line"
rm -f "$line"
unset line scaffold count config
exec "$@"
"""

_PROXY = f"http://127.0.0.1:{PROXY_PORT}"
_WITHOUT_PROXY = "127.0.0.1,localhost,::1"
PROXY_VARIABLES = {
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _PROXY),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), _WITHOUT_PROXY),
    "NODE_USE_ENV_PROXY": "1",  # Node.js reads the others only then, from its version 24 on
}
"""What tells programs in the sandbox of the proxy, where there is one."""

_HOSTNAME = "sandbox"
_MIB = 1 << 20


def environment(given: Mapping[str, str], *, proxy: bool = False) -> list[str]:
    """What the sandbox itself sets wins, but for zone and locale, which a trial may choose."""
    chosen = {
        "TZ": "UTC",
        "LANG": "C.UTF-8",
        **given,
        **(PROXY_VARIABLES if proxy else {}),
        "HOME": HOME,
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{PORT}",
    }
    return [f"{name}={value}" for name, value in chosen.items()]


def configuration(
    *,
    image: str,
    command: Sequence[str],
    given: Mapping[str, str],
    volumes: Sequence[tuple[str, str]],
    scaffold: bool,
    limits: Limits,
    labels: Mapping[str, str],
    proxy: bool = False,
) -> dict[str, Any]:
    """The body of the engine's `POST /containers/create` for one trial.

    Args:
        volumes: Pairs of a content volume's name and where it is mounted.
        scaffold: Whether `SCAFFOLD` is among the mounts.
        proxy: Whether there is a way to hosts that the trial may reach.
    """
    source = f"{SCAFFOLD}/{SCAFFOLD_NAME}" if scaffold else ""
    marks = [target for _, target in volumes]
    return {
        "Image": image,
        "Hostname": _HOSTNAME,
        "User": f"{AGENT}:{AGENT}",
        "WorkingDir": WORKSPACE,
        "Entrypoint": ["/bin/sh"],
        "Cmd": ["-c", SCRIPT, "skillwalker", str(len(marks)), *marks, source, *command],
        "Env": environment(given, proxy=proxy),
        "OpenStdin": True,
        "StdinOnce": True,  # the runner's end of input is the container's, also when the runner dies
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Healthcheck": {"Test": ["NONE"]},
        "Labels": dict(labels),
        "HostConfig": {
            "NetworkMode": "none",
            # Otherwise the engine copies the host's name servers and search domains into the container.
            "Dns": ["127.0.0.1"],
            "DnsSearch": ["."],
            "ExtraHosts": [f"{_HOSTNAME}:127.0.0.1"],
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges"],
            "ReadonlyRootfs": True,
            "Privileged": False,
            "IpcMode": "private",
            "Memory": limits.memory_mib * _MIB,
            "MemorySwap": limits.memory_mib * _MIB,  # the same: no swap
            "PidsLimit": limits.pids,
            "NanoCpus": int((limits.cpus or 0) * 1_000_000_000),
            "Ulimits": [_limit("fsize", limits.file_mib * _MIB), _limit("core", 0)],
            # What is written there counts as the trial's memory; full comes before out of memory.
            "Tmpfs": {
                "/tmp": _tmpfs(limits.memory_mib // 2, "mode=1777"),  # noqa: S108 -- inside
                HOME: _tmpfs(limits.memory_mib // 4, f"mode=0700,uid={AGENT},gid={AGENT}"),
            },
            "Mounts": [
                {"Type": "volume", "Target": WORKSPACE, "VolumeOptions": {"Labels": dict(labels)}},
                *(_content(name, target, labels) for name, target in volumes),
            ],
            "LogConfig": {
                "Type": "none"
            },  # the runner reads the stream; nothing is written on the engine's disk
            "RestartPolicy": {"Name": "no"},
        },
    }


def _limit(name: str, value: int) -> dict[str, Any]:
    return {"Name": name, "Soft": value, "Hard": value}


def _tmpfs(size_mib: int, options: str) -> str:
    return f"rw,exec,nosuid,nodev,size={size_mib}m,{options}"  # exec: scripts of skills run there


def _content(name: str, target: str, labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "Type": "volume",
        "Source": name,
        "Target": target,
        "ReadOnly": True,
        # Labels for the case that the volume was removed meanwhile: the engine makes an empty one.
        "VolumeOptions": {"NoCopy": True, "Labels": {**labels, CONTENT: name}},
    }
