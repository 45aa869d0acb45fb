"""The proxy that this machine itself must use, by the usual variables of its environment."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from attrs import frozen

from skillwalker.errors import ConfigurationError


@frozen
class CompanyProxy:
    """
    Attributes:
        authorization: Value of the header `Proxy-Authorization`, or None.
    """

    host: str
    port: int
    authorization: str | None


@frozen
class WayOut:
    """How connections leave this machine.

    Attributes:
        tunnels, requests: The proxy for `CONNECT` and the one for plain `http://` requests; None: directly.
        without: What NO_PROXY says.
    """

    tunnels: CompanyProxy | None = None
    requests: CompanyProxy | None = None
    without: str = ""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> WayOut:
        """Raises ConfigurationError for a proxy of a kind that Skillwalker cannot use."""

        def value(name: str) -> str:
            return environment.get(name.lower()) or environment.get(name.upper()) or ""

        every = value("all_proxy")
        return cls(
            _proxy("HTTPS_PROXY", value("https_proxy") or every),
            _proxy("HTTP_PROXY", value("http_proxy") or every),
            value("no_proxy"),
        )

    def passes(self, host: str, port: int) -> bool:
        """Whether NO_PROXY lets a host be reached without a proxy."""
        from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # has no stub

        if not self.without:
            return False
        return bool(proxy_bypass_environment(f"{host}:{port}", {"no": self.without}))


def _proxy(name: str, text: str) -> CompanyProxy | None:
    if not text:
        return None
    try:
        url = urlsplit(text if "://" in text else f"http://{text}")
        port = url.port or 80
    except ValueError:
        url, port = urlsplit(""), 0
    if url.scheme != "http" or not url.hostname:
        raise ConfigurationError(
            [
                f"{name} must name a proxy as http://host:port: trials cannot reach the hosts of "
                "sandbox.network.allow through any other kind"
            ]
        )
    authorization = None
    if url.username is not None:
        pair = f"{unquote(url.username)}:{unquote(url.password or '')}"
        authorization = f"Basic {base64.b64encode(pair.encode()).decode('ascii')}"
    return CompanyProxy(url.hostname, port, authorization)
