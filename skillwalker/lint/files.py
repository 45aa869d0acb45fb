"""Files that a prompt names, and that its scaffold has elsewhere or nowhere."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from skillwalker.checks import CheckedTest
from skillwalker.importing.landing import asked, nowhere
from skillwalker.lint.finding import Remark, prompt_path
from skillwalker.text import listed, safe

_MOST = 20_000  # files of a scaffold that are looked at
_READS = r"\b(?:read|open|load|parse|in|from)\s+(?:(?:the|my|our|this|file)\s+){0,2}[`'\"]?(?:\./)?"


def remarks(test: CheckedTest) -> Iterator[Remark]:
    """Of a file that lies elsewhere, unless the prompt tells in which directory."""
    if (there := _files(test)) is None:
        return
    prompt = test.test.prompt
    named = dict.fromkeys(asked(prompt))
    for name in named:
        last = name.rpartition("/")[2]
        places = sorted(one for one in there if one.rpartition("/")[2] == last and one not in named)
        if name in there or not places or any(_is_told(prompt, place) for place in places):
            continue
        message = f"the prompt names {safe(name, 80)}, and the scaffold has it as {listed(places, 3)}"
        yield Remark(
            "misplaced-file", test, prompt_path(test), f"{message}; write that path, or move the file"
        )


def notes(tests: Iterable[CheckedTest]) -> Iterator[str]:
    """Of files that a prompt wants to be read, and that are not in its scaffold: that may be meant."""
    for test in tests:
        if (there := _files(test)) is None:
            continue
        prompt = test.test.prompt
        named = nowhere(prompt, [tuple(one.split("/")) for one in there])
        if absent := [name for name in named if re.search(_READS + re.escape(name), prompt, re.IGNORECASE)]:
            where = f"{safe(test.eval.name)}::{safe(test.test.name, 80)}"
            yield f"{where}: the prompt names {listed(absent, 3)}, and nothing in the scaffold is called so"


def _files(test: CheckedTest) -> frozenset[str] | None:
    """The scaffold's files by their paths; None where there is no scaffold, or too much in it."""
    return _below(test.test.scaffold) if test.test.scaffold else None


@cache
def _below(top: Path) -> frozenset[str] | None:
    """Tests often share a scaffold, and each is looked at twice."""
    found: set[str] = set()
    for here, below, names in os.walk(top):
        below[:] = [name for name in below if name != ".git"]
        found.update((Path(here) / name).relative_to(top).as_posix() for name in (*names, *below))
        if len(found) > _MOST:
            return None
    return frozenset(found)


def _is_told(prompt: str, place: str) -> bool:
    """Whether the prompt has a word for a directory on the way there."""
    return any(re.search(rf"(?<!\w){re.escape(part)}(?!\w)", prompt) for part in place.split("/")[:-1])
