"""The network as this machine has it: certificates, proxies, and what goes wrong there in plain words."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from skillwalker.errors import ConfigurationError
from skillwalker.text import safe

EXTRA_CA_FILE = "NODE_EXTRA_CA_CERTS"
"""The variable that users of Claude Code name certificates of their own with, beside those of the system."""


def tls_context(extra_ca_file: str | None = None) -> ssl.SSLContext:
    """What this machine trusts, or what SSL_CERT_FILE or SSL_CERT_DIR name; and `extra_ca_file`.

    Raises:
        ConfigurationError: one of the files cannot be used.
    """
    import httpx2

    try:
        context = httpx2.create_ssl_context()
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            [f"SSL_CERT_FILE or SSL_CERT_DIR cannot be used: {_of_os(error)}"]
        ) from error
    if extra_ca_file:
        try:
            context.load_verify_locations(cafile=extra_ca_file)
        except (OSError, ssl.SSLError) as error:
            text = f"the certificates of {safe(extra_ca_file)} cannot be used: {_of_os(error)}"
            raise ConfigurationError([text]) from error
    return context


def cause(error: BaseException) -> str:
    """Why there was no answer, in plain words."""
    import httpx2

    led = list(chain(error))
    for one in led:
        match one:
            case ssl.SSLCertVerificationError():
                return (
                    f"its certificate is not trusted ({one.verify_message}); "
                    "if the certificate authority is your own, name its file in NODE_EXTRA_CA_CERTS"
                )
            case ssl.SSLError():
                return f"no TLS connection ({_of_os(one)})"
            case socket.gaierror():
                if one.errno == socket.EAI_AGAIN:
                    return "no name server answers"
                return "there is no such host name"
            case ConnectionRefusedError():
                return "nothing listens there (connection refused)"
    match error:
        case httpx2.ConnectTimeout():
            return "no connection in time"
        case httpx2.TimeoutException():
            return "nothing came in time"
        case httpx2.ProxyError():
            return f"the proxy says: {safe(str(error), 200)}"
        case httpx2.RemoteProtocolError() if "complete message" in str(error):
            return "it broke off in its answer"
        case httpx2.RemoteProtocolError() if "without sending" in str(error):
            return "it closed the connection without an answer"
        case httpx2.RemoteProtocolError():
            return f"what it sent is no HTTP ({safe(str(error), 200)})"
    for one in led:
        if isinstance(one, OSError) and one.strerror:
            return one.strerror
    return "the connection broke off" if isinstance(error, httpx2.NetworkError) else type(error).__name__


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception with all that led to it."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        one = waiting.pop(0)
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions


def through_proxy(url: str) -> str:
    """` through the proxy host:port` where one is set for `url`; never with a password."""
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.hostname or ""):
        return ""
    return f" through the proxy {safe(proxy.rpartition('@')[2].rpartition('//')[2], 100)}"


def proxy_problem(error: Exception) -> str:
    """Why `httpx2` takes no proxy from the environment."""
    if isinstance(error, ImportError):
        return "for SOCKS, install the package `socksio` beside skillwalker"
    # The error's own text may hold a password.
    return "HTTPS_PROXY, HTTP_PROXY and ALL_PROXY have to be http:// or https:// URLs"


def _of_os(error: OSError) -> str:
    return error.strerror or safe(str(error), 200)
