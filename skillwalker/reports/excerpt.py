"""Texts of others cut to what a report has room for; what was left out is always counted."""

from __future__ import annotations

import re

from attrs import define, frozen

from skillwalker.text import safe

_ESCAPED = re.compile(r"[&<>\"']")
_ESCAPE_BYTES = 5  # `&quot;` in place of one


@frozen
class Excerpt:
    """The beginning of a text, harmless to show; it still has to be escaped for where it stands.

    Attributes:
        left_out: Characters that are not in `text`.
    """

    text: str
    left_out: int = 0


@define
class Budget:
    """Room for the texts of one trial, in bytes as they will stand in a page."""

    room: int

    def excerpt(self, text: str, limit: int, *, at_least: int = 0) -> Excerpt:
        """As much of `text` as there is room for.

        Args:
            limit: At most so many characters.
            at_least: So many characters even where there is no room left.
        """
        text = text.replace("\r\n", "\n").strip("\n")
        kept = text[: min(limit, max(self.room, at_least, 0))]
        shown = safe(kept, lines=True)
        self.room -= len(shown.encode("utf-8", "replace")) + _ESCAPE_BYTES * len(_ESCAPED.findall(shown))
        return Excerpt(shown, len(text) - len(kept))
