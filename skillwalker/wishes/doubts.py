"""Whether a request that was made out of a description reads as one that somebody would type.

A doubtful one is worse than none: nobody sees that it is wrong, and it is measured all the same.
"""

from __future__ import annotations

import re

from skillwalker.wishes.verbs import ALSO_NOUNS, NOUN_HEADS, base, gerund, third_person, words

_LEADS = re.compile(r"I (?:need(?: help with)?|have a question about)\s+(?P<what>.+?)[.?]$")
_ARTICLE = re.compile(r"(?:an?|the|my|some|this|these|any|all|another|new)\s+", re.IGNORECASE)
_BEFORE_GERUND = words("for of in on by about and or with to at from through before after when while without")
_NOUNS = words("""
    adjective appeal approval archive arrival arsenal bed bible cable capital channel clinic comic
    credential criminal deal deliverable denial disposal dive drive email embed epic executable fabric
    feed festival fundamental goal graphic hive hospital hundred incentive initiative interval journal
    logic manual material meal mechanic metal metric music narrative need objective pedal perspective
    portal proposal referral removal renewal rental retrieval seed shed signal speed statistic table
    terminal timetable topic traffic trial tutorial variable visual withdrawal
    """)
"""What ends like an adjective and is none."""

_ADJECTIVE_ENDING = re.compile(r"(?:ly|ed|ous|ful|less|able|ible|ive|al|ic)$")
_NO_NOUNS = words("""
    also aware bad based best better big broken clean complex deep driven fast first free fresh full good
    high important least less like long low more most multiple new only other own ready relevant safe
    same short simple slow small specific such up valid various well wide
    """)
_ITSELF = re.compile(
    r"(?:skills?|agents?|sub-?agents?|registry|plugins?|router|classifier|retriever|reasoner"
    r"|reviewer|scheduler|mode|team|wizard|help)$",
    re.IGNORECASE,
)
_RELATIVE = re.compile(
    r"\b(?:where|that|which|who|whose|whether|nor|neither|the user|is|are|was|were|will|should|must|needs"
    r"|when)\b",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"(?:the\s+)?(?:\w+\s+)?(?:results?|outputs?|inputs?|responses?|answers?|outcomes?|ones?|options?|tiers?|steps?"
    r"|findings|request|task|context|signals?)$",
    re.IGNORECASE,
)
_MASS = words("""
    advice art audio bread code content copy data documentation documents feedback food fruit furniture
    grammar homework income inventory juice knowledge laundry luggage metadata money music news paper
    poetry prose research software speech stock sound text traffic typography video water weather work
    """)
_ACRONYM = re.compile(r"[A-Z]{2}|[A-Z].*[A-Z]|\d")
_LIST = re.compile(r"[^,]+(?:,\s*[^,]+)+,?\s+(?:and|or)\s+[^,]+$")
_PREPOSITION = re.compile(r"(?:between|among|of|than|from|across|per|as|via|against)\s", re.IGNORECASE)
_CUT = re.compile(r"(?:on|with|to|in|for|from|at|up|out|into),", re.IGNORECASE)
_OUTCOME = re.compile(r"(?:the|its|their|it|them|this|these|those|each)\s", re.IGNORECASE)
_UNFINISHED = re.compile(r"\s(?:one way|such|so|other|another)\.$", re.IGNORECASE)
_JOINED = re.compile(r"\w+/\w+/\w+|\s[/+]\s")


def is_doubtful(request: str) -> bool:
    """Whether a request that is no quotation had better be left to its author."""
    if _UNFINISHED.search(request):
        return True
    if said := _LEADS.match(request):
        what = said["what"]
        if _JOINED.search(what):
            return True
        if request.startswith("I need ") and not request.startswith("I need help"):
            countable = re.search(r"(?:s|ing)$", what) or what.split()[-1] in _MASS
            if not (countable or _ARTICLE.match(what)):
                return True
        return not is_subject(what, least=2 if request.startswith("I need") else 1)
    verb, _, what = request.rstrip(".?!").partition(" ")
    if verb in ("I", "How", "Can", "What", "Help", "Guide", "Teach") or not verb[:1].isalpha():
        return False
    return _is_doubtful_order(verb.lower(), what)


