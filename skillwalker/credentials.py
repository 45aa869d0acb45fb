"""Which credential a run uses: found in an environment that is passed in, and never shown.

An API key, a token for a server of one's own, or, where the configuration says so, a subscription's token.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import Literal
from urllib.parse import SplitResult, unquote, urlsplit

from attrs import evolve, field, frozen

from skillwalker.text import safe

API_KEY = "ANTHROPIC_API_KEY"
AUTH_TOKEN = "ANTHROPIC_AUTH_TOKEN"  # noqa: S105 -- a variable's name
SUBSCRIPTION_TOKEN = "CLAUDE_CODE_OAUTH_TOKEN"  # noqa: S105
BASE_URL = "ANTHROPIC_BASE_URL"

DEFAULT_BASE_URL = "https://api.anthropic.com"

SUBSCRIPTION_SETTING = "`subscription = true` under `[model]` in skillwalker.toml"
"""What allows a subscription's token."""

Kind = Literal["api-key", "auth-token", "subscription"]

_NAMES: Mapping[Kind, str] = {
    "api-key": "an API key",
    "auth-token": "a token",
    "subscription": "a subscription's token",
}
_OTHER_WAYS = {
    "CLAUDE_CODE_USE_BEDROCK": "Amazon Bedrock",
    "CLAUDE_CODE_USE_VERTEX": "Google Vertex AI",
    "CLAUDE_CODE_USE_FOUNDRY": "Microsoft Foundry",
}
_PROXIES = ("https_proxy", "http_proxy", "all_proxy")
_OAUTH_PREFIX = "sk-ant-oat"


@frozen
class Credential:
    """What opens the way to the model; only the gateway gets it.

    Attributes:
        source: The variable it was found in.
        base_url: Where it is sent, without a slash at the end.
    """

    kind: Kind
    source: str
    base_url: str
    secret: str = field(repr=False)

    @property
    def described(self) -> str:
        """Kind, source and server, without the secret."""
        return f"{_NAMES[self.kind]} from {self.source}, for {self.base_url}"


@frozen
class Unused:
    """Something that was found and is not used; `why` says what would change that."""

    source: str
    why: str


@frozen
class Credentials:
    """All that an environment has of them.

    Attributes:
        used: None where there is none, or `problems` are in the way.
        base_url: Where requests go, whether or not there is a credential.
        problems: What is wrong and has to be mended; never holds a secret.
        warnings: What is used all the same.
        secrets: All that may never be written or shown, those not used among them.
    """

    used: Credential | None = None
    base_url: str = DEFAULT_BASE_URL
    unused: tuple[Unused, ...] = ()
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    secrets: tuple[str, ...] = field(default=(), repr=False)


def find_credentials(environment: Mapping[str, str], *, subscription: bool = False) -> Credentials:
    """The credential that `environment` gives, with all that is to be said of it.

    Args:
        subscription: Whether the configuration allows a subscription's token. It then goes before a key: who
            asks for it does not want to pay for each request.
    """
    base_url, problems, warnings = _base_url(environment.get(BASE_URL, ""))
    order: tuple[tuple[Kind, str], ...] = (("api-key", API_KEY), ("auth-token", AUTH_TOKEN))
    allowed: tuple[tuple[Kind, str], ...] = (("subscription", SUBSCRIPTION_TOKEN),)
    order = (*allowed, *order) if subscription else (*order, *allowed)
    used: Credential | None = None
    unused: list[Unused] = []
    own = bool(problems) or _is_own(base_url)  # a URL that cannot be read was meant to name some server
    for kind, source in order:
        if (secret := environment.get(source)) is None:
            continue
        why = _why_not(kind, secret, own=own, subscription=subscription)
        if not why and used:
            why = f"{used.source} goes first; unset it to use this one"
        if why:
            unused.append(Unused(source, why))
            continue
        used = Credential(kind, source, base_url, secret)
        if problem := _malformed(secret):
            problems.append(f"{source} {problem}")
    for source, service in _OTHER_WAYS.items():
        if environment.get(source, "").strip() not in ("", "0", "false"):
            unused.append(
                Unused(source, f"{service} is not spoken; use an Anthropic-compatible server before it")
            )
    if used and (warning := _exposed(used)):
        warnings.append(warning)
    found = Credentials(used, base_url, tuple(unused), (), tuple(warnings), tuple(_secrets(environment)))
    return evolve(found, used=None, problems=tuple(problems)) if problems else found


