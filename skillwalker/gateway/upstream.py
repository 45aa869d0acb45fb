"""The server behind the gateway: requests to it, with the one credential, and its errors in plain words."""

from __future__ import annotations

import io
import json
import re
import ssl
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from attrs import define

from skillwalker.credentials import Credential
from skillwalker.gateway.messages import ERROR_TYPES, ApiError, LostError
from skillwalker.gateway.network import cause, chain, proxy_of, through_proxy, tls_context, web_client
from skillwalker.outcomes import NO_ANSWER
from skillwalker.redaction import Redactor
from skillwalker.text import safe

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession, TraceConfig

CONNECT_SECONDS = 20.0
"""For name, connection and TLS; a server that is there needs a fraction of it."""

STALE_SECONDS = 5.0
"""A connection that was closed while it was kept shows it at once. One that ends later ended over a request
that may have cost something."""

ANSWER_SECONDS = 600.0
"""Without a byte: what the API allows for an answer that is not streamed. A trial that nothing comes from is
stopped much sooner by the runner."""

MAX_ERROR_BYTES = 1 << 20
MAX_MESSAGE_CHARACTERS = 2000
_WORDS_BYTES = 20_000  # of a page, in which its first words are looked for

OAUTH_BETA = "oauth-2025-04-20"
"""What a request with a subscription's token must have among its betas, as Claude Code sends it."""

DEFAULT_VERSION = "2023-06-01"

WHERE = "is ANTHROPIC_BASE_URL ({}) right, and does this machine reach it without a page to log in at?"
"""What to look at where something else than the API answers."""

# What the model's server reads. All else, ids of the trial and its own key among it, ends at the gateway.
_PASSED = frozenset(
    {
        "accept",
        "anthropic-beta",
        "anthropic-dangerous-direct-browser-access",
        "anthropic-version",
        "user-agent",
        "x-app",
    }
)
_PASSED_PREFIX = "x-stainless-"  # how the SDK that asks describes itself

_BETA = "beta=true"
_AT_ONCE_BYTES = 1 << 20  # a larger body goes out in pieces, so that the other answers go on meanwhile

# What a client needs of an error's headers.
_RETURNED = frozenset({"retry-after", "retry-after-ms", "x-should-retry", "request-id"})
_RETURNED_PREFIX = "anthropic-ratelimit-"


class Upstream:
    """Any server that speaks the Messages API. Made on any thread, used on the gateway's loop only.

    Proxies and own certificates are those of this machine: HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE.

    Args:
        extra_ca_file: Certificates that are trusted beside the usual ones.

    Raises:
        ConfigurationError: what the environment says about proxies or certificates cannot be used.
    """

    def __init__(
        self,
        credential: Credential,
        *,
        extra_ca_file: str | None = None,
        connect_seconds: float = CONNECT_SECONDS,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        from yarl import URL

        self.credential = credential
        self.host = urlsplit(credential.base_url).netloc
        self._url = URL(f"{credential.base_url}/v1/messages")
        self._redactor = Redactor((credential.secret,))
        self._proxy = proxy_of(credential.base_url)
        self._client_of = partial(
            web_client,
            tls_context(extra_ca_file),
            connect_seconds=connect_seconds,
            answer_seconds=answer_seconds,
        )
        self._client: ClientSession | None = None

    async def aclose(self) -> None:
        """Closes all connections; on the loop that used them."""
        if self._client:
            await self._client.close()

    @asynccontextmanager
    async def asked(
        self, body: bytes, headers: Mapping[str, str], query: str
    ) -> AsyncIterator[ClientResponse]:
        """The answer to `POST /v1/messages` as soon as its headers are there; its body has not been read.

        Args:
            headers: Those of the client, names in lower case. Of them, and of `query`, only what the server
                needs goes on.

        Raises:
            ApiError: there is no answer, or it is an error.
        """
        import aiohttp

        if self._client is None:
            self._client = self._client_of(_tracing())
        response: ClientResponse | None = None
        while response is None:
            way, began = _Way(), time.monotonic()
            try:
                response = await self._client.post(
                    self._url.with_query(_BETA) if _BETA in query.split("&") else self._url,
                    data=body if len(body) < _AT_ONCE_BYTES else io.BytesIO(body),
                    headers=request_headers(headers, self.credential),
                    allow_redirects=False,
                    proxy=self._proxy,
                    trace_request_ctx=way,
                )
            except aiohttp.ClientError as error:
                # The server may close one that was kept open just then; each is used up by that.
                closed = isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError)
                late = isinstance(error, TimeoutError) or time.monotonic() - began > STALE_SECONDS
                if way.is_new or not closed or late:
                    raise self.unreachable(error) from error
        async with response:
            if response.status != 200:
                raise await self._refusal(response)
            yield response

    def unreachable(self, error: Exception) -> ApiError:
        """What the client is told where there was no answer, or no whole one."""
        status = 504 if isinstance(error, TimeoutError) else 502
        text = f"{NO_ANSWER}{self.host}{through_proxy(self._proxy)}: {cause(error)}"
        hopeless = any(isinstance(one, ssl.SSLCertVerificationError) for one in chain(error))
        headers = {"x-should-retry": "false"} if hopeless else {}
        kind = LostError if _had_gone_out(error) else ApiError
        return kind(status, ERROR_TYPES.get(status, "api_error"), self._clean(text), headers)

    def failed(self, type: str, message: str, headers: Mapping[str, str] | None = None) -> ApiError:
        """An error that stands in an answer that began well."""
        return ApiError(status_of(type), self._clean(type), self._clean(message), headers)

    def broken(self, message: str) -> ApiError:
        """An answer with status 200 that is none."""
        return ApiError(502, "api_error", self._clean(message))

    def foreign(self, content_type: str, data: bytes) -> ApiError:
        """Something whole with status 200 that is no message, such as the page of a Wi-Fi's login.

        Asked again it would be the same, and Claude Code would ask for minutes.
        """
        if not data:
            return self.broken(f"{self.host} answered with 200 and nothing")
        came = f"{len(data):,} bytes of {safe(content_type, 60) or 'no type'}{self._first_words(data)}"
        return self._no_api(f"{self.host} answered with 200 and no message of the Messages API, but {came}")

    def _no_api(self, message: str) -> ApiError:
        """Whatever answers at this URL, it does not speak the Messages API."""
        what = self._clean(f"{message}; {WHERE.format(self.credential.base_url)}")
        return ApiError(502, "api_error", what, {"x-should-retry": "false"})

    async def _refusal(self, response: ClientResponse) -> ApiError:
        """An answer that is no 200, as the client is to see it."""
        import aiohttp

        status = response.status
        data = b""
        try:
            async for chunk in response.content.iter_any():
                data += chunk
                if len(data) >= MAX_ERROR_BYTES:
                    break
        except aiohttp.ClientError:
            pass  # what came of it says more than that it broke off
        if not 400 <= status <= 599:
            where = response.headers.get("location", "")
            to = f" to {safe(self._clean(where), 200)}" if where else ""
            return self._no_api(f"{self.host} answered with {status}{to}")
        type_, message = error_of(self._redactor.data(data))
        if message is None:
            message = f"{self.host} answered with {status}" + self._first_words(data)
            if status in (404, 405):
                message += f"; {WHERE.format(self.credential.base_url)}"
        if status == 401:
            message += f" ({self.host} refuses {self.credential.source})"
        headers = {name: self._clean(value) for name, value in returned_headers(response.raw_headers).items()}
        if status in (401, 403, 404):
            headers.pop("x-should-retry", None)  # nothing will change, whatever the server says
        return ApiError(status, type_ or ERROR_TYPES.get(status, "api_error"), self._clean(message), headers)

    def _first_words(self, data: bytes) -> str:
        """The beginning of a body that is no error of the API, such as a proxy's page; tags left out."""
        # Redacted before it is cut: of a credential that it repeats not even a part may be left.
        whole = self._redactor.data(data[:MAX_ERROR_BYTES])[:_WORDS_BYTES].decode("utf-8", "replace")
        words = " ".join(re.sub(r"(?s)<(script|style).*?</\1>|<[^>]*>", " ", whole).split())
        return f": {safe(words, 200)}" if words else ""

    def _clean(self, text: str) -> str:
        """Never with the credential in it; not without end."""
        data = self._redactor.data(text.encode("utf-8", "surrogatepass"))
        return data.decode("utf-8", "surrogatepass")[:MAX_MESSAGE_CHARACTERS]


