"""Certificates for tests: an authority of their own, and what it signs, as files."""

from __future__ import annotations

from pathlib import Path

import trustme


class Authority:
    """A certificate authority; its certificate is the file `certificate`."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory, self._authority = directory, trustme.CA()
        self.certificate = directory / "ca.pem"
        self._authority.cert_pem.write_to_path(str(self.certificate))

    def sign(self, name: str) -> tuple[Path, Path]:
        """Files of a certificate and its key for a host's name or IP address."""
        issued = self._authority.issue_cert(name)
        certificate, key = self.directory / f"{name}-cert.pem", self.directory / f"{name}-key.pem"
        issued.cert_chain_pems[0].write_to_path(str(certificate))
        issued.private_key_pem.write_to_path(str(key))
        return certificate, key
