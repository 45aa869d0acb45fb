"""The skills and agents that a request lists: what the model is told it may call.

Claude Code 2.1.332 lists them in messages of role `system` among the others; older versions in reminders
inside the user's messages and in the tools' descriptions. All of these are read.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from skillwalker.gateway.conversations import messages_of, texts_of

_HEADING = re.compile(
    r"^(?:The following (skills) are available|Available (agent) types)[^\n]*:[ \t]*$", re.MULTILINE
)
_HEADING_WORDS = ("The following skills are available", "Available agent types")
_KEPT_CHARS = 200_000
_ENTRY = re.compile(r"- (.+?)(?:: (.*))?", re.DOTALL)
_ALIAS = re.compile(r"(\S+) \((\S+)\)")
_TOOLS = re.compile(r"\s*\(Tools: [^()]*\)$")
# An agent's description may hold blank lines and lists of its own; each entry ends with its tools.
_AGENT = re.compile(r"^- ([^\n]+?)(?:: (.*?))? \(Tools: [^\n]*\)$", re.MULTILINE | re.DOTALL)


@frozen
class Listed:
    """One line of a listing.

    Attributes:
        description: As the model sees it; None where only the id is listed.
        alias: A second name, which newer versions show in brackets.
    """

    id: str
    description: str | None
    alias: str | None = None


@frozen
class Listing:
    """What one request lists.

    Attributes:
        text: The whole text of the listings, as it was sent.
    """

    skills: tuple[Listed, ...] = ()
    agents: tuple[Listed, ...] = ()
    text: str = ""

    def __bool__(self) -> bool:
        return bool(self.skills or self.agents)


def read_listing(request: Mapping[str, Any]) -> Listing:
    """Reads it from anywhere in the request; the first of two entries with one id counts."""
    # Every request of a trial repeats the same text; one that is huge is a trial's own, and not kept.
    read = [(_read_again if len(text) <= _KEPT_CHARS else _read)(text) for text in _texts(request)]
    parts = [part for part in read if part]
    if len(parts) == 1:
        return parts[0]
    skills: dict[str, Listed] = {}
    agents: dict[str, Listed] = {}
    for part in parts:
        for found, entries in ((skills, part.skills), (agents, part.agents)):
            for entry in entries:
                found.setdefault(entry.id, entry)
    text = "\n\n".join(part.text for part in parts)
    return Listing(tuple(skills.values()), tuple(agents.values()), text)


def _read(text: str) -> Listing:
    """The listings in one text."""
    found: dict[str, dict[str, Listed]] = {"skills": {}, "agent": {}}
    sections = []
    for heading in _HEADING.finditer(text):
        section, read = _agents(text[heading.start() :]) if heading[2] else ("", [])
        if not read:
            section = _section(text[heading.start() :])
            read = list(_entries(section))
        sections.append(section)
        entries = found[heading[1] or heading[2]]
        for entry in read:
            entries.setdefault(entry.id, entry)
    return Listing(tuple(found["skills"].values()), tuple(found["agent"].values()), "\n\n".join(sections))


_read_again = functools.lru_cache(maxsize=64)(_read)


def _texts(request: Mapping[str, Any]) -> Iterator[str]:
    for message in messages_of(request):
        role = message.get("role")
        for text in texts_of(message.get("content")) if role in ("system", "user") else ():
            if _may_list(text) and (role == "system" or text.lstrip().startswith("<system-reminder>")):
                yield text
    tools = request.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        description = tool.get("description") if isinstance(tool, dict) else None
        if isinstance(description, str) and _may_list(description):
            yield description


def _may_list(text: str) -> bool:
    """Looks at every text of every request, so the quick way first."""
    return any(words in text for words in _HEADING_WORDS) and _HEADING.search(text) is not None


def _agents(text: str) -> tuple[str, list[Listed]]:
    """The agents from the heading on, up to the next one, and their part of the text; none without tools."""
    following = _HEADING.search(text, 1)
    matches = list(_AGENT.finditer(text, 0, following.start() if following else len(text)))
    return text[: matches[-1].end()] if matches else "", [Listed(one[1], one[2]) for one in matches]


def _section(text: str) -> str:
    """From the heading to the last line of the list.

    A description may hold line breaks; a paragraph that begins with something else than `- ` ends the list.
    """
    lines = text.split("\n")
    seen, end = False, 1
    for number, line in enumerate(lines[1:], 1):
        if line.startswith("- "):
            seen, end = True, number + 1
        elif not line.strip() or line.startswith("</"):
            following = next((later for later in lines[number:] if later.strip()), "")
            if seen and not following.startswith("- "):
                break
        elif seen:
            end = number + 1
    return "\n".join(lines[:end])


def _entries(section: str) -> Iterator[Listed]:
    for chunk in re.split(r"\n(?=- )", section)[1:]:
        if match := _ENTRY.fullmatch(chunk.strip("\n")):
            id_, description = match[1], match[2]
            alias = _ALIAS.fullmatch(id_)
            shown = _TOOLS.sub("", description) if description else None
            yield Listed(alias[1] if alias else id_, shown, alias[2] if alias else None)
