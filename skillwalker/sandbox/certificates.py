"""Extra certificates for the image's trust store: for networks whose proxy signs what it passes on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from attrs import frozen

from skillwalker.errors import CannotStartError

# Programs of this machine that were told to trust another bundle were told so because of such a proxy.
VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "NODE_EXTRA_CA_CERTS")
LOCAL = Path("/usr/local/share/ca-certificates")  # Debian's place for certificates of the machine's owner
PUBLIC = Path("/usr/share/ca-certificates")  # Debian's copy of Mozilla's list, which the image has too

_BEGIN, _END = b"-----BEGIN CERTIFICATE-----\n", b"\n-----END CERTIFICATE-----\n"
_BODY = re.compile(rb"-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----")


@frozen
class ExtraCertificates:
    """Certificates in PEM form and nothing else of their file; empty bytes where none are needed.

    Attributes:
        source: Where they come from, for messages; None if there are none.
    """

    pem: bytes = b""
    source: str | None = None


def extra_certificates(
    ca_file: Path | None,
    environment: Mapping[str, str],
    *,
    local: Path = LOCAL,
    public: Path = PUBLIC,
) -> ExtraCertificates:
    """Those of `ca_file` or of the variable SKILLWALKER_CA_FILE; else those that this machine itself trusts
    beyond the public ones.

    Raises:
        CannotStartError: a file that was named cannot be read or holds no certificate.
    """
    named = ca_file or environment.get("SKILLWALKER_CA_FILE")
    if named:
        found = _certificates(_read(Path(named)))
        if not found:
            raise CannotStartError(f"{named} holds no certificate: --ca-file wants a file in PEM form.")
        return ExtraCertificates(_join(found), str(named))
    known = {certificate for file in public.rglob("*.crt") for certificate in _certificates(_try(file))}
    for variable in VARIABLES:
        path = Path(environment.get(variable) or "/nonexistent")
        if extra := [found for found in _certificates(_try(path)) if found not in known]:
            return ExtraCertificates(_join(extra), f"{path} ({variable})")
    if extra := [found for file in sorted(local.rglob("*.crt")) for found in _certificates(_try(file))]:
        return ExtraCertificates(_join(extra), str(local))
    return ExtraCertificates()


def _certificates(data: bytes) -> list[bytes]:
    return [_BEGIN + b"\n".join(body.split()) + _END for body in _BODY.findall(data)]


def _join(certificates: Iterable[bytes]) -> bytes:
    """Sorted, so that the image's tag does not depend on an order that means nothing."""
    return b"".join(sorted(set(certificates)))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CannotStartError(f"The file of certificates cannot be read: {error}") from error


def _try(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
