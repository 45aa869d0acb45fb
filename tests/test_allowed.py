"""What may be reached: exact addresses, and what names may lead to."""

from __future__ import annotations

import socket

import pytest

from skillwalker.errors import ConfigurationError
from skillwalker.sandbox.allowed import Address, AllowList, NotAllowedError, is_public


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pypi.org:443", "pypi.org:443"),
        ("PyPI.org:443", "pypi.org:443"),
        ("localhost:8080", "localhost:8080"),
        ("my_host-1.corp:1", "my_host-1.corp:1"),
        ("10.0.0.1:65535", "10.0.0.1:65535"),
        ("[::1]:80", "[::1]:80"),
        ("[2001:DB8::0:1]:80", "[2001:db8::1]:80"),
        ("bücher.example:443", "xn--bcher-kva.example:443"),
    ],
)
def test_addresses_are_normalised(text: str, shown: str) -> None:
    assert str(Address.parse(text)) == shown
    assert Address.parse(shown) == Address.parse(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pypi.org", "has no port"),
        (":443", "has no port"),
        ("", "has no port"),
        ("https://pypi.org:443", "leave out the scheme"),
        ("pypi.org:443/simple", "leave out the scheme"),
        ("*.pypi.org:443", "wildcard"),
        ("*:443", "wildcard"),
        ("pypi.org:", "no port from 1 to 65535"),
        ("pypi.org:0", "no port from 1 to 65535"),
        ("pypi.org:65536", "no port from 1 to 65535"),
        ("pypi.org:https", "no port from 1 to 65535"),
        ("pypi.org:４４３", "no port from 1 to 65535"),
        ("pypi .org:443", "no name or IP address"),
        ("pypi.org.:443", "no name or IP address"),
        ("[pypi.org]:443", "no name or IP address"),
        ("::zz:443", "no name or IP address"),
        ("user@pypi.org:443", "no name or IP address"),
        ("a" * 300 + ":443", "no name or IP address"),
        (".pypi.org:443", "no name or IP address"),
    ],
)
def test_what_is_no_address_is_said(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Address.parse(text)


def test_all_wrong_entries_are_told_at_once_with_their_places() -> None:
    with pytest.raises(ConfigurationError) as caught:
        AllowList.of(["pypi.org:443", "nothing", "*:1"])
    assert [str(problem).partition(": ")[0] for problem in caught.value.problems] == [
        "sandbox.network.allow[1]",
        "sandbox.network.allow[2]",
    ]


def test_only_the_exact_host_and_port_is_allowed() -> None:
    allowed = AllowList.of(["Registry.Example:443", "192.0.2.1:80"])
    allowed.require(Address.parse("registry.EXAMPLE:443"))
    allowed.require(Address.parse("192.0.2.1:80"))
    for other in ("registry.example:80", "a.registry.example:443", "example:443", "192.0.2.1:443"):
        with pytest.raises(NotAllowedError, match=r'add "\S+" to sandbox\.network\.allow'):
            allowed.require(Address.parse(other))


@pytest.mark.parametrize(
    ("number", "public"),
    [
        ("1.1.1.1", True),
        ("2606:4700::1111", True),
        ("::ffff:1.1.1.1", True),
        ("64:ff9b::101:101", True),
        ("127.0.0.1", False),
        ("127.8.9.1", False),
        ("0.0.0.0", False),
        ("10.1.2.3", False),
        ("172.17.0.1", False),
        ("192.168.1.1", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("100.100.100.200", False),
        ("168.63.129.16", False),
        ("::ffff:168.63.129.16", False),
        ("192.0.0.192", False),
        ("fd00:ec2::254", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::", False),
        ("::1", False),
        ("fe80::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:169.254.169.254", False),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("2002:7f00:1::", False),
        ("2001:0:7f00:1::", False),
    ],
)
def test_addresses_of_the_internet_are_told_from_others(number: str, public: bool) -> None:
    assert is_public(number) is public


def resolving_to(monkeypatch: pytest.MonkeyPatch, *numbers: str) -> None:
    """Every name leads there; numbers are themselves."""

    def answer(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        return [(0, 0, 0, "", (number, port)) for number in numbers]

    monkeypatch.setattr(socket, "getaddrinfo", answer)


def test_a_name_leads_to_the_internet_only(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = AllowList.of(["registry.example:443"])
    resolving_to(monkeypatch, "10.0.0.5", "1.1.1.1", "169.254.169.254")
    assert allowed.resolve(Address.parse("registry.example:443")) == ("1.1.1.1",)
    resolving_to(monkeypatch, "169.254.169.254")
    with pytest.raises(NotAllowedError, match=r'add "169\.254\.169\.254:443"'):
        allowed.resolve(Address.parse("registry.example:443"))


def test_a_private_address_that_is_listed_itself_may_have_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = AllowList.of(["registry.corp:443", "10.0.0.5:443", "[fd00::5]:443"])
    resolving_to(monkeypatch, "fd00::5", "10.0.0.5", "10.0.0.6")
    assert allowed.resolve(Address.parse("registry.corp:443")) == ("fd00::5", "10.0.0.5")
    with pytest.raises(NotAllowedError):
        AllowList.of(["registry.corp:443", "10.0.0.5:80"]).resolve(Address.parse("registry.corp:443"))


def test_other_ways_to_write_a_number_do_not_help() -> None:
    """The system's resolver takes them for 127.0.0.1; they are names to the rules."""
    for written in ("127.1", "0x7f000001", "2130706433"):
        allowed = AllowList.of([f"{written}:80"])
        with pytest.raises((NotAllowedError, OSError)):
            allowed.resolve(Address.parse(f"{written}:80"))


def test_what_is_private_by_its_own_words() -> None:
    private = ["127.0.0.1:1", "[::1]:1", "10.0.0.1:1", "localhost:1", "a.localhost:1"]
    assert [
        text for text in (*private, "1.1.1.1:1", "pypi.org:1") if Address.parse(text).is_private
    ] == private
