"""Texts of others cut to what a report has room for; what was left out is always counted."""

from __future__ import annotations

from attrs import define, frozen

from skillwalker.text import safe

_ESCAPE_BYTES = 5  # `&quot;` in place of one


class Harmless(str):
    """A text that has been through `safe`; it still has to be escaped for where it stands."""

    __slots__ = ()


@frozen
class Excerpt:
    """The beginning of a text.

    Attributes:
        left_out: Characters that are not in `text`.
    """

    text: Harmless
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
        if "\r" in text:
            text = text.replace("\r\n", "\n")
        text = text.strip("\n")
        kept = text[: min(limit, max(self.room, at_least, 0))]
        if not kept:
            return Excerpt(Harmless(""), len(text))
        shown = safe(kept, lines=True)
        size = len(shown) if shown.isascii() else len(shown.encode("utf-8", "replace"))
        found = shown.count
        escaped = found("&") + found("<") + found(">") + found('"') + found("'")
        self.room -= size + _ESCAPE_BYTES * escaped
        return Excerpt(Harmless(shown), len(text) - len(kept))
