"""The skills and agents that a request lists: what the model is told it may call.

Claude Code 2.1.332 lists them in messages of role `system` among the others; older versions in reminders
inside the user's messages and in the tools' descriptions. All of these are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from skillwalker.gateway.conversations import messages_of, texts_of

_SKILLS = "The following skills are available"
_AGENTS = "Available agent types"
_ENTRY = re.compile(r"- (.+?)(?:: (.*))?", re.DOTALL)
_ALIAS = re.compile(r"(\S+) \((\S+)\)")
_TOOLS = re.compile(r"\s*\(Tools: [^()]*\)$")


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
    skills: dict[str, Listed] = {}
    agents: dict[str, Listed] = {}
    texts = []
    for text in _texts(request):
        for heading, found in ((_SKILLS, skills), (_AGENTS, agents)):
            start = text.find(heading)
            while start >= 0:
                section = _section(text[start:])
                texts.append(section)
                for entry in _entries(section):
                    found.setdefault(entry.id, entry)
                start = text.find(heading, start + len(section))
    return Listing(tuple(skills.values()), tuple(agents.values()), "\n\n".join(texts))


def _texts(request: Mapping[str, Any]) -> Iterator[str]:
    for message in messages_of(request):
        role = message.get("role")
        for text in texts_of(message.get("content")) if role in ("system", "user") else ():
            if role == "system" or text.lstrip().startswith("<system-reminder>"):
                yield text
    tools = request.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict) and isinstance(tool.get("description"), str):
            yield tool["description"]


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
        if match := _ENTRY.fullmatch(chunk.strip()):
            id_, description = match[1], match[2]
            alias = _ALIAS.fullmatch(id_)
            shown = _TOOLS.sub("", description) if description else None
            yield Listed(alias[1] if alias else id_, shown, alias[2] if alias else None)