@define
class _Way:
    """The connection that a request takes.

    Attributes:
        is_new: Whether it was opened, or tried to be, for this request.
    """

    is_new: bool = False


def _tracing() -> TraceConfig:
    """Tells each request's `_Way` of the connection that is opened for it."""
    import aiohttp

    async def opened(_: object, context: Any, __: object) -> None:
        context.trace_request_ctx.is_new = True

    config = aiohttp.TraceConfig()
    config.on_connection_create_start.append(opened)
    return config


def _had_gone_out(error: Exception) -> bool:
    import aiohttp

    never = aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError
    later = aiohttp.ServerConnectionError | aiohttp.ClientOSError | aiohttp.ClientPayloadError
    return isinstance(error, later) and not isinstance(error, never)


def request_headers(client: Mapping[str, str], credential: Credential) -> dict[str, str]:
    """What goes to the server: of the client's headers those that it needs, and the credential."""
    found = {
        name: value for name, value in client.items() if name in _PASSED or name.startswith(_PASSED_PREFIX)
    }
    found.setdefault("anthropic-version", DEFAULT_VERSION)
    found["content-type"] = "application/json"
    found["accept-encoding"] = "identity"  # compression would hold events back
    if credential.kind == "api-key":
        found["x-api-key"] = credential.secret
    else:
        found["authorization"] = f"Bearer {credential.secret}"
    if credential.kind == "subscription":
        betas = [beta.strip() for beta in found.get("anthropic-beta", "").split(",") if beta.strip()]
        found["anthropic-beta"] = ",".join(dict.fromkeys([*betas, OAUTH_BETA]))
    return found


def returned_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """What the client gets of an answer's headers; names in lower case."""
    named = ((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in raw)
    return {name: value for name, value in named if name in _RETURNED or name.startswith(_RETURNED_PREFIX)}


def error_of(data: bytes) -> tuple[str | None, str | None]:
    """Type and message of an error answer's body; None where it has none."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return None, None
    error = body.get("error") if isinstance(body, dict) else None
    match error:
        case {"type": str(type_), "message": str(message)}:
            return type_, message
        case {"message": str(message)} | str(message):
            return None, message
    match body:
        case {"message": str(message)} | {"detail": str(message)}:
            return None, message
    return None, None


def status_of(type: str) -> int:
    """The status that an error's type stands for; 500 where it is none of the API's."""
    return next((status for status, name in ERROR_TYPES.items() if name == type), 500)


def parsed(data: bytes) -> Mapping[str, Any] | None:
    """A JSON object; None where it is anything else."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
