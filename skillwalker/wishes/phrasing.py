"""A clause of a description -> what somebody would type: `Creates X` and `creating X` become `Create X.`"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from skillwalker.wishes.doubts import cut_at_act, is_aside
from skillwalker.wishes.scripts import in_other_letters
from skillwalker.wishes.verbs import (
    ALSO_NOUNS,
    NOT_ASKED_FOR,
    STATES,
    base,
    gerund,
    is_common,
    is_verb_here,
    third_person,
    words,
)

Form = Callable[[str], str | None]
"""Gives the base of a verb in one of its forms, None for other words."""

I_NEED_HELP = "I need help with"
LONGEST = 120
"""Characters of a request."""

_MOST = 3  # requests of one clause
_ASIDE = re.compile(r"\s*\([^()]*\)")
_TAIL = re.compile(
    r"\s+[—–]\s*|\s+-{1,2}\s+|\s*—\s*|[;:]\s|:$|\s*[→(]|\s+when\s+(?!to\b)|\s+(?:use|invoke)\s+this\b"
    r"|,?\s+(?:even\s+(?:if|when)|regardless|so\s+that|so\s+Claude|without\s+explicitly|rather\s+than|e\.g\.|i\.e\."
    r"|for\s+example|etc\b|whenever|because|unless)"
    r"|,?\s+(?:using|with|via|through)\s+(?:the|an?)\s+[\w:-]+\s+(?:skill|agent|sub-?agent|plugin|command)\b"
    r"|,\s+(?:including|includes|such\s+as|especially|particularly|whether|with|using|ensuring|which|where|while|but"
    r"|like|not|to\s+ensure|as\s+well|based\s+on|following|via|plus|also|covering|along|so|before|after"
    r"|by|even)\b",
    re.IGNORECASE,
)
_HOLE = re.compile(r"[<>{}\[\]…|@]|\.\.\.|\$[A-Z]|#N\b|\b[XYN]\b(?![-/])|\\n|__|https?:")
_OF_ITSELF = re.compile(
    r"\b(?:this|the|these)\s+(?:skill|agent|subagent|plugin|command|tool)s?\b|\bclaude\s+(?:should|will|must)"
    r"|\b(?:the|a)\s+users?(?:\s+(?:asks?|wants?|needs?|is|are|has|have|says?|should|may|can|will|might|must|to|with"
    r"|who|mentions?)\b|$)|\s/[a-z][\w-]+|\bthe\s+assistant\b|^user\b|\bproactively\b"
    r"|\bauto-?(?:trigger|activate|invoke)",
    re.IGNORECASE,
)
_HANGING = re.compile(
    r"[\s,]+(?:and/or|and|or|the|an?|of|for|to|with|in|on|by|from|as|at|into|using|via|that|which|including|any|other"
    r"|its|(?<!look\s)(?<!feel\s)like|when|is|are|be|do|does|will|who|not|than|through|should|must|can|may|would"
    r"|where|how|what)$|,\s+[a-z]+ing$|\s(?:an?|the)\s+\w+-(?:\w+ed|\w*able|based|driven|ready|aware|level)$",
    re.IGNORECASE,
)
_OWNERS = (
    (r"\b(?:the\s+|a\s+)?user['’]s\b", "my"),
    (r"\b(?:the\s+)?users['’](?=\s)", "my"),
    (r"\byour\b", "my"),
    (r"\byou\s+(have|can|are|want|need|should|might|may|would|do|could)\b", r"I \1"),
    (r"\bthe\s+user\s+(can|could|already)\b", r"I \1"),
    (r"\byou\b", "me"),
    (r"\byourself\b", "myself"),
    (r"\b(guide|help|teach|walk)\s+(?:the\s+)?users?\b", r"\1 me"),
    (r"\bfor\s+(?:the\s+)user\b", "for me"),
)
_OF_USERS = (
    (r"\btheir\b", "my"),
    (r"\bthey\s+are\b", "I am"),
    (r"\bthey\s+(need|want|have|should|can)\b", r"I \1"),
)
_JOINT = re.compile(
    r",\s*(?:and/or|and\s+then|and|or|then)?\s*|\s*/\s*|\s+(?:and/or|and\s+then|and|or|then)\s+"
)
_PUFFERY = re.compile(
    r"^(?P<article>an?\s+)?(?:(?:the|any|all|every|each|your|comprehensive|expert|official|complete|full|ultimate|world-class"
    r"|professional|advanced|powerful|production-ready|production-grade|universal|interactive|step-by-step"
    r"|battle-tested|systematic|intelligent|ai-powered|expert-level|practical|specialized|adversarial|senior|adaptive"
    r"|deep|enterprise-grade|elite)\s+)+",
    re.IGNORECASE,
)
_NO_SUBJECT = re.compile(
    r"(?:when|whenever|if|it|is|are|this|that|these|use|uses|used|do|does|not|no|never|always|what|how|why|you|like|i|we"
    r"|encountering|having|needing|seeing|missing|hitting|facing|receiving|something|anything|its|them|everything"
    r"|has|have|and|or|must|should|can|also|only|see|requires?|supports?|works?|powered|built|based|auto|one|once"
    r"|users?\s+\w+s|needs|hand|ready|about|requests|two|three|four|five|both|part|per|via|from|by|at|as|in|on|to|for|with|after|before|during|replace|description|todo|delegate|spawn"
    r"|invoke|load)\b",
    re.IGNORECASE,
)
_NO_NAME = re.compile(
    r"^(?:agents?|software|products?|code|work|skills?|tools?|it|things?)$|\b(?:requests?|occurs?|tasks?|contexts?)$|\b(?:is|are|was|has|have|owns|does)\b|ly$",
    re.IGNORECASE,
)
_COMMON_ENDING = re.compile(
    r"(?:ing|ment|tion|sion|ity|sis|ance|ence|ness|ship|ive|ous|al|ic|ed|ures?|ies|ers?|ors?)$"
)
_PARTICLE = r"(?:\s+(?:up|out|down|off|in|through)(?=[\s,]))?"
_ROW = re.compile(
    rf"(?P<first>[\w-]+{_PARTICLE})(?:(?:,|/|\s*/\s*)\s*[\w-]+{_PARTICLE})*,?"
    rf"\s+(?:and/or|and\s+then|and|or|then|&)\s+(?:\w+ly\s+)?"
    rf"(?P<last>[\w-]+)(?P<particle>{_PARTICLE})\s+(?P<what>\S.*)"
)
_SLASHED = re.compile(r"(?P<first>[\w-]+)(?:/[\w-]+)+(?P<what>\s.*)")
_NO_THING = re.compile(
    r"(?:like|such|that|which|and|or|of|is|are|to|when|if|no|nothing|none|help|before|after|as|accordingly|it\s+(?:before|after|when))\b",
    re.IGNORECASE,
)
_CLAIMS = ("verify", "check", "confirm", "validate", "prove", "ensure", "show", "test")
_NEW = words("the a an my your their new all existing any each this these")
_NO_OBJECT = words(
    "and or and/or of for in to from with on as at by per it them is are that which using via across within "
    "when so"
)


def imperatives(clause: str, form: Form, *, sure: bool = False) -> Iterator[str]:
    """`create X, edit Y, or delete Z` as one sentence each; verbs in a row share what follows them.

    Args:
        form: The form that the clause's verbs have.
        sure: The clause is known to begin with a verb, so that an unknown word may be one.
    """
    found = 0
    for number, (verb, said) in enumerate(_phrases(tidied(clause), form, sure=sure)):
        what = cut_at_act(said)
        if not what or found == _MOST or (number and form is third_person and is_aside(what)):
            continue
        if verb in STATES:
            made = finished(f"{STATES[verb]} {what}")
        elif verb == "understand":
            made = finished(f"Help me understand {what}")
        elif verb in NOT_ASKED_FOR and form is not base:
            continue
        elif verb in ("help", "assist", "guide", "teach", "walk"):
            made = _helped(verb, what)
        else:
            made = finished(f"{verb} {what}")
        if made:
            found += 1
            yield made


def help_with(subject: str, *, lead: str = I_NEED_HELP) -> str:
    """What somebody says who names a subject; empty where it is none."""
    given = tidied(subject).strip("'\" ")
    if lead == I_NEED_HELP and (found := _PUFFERY.match(given)):
        given = given[found.end() :]
        given = (
            f"{'an' if given[:1].lower() in 'aeiou' else 'a'} {given}"
            if found["article"] and given
            else given
        )
    given = re.sub(r"^(?:An?|The)\b", lambda word: word[0].lower(), given)
    first, _, rest = given.partition(" ")
    if (
        in_other_letters(given)
        or not re.search(r"[^\W\d_]{2}", given)
        or _NO_SUBJECT.match(given)
        or _NO_NAME.search(given)
    ):
        return ""
    if base(given) and base(given) not in ALSO_NOUNS:
        return ""
    done = third_person(first)
    if done and done not in ALSO_NOUNS and is_verb_here(first, rest.split(" ")[0]):
        return ""
    return finished(f"{lead} {_lowered(given)}")


def finished(sentence: str, end: str = ".") -> str:
    """With a capital and a full stop, as long as people type; empty where something is wrong with it."""
    plain = _short(" ".join(sentence.split()).strip(" ,.;:-–—*`'\"“”"))
    before = None
    while before != plain:
        before, plain = plain, _HANGING.sub("", plain).rstrip(" ,.;:-")
    least = 3 if plain.startswith("I ") else 2
    if len(plain.split()) < least or _HOLE.search(plain) or _OF_ITSELF.search(plain):
        return ""
    if " ," in plain or plain.count('"') % 2 or plain.count("`") % 2 or plain.count("(") != plain.count(")"):
        return ""
    return f"{plain[0].upper()}{plain[1:]}{end}"


def tidied(clause: str, *, of_user: bool = False) -> str:
    """Without asides and what comes after the point, in the words of somebody who speaks for themselves."""
    text = clause
    while (less := _ASIDE.sub("", text)) != text:
        text = less
    text = re.sub(r"\*\*|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)", "", text)
    text = _TAIL.split(text.strip(), maxsplit=1)[0].strip(" ,.;:-")
    for pattern, word in (*_OWNERS, *(_OF_USERS if of_user else ())):
        text = re.sub(pattern, word, text, flags=re.IGNORECASE)
    return " ".join(text.split())


def _phrases(given: str, form: Form, *, sure: bool) -> Iterator[tuple[str, str]]:
    """(verb, object) of each verb phrase; of verbs in a row, the first with what the last one has."""
    text = re.sub(r"^(?:(?:also|then|either)\s+)+", "", given, flags=re.IGNORECASE)
    if re.match(r"\w+ly\s+\w", text) and not form(text.split(" ")[0]):
        text = text.partition(" ")[2]
    row = _ROW.fullmatch(text)
    if row and row["particle"] and " " not in row["first"] and "," in row[0][: row.start("last")]:
        # `filter, join, or speed up X`: of the last one nobody knows whether the first ones share its object.
        text, row = f"{row['last']}{row['particle']} {row['what']}", None
    verb = what = following = ""
    if row:
        verb, _, particle = row["first"].partition(" ")
        what = f"{particle} {row['what']}".strip()
        last, following = row["last"], row["what"].split(" ")[0]
        known = form(last) or (form(verb) and following.lower() in _NEW)
        alike = (form is gerund and last.endswith("ing")) or (sure and "," in text[: row.start("last")])
        row = row if (known or alike) and (form(verb) or sure) else None
    if not row:
        if slashed := _SLASHED.fullmatch(text):
            verb, what = slashed["first"], slashed["what"].strip()
        else:
            verb, _, what = text.partition(" ")
        following = what.split(" ")[0]
    stem = form(verb)
    if stem is None and sure and re.fullmatch(r"[A-Za-z-]{3,}", verb):
        stem = verb.lower()
    if _NO_THING.match(what) and not (what.startswith("that ") and stem in _CLAIMS):
        return
    if stem in ALSO_NOUNS and re.fullmatch(r"[a-z]+ing", following):
        return  # `plan drifting from its goal`
    if stem and what and (sure or row or form is gerund or is_verb_here(verb, following)):
        yield from _split(stem, what, form, sure=sure)


def _split(verb: str, rest: str, form: Form, *, sure: bool) -> Iterator[tuple[str, str]]:
    """The object up to the next verb, and that one's phrase."""
    for joint in _JOINT.finditer(rest):
        words = rest[joint.end() :].split(" ")
        if len(words) == 1 and form is third_person and form(words[0]):
            yield verb, rest[: joint.start()]
            return
        if "/" in joint[0] or joint.start() == 0 or len(words) < 2:
            continue
        if rest.startswith("between ") and "," not in joint[0]:
            continue
        head, after, before = words[0], words[1].lower().strip(","), rest[: joint.start()]
        following = form(head)
        row = after in ("and", "or") and len(words) > 3 and form(words[2].strip(","))
        alone = after in _NO_OBJECT and not row
        if (
            form is gerund
            and re.search(",|or", joint[0])
            and (not following or alone)
            and re.fullmatch(r"[a-z]+ing", head)
        ):
            yield verb, before
            return
        if not following or head.isupper() or head.endswith(",") or alone:
            continue
        if following in ALSO_NOUNS and form is base and after not in _NEW:
            nouns = (
                "," in before and len(before.rpartition(",")[2].split()) < 3
            )  # `specs, needs, or design notes`
            if nouns or "," not in joint[0] or not sure or not is_verb_here(head, words[1]):
                continue
        yield verb, before
        yield from _phrases(rest[joint.end() :], form, sure=sure)
        return
    yield verb, rest


