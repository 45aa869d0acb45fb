"""Whether isolated trials can run on this machine and its engine, and what to do if not."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Literal

from attrs import frozen

from skillwalker.errors import CannotStartError
from skillwalker.text import count

if TYPE_CHECKING:
    from docker import DockerClient

# The oldest engine that the sandbox was tried with.
OLDEST_ENGINE = (20, 10)
TRIAL_GIB = 2


@frozen
class Check:
    """One line of the report; `fail` means that no isolated trial can run."""

    name: str
    status: Literal["ok", "warn", "fail"]
    message: str


def examine() -> Iterator[Check]:
    """All checks that make sense: without an engine, there is nothing to say about its image."""
    from skillwalker.sandbox.engine import connect

    yield Check("python", "ok", f"{platform.python_version()} ({sys.executable})")
    if sys.platform == "win32":
        yield Check("system", "warn", "Windows is not tried; WSL 2 is the safer way")
    try:
        client = connect()
    except CannotStartError as error:
        yield Check("engine", "fail", str(error))
        return
    with closing(client):
        yield from _engine(client)
        yield _image(client)
        yield from _leftovers(client)


def _engine(client: DockerClient) -> Iterator[Check]:
    facts = client.info()
    version = str(facts.get("ServerVersion", ""))
    line = f"{version or 'version not known'} at {client.api.base_url}"
    if _numbers(version) < OLDEST_ENGINE:
        wanted = ".".join(map(str, OLDEST_ENGINE))
        yield Check("engine", "warn", f"{line}; older than {wanted}, with which Skillwalker was tried")
    else:
        yield Check("engine", "ok", line)

    gib, cpus = facts.get("MemTotal", 0) / 2**30, facts.get("NCPU", 0)
    line = f"{gib:.1f} GiB memory, {cpus} CPUs: {max(1, min(cpus, int(gib / TRIAL_GIB)))} trials at a time"
    if gib < TRIAL_GIB:
        yield Check("capacity", "warn", f"{line}; a trial may use {TRIAL_GIB} GiB, so give the engine more")
    else:
        yield Check("capacity", "ok", line)

    lacking = [
        name for name, key in (("memory", "MemoryLimit"), ("process", "PidsLimit")) if facts.get(key) is False
    ]
    line = f"cgroup v{facts.get('CgroupVersion') or '1'}, driver {facts.get('CgroupDriver', 'not known')}"
    if lacking:
        yield Check(
            "cgroup",
            "warn",
            f"{line}; no {' or '.join(lacking)} limits, so that one trial can starve others: "
            "turn the controllers on (rootless engines: delegate them in systemd)",
        )
    else:
        yield Check("cgroup", "ok", line)

    driver = str(facts.get("Driver", "not known"))
    if driver == "vfs":
        yield Check("storage", "warn", "driver vfs copies the whole image for each trial: use overlay2")
    else:
        yield Check("storage", "ok", f"driver {driver}, {facts.get('DockerRootDir', 'place not known')}")


def _image(client: DockerClient) -> Check:
    from skillwalker.sandbox.image import find_image, read_inputs

    try:
        inputs = read_inputs(client)
    except CannotStartError as error:
        return Check("image", "fail", str(error))
    found = find_image(client, inputs.tag)
    if found is None:
        return Check(
            "image",
            "warn",
            f"{inputs.tag} is not built yet: `skillwalker image build`, or the first isolated run, does it",
        )
    return Check("image", "ok", f"{found.tag}, Claude Code {found.claude_version}")


def _leftovers(client: DockerClient) -> Iterator[Check]:
    """What dead runs left behind; those of live ones are theirs, and caches and kept containers are meant."""
    from skillwalker.sandbox.owner import CONTENT, KEPT, OWNER, Owner, kept_volumes

    filters = {"label": OWNER}
    items = client.api.containers(all=True, filters=filters)
    items += client.api.volumes(filters=filters).get("Volumes") or []
    theirs = kept_volumes(client)
    dead = elsewhere = kept = 0
    for item in items:
        labels = item.get("Labels") or {}
        name = (item.get("Names") or [item.get("Name", "")])[0].lstrip("/")
        if name.startswith(KEPT):
            kept += 1
        if CONTENT in labels or name.startswith(KEPT) or name in theirs:
            continue
        owner = Owner.parse(labels[OWNER])
        is_dead = owner.is_dead() if owner else None
        dead += is_dead is True
        elsewhere += is_dead is None
    if kept:
        yield Check(
            "kept", "ok", f"{count(kept, 'container')} by --keep: `skillwalker prune` removes what is kept"
        )
    if not dead and not elsewhere:
        yield Check("left-overs", "ok", "none")
    if dead:
        yield Check("left-overs", "warn", f"{dead} of runs that died here: `skillwalker prune` removes them")
    if elsewhere:
        yield Check(
            "left-overs",
            "warn",
            f"{elsewhere} of runs on other hosts, dead or not: `skillwalker prune` lists them",
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("+")[0].split("-")[0].split(".") if part.isdigit())
