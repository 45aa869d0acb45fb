"""`when the user asks to ...`, `when creating ...`, `for ...` -> what the user says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from skillwalker.wishes.doubts import is_adjective
from skillwalker.wishes.phrasing import I_NEED_HELP, finished, help_with, imperatives, tidied
from skillwalker.wishes.verbs import ALSO_NOUNS, base, gerund, third_person, words

_MOST_ITEMS = 4
_USER = (
    r"(?:(?:the|an?|any|your)\s+)?(?:users?|someone|somebody|people|person|developers?|they|clients?|customers?|you"
    r"|teams?|anyone)\s+(?:(?:explicitly|specifically|directly|clearly|also|just|even|only|simply|might|may|would|will"
    r"|can|'re|are|is|has|have|vaguely|casually)\s+)*"
)
_DOES = (
    r"wants?|needs?|asks?|asked|asking|mentions?|says?|said|requests|requesting|has|have|provides?|uploads?|shares?"
    r"|references?|describes?|wishes|discusses|talks?|hits?|encounters?|sees|gets|reports?|pastes?|types?|tries|seeks"
    r"|expresses|brings|would\s+like|looking|wanting|trying|struggling|starts?|starting|working|inquires?|raises"
    r"|invokes?|complains?|gives?|hands|drops|points|signals|(?:is|are)\s+\w+ing"
)
_NEXT_DOES = re.compile(
    rf"\s*(?:,\s*(?:(?:or|and)\s+)?|\s(?:or|and)\s+)(?:(?:if|when|whenever)\s+)?(?:{_USER})?(?=(?:{_DOES})(?::?\s|$))",
    re.IGNORECASE,
)
_NEXT_WHEN = re.compile(
    r"\s*[,;]?\s+(?:or|and|and/or)\s+(?:(?:even|also)\s+)?(?:when(?:ever)?|if)\s+|;\s+", re.IGNORECASE
)
_NUMBER = re.compile(r"\s*(?:\(\d{1,2}\)|\(?\b[a-h1-9]\))\s+")
_LEADING = re.compile(r"^(?:or|and|for|when(?:ever)?|if|also|e\.g\.|example:)\s+", re.IGNORECASE)
_INVOLVES = re.compile(
    r"(?:(?:the|an?|any|your|this)\s+)?(?:user\s+)?(?:task|request|work|question|conversation|query|project|prompt"
    r"|context|input)s?\s+(?:involv\w+|requir\w+|mention\w*|concern\w*|(?:is|are)\s+about|relat\w+\s+to|about"
    r"|includ\w+|touch\w*|call\s+for)\s+(?P<what>.+)",
    re.IGNORECASE | re.DOTALL,
)
_WORKING_ON = re.compile(
    r"(?:working|work|dealing|interacting|operating)\s+(?:with|on|in)\s+(?P<what>.+)",
    re.IGNORECASE | re.DOTALL,
)
_EVENTS = words("""
    approaching being having something anything nothing everything existing during using needing entering
    returning resuming facing hitting receiving encountering seeing missing incoming string king thing
    """)
"""What ends in -ing and is nothing that somebody wants done."""

_OWN = words("the a an my this these all")


def conditions(text: str) -> Iterator[str]:
    """What is said by whom each of the conditions after `when` is about."""
    parts = [one for one in _NUMBER.split(text) if one and one.strip()]
    lead = ""
    if len(parts) > 1 and len(parts[0].split()) < 8 and not condition(parts[0]):
        lead = parts[0].strip(" :,")
    for part in parts:
        for one in filter(None, _NEXT_WHEN.split(part)):
            yield from condition(one) or (condition(f"{lead} {one}") if lead and one != lead else [])


def condition(text: str) -> list[str]:
    """One condition: somebody who wants something, or something that is being done."""
    clause = _LEADING.sub("", text.strip(" ,.;:"))
    subject = re.match(_USER, clause, re.IGNORECASE)
    if subject or re.match(rf"(?:{_DOES}):?\s", clause, re.IGNORECASE):
        parts = _NEXT_DOES.split(clause[subject.end() if subject else 0 :])
        return [one for part in filter(None, parts) for one in _predicate(part.strip(" ,"))]
    if involves := _INVOLVES.match(clause):
        return list(enumerated(involves["what"]))
    if on := _WORKING_ON.match(clause):
        return list(filter(None, [help_with(on["what"])]))
    first = clause.partition(" ")[0]
    if gerund(_head(clause)):
        return list(imperatives(clause, gerund))
    if re.match(r"[a-z]+ing\s+\w", clause, re.IGNORECASE) and first.lower() not in _EVENTS:
        return list(filter(None, [finished(f"I need help {clause[0].lower()}{tidied(clause)[1:]}")]))
    if asked := re.match(r"questions?\s+about\s+(?P<what>.+)", clause, re.IGNORECASE | re.DOTALL):
        return list(filter(None, [help_with(asked["what"], lead="I have a question about")]))
    return []


def enumerated(text: str) -> Iterator[str]:
    """Subjects, or things to do, one after the other."""
    whole = re.sub(r"\s*\(\d{1,2}\)\s*", ", ", text).strip(" ,.;:")
    if made := condition(whole):
        yield from made
        return
    for item in _items(tidied(whole))[:_MOST_ITEMS]:
        first, _, rest = item.partition(" ")
        verb = base(first)
        if verb and rest and (verb not in ALSO_NOUNS or rest.split(" ")[0] in _OWN):
            yield from imperatives(item, base)
        elif made := condition(item):
            yield from made
        elif len(item.split()) <= 12:
            yield help_with(item)


def subjects(text: str, *, lead: str = I_NEED_HELP, most: int = 2) -> Iterator[str]:
    """The first subjects of a list."""
    for number, item in enumerate(_items(tidied(text, of_user=True))[:most]):
        first = item.partition(" ")[0]
        if number and third_person(first) and len(item.split()) > 3:
            continue  # no subject but the next thing that somebody does
        yield help_with(item, lead=I_NEED_HELP if gerund(first) else lead)


def _items(text: str) -> list[str]:
    parts = re.split(r"\s*[,;|•]\s*(?:(?:and/or|or|and)\s+)?|\s+or\s+(?=\w+ing\s)", text.replace("\n", ", "))
    items: list[str] = []
    for one in (part.strip(" .-*`") for part in parts):
        if items and is_adjective(items[-1]):  # `focused, small changes` is one
            items[-1] += f", {one}"
        else:
            items.append(one)
    return [
        one for one in items if one and not re.match(r"(?:and|or|etc|any|more|similar)\b", one, re.IGNORECASE)
    ]


def _head(clause: str) -> str:
    return clause.partition(" ")[0].split("/")[0].strip(",")


def _predicate(text: str) -> list[str]:
    """What the user does, as said by the user."""
    for pattern, made in _SAYINGS:
        if found := pattern.match(text):
            return [one for one in made(found["x"]) if one]
    return []


def _as_told(lead: str, end: str = ".") -> Callable[[str], Iterable[str]]:
    return lambda text: [finished(f"{lead} {tidied(text, of_user=True)}", end)]


def _named(lead: str, most: int = 2) -> Callable[[str], Iterable[str]]:
    return lambda text: subjects(text, lead=lead, most=most)


def _to_do(text: str) -> Iterator[str]:
    return imperatives(tidied(text, of_user=True), base, sure=True)


def _doing(text: str) -> Iterator[str]:
    if gerund(_head(text)):
        yield from imperatives(tidied(text, of_user=True), gerund)


def _nothing(_: str) -> Iterable[str]:
    return ()


_HELP = r"(?:help|assistance|guidance|advice|support|tips|recommendations|suggestions|feedback|expertise)"
_ABOUT = r"(?:with|on|about|in|for|regarding)"
_ASKS = r"(?:asks?|asked|asking|wants?|wanting|needs?|requests?|looking|seeks?)"
_WISHES = (
    r"(?:wants?|wanting|needs?|asks?|asked|asking|requests?|wishes|would\s+like|(?:is\s+|are\s+)?(?:trying|looking)"
    r"|tries|seeks|attempts|intends|plans|expresses\s+(?:a\s+)?(?:desire|interest|intent)|hopes)"
)
_SAYINGS: tuple[tuple[re.Pattern[str], Callable[[str], Iterable[str]]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), made)
    for pattern, made in (
        (rf"{_ASKS}\s+(?:for\s+)?{_HELP}\s+{_ABOUT}\s+(?P<x>.+)", _named(I_NEED_HELP)),
        (rf"{_ASKS}\s+(?:for\s+)?{_HELP}\s+(?P<x>\w+ing\s.+)", _doing),
        (rf"{_ASKS}\s+(?:for\s+)?help\s+(?:to\s+)?(?P<x>.+)", _to_do),
        (r"(?:wants?|needs?)\s+to\s+(?:be|get)\s+(?P<x>.+)", _nothing),
        (
            r"(?:asks?|asked|asking|inquires?|(?:wants?|needs?)\s+to\s+know)\s+(?:you\s+)?(?:about\s+)?how\s+to\s+(?P<x>.+)",
            _as_told("How do I", "?"),
        ),
        (r"(?:wants?|needs?)\s+to\s+know\s+(?P<x>.+)", _as_told("I want to know")),
        (
            r"(?:asks?|asking|asked)\s+(?:claude\s+)?(?P<x>(?:what|which|why|where|who|whether|if|how|when)\s.+)",
            _as_told("Can you tell me", "?"),
        ),
        (
            r"(?:asks?|asked|asking|inquires?|has|have)\s+(?:any\s+)?(?:questions?\s+)?(?:about|regarding|on)\s+(?P<x>.+)",
            _named("I have a question about"),
        ),
        (rf"{_WISHES}\s+(?:(?:you|claude|for|me|it|them)\s+)*to\s+(?P<x>.+)", _to_do),
        (
            r"(?:asks?|asked|asking|(?:is\s+)?looking|searching|calls|requests?|requesting|wants?|needs?|needing|seeks?)"
            r"\s+(?:for\s+)?(?P<x>.+)",
            _named("I need", 1),
        ),
        (
            r"(?:mentions?|references?|discusses|talks?\s+about|brings\s+up|raises)\s*:?\s*(?P<x>.+)",
            _named(I_NEED_HELP),
        ),
        (
            r"(?:(?:is|are|'re)\s+)?(?:working|struggling|dealing)\s+(?:on|with)\s+(?P<x>.+)",
            _named(I_NEED_HELP),
        ),
        (
            r"(?:(?:is|are|'re|starts?|starting|started|begins?|considers?)\s+)?(?P<x>\w+ing\b.+)",
            _doing,
        ),
        (
            r"(?:has|have|encounters?|hits?|faces?|sees|gets)\s+(?P<x>(?:an?|errors?|problems?|issues?|trouble)\b.+)",
            _as_told("I have"),
        ),
    )
)
