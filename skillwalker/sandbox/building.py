"""Building an image through the engine's API: its files, one build at a time, errors that say what to do."""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from attrs import frozen

from skillwalker.errors import CannotStartError
from skillwalker.text import listed, safe

if TYPE_CHECKING:
    from docker import DockerClient

# Predefined build arguments of Docker: they do not stay in the image's history.
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY")
# Mirrors are no input: what comes from them is checked against hashes.
MIRRORS = {"SKILLWALKER_NPM_REGISTRY": "NPM_REGISTRY", "SKILLWALKER_PIP_INDEX_URL": "PIP_INDEX_URL"}
# The largest context; it is held in memory, and all of it is read before each run.
CONTEXT_MIB = 256
# Left out of every context: what a run writes itself, and history. `.dockerignore` may take them back in.
_LEFT_OUT = (".git", ".skillwalker")
# The longest silence of a build: one step that prints nothing until it is done.
STEP_SECONDS = 900

_STEP = re.compile(r"(Step \d+/\d+ : .*)")


@frozen
class BuildContext:
    """The files of a build, in memory.

    Attributes:
        dockerfile: Name of the Dockerfile among them.
        digest: Hash of the files' names, modes and contents, the Dockerfile's name included.
    """

    tar: bytes
    dockerfile: str
    digest: str

    @classmethod
    def of_files(cls, files: Mapping[str, bytes], dockerfile: str) -> BuildContext:
        return cls._pack([(_entry(name, 0o644), data) for name, data in files.items()], dockerfile)

    @classmethod
    def of_directory(cls, dockerfile: Path) -> BuildContext:
        """The directory of `dockerfile`, without what its `.dockerignore` leaves out; links stay links.

        Raises:
            CannotStartError: a file cannot be read, or they are too much.
        """
        from docker.utils.build import exclude_paths

        root, ignore = dockerfile.parent, dockerfile.parent / ".dockerignore"
        try:
            dockerfile.stat()
            lines = ignore.read_text("utf-8").splitlines() if ignore.is_file() else []
            patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
            kept = exclude_paths(str(root), [*_LEFT_OUT, *patterns], dockerfile=dockerfile.name)
            names = {*kept, dockerfile.name}
            _require_small(dockerfile, names)
            read = [_read(root / name, name) for name in sorted(names)]
        except OSError as error:
            raise CannotStartError(f"The files of {dockerfile} cannot be read: {error}") from error
        return cls._pack([file for file in read if file], dockerfile.name)

    @classmethod
    def _pack(cls, files: list[tuple[tarfile.TarInfo, bytes]], dockerfile: str) -> BuildContext:
        out, digest = io.BytesIO(), hashlib.sha256(dockerfile.encode())
        with tarfile.open(fileobj=out, mode="w") as archive:
            for entry, data in files:
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
                facts = f"\0{entry.name}\0{entry.mode:o}\0{entry.linkname}\0"
                digest.update(facts.encode("utf-8", "surrogateescape"))
                digest.update(hashlib.sha256(data).digest())
        return cls(out.getvalue(), dockerfile, digest.hexdigest())


def _entry(name: str, mode: int) -> tarfile.TarInfo:
    """Owned by root and without a time, so that equal files are equal for the engine's cache too."""
    entry = tarfile.TarInfo(name.replace(os.sep, "/"))
    entry.mode = mode
    return entry


def _require_small(dockerfile: Path, names: Iterable[str]) -> None:
    sizes = {name: path.lstat().st_size for name in names if (path := dockerfile.parent / name).is_file()}
    if sum(sizes.values()) > CONTEXT_MIB << 20:
        largest = listed(sorted(sizes, key=lambda name: sizes[name], reverse=True), 3)
        raise CannotStartError(
            f"The directory of {dockerfile} goes into the build, and its files have more than "
            f"{CONTEXT_MIB} MiB (the largest: {largest}). Name what the build does not "
            "need in a .dockerignore beside it, or give the Dockerfile a directory of its own."
        )


def _read(path: Path, name: str) -> tuple[tarfile.TarInfo, bytes] | None:
    """A file or link; None for directories, which come with their files, and for devices."""
    if path.is_symlink():
        entry = _entry(name, 0o777)
        entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(path)
        return entry, b""
    if not path.is_file():
        return None
    return _entry(name, 0o755 if path.stat().st_mode & 0o100 else 0o644), path.read_bytes()


