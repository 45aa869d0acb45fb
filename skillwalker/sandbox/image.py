"""The image that trials run in: made on first use, named after everything it is made from."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from skillwalker.errors import CannotStartError
from skillwalker.packaged import packaged
from skillwalker.sandbox.base_image import BASE_SCRIPT, engine_architecture, find_base, has_image, pull
from skillwalker.sandbox.building import BuildContext, build, build_lock
from skillwalker.sandbox.certificates import ExtraCertificates, extra_certificates
from skillwalker.sandbox.image_check import BASE_LABEL, check_image, image_info
from skillwalker.sandbox.image_check import ImageInfo as ImageInfo

if TYPE_CHECKING:
    from docker import DockerClient

REPOSITORY = "skillwalker-sandbox"
CUSTOM_REPOSITORY = "skillwalker-custom"
VERSION_LABEL = "skillwalker.claude-version"
DOCKERFILE = "Dockerfile.sandbox"

Progress = Callable[[str], None]


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
    dockerfile: Path | None = None,
    base: str | None = None,
    ca_file: Path | None = None,
    no_cache: bool = False,
    progress: Progress = lambda message: None,
    environment: Mapping[str, str] | None = None,
) -> ImageInfo:
    """The image `ref`, or that of `dockerfile`, or ours; the latter two are built if the engine has none.

    Args:
        dockerfile: A user's, on top of ours; see `build_custom_image`. With `ref` it has no say.
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
    ours = _ensure_ours(client, inputs, environment, no_cache, progress)
    if dockerfile is None:
        return ours
    return build_custom_image(client, dockerfile, ours=ours, progress=progress, environment=environment)


def _ensure_ours(
    client: DockerClient, inputs: Inputs, environment: Mapping[str, str], no_cache: bool, progress: Progress
) -> ImageInfo:
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
                of_user=True,
            )
    return check_image(client, tag)


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
    return image_info(details, tag, labels[VERSION_LABEL])


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
    return check_image(client, ref)
