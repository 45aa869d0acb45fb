"""What a judge answered: read strictly, its quotes looked up, several answers joined by majority."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from skillwalker.errors import JudgeUnreadableError
from skillwalker.expectations.rubric import Criterion
from skillwalker.text import count, safe

QUOTE_SHOWN = 400
"""Characters of a quote in a detail."""

MOST_PARTS = 20
"""Of a quote with `...` in it; looking up thousands would take its time."""

_SPACE = re.compile(r"\s+")
_LEFT_OUT = re.compile(r"\[?(?:…|\.\.\.)\]?")
_MARKS = "\"'“”„‘’«»`"


@frozen
class Grade:
    """What one answer says of one criterion.

    Attributes:
        quote: What the judge claims to have seen; empty where it quotes nothing.
    """

    passed: bool
    reasoning: str
    quote: str = ""


def read_answer(data: Mapping[str, Any], criteria: Iterable[Criterion]) -> dict[str, Grade]:
    """A grade for each criterion, by its id.

    Raises:
        JudgeUnreadableError: an id is missing, unknown or twice, or a value is not of its type; nothing is
            guessed.
    """
    wanted = [criterion.id for criterion in criteria]
    answers = data.get("criteria")
    if not isinstance(answers, list):
        raise JudgeUnreadableError("the judge's answer has no list of criteria")
    grades: dict[str, Grade] = {}
    for answer in answers:
        identity, grade = _grade(answer)
        if identity not in wanted:
            raise JudgeUnreadableError(f"the judge graded {safe(identity, 40)}, which is no criterion")
        if identity in grades:
            raise JudgeUnreadableError(f"the judge graded {identity} twice")
        grades[identity] = grade
    missing = [identity for identity in wanted if identity not in grades]
    if missing:
        raise JudgeUnreadableError(f"the judge did not grade {', '.join(missing)}")
    return grades


def _grade(answer: Any) -> tuple[str, Grade]:
    if isinstance(answer, dict):
        match answer.get("id"), answer.get("passed"), answer.get("reasoning"), answer.get("evidence", ""):
            case str(identity), bool(passed), str(reasoning), str(quote):
                return identity, Grade(passed, reasoning, quote.strip())
    raise JudgeUnreadableError(f"the judge's answer holds something unreadable: {safe(repr(answer), 200)}")


@frozen
class Quotable:
    """All that a judge was shown; white space does not count in it."""

    _text: str

    @classmethod
    def of(cls, text: str) -> Quotable:
        return cls(_spaced(text))

    def holds(self, quote: str) -> bool:
        """Whether the quote stands in it: as it is, without quotation marks, or its parts around `...`."""
        whole = _spaced(quote)
        bare = whole.strip(_MARKS)
        if whole in self._text or (bare and bare in self._text):
            return True
        parts = [part.strip() for part in _LEFT_OUT.split(bare)]
        parts = [part for part in parts if part]
        return 0 < len(parts) <= MOST_PARTS and all(part in self._text for part in parts)


def _spaced(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


@frozen
class Decided:
    """What all votes together say of one criterion.

    Attributes:
        passed: What most of them say.
        split: Whether they do not agree.
        message: Reasoning and quotes.
        unfounded: How many quotes stand nowhere in what was shown.
    """

    passed: bool
    split: bool
    message: str
    unfounded: int


def decide(grades: Sequence[Grade], quotable: Quotable) -> Decided:
    """The majority of an odd number of grades."""
    passed = sum(grade.passed for grade in grades) * 2 > len(grades)
    unfounded = [grade for grade in grades if grade.quote and not quotable.holds(grade.quote)]
    agreeing = [grade for grade in grades if grade.passed is passed]
    others = [grade for grade in grades if grade.passed is not passed]
    if len(grades) == 1:
        message = _told(grades[0], quotable)
    elif not others:
        message = f"all {len(grades)} votes: " + " | ".join(_told(grade, quotable) for grade in grades)
    else:
        yes, no = (agreeing, others) if passed else (others, agreeing)
        message = f"{len(yes)} of {count(len(grades), 'vote')} passed it"
        for word, side in (("passed", yes), ("failed", no)):
            message += "".join(f" | {word}: {_told(grade, quotable)}" for grade in side)
    return Decided(passed, bool(others), message, len(unfounded))


def _told(grade: Grade, quotable: Quotable) -> str:
    if not grade.quote:
        return grade.reasoning
    found = "Evidence" if quotable.holds(grade.quote) else "Quoted, but nowhere in what the judge was shown"
    return f'{grade.reasoning} {found}: "{safe(_spaced(grade.quote), QUOTE_SHOWN)}"'.strip()
