"""What the options of several types have in common."""

from __future__ import annotations

from collections.abc import Iterable


def each(value: str | Iterable[str]) -> tuple[str, ...]:
    """One text or several, as several."""
    return (value,) if isinstance(value, str) else tuple(value)
