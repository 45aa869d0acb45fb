"""What a rehearsed model does where nothing is scripted: a small deterministic rule, no judgement.

It compares the words of the prompt with those of each listed description, calls the skill or agent of a
plugin that shares clearly the most, and answers in text otherwise. It says nothing about real models.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from skillwalker.gateway.conversations import (
    AGENT_TOOLS,
    Thread,
    first_texts,
    last_texts,
    messages_of,
    texts_of,
)
from skillwalker.gateway.listing import Listed, Listing, read_listing

CLEARLY = 1.3
"""How many times the second best's score the best one needs."""

_NAME_COUNTS = 1.5  # a word of the name says more than one of the description
_ENOUGH_WORDS = 2
_KEPT_CHARS = 6000
_AGENT_PROMPT = re.compile(r"Use the (.+?) agent to accomplish the following task:\s*(.*)", re.DOTALL)
_COMMAND = re.compile(r"<command-name>/?([^<]*)</command-name>")
_DIRECTORY = re.compile(r"\s*Base directory for this skill: [^\n]*\n")
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_WORD = re.compile(r"[^\W_]+")
_STOP_WORDS = frozenset(
    _WORD.findall(
        """
        a about after all also an and any are as ask asked asks at be been before but by can could did do
        does each for from get give given go had has have help her here him his how i if in into is it its
        just kind let like make makes me more most my need needs no not of on one only or other our out
        please she should so some such task tell than that the their them then there these they thing this
        those to too up us use used user uses using want wants was we well were what when where whether
        which while who why will with without work would you your agent skill
        """
    )
)


def answer(request: Mapping[str, Any], thread: Thread, turn: int) -> list[dict[str, Any]]:
    """The content of the answer to one request."""
    if turn > 0:
        return _text(f'Rehearsed answer, following "{_heading(_latest(request))}".')
    prompt = "\n".join(first_texts(request))
    if command := _COMMAND.search(prompt):
        return _text(f'Rehearsed answer to /{command[1]}, following "{_heading(prompt[command.end() :])}".')
    if thread.fork:
        return _text(f'Rehearsed answer, following "{_heading(prompt)}".')
    tools = {tool.get("name") for tool in request.get("tools") or () if isinstance(tool, dict)}
    agent_tool = next(iter(sorted(AGENT_TOOLS & tools)), None) if thread.kind == "main" else None
    if agent_tool and (asked := _AGENT_PROMPT.fullmatch(prompt.strip())):
        return [_agent_call(agent_tool, asked[1], asked[2])]
    listing = read_listing(request)
    best = best_match(prompt, _callable(listing, skills="Skill" in tools, agents=agent_tool is not None))
    if best is None:
        return _text("Rehearsed answer: no listed skill or agent clearly fits this prompt.")
    if best in listing.skills:
        return [{"type": "tool_use", "name": "Skill", "input": {"skill": best.id}}]
    return [_agent_call(agent_tool or "Agent", best.id, prompt)]


def best_match(prompt: str, listed: list[Listed]) -> Listed | None:
    """The plugin's entry whose words the prompt shares clearly the most; None where none stands out.

    Built-in entries (their ids have no plugin before a colon) only help to tell common words from rare ones.
    """
    wanted = stems(prompt)
    documents = [(entry, stems(entry.id), _listed_stems(entry)) for entry in listed]
    spread = Counter(word for _, name, text in documents for word in name | text)
    scores: list[tuple[float, Listed]] = []
    for entry, name, text in documents:
        shared = wanted & (name | text)
        if ":" in entry.id and (len(shared) >= _ENOUGH_WORDS or wanted & _own_name(entry)):
            weights = {word: math.log(1 + len(documents) / spread[word]) for word in shared}
            score = sum(weight * (_NAME_COUNTS if word in name else 1) for word, weight in weights.items())
            scores.append((score, entry))
    scores.sort(key=lambda scored: (-scored[0], scored[1].id))
    if not scores or (len(scores) > 1 and scores[0][0] < CLEARLY * scores[1][0]):
        return None
    return scores[0][1]


def stems(text: str) -> frozenset[str]:
    """The words that carry meaning, in lower case and without their endings."""
    words = (word for word in _WORD.findall(text.lower()) if word not in _STOP_WORDS)
    return frozenset(_stem(word) for word in words if len(word) > 1 and not word.isdigit())


def _listed_stems(entry: Listed) -> frozenset[str]:
    text = entry.description or ""
    return (_stems_again if len(text) <= _KEPT_CHARS else stems)(text)


_stems_again = functools.lru_cache(maxsize=1024)(stems)  # the same descriptions come with every request


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "ly", "es", "s"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 3 and not (ending == "s" and rest.endswith("s")):
            word = rest
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]  # planning, plan
    return word[:-1] + "i" if word.endswith("y") else word.removesuffix("e") if len(word) > 3 else word


def _own_name(entry: Listed) -> frozenset[str]:
    return stems(entry.id.partition(":")[2])


def _callable(listing: Listing, *, skills: bool, agents: bool) -> list[Listed]:
    return [*(listing.skills if skills else ()), *(listing.agents if agents else ())]


def _agent_call(tool: str, agent: str, prompt: str) -> dict[str, Any]:
    given = {"description": "Rehearsed task", "subagent_type": agent, "prompt": prompt}
    return {"type": "tool_use", "name": tool, "input": given}


def _text(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def _latest(request: Mapping[str, Any]) -> str:
    """What the last message of the user brought: a skill's body if there is one, else a tool's result."""
    last: Any = None
    for message in messages_of(request):
        if message.get("role") == "user":
            last = message.get("content")
    bodies = [text for text in last_texts(request) if _DIRECTORY.match(text)]
    results = [
        text
        for block in (last if isinstance(last, list) else ())
        if isinstance(block, dict) and block.get("type") == "tool_result"
        for text in texts_of(block.get("content"))
    ]
    return (bodies or last_texts(request) or results or [""])[0]


def _heading(body: str) -> str:
    """The first heading, or the first line where there is none."""
    body = _DIRECTORY.sub("", body, count=1)
    if heading := _HEADING.search(body):
        return heading[1]
    return next((line.strip()[:80] for line in body.splitlines() if line.strip()), "")
