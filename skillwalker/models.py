"""The names of models: what a test may say, and what the Messages API knows."""

from __future__ import annotations

import re
from collections.abc import Mapping

MODEL_IDS: Mapping[str, str] = {
    "opus": "claude-opus-5-5",
    "sonnet": "claude-sonnet-5-5",
    "haiku": "claude-haiku-5-5",
}
"""What Claude Code 2.1.332 asks the API for when it is given an alias (seen in its requests)."""

DEFAULT_MODEL = "sonnet"

_FULL_NAME = re.compile(r"claude-[a-z0-9][a-z0-9.@:_\[\]-]*")


def is_model(name: str) -> bool:
    """Whether Claude Code may know this model: one of the aliases, or a full `claude-...` name."""
    return name in MODEL_IDS or _FULL_NAME.fullmatch(name) is not None


def model_id(name: str) -> str:
    """The name that the Messages API knows."""
    return MODEL_IDS.get(name, name)


def family(name: str) -> str:
    """`opus`, `sonnet` or `haiku`, whichever the name tells; else the name itself."""
    words = re.split(r"[^a-z0-9]", name)
    return next((alias for alias in MODEL_IDS if alias in words), name)
