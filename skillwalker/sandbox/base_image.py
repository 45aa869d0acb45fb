"""What the sandbox's image is built on: Debian's image from a registry, else one made from its packages."""

from __future__ import annotations

import hashlib
import platform
import queue
import re
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillwalker.errors import CannotStartError

if TYPE_CHECKING:
    from docker import DockerClient

SUITE = "bookworm"
REGISTRY_BASE = f"debian:{SUITE}-slim"
REPOSITORY = "skillwalker-base"
BASE_SCRIPT = Path(__file__).parent.parent / "data" / "make-base.sh"

# An engine that reaches its registry says so in about a second; without this it takes minutes to give up.
REGISTRY_SECONDS = 10
# Between two lines of progress of a pull that has begun.
STALLED_SECONDS = 120
# Lines of mmdebstrap that begin so tell how far it is.
_STEPS = ("downloading", "extracting", "installing")
DEBIAN_ARCHITECTURES = {
    "x86_64": "amd64",
    "amd64": "amd64",
    "AMD64": "amd64",
    "aarch64": "arm64",
    "arm64": "arm64",
}


def find_base(
    client: DockerClient, dockerfile: str, progress: Callable[[str], None], *, fresh: bool = False
) -> str:
    """A reference that the engine has: one that it had, else pulled, else made here.

    Args:
        dockerfile: Text that lists the packages which a base made here gets at once.
        fresh: Do not use one that was made here earlier: its packages may have had security updates since.

    Raises:
        CannotStartError: there is no way to get one; says what was tried and what to do.
    """
    architecture = engine_architecture(client)
    packages = packages_of(dockerfile)
    made = made_tag(architecture, packages)
    if not fresh:
        for reference in (made, REGISTRY_BASE):
            if has_image(client, reference):
                return reference
    progress(f"pulling {REGISTRY_BASE}")
    failure = pull(client, REGISTRY_BASE)
    if failure is None:
        return REGISTRY_BASE
    progress(f"the engine cannot pull it ({failure}); making a base from Debian's packages")
    _make(client, made, architecture, packages, failure, progress)
    return made


def engine_architecture(client: DockerClient) -> str:
    """In Debian's words.

    Raises:
        CannotStartError: Claude Code has no program for the engine's processor.
    """
    machine = client.version()["Arch"]
    try:
        return DEBIAN_ARCHITECTURES[machine]
    except KeyError:
        raise CannotStartError(
            f"The Docker engine's processor is {machine}; the sandbox image exists for amd64 and arm64 only."
        ) from None


def packages_of(dockerfile: str) -> tuple[str, ...]:
    """What the Dockerfile's `ARG PACKAGES` lists."""
    match = re.search(r'^ARG PACKAGES="([^"]*)"$', dockerfile, re.MULTILINE)
    if not match:
        raise CannotStartError("Dockerfile.sandbox has no line ARG PACKAGES=...")
    return tuple(match[1].split())


def made_tag(architecture: str, packages: tuple[str, ...]) -> str:
    """Names a base by what it is made from, but for the day: Debian's packages move on."""
    inputs = hashlib.sha256(BASE_SCRIPT.read_bytes())
    inputs.update("\0".join((architecture, SUITE, *packages)).encode())
    return f"{REPOSITORY}:{inputs.hexdigest()[:12]}"


def has_image(client: DockerClient, reference: str) -> bool:
    from docker.errors import APIError, ImageNotFound
    from requests.exceptions import HTTPError

    try:
        client.api.inspect_image(reference)
    except ImageNotFound:
        return False
    except (APIError, HTTPError) as error:
        raise CannotStartError(f"{reference!r} is no name that an image can have: {error}") from error
    return True


def pull(client: DockerClient, reference: str, *, seconds: float = REGISTRY_SECONDS) -> str | None:
    """Pulls an image; returns None, or why the engine could not.

    Args:
        seconds: How long the registry may take for its first answer.
    """
    events: queue.SimpleQueue[Mapping[str, Any] | None] = queue.SimpleQueue()
    # A thread, because the SDK's own time-out would also cut short a slow layer of a pull that works.
    threading.Thread(target=_pull_into, args=(client, reference, events), daemon=True).start()
    wait = seconds
    while True:
        try:
            event = events.get(timeout=wait)
        except queue.Empty:
            return f"no answer from the registry within {wait:.0f} s"
        if event is None:
            return None
        if "error" in event:
            return str(event["error"]).strip()
        wait = STALLED_SECONDS


def _pull_into(
    client: DockerClient, reference: str, events: queue.SimpleQueue[Mapping[str, Any] | None]
) -> None:
    """Puts every event of the pull, errors too, then None."""
    from docker.errors import DockerException

    name, _, tag = reference.rpartition(":")
    if not name or "/" in tag or "@" in reference:
        name, tag = reference, "" if "@" in reference else "latest"
    try:
        for event in client.api.pull(name, tag=tag or None, stream=True, decode=True):
            events.put(event)
    except (DockerException, OSError) as error:
        events.put({"error": getattr(error, "explanation", None) or str(error)})
    events.put(None)


def _make(
    client: DockerClient,
    tag: str,
    architecture: str,
    packages: tuple[str, ...],
    failure: str,
    progress: Callable[[str], None],
) -> None:
    here = DEBIAN_ARCHITECTURES.get(platform.machine())
    if here != architecture:
        raise _no_base(failure, f"the engine's processor ({architecture}) is not this machine's ({here})")
    with tempfile.TemporaryDirectory(prefix="skillwalker-base-") as directory:
        # A file between the two, so that a script that fails half-way does not become half an image.
        file = Path(directory, "base.tar")
        if problem := _run(["sh", str(BASE_SCRIPT), str(file), architecture, SUITE, *packages], progress):
            raise _no_base(failure, problem)
        progress("importing the base image")
        repository, _, name = tag.partition(":")
        answer = client.api.import_image_from_file(str(file), repository=repository, tag=name)
    if not has_image(client, tag):
        raise _no_base(failure, f"the engine did not import it: {answer}")


def _run(arguments: list[str], progress: Callable[[str], None]) -> str | None:
    """Runs the script and passes on its lines for people; returns None, or the last lines of a failure."""
    try:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        return str(error)
    last: deque[str] = deque(maxlen=15)
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            last.append(line.rstrip())
            # Ours and mmdebstrap's steps; the rest is for the case of a failure.
            source, _, message = last[-1].partition(": ")
            if source == "skillwalker" or (source == "I" and message.startswith(_STEPS)):
                progress(message)
    return ("\n".join(last) or f"exit code {process.returncode}") if process.returncode else None


def _no_base(failure: str, why: str) -> CannotStartError:
    return CannotStartError(
        f"There is no base for the sandbox image. The engine could not pull {REGISTRY_BASE}: {failure}. "
        f"It could not be made from Debian's packages either: {why}\n"
        "What to do: give the engine a way to its registry (a mirror, a proxy), or load the image "
        f"from a machine that has one (`docker save {REGISTRY_BASE}` there, `docker load` here), or name "
        "a Debian image that the engine has: `skillwalker image build --base REF`."
    )
