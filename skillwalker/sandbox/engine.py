"""Finding the Docker engine: `DOCKER_HOST`, else the current Docker context, else the usual sockets."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from skillwalker.errors import CannotStartError

if TYPE_CHECKING:
    from docker import DockerClient

# An engine that is there answers `GET /version` in milliseconds, over ssh in a second or two.
ANSWER_SECONDS = 10
# For everything later: a read on a busy engine, not the life of a stream.
CALL_SECONDS = 120
_VARIABLE = "DOCKER_HOST"
DEFAULT_SOCKET = "unix:///var/run/docker.sock"


@frozen
class Endpoint:
    """Where an engine may be.

    Attributes:
        address: As `DOCKER_HOST` has it, e.g. `unix:///var/run/docker.sock` or `tcp://host:2376`.
        source: Who says so, for messages.
        chosen: Whether the user named it, so that no other one will do.
    """

    address: str
    source: str
    chosen: bool
    tls: Any = None


def endpoints(environment: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """Where to look, in this order; exactly one if the user chose it.

    Raises:
        CannotStartError: the choice itself is broken: no such context, no such TLS files.
    """
    from docker.context import ContextAPI
    from docker.context.config import get_current_context_name
    from docker.errors import DockerException
    from docker.utils import kwargs_from_env

    try:
        arguments = kwargs_from_env(environment=dict(environment) or {"": ""})
    except (DockerException, OSError) as error:
        raise CannotStartError(
            f"The TLS files for the Docker engine cannot be used: {str(error).rstrip('.')}. "
            "DOCKER_CERT_PATH must name a directory with ca.pem, cert.pem and key.pem."
        ) from error
    tls = arguments.get("tls")
    if address := arguments.get("base_url"):
        return (Endpoint(address, _VARIABLE, chosen=True, tls=tls),)

    name = environment.get("DOCKER_CONTEXT") or get_current_context_name()
    if name and name != "default":
        try:
            context = ContextAPI.get_context(name)
        except Exception as error:  # the SDK raises bare Exception for a damaged file
            raise CannotStartError(f"The Docker context {name!r} cannot be read: {error}") from error
        if context is None or not context.Host:
            raise CannotStartError(
                f"The current Docker context is {name!r}, which does not exist (any more). "
                "Choose another with `docker context use`, or set DOCKER_HOST."
            )
        source = f"the Docker context {name!r}"
        return (Endpoint(context.Host, source, chosen=True, tls=context.TLSConfig or tls),)
    return tuple(
        Endpoint(address, "default socket" if address == DEFAULT_SOCKET else "own socket", chosen=False)
        for address in _sockets(environment)
    )


def connect(
    environment: Mapping[str, str] | None = None, *, answer_seconds: float = ANSWER_SECONDS
) -> DockerClient:
    """A client of the engine that answers; close it after use.

    Args:
        environment: The process's own by default.
        answer_seconds: How long each place may take to answer.

    Raises:
        CannotStartError: none answers; one paragraph says what was tried and what to do.
    """
    environment = os.environ if environment is None else environment
    failures: list[tuple[Endpoint, Exception]] = []
    for endpoint in endpoints(environment):
        try:
            return _open(endpoint, answer_seconds)
        except Exception as error:  # noqa: BLE001 - OSError, requests', paramiko's, pywintypes': all mean no answer
            failures.append((endpoint, error))
    raise CannotStartError(explain(failures)) from failures[0][1]


def explain(failures: list[tuple[Endpoint, Exception]]) -> str:
    """One paragraph: what was tried, why it failed, what to do."""
    tried = "; ".join(
        f"{endpoint.address} ({endpoint.source}): {reason(error)}" for endpoint, error in failures
    )
    return f"No Docker engine answers. Tried {tried}. {_advice(failures)}"


def reason(error: BaseException) -> str:
    """The cause at the bottom of the SDK's nested exceptions, in a few words."""
    causes = list(_causes(error))
    for kind, words in (
        (PermissionError, "permission denied"),
        (FileNotFoundError, "no such socket"),
        (ConnectionRefusedError, "connection refused"),
        (TimeoutError, "no answer"),
    ):
        if any(isinstance(cause, kind) for cause in causes):
            return words
    text = str(causes[-1]) or type(causes[-1]).__name__
    if "timed out" in text.lower():
        return "no answer"
    return text if len(text) <= 200 else text[:199] + "…"


