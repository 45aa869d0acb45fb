"""A description -> what a user may say who needs what it describes, and what it says it is not for."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator

from attrs import frozen

from skillwalker.text import has_controls, is_blank
from skillwalker.wishes.clauses import condition, conditions, enumerated
from skillwalker.wishes.doubts import is_doubtful
from skillwalker.wishes.phrasing import help_with, imperatives
from skillwalker.wishes.purposes import acts, named_subject
from skillwalker.wishes.quotes import of_examples, quotes, without_examples, without_quotes
from skillwalker.wishes.scripts import in_other_letters, is_foreign
from skillwalker.wishes.verbs import base

_MOST = 6000  # characters; Claude Code shows a quarter of that of a skill


@frozen
class Wishes:
    """What could be read from a description; all of it reads as if somebody had typed it.

    Attributes:
        wanted: Requests it is for, the likeliest first.
        unwanted: Requests that it says it is not for.
    """

    wanted: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()


_WRAPPED = re.compile(
    r"(?<![.:!?。\n])[ \t]*\n[ \t]*(?=[^\s\-*•\d#<])"
    r"(?!(?:Use|USE|Triggers?|TRIGGERS?|When|Do\s+not|DO\s+NOT|Not|NOT|Keywords|Invoke)\b)"
)
_SENTENCE = re.compile(
    r"(?<=[.!?。])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\betc\.)\s+|\n+|。"
    r"|;\s+(?=(?:use|also|not|do\s+not|don't|never)\b)",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(
    r"^\W*(?:replace\s+(?:with|this)|todo\b|tbd\b|description\b|insert\s|your\s"
    r"|[\[{]\s*(?:todo|what|your|describe|insert|brief|short|one))|^[\[{]\s*\w+\s\w+\s"
    r"|\bwhen\s+claude\s+should\s+use\s+it\b|^an?\s+(?:test|sample)\s+(?:skill|agent)$",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:do(?:es)?\s+not|don't|doesn't|never|should\s+not|must\s+not|isn't|unlike|except\s+(?:when|for)|out\s+of\s+scope"
    r"|not\s+(?:for|intended|meant|to\s+be|when|if)|(?:skip|avoid)\s+(?:this\s+)?(?:when|if|for|it|using))\b"
    r"|(?-i:\bNOT\b|\bSkip\b)",
    re.IGNORECASE,
)
_NOT_FOR = re.compile(
    r"(?:\b(?:do\s+not|don't|should\s+not(?:\s+be)?|never)\s+(?:be\s+used|used?|invoke|trigger|activate|apply|call)\b"
    r"(?:\s+(?:this|the|it)\b(?:\s+(?:skill|agent))?)?|\bnot\s+(?:intended|meant|suitable|designed|needed|necessary)"
    r"|\b(?:skip|avoid)(?:\s+(?:this|it|using\s+(?:this|it)))?(?:\s+skill)?|(?-i:\bNOT))"
    r"\s*:?\s*(?:for|when(?:ever)?|if|on|to|in)\s*:?\s+(?P<what>.+)|\bnot\s+for\s*:?\s+(?P<plain>.+)",
    re.IGNORECASE,
)
_DOES_NOT = re.compile(
    r"(?:does\s+not|doesn't)\s+(?P<what>(?!use|invoke|need|require|apply|trigger|work)\w+\s.+)", re.IGNORECASE
)
_ELSEWHERE = re.compile(
    r"^for\s+(?P<what>[^,()]{6,100}?),?\s+(?:use|see|prefer|go\s+to|try|invoke|refer\s+to)\b", re.IGNORECASE
)
_TO_OTHERS = re.compile(
    r"\s*(?:[,;→—–(-]+\s*)?\b(?:use|see|prefer|that's|those|defer|instead|handled|belongs?|goes\s+to|routes?\s+to)\b.*$"
    r"|,?\s+(?:and|or)\s+(?:do|does|is|are)\b.*$|\s*[→(].*$|\s*=>.*$|\s+\(?[a-z]+(?:-[a-z]+)+\)?$",
    re.IGNORECASE,
)
_CALLED = (
    r"(?:used?|uses|invoke[sd]?|trigger(?:s|ed)?|apply|applies|applied|call(?:s|ed)?|activate[sd]?|load(?:s|ed)?|run"
    r"|reach\s+for|consult(?:ed)?|engage[sd]?|delegate|launch(?:ed)?|select(?:ed)?|relevant|needed|useful|helpful|ideal"
    r"|perfect|best|great|recommended|suitable|designed|required|appropriate|valuable|works)"
)
_WHEN = re.compile(
    rf"(?:^|\b{_CALLED}\b[^.:]{{0,80}}?\b|[—–-]\s+)(?:when(?:ever)?|any\s?time|if|in\s+case)\b\s*:?\s+(?P<what>.+)",
    re.IGNORECASE,
)
_FOR = re.compile(
    r"\b(?:use|invoke|activates?|triggers?|reach\s+for|apply|call|load|consult|ideal|perfect|best|great|useful|suitable"
    r"|designed|intended|recommended|built|made|helpful|works?)"
    r"(?:\s+(?:this|it|the|proactively|also|well|only|automatically|immediately|as\s+\w+|skill|agent|subagent|tool|plugin"
    r"|MUST)\b)*\s+for\s*:?\s+(?P<what>.+)",
    re.IGNORECASE,
)
_TO = re.compile(
    r"\b(?:use[ds]?|invoke)(?:\s+(?:this|it|the|proactively|also|skill|agent|subagent|tool|when\s+needed))*\s+to\s+"
    r"(?P<what>.+)|^act\s+as\b.*?\bto\s+(?P<act>.+)",
    re.IGNORECASE,
)
_ON = re.compile(
    r"(?:trigger(?:s|ed)?|activate[sd]?|invoke[sd]?|use[sd]?|fires?)\s+(?:on|by|with|at)"
    r"(?:\s+(?:the|any|these|phrases|requests|keywords|queries|prompts|words|mentions?|tasks|like|such|as|of|for|about"
    r"|involving|to))*\s*:?\s+(?P<what>.+)"
    r"|^\W*(?:also\s+)?(?:triggers?|key\s?words?|trigger\s+(?:phrases?|words?|keywords?|terms?|conditions?)"
    r"|(?:typical\s+)?triggers\s+include|common\s+requests|covers|tasks|use\s+cases?|when\s+to\s+use|handles|topics"
    r"|capabilities|features)\s*(?:include|are|:|-|—)\s*(?P<list>.+)",
    re.IGNORECASE,
)
_FOR_TAIL = re.compile(r"\s*,?\s*(?:or\s+)?\b(?:when(?:ever)?|if)\b.*$")
_USE = re.compile(
    r"\s*[,;.—–-]?\s+(?:use|trigger|invoke)s?\s+(?:this|when|for|it|whenever|if|on|proactively)\b",
    re.IGNORECASE,
)
_ONE_WORD = re.compile(r"I need (?:help with )?[\w-]*[a-z]\.")


def read_wishes(description: str) -> Wishes:
    """Everything that can be read; both may be empty."""
    text = html.unescape(description[:_MOST].replace("\\n", "\n").replace("\r", "")).replace("’", "'").strip()
    if text.startswith('"'):
        text = text[1:].removesuffix('"')
    told = list(of_examples(text))
    body = _WRAPPED.sub(" ", without_examples(text).strip())
    if is_blank(body) or _TEMPLATE.search(body):
        return Wishes(_unique(told))
    foreign = is_foreign(body)
    quoted, keywords, when, does, later, named, unwanted = (list[str]() for _ in range(7))
    for number, sentence in enumerate(_sentences(body)):
        positive, negative = _boundary(sentence)
        unwanted += _excluded(negative) if negative else ()
        for speech, whole in quotes(positive):
            (quoted if whole else keywords).append(speech)
        bare = without_quotes(positive)
        if foreign or in_other_letters(bare) or not bare:
            continue
        triggers = list(_triggers(bare))
        when += triggers
        if triggers and number:
            continue
        done = acts(_USE.split(bare, maxsplit=1)[0], first=number == 0)
        if number:
            later += done
        else:
            does, named = done, [] if done else list(named_subject(bare))
    does, when, later, named, keywords = map(_plain, (does, when, later, named, keywords))
    first = [*told, *quoted]
    chosen = [*first[:3], *does[:1], *when, *does[1:2], *first[3:]]
    if len(_unique(chosen)) < 2:
        chosen += later[:2]
    every = _unique([*chosen, *named, *keywords])
    telling = tuple(one for one in every if not _ONE_WORD.fullmatch(one))
    return Wishes(
        telling if len(telling) > 1 else (*telling, *(one for one in every if one not in telling)),
        _unique(unwanted),
    )


def _plain(found: Iterable[str]) -> list[str]:
    return [one for one in found if one and not is_doubtful(one)]


def _sentences(body: str) -> Iterator[str]:
    """Each sentence; where a line break parts a list from its heading, they are one again."""
    held = ""
    for part in _SENTENCE.split(body):
        one = (part or "").strip()
        if not one:
            continue
        if held:
            one, held = f"{held} {one.lstrip('-*•· ')}", ""
        if one.endswith(":") and len(one) < 200:
            held = one
            continue
        yield one
    if held:
        yield held


def _boundary(sentence: str) -> tuple[str, str]:
    """(what it says the thing is for, what it says it is not for)."""
    if elsewhere := _ELSEWHERE.match(sentence):
        return "", f"not for {elsewhere['what']}"
    negated = _NEGATED.search(sentence)
    if not negated:
        return sentence, ""
    head = sentence[: negated.start()].strip(" ,;:—–-(")
    return (head if len(head.split()) > 3 else ""), sentence[negated.start() :]


def _excluded(sentence: str) -> Iterator[str]:
    """Near misses: what somebody says who needs what the description gives away."""
    found = _NOT_FOR.search(sentence)
    if not found:
        if other := _DOES_NOT.match(sentence):
            yield from _plain(imperatives(_TO_OTHERS.sub("", other["what"]), base))
        return
    what = found["what"] or found["plain"]
    yield from (speech for speech, whole in quotes(what) if whole)
    for part in re.split(r"[,;]\s+(?:or\s+|and\s+)?|\s+or\s+(?=for\s|when\s)|\.\s+", without_quotes(what))[
        :6
    ]:
        item = re.sub(r"^(?:for|when(?:ever)?|if)\s+", "", _TO_OTHERS.sub("", part.strip(" .,()")))
        if len(item.split()) > 1:
            yield from _plain(condition(item)[:1] or [help_with(item)])


def _triggers(sentence: str) -> Iterator[str]:
    """What a sentence says that says when the thing is to be used."""
    if when := _WHEN.search(sentence):
        yield from conditions(when["what"])
        before = _FOR.search(sentence[: when.start("what")])
        if before and len(before["what"].split()) > 2:
            yield from enumerated(_FOR_TAIL.sub("", before["what"]))
    elif found := _TO.search(sentence):
        yield from imperatives(found["what"] or found["act"], base, sure=True)
    elif found := _FOR.search(sentence):
        yield from enumerated(found["what"])
    elif found := _ON.search(sentence):
        yield from enumerated(found["what"] or found["list"])


def _unique(found: Iterable[str]) -> tuple[str, ...]:
    seen: dict[str, str] = {}
    for one in found:
        key = re.sub(r"\W+", " ", one.lower()).strip()
        if one and not (is_blank(one) or has_controls(one)):
            seen.setdefault(key or one, one)
    return tuple(seen.values())
