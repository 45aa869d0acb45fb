"""Tokens as the Messages API tells them; what an answer did not tell is None, never 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, fields, frozen

_ORDINARY = {
    "service_tier": ("standard",),
    "speed": ("standard",),
    "inference_geo": ("global", "not_available"),
}

_MOST = 10**12  # of one answer; what tells more counts something else


@frozen
class Tokens:
    """Tokens of one answer, or of several together.

    Attributes:
        input_tokens: Those that no cache was used for.
        cache_creation_input_tokens: All that were written to a cache.
        cache_write_5m_tokens, cache_write_1h_tokens: Of these, what is kept for so long.
        extras: What was used beside tokens at standard rates, such as a web search: no price is known for it.
    """

    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0
    cache_write_5m_tokens: int | None = field(default=0, kw_only=True)
    cache_write_1h_tokens: int | None = field(default=0, kw_only=True)
    extras: frozenset[str] = field(default=frozenset(), kw_only=True)

    @classmethod
    def of(cls, usage: Mapping[str, Any], *, writes_kept_1h: bool | None = None) -> Tokens:
        """One answer's `usage`.

        Args:
            writes_kept_1h: Whether the request asked for an hour's cache (it may ask for both), for servers
                that tell one sum of what they wrote; None where that is not known.
        """
        written = _whole(usage.get("cache_creation_input_tokens"))
        split = usage.get("cache_creation")
        if isinstance(split, Mapping):
            short, long = (_whole(split.get(f"ephemeral_{time}_input_tokens", 0)) for time in ("5m", "1h"))
            if written is None and short is not None and long is not None:
                written = short + long
            elif short is None or long is None or short + long != written:
                short = long = None  # it contradicts itself
        elif written == 0:
            short = long = 0
        else:
            short, long = (written, 0) if writes_kept_1h is False else (None, None)
        return cls(
            _whole(usage.get("input_tokens")),
            _whole(usage.get("output_tokens")),
            _whole(usage.get("cache_read_input_tokens")),
            written,
            cache_write_5m_tokens=short,
            cache_write_1h_tokens=long,
            extras=frozenset(_extras(usage)),
        )

    @property
    def prompt(self) -> int | None:
        """Length of the prompt, cached or not."""
        return _sum(self.input_tokens, _sum(self.cache_read_input_tokens, self.cache_creation_input_tokens))

    def __add__(self, other: Tokens) -> Tokens:
        counts = {
            one.name: _sum(getattr(self, one.name), getattr(other, one.name))
            for one in fields(Tokens)
            if one.name != "extras"
        }
        return Tokens(**counts, extras=self.extras | other.extras)


def _extras(usage: Mapping[str, Any]) -> list[str]:
    """What `usage` tells of beside plain tokens."""
    tools = usage.get("server_tool_use")
    found = (
        [key.removesuffix("_requests") for key, times in tools.items() if times]
        if isinstance(tools, Mapping)
        else []
    )
    for key, ordinary in _ORDINARY.items():
        if (value := usage.get(key)) is not None and value not in ordinary:
            found.append(f"{key} {value}")
    passes = usage.get("iterations")
    for one in passes if isinstance(passes, list) else ():
        kind = one.get("type") if isinstance(one, Mapping) else None
        if kind != "message":
            found.append(f"{kind} iterations")
    return found


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST else None


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
