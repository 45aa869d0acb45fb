"""Whether a text is English, as far as its letters and its small words tell."""

from __future__ import annotations

import re

_ENGLISH = re.compile(
    r"\b(?:the|a|an|and|or|for|of|to|with|in|from|when|use|by|on|into|using|that)\b", re.IGNORECASE
)
_OTHER = re.compile(
    r"\b(?:de|la|el|los|las|und|der|die|das|le|les|des|para|pour|une?|uma|não|il|di|che|per|con|av|och|een|het|em|da)\b",
    re.IGNORECASE,
)
# Cyrillic, Hebrew, Arabic, Indic scripts, Thai to Lao, Burmese, Jamo, Khmer, Japanese, Chinese, Korean.
_LETTERS = re.compile(
    "[\u0400-\u04ff\u0590-\u06ff\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff"
    "\u3400-\u9fff\uac00-\ud7af]"
)


def is_foreign(text: str) -> bool:
    """Whether it is in another language than English."""
    return in_other_letters(text) or len(_OTHER.findall(text)) > len(_ENGLISH.findall(text))


def in_other_letters(text: str) -> bool:
    """Whether a third or more of its letters are not Latin."""
    letters = sum(map(str.isalpha, text))
    return letters > 0 and len(_LETTERS.findall(text)) * 3 > letters
