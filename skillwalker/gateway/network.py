"""The network as this machine has it: certificates, proxies, and what goes wrong there in plain words."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from skillwalker.errors import ConfigurationError
from skillwalker.text import safe

if TYPE_CHECKING:
    from aiohttp import ClientSession, TraceConfig

EXTRA_CA_FILE = "NODE_EXTRA_CA_CERTS"
"""The variable that users of Claude Code name certificates of their own with, beside those of the system."""


IDLE_SECONDS = 30.0
"""How long an unused connection is kept; many servers close theirs after a minute."""

MAX_HEAD_BYTES = 1 << 16
"""Of a line in front of an answer's body."""


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


def web_client(
    tls: ssl.SSLContext, *traces: TraceConfig, connect_seconds: float, answer_seconds: float
) -> ClientSession:
    """A client that sends what it is told to and no more; made and used on one event loop.

    Args:
        connect_seconds: For name, connection and TLS.
        answer_seconds: Without a byte.
    """
    import aiohttp

    return aiohttp.ClientSession(
        # A caller has only so many connections to the gateway, so that these are bounded too.
        connector=aiohttp.TCPConnector(ssl=tls, limit=0, keepalive_timeout=IDLE_SECONDS),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, connect=connect_seconds, sock_read=answer_seconds),
        trace_configs=list(traces),
        skip_auto_headers=("accept", "accept-encoding", "user-agent"),
        max_line_size=MAX_HEAD_BYTES,
        max_field_size=MAX_HEAD_BYTES,
    )


def cause(error: BaseException) -> str:
    """Why there was no answer, in plain words."""
    import aiohttp

    # aiohttp's own errors are of these kinds too, without what the kinds tell.
    led = [one for one in chain(error) if not isinstance(one, aiohttp.ClientError)]
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
        case aiohttp.ConnectionTimeoutError():
            return "no connection in time"
        case aiohttp.ServerTimeoutError():
            return "nothing came in time"
        case aiohttp.ClientHttpProxyError():
            return f"the proxy says: {error.status} {safe(error.message, 200)}"
        case aiohttp.ServerDisconnectedError():
            return "it closed the connection without an answer"
        case aiohttp.InvalidURL():
            return "that is no address"
        case aiohttp.ClientPayloadError():
            return "it broke off in its answer"
        case aiohttp.ClientResponseError():
            return f"what it sent is no HTTP ({safe(error.message, 200)})"
    for one in led:
        if isinstance(one, OSError) and one.strerror:
            return one.strerror
    return "the connection broke off" if isinstance(error, OSError) else type(error).__name__


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


def proxy_of(url: str) -> str | None:
    """The proxy that this machine has for `url`: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY.

    Raises:
        ConfigurationError: there is one that cannot be used.
    """
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    host = parts.hostname or ""
    address = f"[{host}]" if ":" in host else host
    port = parts.port or (443 if parts.scheme == "https" else 80)  # NO_PROXY may name it
    if not proxy or proxy_bypass(host) or proxy_bypass(f"{address}:{port}"):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    try:
        found = urlsplit(proxy)
        user, password = (unquote(one or "") for one in (found.username, found.password))
        (user + password).encode("latin-1")  # as they are sent
        usable = found.scheme in ("http", "https") and found.hostname and found.port != 0 and ":" not in user
    except ValueError:  # such as a port that is no number
        usable = False
    if not usable:  # its text may hold a password
        raise ConfigurationError(
            [
                "the proxy of this environment cannot be used: "
                "HTTPS_PROXY, HTTP_PROXY and ALL_PROXY have to be http:// or https:// URLs, "
                "a user name in them without a colon, a password without letters beyond Latin-1"
            ]
        )
    return proxy


def through_proxy(proxy: str | None) -> str:
    """` through the proxy host:port` where there is one; never with a password."""
    return f" through the proxy {safe(proxy.rpartition('@')[2].rpartition('//')[2], 100)}" if proxy else ""


def _of_os(error: OSError) -> str:
    return error.strerror or safe(str(error), 200)