def is_subject(text: str, *, least: int = 2) -> bool:
    """Whether it is a noun phrase that is whole: it ends in a noun, and nothing in it acts."""
    plain = text.strip(" .?!")
    bare = _ARTICLE.sub("", plain, count=1)
    if bare == plain and len(plain.split()) < least:
        return False
    parts = bare.split(", ")
    if not _LIST.match(bare) and not all(map(is_adjective, parts[:-1])):
        return False
    found = bare.split()
    if not found or _RELATIVE.search(bare) or _ITSELF.search(bare):
        return False
    first, second = found[0].lower(), (found[1].lower() if len(found) > 1 else "")
    if base(first) and (second in ("up", "out", "down", "off", "the", "a", "an") or first not in ALSO_NOUNS):
        return False
    for before, word, after in zip(found[:-1], found[1:], [*found[2:], ""], strict=False):
        acts = re.fullmatch(r"[a-z]+ing", word) and before.lower() not in _BEFORE_GERUND
        if acts and after and after.lower().strip(",") not in NOUN_HEADS | _BEFORE_GERUND | {"work"}:
            return False
    return _ends_in_noun(found)


def _ends_in_noun(found: list[str]) -> bool:
    last = found[-1].strip(",'\"`").lower()
    before = found[-2].lower() if len(found) > 1 else ""
    if last.endswith("ing") and not last.endswith(("thing", "string", "ring", "king")):
        made = gerund(last) or re.fullmatch(r"[a-z]{3,}ing", last)
        if made and len(found) > 1 and before not in _BEFORE_GERUND:
            return not is_adjective(before)
        return len(found) > 1
    return not is_adjective(last)


def is_adjective(word: str) -> bool:
    """Whether a word ends like an adjective, or stands for a number of a version."""
    last = word.rpartition("-")[2] or word
    if last in _NO_NOUNS or re.fullmatch(r"v?\d+(?:\.\d+)*", last):
        return True
    return last not in _NOUNS and bool(_ADJECTIVE_ENDING.search(last))


def _is_doubtful_order(verb: str, what: str) -> bool:
    """An order needs something that it is done to, which is known without what stood before it."""
    found = what.split()
    if not found:
        return True
    if (_PREPOSITION.match(what) and len(found) < 4) or _CUT.match(what):
        return True
    if what.count(",") > 2 and verb in ALSO_NOUNS and not _ARTICLE.match(what):
        return True  # `Design tokens, palettes, scales, ...`: subjects
    bare = _ARTICLE.sub("", what, count=1).split()
    if len(bare) > 2 or not bare:
        return bool(_OUTCOME.match(what)) and len(bare) < 3 and bool(_VAGUE.search(what))
    last = bare[-1].strip("'\"`")
    if len(bare) == 2 and re.search(r"[^s]s$", bare[0]):
        return False  # `bugs test-first`
    if _VAGUE.fullmatch(what) or is_adjective(last.lower()) or last.lower() in ("mode", "patterns"):
        return True
    if len(bare) == 1 and last.islower() and last.endswith("ing"):
        return True
    lone = len(found) == 1 and last.islower() and not last.endswith("s")
    return lone and last not in _MASS and not _ACRONYM.search(last)


def is_aside(verb_phrase: str) -> bool:
    """Whether what is done second is done to what came of the first: no request of its own."""
    return bool(_OUTCOME.match(verb_phrase) or re.search(r"\b(?:it|them)$", verb_phrase, re.IGNORECASE))


def cut_at_act(text: str) -> str:
    """Up to where the sentence goes on with what somebody does: `..., and recommends`, `or uses any ...`."""
    for found in re.finditer(
        r",?\s+(?:and|or|then|and then)\s+(?:\w+ly\s+)?(?P<act>[\w-]*[a-z]s)(?P<next>\s+\w+|$)", text
    ):
        after = found["next"].strip().lower()
        act = found["act"].rpartition("-")[2]
        noun = act.removesuffix("s") in ALSO_NOUNS and after not in (
            "",
            "a",
            "an",
            "the",
            "any",
            "all",
        )
        if third_person(act) and not noun:
            return text[: found.start()].rstrip(" ,")
    return text
