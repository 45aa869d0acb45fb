"""Whether a real model can be asked from here: which credential is used, and whether its server answers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from skillwalker.credentials import Credential, advice, find_credentials
from skillwalker.diagnosis import Check
from skillwalker.errors import ConfigurationError
from skillwalker.redaction import Redactor
from skillwalker.text import safe

PROBE_SECONDS = 5.0
MAX_PROBE_BYTES = 1 << 20


def examine_model(
    environment: Mapping[str, str],
    *,
    platform: str,
    home: Path,
    subscription: bool = False,
    keychain: Callable[[], bool] | None = None,
) -> Iterator[Check]:
    """The checks; none of them is `fail`, since a rehearsal and a replay need no model.

    Args:
        platform: `sys.platform`.
        subscription: Whether the configuration allows a subscription's token.
        keychain: Whether the Keychain holds a login of Claude Code; asked on macOS only.
    """
    found = find_credentials(environment, subscription=subscription)
    for problem in found.problems:
        yield Check("credential", "warn", problem)
    if found.used:
        yield Check("credential", "ok", found.used.described)
        for one in found.unused:
            yield Check("credential", "ok", f"{one.source} is not used: {one.why}")
    elif not found.problems:
        yield Check("credential", "warn", advice(found, platform))
    for warning in found.warnings:
        yield Check("credential", "warn", warning)
    if login := _login(environment, platform, home, keychain or _in_keychain):
        yield Check(
            "login",
            "ok" if found.used else "warn",
            f"Claude Code is logged in here ({login}). That is its own: renewing a copy would log you out; "
            "`claude setup-token` makes a token for CLAUDE_CODE_OAUTH_TOKEN",
        )
    if found.used:
        from skillwalker.gateway.network import EXTRA_CA_FILE

        yield probe(found.used, environment.get(EXTRA_CA_FILE))


def probe(credential: Credential, extra_ca_file: str | None = None) -> Check:
    """Asks the server once, in a way that costs nothing.

    The list of models is free, and only an accepted key gets it. Not every compatible server has one: what it
    answers then says at least that it is there. A subscription's token is for Claude Code's own requests, so
    that its server is asked without it, as Claude Code does when it starts.
    """
    import asyncio

    import aiohttp

    from skillwalker.gateway.network import cause
    from skillwalker.gateway.upstream import request_headers

    host = urlsplit(credential.base_url).netloc
    redactor = Redactor((credential.secret,))
    if with_credential := credential.kind != "subscription":
        method, url = "GET", f"{credential.base_url}/v1/models?limit=1"
        headers = request_headers({"accept": "application/json"}, credential)
    else:
        method, url, headers = "HEAD", credential.base_url, {}
    try:
        status, data = asyncio.run(_answer(method, url, headers, extra_ca_file))
    except aiohttp.ClientError as error:
        text = f"no answer of {host}: {cause(error)}"
    except ConfigurationError as error:
        text = str(error)
    else:
        return _judged(host, credential, status, data, with_credential, redactor)
    return Check("api", "warn", redactor.data(text.encode()).decode())


async def _answer(
    method: str, url: str, headers: Mapping[str, str], extra_ca_file: str | None
) -> tuple[int, bytes]:
    """Status and body, as far as it is worth reading."""
    from skillwalker.gateway.network import proxy_of, tls_context, web_client

    tls, proxy = tls_context(extra_ca_file), proxy_of(url)
    async with (
        web_client(tls, connect_seconds=PROBE_SECONDS, answer_seconds=PROBE_SECONDS) as client,
        client.request(method, url, headers=headers, allow_redirects=False, proxy=proxy) as response,
    ):
        data = b""
        async for piece in response.content.iter_any():
            data += piece
            if len(data) >= MAX_PROBE_BYTES:
                break
        return response.status, data


def _judged(
    host: str, credential: Credential, status: int, data: bytes, with_credential: bool, redactor: Redactor
) -> Check:
    from skillwalker.gateway.upstream import error_of

    _, message = error_of(data)
    said = f": {safe(redactor.data(message.encode('utf-8', 'replace')).decode(), 200)}" if message else ""
    if with_credential and status == 200 and _is_list_of_models(data):
        return Check("api", "ok", f"{host} answers and takes what {credential.source} holds")
    if with_credential and status in (401, 403):
        return Check("api", "warn", f"{host} refuses what {credential.source} holds ({status}){said}")
    if status == 429 or status >= 500:
        return Check("api", "warn", f"{host} answers with {status}{said}")
    return Check(
        "api",
        "ok",
        f"{host} answers; whether it takes what {credential.source} holds, the first request shows",
    )


def _is_list_of_models(data: bytes) -> bool:
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(body, dict) and isinstance(body.get("data"), list)


def _login(
    environment: Mapping[str, str], platform: str, home: Path, keychain: Callable[[], bool]
) -> str | None:
    """Where Claude Code keeps a login of its own; None where none is found."""
    file = Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude") / ".credentials.json"
    if file.is_file():
        return safe(str(file))
    return "in the Keychain" if platform == "darwin" and keychain() else None


def _in_keychain() -> bool:
    """Asks for the entry without its secret, so that nobody is asked for a password."""
    command = ["/usr/bin/security", "find-generic-password", "-s", "Claude Code-credentials"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
