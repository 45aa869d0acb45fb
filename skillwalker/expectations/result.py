"""What the final text contains, or does not."""

from __future__ import annotations

from typing import Any, ClassVar

from attrs import field, frozen

from skillwalker.expectations.base import Trial, Verdict
from skillwalker.text import safe

_AROUND = 60
"""Characters that are shown on each side of what was found."""
_BEGINNING = 160
"""Characters that are shown of a text in which nothing was found."""


def _not_empty(_: Any, attribute: Any, value: str) -> None:
    if not value:
        raise ValueError(f"'{attribute.name}' must not be empty: every text contains the empty text")


@frozen
class ResultContains:
    """The final text contains `text`, exactly as written.

    An empty or missing final text fails.

    Attributes:
        text: What to look for; capitals and spaces count.

    Examples:
        {"result-contains": "# Code Review:"}
    """

    shorthand: ClassVar[str] = "text"

    text: str = field(validator=_not_empty)

    def check(self, trial: Trial) -> Verdict:
        return _verdict(trial, self.text, expected=True)


@frozen
class ResultDoesNotContain:
    """The final text does not contain `text`.

    An empty or missing final text fails too: nothing was said that could be free of it.

    Attributes:
        text: What to look for; capitals and spaces count.

    Examples:
        {"result-does-not-contain": "ERROR"}
    """

    shorthand: ClassVar[str] = "text"

    text: str = field(validator=_not_empty)

    def check(self, trial: Trial) -> Verdict:
        return _verdict(trial, self.text, expected=False)


def _verdict(trial: Trial, wanted: str, *, expected: bool) -> Verdict:
    final = trial.final_text
    quoted = f'"{safe(wanted, 100)}"'
    if not final.strip():
        return Verdict.of(False, f"the final text is empty; looked for {quoted}")
    place = final.find(wanted)
    if place >= 0:
        found = _around(final, place, len(wanted))
        return Verdict.of(True, f"{quoted} is in the final text: {found}", expected=expected)
    other_case = wanted.casefold() in final.casefold()
    hint = " (it is there with other capitals)" if other_case else ""
    message = f'{quoted} is not in the final text{hint}, which begins: "{safe(final, _BEGINNING)}"'
    return Verdict.of(False, message, expected=expected)


def _around(text: str, place: int, length: int) -> str:
    start, end = max(0, place - _AROUND), min(len(text), place + min(length, _BEGINNING) + _AROUND)
    before, after = "…" if start else "", "…" if end < len(text) else ""
    return f'"{before}{safe(text[start:end])}{after}"'
