"""What answers came to, as JSON values and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from skillwalker.gateway.spending import Spend
from skillwalker.stored import NONE, get
from skillwalker.tokens import Tokens

JUDGE = "judge"
"""The conversation of judges."""

_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
)


def spend_object(spend: Spend) -> dict[str, Any]:
    """One conversation's answers of one model."""
    return {
        "conversation": spend.conversation,
        "asked": spend.asked,
        "model": spend.model,
        "answers": spend.answers,
        "cut": spend.cut,
        "usage": {name: getattr(spend.tokens, name) for name in _COUNTS},
        "extras": sorted(spend.tokens.extras),
        "cost_usd": spend.cost_usd,
    }


def judge_object(spent: Iterable[Spend], cost_usd: float | None) -> dict[str, Any] | None:
    """What a trial's judges answered, all together; None where no answer of a judge is known.

    Args:
        spent: The trial's own answers too, which do not count here.
    """
    own = [one for one in spent if one.conversation == JUDGE]
    if not own:
        return None
    tokens = sum((one.tokens for one in own), Tokens())
    return {
        "calls": sum(one.answers for one in own),
        **{name: getattr(tokens, name) for name in _COUNTS[:4]},
        "cost_usd": cost_usd,
    }


def read_spend(data: Any) -> Spend:
    """Raises KeyError, TypeError or ValueError where it is none."""
    if not isinstance(data, dict):
        raise TypeError("spent holds something that is no object")
    usage = get(data, "usage", dict)
    counts = {name: get(usage, name, int, NONE) for name in _COUNTS}
    extras = frozenset(get({"extra": one}, "extra", str) for one in get(data, "extras", list))
    return Spend(
        conversation=get(data, "conversation", str),
        asked=get(data, "asked", str),
        model=get(data, "model", str),
        answers=get(data, "answers", int),
        cut=get(data, "cut", int),
        tokens=Tokens(**counts, extras=extras),
        cost_usd=get(data, "cost_usd", int, float, NONE),
    )
