"""What of descriptions does not reach the model. Measured with Claude Code 2.1.332."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from skillwalker.checks import CheckedTest
from skillwalker.claude_code import CALL_TYPES
from skillwalker.errors import Problem
from skillwalker.jsonfile import content_of
from skillwalker.lint.finding import Finding, Remark
from skillwalker.listing import SHOWN_CHARACTERS, is_cut
from skillwalker.parts import Agent, Skill
from skillwalker.plugin_set import UnresolvedError
from skillwalker.text import count, safe

BUDGET = 30_000
"""Characters of all lines of the listing together, about 1 % of a context of a million tokens; older versions
had a fifth of it."""


def findings(tests: Iterable[CheckedTest], root: Path) -> Iterator[Finding]:
    """Each description that is cut, and each that a tested skill or agent does not have, once."""
    tests = tuple(tests)
    tested = _tested(tests)
    for part, flaw in _undescribed(tests):
        if part.path in tested:
            yield Finding("no-description", safe(flaw.message), safe(flaw.file or ""), flaw.line)
    skills = {skill.path: skill for test in tests for skill in _skills(test)}
    for path, skill in skills.items():
        if skill.description and is_cut(skill.description):
            message = (
                f"the description of {safe(skill.id)} is longer than the {SHOWN_CHARACTERS:,} characters"
            )
            yield Finding(
                "long-description",
                f"{message} that Claude Code shows, and the model does not see its end; shorten it",
                os.path.relpath(path, root) if path.is_relative_to(root) else str(path),
                _line(path),
            )


def notes(tests: Iterable[CheckedTest]) -> Iterator[str]:
    """Of what comes along with the tests, and is not tested."""
    tests = tuple(tests)
    tested = _tested(tests)
    yield from (str(flaw) for part, flaw in _undescribed(tests) if part.path not in tested)


def _undescribed(tests: Iterable[CheckedTest]) -> list[tuple[Skill | Agent, Problem]]:
    found = [pair for test in tests for pair in test.plugins.undescribed]
    return list({(str(part.path), part.id): (part, flaw) for part, flaw in found}.values())


def _tested(tests: Iterable[CheckedTest]) -> set[Path]:
    """The files of the skills and agents that tests are about, or whose call they look for."""
    parts: list[Skill | Agent | None] = []
    for test in tests:
        parts += (test.skill, test.agent)
        for reference, _ in filter(None, (bound.expects_call for bound in test.expectations)):
            for find in (test.plugins.skill, test.plugins.agent):
                with suppress(UnresolvedError):
                    parts.append(find(reference))
    return {part.path for part in parts if part}


def remarks(tests: Iterable[CheckedTest]) -> Iterator[Remark]:
    """Of an eval whose plugins list more than there is room for."""
    test = next((one for one in tests if one.test.type not in CALL_TYPES), None)
    if test is None:
        return  # a test of a call loads one skill only
    listed = [f"- {skill.id}: {skill.description}\n" for skill in _skills(test) if skill.description]
    total = sum(map(len, listed))
    if total > BUDGET:
        message = (
            f"{count(len(listed), 'skill')} take {total:,} of the {BUDGET:,} characters of Claude Code's list"
        )
        yield Remark(
            "listing-budget",
            test,
            "plugins",
            f"{message}: some lose their whole description; shorten them, or load fewer plugins",
        )


def _skills(test: CheckedTest) -> list[Skill]:
    return [skill for plugin in test.plugins.plugins for skill in plugin.skills]


def _line(path: Path) -> int | None:
    """The line of the description in a file's frontmatter."""
    try:
        text = content_of(path).decode("utf-8", "replace")
    except OSError:
        return None
    found = re.search(r"^(?:description|when_to_use)\s*:", text, re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 if found else None
