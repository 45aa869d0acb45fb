"""A first eval for a skill or an agent that exists: requests that should call it, near misses, and a task.

What a user would say cannot be found out from a description, only guessed at. So all of it is valid and runs,
and all of it is marked as a draft.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from skillwalker.drafting import ANSWER, DRAFT, Draft, rubric
from skillwalker.expectations.rubric import parse_rubric
from skillwalker.gateway.rule import stems
from skillwalker.parts import Skill
from skillwalker.targets import Target, neighbours
from skillwalker.text import is_blank

_MOST = 4
_NEAR = 3
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{8,160})[\"”»]|(?<!\w)'([^']{8,160})'(?!\w)")
_WHEN = re.compile(
    r"\b(?:use|invoke|trigger|call|apply|for)\b[^.;:]*?\b(?:when(?:ever)?|if)\b\s+"
    r"(?:the\s+user|users?|someone|you|they|a\s+user|asked)?\s*"
    r"(?P<how>(?:(?:asks?|wants?|needs?|requests?|says?|mentions?|wish(?:es)?|is|are|to|you|claude|for|about)\s+)*)"
    r"(?P<what>[^.;]{8,})",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+|\s[—–-]\s")
_LONGEST = 160

_ADVICE = b"\n\n<!-- Write what can be answered with yes or no, and would fail without the skill. -->\n\n"
_CRITERIA = (
    "The request is fulfilled completely: nothing that was asked for is missing.",
    "What the answer claims to have done can be seen in the tool calls or in the changed files.",
)


def first_eval(target: Target, targets: Sequence[Target], name: str) -> tuple[Draft, list[str]]:
    """The draft, and what its author should know, a sentence each."""
    draft = Draft(name, target)
    part = target.part
    notes = []
    callable_ = not isinstance(part, Skill) or (part.model_may_call and bool(part.description))
    requests = list(_requests(target))
    if callable_:
        positives = [{"query": one, "should_trigger": True} for one in requests[:_MOST]]
        draft.add_queries(positives, model="opus", title="Call", tags=["activation", DRAFT])
        negatives = list(near_misses(target, targets))
        if not negatives:
            negatives = [f"What is meant by this, in one sentence? {_topic(part.description or target.tail)}"]
            notes.append("no neighbouring skill or agent was found: think of near misses yourself")
        draft.add_queries(
            [{"query": one, "should_trigger": False} for one in negatives],
            model="sonnet",
            title="Near miss",
            tags=["activation", DRAFT],
        )
    else:
        why = "the model may not call it" if part.description else "it has no description"
        notes.append(f"{part.id}: {why}, so there is nothing to activate; the eval has a task only")
    _add_task(draft, requests[0] if callable_ else f"/{part.id}", called=callable_)
    draft.rehearse_queries()
    return draft, notes


def near_misses(target: Target, targets: Sequence[Target]) -> Iterator[str]:
    """What is said to the neighbours: those first that have the most words in common."""
    own = stems(f"{target.tail} {target.part.description or ''}")

    def shared(one: Target) -> tuple[bool, int]:
        same = one.plugin.directory == target.plugin.directory
        return same, len(own & stems(f"{one.tail} {one.part.description or ''}"))

    nearest = sorted(neighbours(target, targets), key=shared, reverse=True)
    said = {*_requests(target)}
    for one in nearest[:_NEAR]:
        if fresh := next((request for request in _requests(one) if request not in said), None):
            said.add(fresh)
            yield fresh


def _add_task(draft: Draft, request: str, *, called: bool) -> None:
    target = draft.target
    title = f"Task: {target.tail}"
    text = rubric(title, _CRITERIA).replace(b"\n\n", _ADVICE, 1)
    file = draft.add_file("rubrics", f"{target.tail.replace(':', '-')}.md", text)
    judge = {"llm-judge": {"rubricFile": file}}
    called = called or target.kind == "agent"
    call = {f"{target.kind}-call": {target.kind: target.part.id, "expected": True}}
    more = {"model": "opus", "tags": ["output", DRAFT]}
    if target.plugin.mcp_servers:
        more["skip"] = (
            "the plugin's MCP servers need a network: see sandbox.network.allow, then remove this line"
        )
    name = draft.add_prompt(title, request, [call, judge] if called else [judge], **more)
    script = draft.turns(called=called, prompt=request, answer=ANSWER)
    passed = [True] * len(parse_rubric(text.decode()))
    draft.script[name] = {"main": script, "judge": [{"passed": passed}]}


def _requests(target: Target) -> Iterator[str]:
    """What a user may say who needs it: what the description quotes, when to use it, and what it does."""
    description = target.part.description or ""
    seen: set[str] = set()
    found = [*_quoted(description), *_when(description), _does(description)]
    for request in found if any(found) else [_plainly(target)]:
        key = " ".join(request.lower().split())
        if request and key not in seen and not is_blank(request):
            seen.add(key)
            yield request


def _quoted(description: str) -> Iterator[str]:
    for double, single in _QUOTED.findall(description):
        text = " ".join((double or single).split()).strip(" ,.;")
        if len(text.split()) > 1:
            yield text


def _when(description: str) -> Iterator[str]:
    for match in _WHEN.finditer(description):
        clause = " ".join(match["what"].split()).strip(" ,.;:")
        first = clause if len(clause) <= _LONGEST else re.split(r",|\s+or\s+|\s+\(", clause)[0].strip()
        if first and len(first.split()) > 1 and len(first) <= _LONGEST:
            yield _said(match["how"].split(), first)


def _said(how: list[str], what: str) -> str:
    """What follows "when the user wants to", or the like, as the user would say it."""
    last = how[-1].lower() if how else ""
    if last == "to":
        return f"I want to {what}."
    if last in ("about", "for"):
        return f"This is {last} {what}."
    return f"{what[0].upper()}{what[1:]}."


def _does(description: str) -> str:
    topic = _topic(description)
    if re.match(r"(?:use|invoke)\b|this (?:skill|agent)\b", topic, re.IGNORECASE):
        return ""  # it says when, not what
    return f"I need this done: {topic}" if topic else ""


def _plainly(target: Target) -> str:
    """For one without a description; a request had better not name the skill."""
    words = " ".join(re.split(r"[-_:\s]+", target.tail)).strip()
    return f"Can you help me with {words}?"


def _topic(description: str) -> str:
    """Its first sentence, cut at a word."""
    first = " ".join(_SENTENCE.split(description.strip())[0].split())
    if len(first) <= _LONGEST:
        return first
    return first[:_LONGEST].rsplit(" ", 1)[0] + " ..."