def build(
    client: DockerClient,
    context: BuildContext,
    *,
    tag: str,
    arguments: Mapping[str, str],
    environment: Mapping[str, str],
    progress: Callable[[str], None],
    labels: Mapping[str, str] | None = None,
    no_cache: bool = False,
    of_user: bool = False,
) -> None:
    """Builds and tags an image; lines `skillwalker: ...` of its steps are passed to `progress`.

    Args:
        of_user: The Dockerfile is a user's: the steps themselves are told, and what to do is another matter.

    Raises:
        CannotStartError: the build failed; carries its last lines and what to do.
    """
    from docker.errors import APIError, BuildError

    proxies = _proxies(environment)
    try:
        events = client.api.build(
            fileobj=io.BytesIO(context.tar),
            custom_context=True,
            dockerfile=context.dockerfile,
            tag=tag,
            buildargs={**proxies, **_mirrors(environment), **arguments},
            labels=dict(labels or {}),
            nocache=no_cache,
            rm=True,
            forcerm=True,
            decode=True,
            timeout=STEP_SECONDS,
            # A proxy on this machine's loopback is another machine's loopback inside the build.
            network_mode="host" if any(map(_is_loopback, proxies.values())) else None,
        )
        last: deque[str] = deque(maxlen=15)
        for line in _lines(events, last):
            if line.startswith("skillwalker: "):
                progress(line.removeprefix("skillwalker: "))
            elif of_user and (step := _STEP.fullmatch(line)):
                progress(safe(step[1], 120))
    except BuildError as error:
        raise CannotStartError(_explain(tag, str(error), last, of_user)) from error
    except APIError as error:
        raise CannotStartError(_explain(tag, error.explanation or str(error), [], of_user)) from error


def _lines(events: Iterator[Mapping[str, object]], last: deque[str]) -> Iterator[str]:
    """The build's output by lines, each kept in `last`; an event may hold several or a part of one."""
    from docker.errors import BuildError

    rest = ""
    for event in events:
        if "error" in event:
            if rest:
                last.append(rest)
            raise BuildError(str(event["error"]), ())
        *complete, rest = (rest + str(event.get("stream", ""))).split("\n")
        for line in complete:
            if line.strip():
                last.append(line.rstrip())
                yield line


def _explain(tag: str, error: str, last: deque[str] | list[str], of_user: bool) -> str:
    output = "\n".join(f"  {line}" for line in last)
    text = f"{output}\n{error}".lower()
    if any(word in text for word in ("certificate", "self-signed", "ssl", "tls")):
        advice = (
            "The network seems to sign what it passes on with a certificate of its own: name the file "
            "of it with `skillwalker image build --ca-file FILE` or SKILLWALKER_CA_FILE."
        )
    elif of_user:
        advice = (
            "Mend the Dockerfile. What it fetches comes through the engine's network: HTTP_PROXY and "
            "HTTPS_PROXY are passed on."
        )
    elif any(word in text for word in ("resolve", "resolving", "connect", "timed out", "unreachable")):
        advice = (
            "The build needs Debian's packages, registry.npmjs.org and pypi.org: HTTP_PROXY and HTTPS_PROXY "
            "are passed on; SKILLWALKER_NPM_REGISTRY and SKILLWALKER_PIP_INDEX_URL name mirrors."
        )
    else:
        advice = "Try once more with `skillwalker image build --no-cache`."
    return f"The image {tag} could not be built: {error.strip()}\n{output}\n{advice}"


def _proxies(environment: Mapping[str, str]) -> dict[str, str]:
    names = [name for upper in PROXIES for name in (upper, upper.lower())]
    return {name: environment[name] for name in names if environment.get(name)}


def _is_loopback(proxy: str) -> bool:
    try:
        host = urlsplit(proxy).hostname
    except ValueError:
        return False
    return host is not None and (host in ("localhost", "::1") or host.startswith("127."))


def _mirrors(environment: Mapping[str, str]) -> dict[str, str]:
    """Raises CannotStartError for an address with a password: it would stay in the image's history."""
    found = {argument: environment[name] for name, argument in MIRRORS.items() if environment.get(name)}
    for name, argument in MIRRORS.items():
        if argument in found and "@" in urlsplit(found[argument]).netloc:
            raise CannotStartError(
                f"{name} holds a user or password, which would stay in the image's history."
            )
    return found


@contextmanager
def build_lock(progress: Callable[[str], None]) -> Iterator[None]:
    """Held by one process of this user at a time; without file locks (Windows) two may build the same."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    path = Path(tempfile.gettempdir(), f"skillwalker-build-{os.getuid()}.lock")
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another process that builds an image")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
