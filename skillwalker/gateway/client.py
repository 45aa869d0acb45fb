"""The way of the `anthropic` SDK to the gateway, without a port."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Callable, Iterator

import httpx2


def http_client(connect: Callable[[], socket.socket]) -> httpx2.Client:
    """What `anthropic.Anthropic` takes as its `http_client`; every request has a connection of its own."""
    return httpx2.Client(transport=_Transport(connect), trust_env=False)


class _Transport(httpx2.BaseTransport):
    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        self._connect = connect

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        connection = _Connection("gateway", timeout=request.extensions.get("timeout", {}).get("read"))
        try:
            connection.sock = self._connect()
            connection.sock.settimeout(connection.timeout)
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers.raw}
            target = request.url.raw_path.decode("ascii")
            connection.request(request.method, target, body=request.read(), headers=headers)
            response = connection.getresponse()
        except TimeoutError as error:
            connection.close()
            raise httpx2.ReadTimeout(str(error), request=request) from error
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise httpx2.ConnectError(str(error), request=request) from error
        stream = _Stream(connection, response)
        return httpx2.Response(response.status, headers=response.getheaders(), stream=stream)


class _Connection(http.client.HTTPConnection):
    """Connected from the start."""

    auto_open = 0


class _Stream(httpx2.SyncByteStream):
    """The body as it arrives."""

    def __init__(self, connection: _Connection, response: http.client.HTTPResponse) -> None:
        self._connection, self._response = connection, response

    def __iter__(self) -> Iterator[bytes]:
        try:
            while data := self._response.read1(65536):
                yield data
        except TimeoutError as error:
            raise httpx2.ReadTimeout(str(error)) from error
        except (OSError, http.client.HTTPException) as error:
            raise httpx2.RemoteProtocolError(f"the answer broke off: {error}") from error

    def close(self) -> None:
        self._response.close()
        self._connection.close()
