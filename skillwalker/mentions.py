"""What a prompt has in common with the skill or agent that it is about: its name, and its words."""

from __future__ import annotations

import re

from skillwalker.gateway.rule import stems

# Scripts without blanks between words: Thai to Lao, Burmese, Khmer, Japanese, Chinese.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


def mention(prompt: str, kind: str, id: str) -> str | None:
    """How a prompt names it: by its id, as a command, by a name of several parts, or with its kind.

    Args:
        kind: `skill` or `agent`.
        id: With its plugin.
    """
    name = id.partition(":")[2]
    word = re.escape(name)
    forms = [re.escape(id), rf"(?<![\w/.])/{word}", rf"\b{word} {kind}\b", rf"\b{kind} {word}\b"]
    if re.search(r"[-_:\d]", name):  # no word that people use by chance
        forms.append(rf"(?<![\w-]){word}(?![\w-])")
    found = re.search("|".join(forms), prompt, re.IGNORECASE)
    return found[0] if found else None


def is_far(prompt: str, description: str) -> bool:
    """Whether they have no word in common; no where words are not written apart."""
    return not (_UNSPACED.search(prompt + description) or stems(prompt) & stems(description))
