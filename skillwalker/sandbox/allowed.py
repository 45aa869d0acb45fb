"""Which hosts trials may reach: `host:port` as the configuration lists them, compared exactly."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable

from attrs import frozen

from skillwalker.errors import ConfigurationError, Problem

SETTING = "sandbox.network.allow"
"""Where the list stands in the configuration, for messages."""

_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_][a-z0-9_-]{0,62})*")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# Where a cloud tells its machines who they are; the others are private addresses by themselves.
_METADATA = frozenset(map(ipaddress.ip_address, ("168.63.129.16", "192.0.0.192")))


class NotAllowedError(Exception):
    """A connection that the rules refuse; the message is for the trial, its log and its author."""


@frozen
class Address:
    """A host and a port, normalised: a name in small ASCII letters, an IP address in its shortest form."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Raises ValueError with what is wrong, in words that follow on the text itself."""
        host, colon, port = text.rpartition(":")
        if not colon or not host:
            raise ValueError("has no port: write host:port, such as pypi.org:443")
        if "/" in text:
            raise ValueError("is no host:port: leave out the scheme and the path, such as pypi.org:443")
        if "*" in host:
            raise ValueError("has a wildcard: list each host that may be reached")
        if not re.fullmatch(r"[0-9]{1,5}", port) or not 1 <= int(port) <= 65535:
            raise ValueError(f"has no port from 1 to 65535 after the colon but {port!r}")
        return cls.of(host, int(port))

    @classmethod
    def of(cls, host: str, port: int) -> Address:
        """Raises ValueError for what is neither a name nor an IP address, which may stand in brackets."""
        return cls(_normal(host), port)

    @property
    def is_private(self) -> bool:
        """Whether it is by its own words an address of this machine or of a private network."""
        try:
            return not is_public(self.host)
        except ValueError:
            return self.host == "localhost" or self.host.endswith(".localhost")

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@frozen
class AllowList:
    """The addresses that trials may reach; no other one."""

    addresses: frozenset[Address] = frozenset()

    @classmethod
    def of(cls, entries: Iterable[str]) -> AllowList:
        """Raises ConfigurationError with everything that is wrong with the entries."""
        found, problems = set(), []
        for index, entry in enumerate(entries):
            try:
                found.add(Address.parse(entry))
            except ValueError as error:
                problems.append(Problem(f"{SETTING}[{index}]: {entry!r} {error}"))
        if problems:
            raise ConfigurationError(problems)
        return cls(frozenset(found))

    def require(self, address: Address) -> None:
        """Raises NotAllowedError for an address that is not listed."""
        if address not in self.addresses:
            raise NotAllowedError(
                f'this trial may not reach {address}: add "{address}" to {SETTING} in the configuration '
                "of Skillwalker if it should"
            )

    def resolve(self, address: Address) -> tuple[str, ...]:
        """The IP addresses to connect to, for a listed address.

        A name that leads into a private network is refused unless the IP address is listed too: who answers
        for a name would otherwise choose what a trial reaches of the network that this machine is in.

        Raises:
            NotAllowedError: it leads to such addresses only.
            OSError: the name cannot be resolved.
        """
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        numbers = tuple(dict.fromkeys(str(info[4][0]) for info in found))
        good = tuple(number for number in numbers if self._may_lead_to(number, address.port))
        if not good:
            raise NotAllowedError(
                f"{address} leads to {', '.join(numbers)}, in a private network: add "
                f'"{Address.of(numbers[0], address.port)}" to {SETTING} too if that is meant'
            )
        return good

    def _may_lead_to(self, number: str, port: int) -> bool:
        return is_public(number) or Address.of(number, port) in self.addresses


def is_public(number: str) -> bool:
    """Whether an IP address is one of the internet, also by what it stands for where it embeds another."""
    address: ipaddress.IPv4Address | ipaddress.IPv6Address = ipaddress.ip_address(number.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address.sixtofour is not None or address.teredo is not None:
            return False  # tunnels of the past, which nothing good leads through
        if address in _NAT64:
            address = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        elif address.ipv4_mapped is not None:
            address = address.ipv4_mapped
    if address in _METADATA:
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _normal(host: str) -> str:
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        pass
    try:
        name = bare.lower() if bare.isascii() else bare.encode("idna").decode("ascii").lower()
    except UnicodeError as error:
        raise ValueError(f"has no name of a host before the colon: {error}") from None
    if bare != host or not _NAME.fullmatch(name):
        raise ValueError("has no name or IP address of a host before the colon")
    return name