def _advice(failures: list[tuple[Endpoint, Exception]]) -> str:
    endpoint = failures[0][0]
    reasons = {reason(error) for _, error in failures}
    elsewhere = "or set DOCKER_HOST to an engine elsewhere, such as ssh://user@host"
    if "permission denied" in reasons:
        return (
            "An engine is there, but this user may not use it: `sudo usermod -aG docker $USER`, then log in "
            "again (or set DOCKER_HOST to an engine of your own, such as a rootless one)."
        )
    if endpoint.source == _VARIABLE:
        todo = f"start it, unset {_VARIABLE}, or point it at an engine that runs."
        return f"{_VARIABLE} names this engine: {todo}"
    if endpoint.chosen:
        return (
            f"{endpoint.source[0].upper()}{endpoint.source[1:]} names this engine: "
            f"start it, choose another with `docker context use`, or set {_VARIABLE} to one that runs."
        )
    if "connection refused" in reasons:
        return (
            "The engine is installed but not started: `sudo systemctl start docker` "
            f"(or start Docker Desktop), {elsewhere}."
        )
    return (
        "Start Docker Desktop (macOS, Windows), install an engine (Debian, Ubuntu: `sudo apt-get "
        f"install docker.io`), start the one that is installed (`sudo systemctl start docker`), {elsewhere}."
    )


def _sockets(environment: Mapping[str, str]) -> Iterator[str]:
    """The default socket, then those of Docker Desktop and of a rootless engine, where they exist."""
    if os.name == "nt":
        yield "npipe:////./pipe/docker_engine"
        return
    yield DEFAULT_SOCKET
    own = [Path(environment.get("HOME") or Path.home(), ".docker/run/docker.sock")]
    if runtime := environment.get("XDG_RUNTIME_DIR"):
        own.append(Path(runtime, "docker.sock"))
    yield from (f"unix://{path}" for path in own if path.is_socket())


def _open(endpoint: Endpoint, seconds: float) -> DockerClient:
    from docker import DockerClient
    from docker.constants import MINIMUM_DOCKER_API_VERSION

    ssh = endpoint.address.startswith("ssh://")
    if ssh and not find_spec("paramiko"):
        raise ModuleNotFoundError("ssh:// needs the package paramiko: pip install 'docker[ssh]'")
    options = {
        "base_url": endpoint.address,
        "tls": endpoint.tls or False,
        "use_ssh_client": ssh,  # else host keys and ~/.ssh/config do not count
    }

    def client(version: str, timeout: float, pool: int) -> DockerClient:
        made = DockerClient(version=version, timeout=timeout, max_pool_size=pool, **options)
        if made.api.base_url.startswith(("http:", "https:")):
            _adjust(made.api, pool)
        return made

    if endpoint.address.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as probe:  # the SDK leaks a socket that cannot be connected
            probe.settimeout(seconds)
            probe.connect(endpoint.address.removeprefix("unix://"))
    # Asked with a client of its own: one that asks while it is being made leaks its connection on failure.
    with closing(client(MINIMUM_DOCKER_API_VERSION, seconds, 1)) as first:
        version = first.api.version(api_version=False)["ApiVersion"]
    # Threads of trials share the client, so its pool is large.
    return client(version, CALL_SECONDS, 64)


def _adjust(session: Any, pool: int) -> None:
    """Makes up for what the SDK leaves to `requests` where the engine is reached by TCP."""
    from requests.adapters import HTTPAdapter
    from requests.utils import get_environ_proxies

    # REQUESTS_CA_BUNDLE and CURL_CA_BUNDLE, which many set for their company's proxy, would beat the
    # engine's own ca.pem. Proxies are the one thing of the environment that counts here too.
    session.trust_env = False
    session.proxies.update(get_environ_proxies(session.base_url))
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(pool_connections=1, pool_maxsize=pool))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and everything nested in it, outermost first; the SDK also nests among arguments."""
    waiting: list[BaseException] = [error]
    seen: set[int] = set()
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        nested = (current.__cause__, current.__context__, getattr(current, "reason", None), *current.args)
        waiting += [item for item in nested if isinstance(item, BaseException)]
