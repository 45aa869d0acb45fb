"""Values taken from stored JSON, which may come from elsewhere: of the right type, or refused."""

from __future__ import annotations

from typing import Any

NONE = type(None)

_MOST = 2**53  # beyond it JSON's readers disagree


def get(data: Any, key: str, *kinds: type, at_least: int | None = None) -> Any:
    """`data[key]`, which is of one of these types and no number beyond all sense.

    Raises:
        KeyError, TypeError, ValueError: it is not; a stored run may come from elsewhere.
    """
    value = data[key]
    if type(value) not in kinds:
        raise TypeError(f"{key} is of type {type(value).__name__}")
    if isinstance(value, int | float) and not -_MOST <= value <= _MOST:  # nor is NaN
        raise ValueError(f"{key} is out of range")
    if at_least is not None and value < at_least:
        raise ValueError(f"{key} is less than {at_least}")
    return value
