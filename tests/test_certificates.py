"""Certificates that go into the image: those the user names, else those only this machine trusts."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillwalker.errors import CannotStartError
from skillwalker.sandbox.certificates import ExtraCertificates, extra_certificates


def pem(body: str) -> str:
    return f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, Path]:
    """A machine whose public certificates are AAAA and BBBB."""
    places = {"local": tmp_path / "local", "public": tmp_path / "public"}
    for place in places.values():
        place.mkdir()
    (places["public"] / "mozilla").mkdir()
    (places["public"] / "mozilla" / "a.crt").write_text(pem("AAAA"))
    (places["public"] / "mozilla" / "b.crt").write_text(pem("BBBB"))
    return places


def test_a_machine_that_trusts_nothing_special_needs_none(machine: dict[str, Path]) -> None:
    assert extra_certificates(None, {}, **machine) == ExtraCertificates(b"", None)


def test_a_named_file_gives_its_certificates_and_nothing_else(
    tmp_path: Path, machine: dict[str, Path]
) -> None:
    file = tmp_path / "corporate.pem"
    key = "-----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----\n"
    file.write_bytes(f"a comment\r\n{key}{pem('CCCC')}".replace("\n", "\r\n").encode())
    found = extra_certificates(file, {}, **machine)
    assert found == ExtraCertificates(pem("CCCC").encode(), str(file))


def test_order_and_repetition_do_not_count(tmp_path: Path, machine: dict[str, Path]) -> None:
    one, two = tmp_path / "one.pem", tmp_path / "two.pem"
    one.write_text(pem("CCCC") + pem("DDDD"))
    two.write_text(pem("DDDD") + pem("CCCC") + pem("DDDD"))
    assert extra_certificates(one, {}, **machine).pem == extra_certificates(two, {}, **machine).pem


def test_the_option_beats_the_variable(tmp_path: Path, machine: dict[str, Path]) -> None:
    one, two = tmp_path / "one.pem", tmp_path / "two.pem"
    one.write_text(pem("CCCC"))
    two.write_text(pem("DDDD"))
    environment = {"SKILLWALKER_CA_FILE": str(two)}
    assert extra_certificates(one, environment, **machine).source == str(one)
    assert extra_certificates(None, environment, **machine).source == str(two)


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT"])
def test_of_a_bundle_that_programs_were_told_to_trust_the_public_ones_are_left_out(
    tmp_path: Path, machine: dict[str, Path], variable: str
) -> None:
    bundle = tmp_path / "bundle.crt"
    bundle.write_text(pem("AAAA") + pem("CCCC") + pem("BBBB"))
    found = extra_certificates(None, {variable: str(bundle)}, **machine)
    assert found == ExtraCertificates(pem("CCCC").encode(), f"{bundle} ({variable})")


def test_a_bundle_of_public_ones_adds_nothing(tmp_path: Path, machine: dict[str, Path]) -> None:
    bundle = tmp_path / "bundle.crt"
    bundle.write_text(pem("AAAA") + pem("BBBB"))
    assert extra_certificates(None, {"SSL_CERT_FILE": str(bundle)}, **machine) == ExtraCertificates()


def test_a_variable_that_names_no_file_is_passed_over(machine: dict[str, Path]) -> None:
    (machine["local"] / "corporate.crt").write_text(pem("CCCC"))
    found = extra_certificates(None, {"SSL_CERT_FILE": "/nonexistent/ca.pem"}, **machine)
    assert found == ExtraCertificates(pem("CCCC").encode(), str(machine["local"]))


def test_a_named_file_that_is_not_there_or_empty_is_refused(tmp_path: Path, machine: dict[str, Path]) -> None:
    with pytest.raises(CannotStartError, match="cannot be read"):
        extra_certificates(tmp_path / "none.pem", {}, **machine)
    (tmp_path / "empty.pem").write_text("not a certificate")
    with pytest.raises(CannotStartError, match="holds no certificate"):
        extra_certificates(tmp_path / "empty.pem", {}, **machine)
