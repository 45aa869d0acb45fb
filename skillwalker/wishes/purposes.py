"""What a description says that the thing does -> an order to do so."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillwalker.wishes.clauses import condition, subjects
from skillwalker.wishes.phrasing import finished, help_with, imperatives, tidied
from skillwalker.wishes.verbs import (
    ALSO_NOUNS,
    NOT_ASKED_FOR,
    STATES,
    base,
    gerund,
    is_verb_here,
    third_person,
    words,
)

_LABEL = re.compile(
    r"^\s*(?:\[[^\]]{1,30}\]\s*|[\U0001F300-\U0001FAFF\u2600-\u27BF\ufe0f]+\s*|\*\*[^*]{1,40}\*\*\s*[:—-]?\s*)+"
)
_DASH = re.compile(r"\s+[—–]\s*|\s+--?\s+")
_COLON = re.compile(r"^(?P<head>[^:.]{2,60}):\s+(?P<tail>\S.*)", re.DOTALL)
_ITSELF = re.compile(
    r"^(?:this|the|an?)\s+(?:[\w-]+\s+){0,2}?(?:skill|agent|subagent|command|plugin|tool|server)"
    r"(?:\s+(?:that|which|will|can|also|should\s+be\s+able\s+to))*\s+(?=\w)"
    r"|^(?:it|also|that|which|who|then|can|will|automatically|proactively)\s+(?:(?:also|can|will|then|automatically)\s+)*",
    re.IGNORECASE,
)
_ADVERB = re.compile(r"^(?!only|reply|apply|supply)[a-z]+ly\s+(?=\w)", re.IGNORECASE)
_NO_ACT = re.compile(
    r"(?:should|must|is|are|was|be|has|helps?\s+claude|use[sd]?|invoke\w*|trigger\w*|call)\b", re.IGNORECASE
)
_LETS = re.compile(
    r"\b(?:lets|enables|allows|helps)\s+(?:you|users?|claude|agents?|teams?|developers?)\s+(?:to\s+)?(?P<what>[a-z]+\s.+)",
    re.IGNORECASE | re.DOTALL,
)
_USE_TO = re.compile(
    r"use\s+(?!when|if\b|this\b|it\b|for\b|to\b)(?:[\w/.-]+\s+){1,4}?to\s+(?P<what>\w+\s.+)",
    re.IGNORECASE | re.DOTALL,
)
_MADE_TO = re.compile(
    r"(?:designed|built|intended|made|meant|used)\s+to\s+(?P<what>\w+\s.+)", re.IGNORECASE | re.DOTALL
)
_PROVIDES = re.compile(r"(?:provides?|gives|offers?|delivers?)\s+(?P<what>.+)", re.IGNORECASE | re.DOTALL)
_COVERS = re.compile(
    r"(?:handles?|covers?|specializ\w+\s+in|specialis\w+\s+in|supports?|focus\w+\s+on)\s+(?P<what>.+)",
    re.IGNORECASE | re.DOTALL,
)
_BEST = re.compile(
    r"(?:\w+\s+){0,3}?best\s+practices\s+(?:for|of|in|on)\s+(?P<what>.+)", re.IGNORECASE | re.DOTALL
)
_KINDS = (
    r"guides?|guidance|guidelines|skill|tools?|toolkit|framework|workflows?|process|methodology|collection|suite|library"
    r"|instructions|utilities|utility|helper|system|knowledge|documentation|manual|playbook|handbook|reference|rules"
    r"|procedures?|techniques?|patterns|templates|checklist|assistant|agent|specialist|expert|engineer|support|strategies"
    r"|conventions|recipes|platform|capabilities|client|cli|api|interface|server|plugin|architect|designer|developer"
    r"|analyst|reviewer|writer|consultant|auditor|generator|commands?|scripts?|tips|steps|setup|protocol|standards"
    r"|advisor|coach|co-?pilot|partner|mode|team|orchestrator|master|strategist|tutor|pipeline|chatmode|calendar"
    r"|program|package|module"
)
_KIND = re.compile(
    rf"[^.;:]{{0,90}}?\b(?:{_KINDS})(?:\s+(?:designed|used|intended|built|focused))?\s+"
    r"(?P<how>for|to|on|about|that|who|which|speciali[sz]\w+\s+in|focus\w*\s+on|in|of"
    r"|with\s+(?:deep\s+)?(?:knowledge|expertise)\s+(?:of|in)|expert\s+in)\s+(?:use\s+in\s+)?(?P<of>.+)",
    re.IGNORECASE | re.DOTALL,
)
_FIELD = re.compile(
    r"\b(?:expert|specialist|speciali[sz]\w+|expertise|experienced|focus\w*|skilled)\s+(?:in|on|for|at)\s+(?P<of>.+)",
    re.IGNORECASE | re.DOTALL,
)
_ROLE = re.compile(
    r"\b(?:expert|specialist|engineer|developer|assistant|agents?|reviewer|analyst|architect|designer|strategist|consultant"
    r"|auditor|writer|manager|lead|orchestrator|coordinator|researcher|scientist|advisor|coach|tutor|mentor|partner"
    r"|operator|officer|skills?|plugin|companion|master|team|persona|generator|executor|builder|helper|co-?pilot|planner"
    r"|controller|hunter|validator|critic|guardian|director|author|tester|fixer|debugger|creator|wizard|guru|pro|editor"
    r"|chatmode|mode|subagent|judge|comparator|grader|analyzer|investigator|checker|server|marketplace|guide|collection"
    r"|reference|entry\s+point)s?\s*$",
    re.IGNORECASE,
)
# `Xes the thing`: more likely done by it than its name.
_VERB_UNKNOWN = re.compile(
    r"[A-Z][a-z]+[^su\W]s\s+(?!(?:and|or|for|of|in|on|to|with|from|at|by|as|via|across|using|about)\b)[a-z]"
)
_OF_ROLE = re.compile(r"(?P<what>.+?)\s+(?:with|for|using|backed\s+by)\s")
_FIELDS = words(
    "marketing testing landing pricing training engineering editing planning reporting styling writing"
)
_TO_CLAUDE = words(
    "load run use read see prefer keep apply ask start check follow call invoke consult include"
)
_OWN = ("the", "a", "an", "my", "your", "all")


def acts(sentence: str, *, first: bool) -> list[str]:
    """What the thing is said to do, as an order.

    Args:
        first: The sentence begins the description: an imperative in a later one may be addressed to Claude.
    """
    text = _LABEL.sub("", sentence).strip(" -–—:*")
    if (colon := _COLON.match(text)) and _leads(colon["tail"]) and not _leads(colon["head"]):
        text = colon["tail"]
    parts = _DASH.split(text, maxsplit=1)
    if len(parts) > 1 and _leads(parts[1]) and not _leads(parts[0]):
        text = parts[1]
    text = _ADVERB.sub("", _ITSELF.sub("", text))
    if lets := _LETS.search(text):
        return list(imperatives(lets["what"], base, sure=True))
    if made := _USE_TO.match(text) or _MADE_TO.match(text):
        return list(imperatives(made["what"], base, sure=True))
    if not text or _NO_ACT.match(text):
        return []
    if told := _PROVIDES.match(text):
        inner = list(_of_kind(told["what"])) if _KIND.match(told["what"]) else []
        return inner or list(filter(None, [help_with(told["what"], lead="I need")]))
    if covers := _COVERS.match(text):
        return [one for one in subjects(covers["what"]) if one]
    word, _, rest = text.partition(" ")
    head, after = word.split("/")[0].strip(","), rest.partition(" ")[0]
    begins = word.endswith(",") or is_verb_here(head, after)
    if third_person(head) and begins:
        return list(imperatives(text, third_person))
    for_claude = not first and (
        head.lower() in _TO_CLAUDE or (head.lower() in ALSO_NOUNS and after not in _OWN)
    )
    if base(head) and begins:
        return [] if for_claude else list(imperatives(text, base))
    if gerund(head) and head.lower() not in _FIELDS and _takes_object(rest):
        return list(imperatives(text, gerund))
    return list(filter(None, _of_kind(text)))


def named_subject(sentence: str) -> Iterator[str]:
    """The subject of a first sentence that says no more than that."""
    text = _LABEL.sub("", sentence).strip(" -–—:*.")
    if re.match(r"(?:use|invoke|when|this|the\s+\w+\s+(?:skill|agent)|it|you)\b", text, re.IGNORECASE):
        return
    plain = tidied(re.split(r"[:;.]\s|:$", _DASH.split(text, maxsplit=1)[0], maxsplit=1)[0])
    first = plain.partition(" ")[0]
    if third_person(first) in NOT_ASKED_FOR or first.lower() in STATES or _VERB_UNKNOWN.match(plain):
        return
    plain = re.split(r"\s+(?:who|that|which)\s", plain, maxsplit=1)[0]
    if (of_role := _OF_ROLE.match(plain)) and _ROLE.search(of_role["what"]):
        plain = of_role["what"]
    if len(plain.split()) > 12:
        plain = plain.split(",")[0]
    if role := _ROLE.search(plain):
        plain = re.sub(r"\s+(?:using|with|by|for)\s+\w+$", "", plain[: role.start()].strip())
    elif re.search(r"[^rdt](?:er|or|ist|yst)s?$", plain) and len(plain.split()) < 4:
        return  # somebody or something that does it
    if 2 <= len(plain.split()) <= 16:
        yield help_with(plain)


def _leads(text: str) -> bool:
    """Whether a verb stands first."""
    words = [*text.split(" "), ""]
    first = words[0].strip(",")
    return bool((third_person(first) or base(first)) and is_verb_here(first, words[1]))


def _takes_object(rest: str) -> bool:
    """Whether what follows a gerund is what is done something to; else it names a subject."""
    return bool(rest) and not re.match(r"(?:and|or|in|for|with|of|is|on)\b|\w+(?:ing|s)\s*[:.—-]", rest)


def _of_kind(text: str) -> Iterator[str]:
    """`Guide for creating X`, `agent that reviews X`: what the guide is for, what the agent does."""
    if asked := _BEST.match(text):
        yield finished(f"What are the best practices for {tidied(asked['what'])}", "?")
        return
    found = _KIND.match(text)
    if not found:
        if field := _FIELD.search(text):
            yield from subjects(field["of"])
        return
    how, of = found["how"].lower(), _ADVERB.sub("", found["of"])
    first = of.partition(" ")[0].strip(",")
    if how == "to":
        yield from imperatives(of, base, sure=True)
    elif how in ("that", "who", "which"):
        if third_person(first):
            yield from imperatives(of, third_person, sure=True)
        elif base(first):
            yield from imperatives(of, base)
    elif gerund(first) and " " in of:
        yield from condition(of)
    elif how == "on" and of.startswith("how to "):
        yield from imperatives(of.removeprefix("how to "), base, sure=True)
    else:
        yield from subjects(of)
