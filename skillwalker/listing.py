"""The line by which Claude Code tells the model of a skill or an agent.

Skills stand in its requests as `- id: description` or, where the frontmatter's name is another than the
directory's, as `- id (plugin:name): description`. Source: the requests of Claude Code 2.1.332.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from typing import Any

from skillwalker.frontmatter import Frontmatter, strip, text_of

SHOWN_CHARACTERS = 1536
"""The model sees so many UTF-16 units of a skill's description, the ellipsis of a cut one included."""

_FIRST_LINE = 100
_ESCAPE_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[ -/]*[0-Z\\-~])")
_FILLERS = re.compile(  # that Python counts as printable
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_EMOJI = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf\u23e9-\u23fa\u24c2"
    "\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030"
    "\u303d\u3297\u3299\U0001f004-\U0001f8ff\U0001f90c-\U0001faff]"
)
_JOINING = "[\u0600-\u06ff\u0750-\u077f\u0900-\u0dff]"  # scripts that write with joiners
_KEPT = re.compile(
    "[0-9#*]\ufe0f\u20e3"
    "|\U0001f3f4[\U000e0030-\U000e007a]+\U000e007f"
    f"|[\U0001f000-\U0001faff\u26d3\u26f9\u2764]\ufe0f?(?:\u200d{_EMOJI}\ufe0f?[\U0001f3fb-\U0001f3ff]?)+"
    f"|{_EMOJI}\ufe0f(?!\ufe0f)"
    f"|(?<={_JOINING})[\u200c\u200d](?={_JOINING})"
)


def shown_description(front: Frontmatter) -> str | None:
    """A skill's description as the model sees it; None: the skill is not listed, for want of one.

    Exact but for some invisible characters in sequences of emoji.
    """
    described = skill_description(front)
    return None if described is None else shown(described)


def skill_description(front: Frontmatter, kind: str = "skill") -> str | None:
    """A skill's description before it is made fit for the listing: `when_to_use` joined, uncut."""
    described = described_by(front)
    when = front.fields.get("when_to_use")
    if not when and not isinstance(when, list):
        return described
    return f"{described or _first_line(front.body) or f'Plugin {kind}'} - {text_of(when)}"


def agent_description(front: Frontmatter) -> str | None:
    """An agent's description, which the model sees as it is; None: Claude Code makes up one."""
    return described_by(front) or described_by(front, "when_to_use")


def described_by(front: Frontmatter, key: str = "description") -> str | None:
    """The text of a field without the space around it; None where it has no text."""
    value: Any = front.fields.get(key)
    return (strip(text_of(value)) or None) if isinstance(value, str | int | float) else None


def shown(text: str) -> str:
    """`text` as the listing of skills shows it."""
    pieces = re.split(f"({_KEPT.pattern})", _ESCAPE_SEQUENCE.sub("", text))
    pieces[::2] = map(_without_invisible, pieces[::2])
    escaped = "".join(pieces).replace("<", "&lt;").replace(">", "&gt;")
    units = escaped.encode("utf-16-le", "surrogatepass")
    if len(units) <= 2 * SHOWN_CHARACTERS:
        return escaped
    return units[: 2 * (SHOWN_CHARACTERS - 1)].decode("utf-16-le", "replace") + "…"


def is_cut(description: str) -> bool:
    """Whether a description as the model sees it lacks its end."""
    return (
        description.endswith("…")
        and len(description.encode("utf-16-le", "surrogatepass")) == 2 * SHOWN_CHARACTERS
    )


def _without_invisible(text: str) -> str:
    if text.isprintable() and not _FILLERS.search(text):
        return text
    runs = itertools.groupby(text, _is_invisible)
    return "".join(" " if invisible else "".join(run) for invisible, run in runs)


def _is_invisible(char: str) -> bool:
    if char.isprintable():
        return _FILLERS.match(char) is not None
    return unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp") or char in "\ufffe\uffff"


def _first_line(body: str) -> str | None:
    """What stands for a description that is missing: the body's first line with text, without its `#`s."""
    line = next(filter(None, map(strip, body.split("\n"))), "")
    line = re.sub(r"^#+\s+", "", line)
    return (line if len(line) <= _FIRST_LINE else line[: _FIRST_LINE - 3] + "...") or None
