"""The image that trials run in: made on first use, named after everything it is made from."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from skillwalker.errors import CannotStartError
from skillwalker.packaged import packaged
from skillwalker.sandbox.base_image import BASE_SCRIPT, engine_architecture, find_base, has_image, pull
from skillwalker.sandbox.building import BuildContext, build, build_lock
from skillwalker.sandbox.certificates import ExtraCertificates, extra_certificates

if TYPE_CHECKING:
    from docker import DockerClient

REPOSITORY = "skillwalker-sandbox"
CUSTOM_REPOSITORY = "skillwalker-custom"
VERSION_LABEL = "skillwalker.claude-version"
BASE_LABEL = "skillwalker.base"
DOCKERFILE = "Dockerfile.sandbox"

Progress = Callable[[str], None]


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


@frozen
class Inputs:
    """All that decides what is in the image; the same inputs give the same tag.

    Attributes:
        base: Reference that the user named; None for Debian's, wherever it comes from.
        base_script: What makes the base where no registry answers.
    """

    dockerfile: bytes
    base: str | None
    base_script: bytes
    certificates: ExtraCertificates
    architecture: str

    @property
    def tag(self) -> str:
        digest = hashlib.sha256()
        named = (self.base or "").encode()
        for part in (
            self.dockerfile,
            named,
            self.base_script,
            self.certificates.pem,
            self.architecture.encode(),
        ):
            digest.update(hashlib.sha256(part).digest())
        return f"{REPOSITORY}:{digest.hexdigest()[:12]}"


def read_inputs(
    client: DockerClient,
    *,
    base: str | None = None,
    ca_file: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Inputs:
    """What an image built now would be made from."""
    environment = os.environ if environment is None else environment
    return Inputs(
        dockerfile=sandbox_dockerfile(),
        base=base,
        base_script=BASE_SCRIPT.read_bytes(),
        certificates=extra_certificates(ca_file, environment),
        architecture=engine_architecture(client),
    )


def ensure_image(
    client: DockerClient,
    ref: str | None = None,
    *,
    base: str | None = None,
    ca_file: Path | None = None,
    no_cache: bool = False,
    progress: Progress = lambda message: None,
    environment: Mapping[str, str] | None = None,
) -> ImageInfo:
    """The image `ref`, checked; without it ours, built if the engine does not have it.

    Args:
        base: Build on this image instead of Debian's; it must be Debian or derived from it.
        ca_file: Extra certificates for the image's trust store, PEM.
        no_cache: Build even if it is there, with today's packages.
        progress: Gets a line for each step that takes time.
        environment: Proxies, mirrors and certificates are read from it; the process's own by default.

    Raises:
        CannotStartError: no image; says what to do.
    """
    environment = os.environ if environment is None else environment
    if ref is not None:
        return _named_image(client, ref, progress)
    inputs = read_inputs(client, base=base, ca_file=ca_file, environment=environment)
    if not no_cache and (found := find_image(client, inputs.tag)):
        return found
    with build_lock(progress):
        # Another process may have built it in the meantime.
        if no_cache or not find_image(client, inputs.tag):
            _build_ours(client, inputs, environment, no_cache, progress)
    if found := find_image(client, inputs.tag):
        return found
    raise CannotStartError(f"The image {inputs.tag} was built but the engine does not list it; try again.")


def build_custom_image(
    client: DockerClient,
    dockerfile: Path,
    *,
    ours: ImageInfo,
    progress: Progress = lambda message: None,
    environment: Mapping[str, str] | None = None,
) -> ImageInfo:
    """The image of a user's Dockerfile: begins with `ARG SKILLWALKER_IMAGE` and `FROM ${SKILLWALKER_IMAGE}`.

    Its directory is the build context (`.dockerignore` counts). Built if our image or anything there changed.

    Raises:
        CannotStartError: it does not build, or what it builds cannot run a trial.
    """
    environment = os.environ if environment is None else environment
    context = BuildContext.of_directory(dockerfile)
    digest = hashlib.sha256(f"{ours.id}\0{context.digest}".encode())
    tag = f"{CUSTOM_REPOSITORY}:{digest.hexdigest()[:12]}"
    with build_lock(progress):
        if not find_image(client, tag):
            progress(f"building the image of {dockerfile}")
            build(
                client,
                context,
                tag=tag,
                arguments={"SKILLWALKER_IMAGE": ours.id},
                environment=environment,
                progress=progress,
            )
    return _checked(client, tag)


def find_image(client: DockerClient, tag: str) -> ImageInfo | None:
    """One of ours that the engine has."""
    from docker.errors import ImageNotFound

    try:
        details = client.api.inspect_image(tag)
    except ImageNotFound:
        return None
    labels = details["Config"].get("Labels") or {}
    if VERSION_LABEL not in labels:
        return None
    return _info(details, tag, labels[VERSION_LABEL])


def sandbox_dockerfile() -> bytes:
    """The text of ours."""
    return packaged(DOCKERFILE).read_bytes()


def _build_ours(
    client: DockerClient, inputs: Inputs, environment: Mapping[str, str], fresh: bool, progress: Progress
) -> None:
    progress(f"building the sandbox image {inputs.tag} (once; takes a few minutes)")
    if inputs.certificates.source:
        progress(f"with extra certificates of {inputs.certificates.source}")
    base = inputs.base or find_base(client, inputs.dockerfile.decode(), progress, fresh=fresh)
    files = {DOCKERFILE: inputs.dockerfile}
    if inputs.certificates.pem:
        files["extra-ca.crt"] = inputs.certificates.pem
    build(
        client,
        BuildContext.of_files(files, DOCKERFILE),
        tag=inputs.tag,
        arguments={"BASE": base},
        labels={BASE_LABEL: base},
        no_cache=fresh,
        environment=environment,
        progress=progress,
    )
    progress(f"built {inputs.tag}")


def _named_image(client: DockerClient, ref: str, progress: Progress) -> ImageInfo:
    if not has_image(client, ref):
        progress(f"pulling {ref}")
        if problem := pull(client, ref):
            raise CannotStartError(
                f"The Docker engine has no image {ref!r} and cannot pull it: {problem}. Build or load it "
                "there, or leave the option out: the image of Skillwalker is built on first use."
            )
    if (ours := find_image(client, ref)) and ref.startswith(f"{REPOSITORY}:"):
        return ours
    return _checked(client, ref)


_CHECK = """
id -u | sed 's/^/user=/'
claude --version 2>/dev/null | head -n 1 | sed 's/^/claude=/'
for program in git python3 tar head; do command -v "$program" >/dev/null || echo "missing=$program"; done
[ -w /workspace ] || echo missing=/workspace
"""


def _checked(client: DockerClient, ref: str) -> ImageInfo:
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
    return _info(details, ref, facts["claude"].split()[0])


def _run_in(client: DockerClient, image: str, ref: str) -> str:
    from docker.errors import APIError

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
        container.wait(timeout=60)
        return str(container.logs(stdout=True, stderr=False).decode("utf-8", "replace"))
    except APIError as error:
        raise CannotStartError(f"The image {ref!r} does not start: {error.explanation}") from error
    finally:
        container.remove(force=True, v=True)


def _info(details: Mapping[str, Any], tag: str, version: str) -> ImageInfo:
    return ImageInfo(
        id=details["Id"],
        tag=tag,
        claude_version=version,
        created=details["Created"],
        size=details["Size"],
        base=(details["Config"].get("Labels") or {}).get(BASE_LABEL),
    )