def advice(credentials: Credentials, platform: str) -> str:
    """What to do where there is no credential: every way there is.

    Args:
        platform: `sys.platform`.
    """
    ways = [
        f"set {API_KEY}, or run without a model (--rehearse, or --replay DIR)",
        f"or, for a server of your own, {AUTH_TOKEN} and {BASE_URL}",
        f"or, for a subscription, {SUBSCRIPTION_TOKEN} (`claude setup-token` prints one) "
        f"and {SUBSCRIPTION_SETTING}",
    ]
    text = "no credential for the model: " + "; ".join(ways)
    if platform == "darwin":
        text += (
            ". The login that Claude Code keeps in the Keychain is not read: it is Claude Code's alone, and "
            "renewing a copy of it would log you out; `claude setup-token` makes a token of its own"
        )
    if credentials.unused:
        text += ". Found, but not used: " + "; ".join(
            f"{one.source} ({one.why})" for one in credentials.unused
        )
    return text


def _why_not(kind: Kind, secret: str, *, own: bool, subscription: bool) -> str:
    """Why a variable's value is no candidate; empty where it is one."""
    if not secret.strip():
        return "it is set, but empty"
    if kind == "subscription":
        return (
            ""
            if subscription
            else f"a subscription is used only where the configuration says so: {SUBSCRIPTION_SETTING}"
        )
    if secret.strip().startswith(_OAUTH_PREFIX):
        return (
            f"it holds a subscription's token; set that as {SUBSCRIPTION_TOKEN}, with {SUBSCRIPTION_SETTING}"
        )
    if kind == "auth-token" and not own:
        return f"it is for a server of your own, and {BASE_URL} names none"
    return ""


def _malformed(secret: str) -> str:
    """What is wrong with a secret that cannot stand in a header; says nothing of the secret itself."""
    if re.fullmatch(r"[!-~]+", secret):
        return ""
    if re.fullmatch(r"[!-~]+", secret.strip()):
        at = "ends" if secret.rstrip() != secret else "begins"
        what = "a line break" if "\n" in secret or "\r" in secret else "a blank"
        return f"{at} with {what}: set it again without"
    if re.search(r"\s", secret):
        return "has blanks or line breaks inside: set it to the key alone, on one line"
    return "has characters that no key has (control characters, or letters beyond ASCII): copy it again"


def _base_url(text: str) -> tuple[str, list[str], list[str]]:
    """The base URL with problems and warnings."""
    if not text.strip():
        return DEFAULT_BASE_URL, [], []
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return (
            DEFAULT_BASE_URL,
            [f"{BASE_URL} is no URL; write it as https://host or https://host:port/path"],
            [],
        )
    if parts.scheme not in ("http", "https") or not _is_host(host or "") or not re.fullmatch(r"[!-~]+", text):
        shown = safe(_without_user(text, parts), 100)
        return DEFAULT_BASE_URL, [f"{BASE_URL} is no http or https URL: {shown}"], []
    if "@" in parts.netloc:
        wanted = f"put the secret into {AUTH_TOKEN} and leave it out of the URL"
        return DEFAULT_BASE_URL, [f"{BASE_URL} holds a user name or password; {wanted}"], []
    if parts.query or parts.fragment or text.endswith(("?", "#")):
        return DEFAULT_BASE_URL, [f"{BASE_URL} goes on after its path (`?` or `#`); leave that out"], []
    url = text.rstrip("/")
    warnings = []
    if parts.path.rstrip("/").endswith("/v1"):
        warnings.append(
            f"{BASE_URL} ends in /v1, so that {url}/v1/messages is asked; most servers want it without"
        )
    return url, [], warnings


def _is_host(name: str) -> bool:
    """Whether it can be looked up, or is an address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        # The last part of a name is no number, or it would be an address.
        return re.fullmatch(r"(?!.*\.\d+\.?$)(?!\d+$)([\w-]{1,63}\.)*[\w-]{1,63}\.?", name) is not None
    return True


def _without_user(text: str, parts: SplitResult) -> str:
    user, at, _ = parts.netloc.rpartition("@")
    return text.replace(user + at, "", 1) if at else text


def _is_own(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    return host != "anthropic.com" and not host.endswith(".anthropic.com")


def _exposed(used: Credential) -> str:
    """A warning where the credential goes over the network for all to read."""
    parts = urlsplit(used.base_url)
    host = parts.hostname or ""
    if parts.scheme == "https" or _is_loopback(host):
        return ""
    return (
        f"{used.source} is sent to {safe(host)} without encryption: anybody on the way can read it; use https"
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _secrets(environment: Mapping[str, str]) -> Iterator[str]:
    for source in (API_KEY, AUTH_TOKEN, SUBSCRIPTION_TOKEN):
        if secret := environment.get(source, "").strip():
            yield secret
    for source in (BASE_URL, *_PROXIES, *map(str.upper, _PROXIES)):
        user, at, _ = environment.get(source, "").rpartition("@")
        password = user.rpartition(":")[2]
        if at and password and not password.startswith("//"):
            yield password
            if unquote(password) != password:
                yield unquote(password)
