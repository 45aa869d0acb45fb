"""What a description quotes of its users."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillwalker.wishes.phrasing import finished, help_with
from skillwalker.wishes.scripts import in_other_letters
from skillwalker.wishes.verbs import base, is_verb_here

_QUOTED = re.compile(
    r"\"([^\"\n]{2,160})\"|[“„]([^“”„\n]{2,160})[”“]|«([^«»\n]{2,160})»|[「『]([^「」『』\n]{2,80})[」』]"
    r"|(?<!\w)['‘]([^\n]{2,120}?)['’](?!\w)"
)
_EXAMPLE = re.compile(r"<example>.*?(?:</example>|\Z)|\b[Ee]xamples?:\s*(?:\n|<|-).*\Z", re.DOTALL)
_SAYS = re.compile(
    r"\buser(?:\s+says)?:\s*(?:\"([^\"]{6,200})\"|'([^\n]{6,200}?)'(?=\s|$)|“([^”]{6,200})”)", re.IGNORECASE
)
_OF_OTHERS = re.compile(
    r"(?:assistant|claude|model|agent)\s*:\s*$"
    r"|\b(?:named|called|titled|labeled|keyword|value|status|returns?|not|never|don't)\s*$",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"\b(?:say|says|said|saying|ask|asks|asked|asking|mention\w*|trigger\w*|phrases?|like|such as|e\.g\."
    r"|keywords?|requests?|use\s+when|use\s+for|activat\w+|want\w*|need\w*|types?|queries|question\w*|prompts?|invoke\w*|when"
    r"|whenever|if|or)\b|^\W*$",
    re.IGNORECASE,
)
_SPEECH = re.compile(
    r"^(?:please|can|could|would|how|what|why|where|which|who|when|is|are|do|does|did|should|i|my|we|our|let's|let|help"
    r"|give|need|want|show|tell|make|there|am|anything|it|this|that's|hey|ok|remind|run|go|don't|stop|just)\b|\?$",
    re.IGNORECASE,
)


def without_quotes(text: str) -> str:
    """`text` without what it quotes; what stands between apostrophes may be none."""
    return _QUOTED.sub(lambda match: match[0] if match[5] else "", text)


def without_examples(text: str) -> str:
    """A description up to its examples of conversations."""
    return _EXAMPLE.sub("\n", text)


def of_examples(text: str) -> Iterator[str]:
    """What the user says in conversations given as examples."""
    for found in _SAYS.findall(text):
        speech = spoken(next(filter(None, found)))
        if speech and not re.match(r"(?:don't|do not|no)\b", speech, re.IGNORECASE):
            yield speech


def quotes(sentence: str) -> Iterator[tuple[str, bool]]:
    """(request, whether the quotation is a whole one and not a keyword) of each that a user may have said."""
    rest = _QUOTED.sub(" ", sentence)
    if not (_SAID.search(rest) or len(_QUOTED.findall(sentence)) > 1 or in_other_letters(sentence)):
        return
    for match in _QUOTED.finditer(sentence):
        text = next(filter(None, match.groups()))
        if _OF_OTHERS.search(sentence[: match.start()]):
            continue
        if speech := spoken(text):
            yield speech, True
        elif 2 <= len(text.split()) <= 4 and not (in_other_letters(text) or re.search(r"^/|\bthis\b", text)):
            yield help_with(text.strip(" ,.;")), False


def spoken(text: str) -> str:
    """A quotation that reads as a whole request; empty for keywords and for what has holes in it."""
    plain = " ".join(text.split()).strip(" ,.;")
    if in_other_letters(plain):
        return plain if len(plain) >= 4 and not re.search(r"[<>{}\[\]…/]|\.\.\.", plain) else ""
    if (
        not plain[:1].isalpha()
        or len(plain.split()) < 2
        or re.fullmatch(r"\w+ (?:up|out|down|off|on)", plain)
    ):
        return ""
    first, _, rest = plain.partition(" ")
    after = rest.partition(" ")[0]
    verb = base(first.strip(",")) and (is_verb_here(first, after) or after in ("for", "in", "on", "from"))
    speech = _SPEECH.search(plain) or verb
    if re.match(r"(?:like|as|with|for|from|by|of|in|on)\b", first, re.IGNORECASE):
        return ""
    about_me = len(plain.split()) > 2 and re.search(r"\b(?:my|me|i|this)\b", plain, re.IGNORECASE)
    if not (speech or about_me):
        return ""
    made = finished(plain, "")
    return plain if made and len(made) >= len(plain) - 2 else ""
