"""One thing that a linter has to say, and where."""

from __future__ import annotations

import re
from typing import Any

from attrs import frozen

from skillwalker.checks import CheckedTest

_QUERY = re.compile(r"(.*\.queries\[\d+\])\.")

_RULES = {
    "expected-in-prompt": "what the answer must contain stands in the prompt",
    "edit-me": "a prompt or a criterion still says that it is to be written",
    "parrot": "an answer that repeats the prompt passes",
    "do-nothing": "a test passes where nothing is done",
    "names-target": "a prompt names the skill or agent that it shall lead to",
    "no-negative": "nothing tests that a skill or agent is left alone",
    "no-positive": "nothing tests that a skill or agent is found",
    "far-negative": "a prompt that shall not lead to a skill or agent has nothing to do with it",
    "long-description": "Claude Code cuts a description",
    "no-description": "Claude Code shows the model no description of what is tested",
    "listing-budget": "Claude Code lists skills without their descriptions",
    "duplicate-test": "two tests are the same",
    "contradiction": "two tests with the same prompt expect the opposite",
    "misplaced-file": "a prompt names a file that lies elsewhere in its scaffold",
    "duplicate-expectation": "an expectation stands twice in a test",
}
RULES = dict(sorted(_RULES.items()))
"""Every rule with what it finds."""


@frozen
class Finding:
    """What is wrong and what to do.

    Attributes:
        rule: One of `RULES`.
        file: Relative to the root where it lies below it.
        line: From 1; None where it is about the whole file.
        path: JSON path in a `tests.json`.
    """

    rule: str
    message: str
    file: str
    line: int | None = None
    path: str | None = None

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return ": ".join(part for part in (place, self.path, f"{self.message} [{self.rule}]") if part)

    def as_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "file": self.file,
            "line": self.line,
            "path": self.path,
            "message": self.message,
        }


@frozen
class Remark:
    """A finding whose place is not known in full yet: it is about this test, or about its eval.

    Attributes:
        path: JSON path in the test's `tests.json`.
    """

    rule: str
    test: CheckedTest
    path: str
    message: str


def test_path(test: CheckedTest) -> str:
    """The JSON path of a test; of one that comes from a list of queries, that of its query."""
    query = next((match for spec in test.test.expect if (match := _QUERY.match(spec.path))), None)
    return query[1] if query else test.test.path


test_path.__test__ = False  # type: ignore[attr-defined]


def prompt_path(test: CheckedTest) -> str:
    """The JSON path of a test's prompt, or of the file it stands in."""
    path = test_path(test)
    if path != test.test.path:
        return f"{path}.query"
    return f"{path}.{'prompt' if test.test.prompt_file == test.eval.file else 'promptFile'}"