def _helped(verb: str, rest: str) -> str:
    """`help build X`, `guide through X`, `help with X`, as asked by who is to be helped."""
    rest = re.sub(
        r"^(?:(?:the\s+)?users?|me|developers?|teams?|claude|people|anyone|everyone|you)\s+",
        "",
        rest,
        flags=re.I,
    )
    rest = rest.removeprefix("to ")
    first, _, more = rest.partition(" ")
    if verb in ("help", "assist"):
        if (inner := base(first)) and inner not in ALSO_NOUNS:
            return next(imperatives(rest, base), "")
        if first in ("with", "in"):
            return help_with(more)
        return finished(f"Help me {rest}") if base(first) else ""
    if verb == "teach":
        return finished(f"Teach me {rest}")
    return finished(f"Guide me {rest}") if first in ("through", "in") else ""


def _short(text: str) -> str:
    """Cut where a list has a comma, else before what is added last; empty where neither helps."""
    if len(text) <= LONGEST:
        return text
    cut = text[:LONGEST]
    head, comma, _ = cut.rpartition(", ")
    head = re.sub(
        r"\s+(?:through|via|using|with|by|in|from|for|into|to|as|of)\s+(?:an?|the|my)\s+[\w-]+$", "", head
    )
    if comma and len(head.split()) >= 4:
        front, inner, last = head.rpartition(", ")
        listed = inner and len(last.split()) <= 4 and not re.match(r"(?:and|or)\b", last)
        return f"{front} and {last}" if listed else head
    for joint in (" and ", " or ", " for ", " with ", " from ", " across ", " in "):
        head, found, _ = cut.rpartition(joint)
        if found and len(head.split()) >= 4:
            return head
    return ""


def _lowered(text: str) -> str:
    """Its first letter small, unless the word is a name or stands for one."""
    first, _, rest = text.partition(" ")
    plain = re.fullmatch(r"[A-Z][a-z]+(?:-[a-z]+)*", first) and not rest[:1].isupper()
    if plain and (_COMMON_ENDING.search(first) or is_common(first)):
        return text[0].lower() + text[1:]
    return text
