"""What an image must have to run trials, and what is known of one that has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from skillwalker.errors import CannotStartError

if TYPE_CHECKING:
    from docker import DockerClient

BASE_LABEL = "skillwalker.base"


@frozen
class ImageInfo:
    """An image that a trial can run in.

    Attributes:
        id: `sha256:...`.
        tag: The name it was found under.
        claude_version: Version of the Claude Code in it.
        created: RFC 3339, as the engine has it.
        size: Bytes, all layers.
        base: What it was built on; None where its label does not say.
    """

    id: str
    tag: str
    claude_version: str
    created: str
    size: int
    base: str | None = None


_SECONDS = 60
_CHECK = """
id -u | sed 's/^/user=/'
claude --version 2>/dev/null | head -n 1 | sed 's/^/claude=/'
for program in git python3 tar head; do command -v "$program" >/dev/null || echo "missing=$program"; done
[ -w /workspace ] || echo missing=/workspace
"""


def check_image(client: DockerClient, ref: str) -> ImageInfo:
    """Runs the image once, without network, to see whether it can run trials."""
    details = client.api.inspect_image(ref)
    lines = [line.partition("=") for line in _run_in(client, details["Id"], ref).splitlines()]
    facts = {key: value for key, _, value in lines if key != "missing"}
    problems = []
    if not facts.get("claude"):
        problems.append("it has no `claude` on its PATH that runs")
    if facts.get("user") == "0":
        problems.append(
            "its user is root, as which Claude Code refuses to skip permissions (end it with USER agent)"
        )
    missing = [value for key, _, value in lines if key == "missing"]
    if "/workspace" in missing:
        problems.append("its user cannot write to /workspace")
    if programs := [name for name in missing if name != "/workspace"]:
        problems.append(f"it lacks {', '.join(programs)}")
    if problems:
        raise CannotStartError(
            f"The image {ref!r} cannot run trials: {'; '.join(problems)}. The easiest way is to build it on "
            "Skillwalker's own: `ARG SKILLWALKER_IMAGE`, `FROM ${SKILLWALKER_IMAGE}`, `USER root`, "
            "your additions, `USER agent`."
        )
    return image_info(details, ref, facts["claude"].split()[0])


def _run_in(client: DockerClient, image: str, ref: str) -> str:
    from docker.errors import APIError
    from requests.exceptions import ConnectionError as Lost
    from requests.exceptions import Timeout

    from skillwalker.sandbox.owner import Owner

    container = client.containers.create(
        image,
        ["-c", _CHECK],
        entrypoint="/bin/sh",
        network_mode="none",
        labels=Owner.current().labels("image-check"),
    )
    try:
        container.start()
        container.wait(timeout=_SECONDS)
        return str(container.logs(stdout=True, stderr=False).decode("utf-8", "replace"))
    except APIError as error:
        raise CannotStartError(f"The image {ref!r} does not start: {error.explanation}") from error
    except (Timeout, Lost) as error:
        if "timed out" not in str(error).lower():
            raise CannotStartError(f"The image {ref!r} could not be looked at: {error}") from error
        raise CannotStartError(
            f"The image {ref!r} cannot run trials: `claude --version` does not end in it within "
            f"{_SECONDS:g} seconds"
        ) from error
    finally:
        container.remove(force=True, v=True)


def image_info(details: Mapping[str, Any], tag: str, version: str) -> ImageInfo:
    return ImageInfo(
        id=details["Id"],
        tag=tag,
        claude_version=version,
        created=details["Created"],
        size=details["Size"],
        base=(details["Config"].get("Labels") or {}).get(BASE_LABEL),
    )
