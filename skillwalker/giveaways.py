"""Files that would tell a trial what it is judged by, known by what they hold, wherever they lie in a plugin.

Reports and recordings of Skillwalker itself, and the files of evals, trigger lists and grades as other tools
write them. What only resembles them is a plugin's own data, so the shapes are narrower than those that can be
taken over on request: few data has both a prompt and an expectation under the names that evals use.
"""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

REPORT_MARK = "<!-- Skillwalker report -->"
"""Stands in our Markdown, so that it is known also where other text stands before it."""

_REPORT = "a report"
_EVALS = "evals"
_TRIGGERS = "a list of queries with what they should trigger"
_GRADES = "grades of a run"

_MOST = 16 << 20
_BEGINNING = 8_000
_REPORT_BEGINS = re.compile(
    r'\s*<!doctype html>.{0,1000}<meta name="generator" content="Skillwalker">'
    r'|\s*(<[?!][^>]*>\s*)*<testsuites [^>]*name="skillwalker '
    r"|\s*(\*\*[A-Z]{4,}[^\n]*\*\*\s+)?# Skillwalker: (passed|failed|unmeasured)\b"
    r"|::(error|notice|warning)( (file|title)=|::)"
    # What is printed of a run, and of a test.
    r"|([A-Z]{4,}: [^\n]*\n)?("
    r"(PASSED|FAILED|UNMEASURED|NOT RUN) +[^\n]*::[^\n]*  \((skill|agent)-(call|prompt), "
    r"|[^\n]+::[^\n]+  (passed|failed|unmeasured)\n  trial \d+: "
    r"|judged again: \d+ trials?, no agent was run)",
    re.DOTALL | re.IGNORECASE,
)
_CASE = re.compile(rb"^(graders|execution)[ \t]*:", re.MULTILINE)
_OWN_JSON = ({"schema", "run_id"}, {"schema", "before", "after", "changed"}, {"schema", "measured"})

_PROMPTS = {"query", "prompt", "user_prompt"}
_LOOSE_PROMPTS = {"input", "question", "trigger"}
_FLAGS = {
    *("should_trigger", "shouldTrigger", "expected_trigger", "should_activate", "should_invoke"),
    *("should_not_trigger", "expected_skill", "expected_skills", "expect_skill", "unexpected_skills"),
}
_EXPECTED = {
    *("expectations", "assertions", "expected_behaviors", "expected_behavior", "expected_output"),
    *("expected_outcome", "expected_result", "criteria", "expect", "checks", "ground_truth", "expected"),
    *("must_have", "must_not_have", "must_contain", "must_not_contain", "assert"),
}
_TWO_LISTS = (
    ("should_trigger", "should_not_trigger"),
    ("should_activate", "should_not_activate"),
    ("shouldTrigger", "shouldNotTrigger"),
)
_LOOSE_TWO_LISTS = (("positive", "negative"), ("positives", "negatives"))
_SKILL = {"skill_name", "skillName", "target_skill", "skill"}
_GRADED = (
    {"run_summary", "runs"},
    {"best_description", "history"},
    {"winner", "rubric"},
    {"query_results"},
    {"findings", "evals", "tests"},
)
_TELLING = re.compile(r"(^|[-_.])(evals?|evaluations?|test[-_]?cases|grading|benchmark)([-_.]|$)")
_OF_A_SKILL = frozenset(("assets", "references", "scripts"))
"""Directories beside a SKILL.md that are the skill's own, templates of evals as well."""


def file_gives_away(path: PurePosixPath, content: BinaryIO, directory: Path) -> str | None:
    """What it is, in a few words; None: nothing of the kind.

    Args:
        path: In the plugin.
        content: Read from where it stands; where it stands afterwards is not said.
        directory: The plugin's.
    """
    data = content.read(_MOST)
    text = _decoded(data[:_BEGINNING])
    if _REPORT_BEGINS.match(text) or REPORT_MARK.encode() in data or REPORT_MARK.encode("utf-16-le") in data:
        return _REPORT
    if text.startswith('{"cassette":'):
        return "a cassette"
    if not text.lstrip().startswith(("{", "[")):
        return None
    value = _json(_decoded(data))
    if isinstance(value, dict) and any(_has(value, keys) for keys in _OWN_JSON):
        return _REPORT
    return None if _is_of_a_skill(path, directory) else _what(value, path)


def directory_gives_away(directory: Path) -> str | None:
    """What it is as a whole, in a few words; None: nothing of the kind."""
    names = _names(directory)
    if {"run.json", "trials"} <= names:
        return "a stored run"
    if "eval_metadata.json" in names or ("with_skill" in names and names & {"without_skill", "old_skill"}):
        return "what a run of skill-creator left"
    graded = "case.yaml" in names and _CASE.search(_begins(directory / "case.yaml"))
    if graded or {"prompt.md", "graders"} <= names:
        return "a case of `claude plugin eval`"
    first = next((name for name in sorted(names) if name.endswith(".jsonl")), None)
    if first is not None and _begins(directory / first, 100).startswith(b'{"cassette":'):
        return "cassettes"
    return None


def _what(value: Any, path: PurePosixPath) -> str | None:
    if isinstance(value, list):
        return _items(value, loose=_is_telling(path))
    if not isinstance(value, dict):
        return None
    graded = value.get("expectations") or value.get("assertion_results")
    passed = isinstance(graded, list) and any(isinstance(one, dict) and "passed" in one for one in graded)
    if passed or any(_has(value, keys) for keys in _GRADED):
        return _GRADES
    if _PROMPTS & set(value) and {"assertions", "eval_id"} & set(value):
        return _EVALS
    loose = _is_telling(path) or bool(_SKILL & set(value))
    for two in (*_TWO_LISTS, *(_LOOSE_TWO_LISTS if loose else ())):
        if all(isinstance(value.get(key), list) for key in two):
            return _TRIGGERS
    tests = value.get("tests")
    if isinstance(tests, list) and any(isinstance(one, dict) and "expect" in one for one in tests):
        return _EVALS
    below = [inner for one in value.values() if isinstance(one, dict) for inner in one.values()]
    found = [_items(one, loose=loose) for one in (*value.values(), *below) if isinstance(one, list)]
    return next(filter(None, found), None)


def _items(items: list[Any], *, loose: bool) -> str | None:
    """What a list is by its entries."""
    for item in items:
        if not isinstance(item, dict):
            continue
        keys = set(item)
        if keys & _PROMPTS or (keys & _LOOSE_PROMPTS and (loose or keys & _FLAGS)):
            if keys & _FLAGS:
                return _TRIGGERS
            if keys & _EXPECTED:
                return _EVALS
        elif "run_id" in keys and "feedback" in keys:
            return _GRADES
    return None


def _is_telling(path: PurePosixPath) -> bool:
    return any(_TELLING.search(part.lower()) for part in path.parts)


def _is_of_a_skill(path: PurePosixPath, directory: Path) -> bool:
    return any(
        parent.name in _OF_A_SKILL and os.path.lexists(directory / parent.parent / "SKILL.md")
        for parent in path.parents
    )


def _has(value: Mapping[str, Any], keys: set[str]) -> bool:
    return keys <= set(value)


def _json(text: str) -> Any:
    """The value, or the values of JSON Lines as a list; None where it is neither."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    with suppress(ValueError, RecursionError):
        return [json.loads(line) for line in _lines(text)]
    return None


def _lines(text: str) -> Iterator[str]:
    return (line for line in text.split("\n") if line.strip())


def _decoded(data: bytes) -> str:
    """Shells of Windows write UTF-16 where output goes to a file."""
    utf_16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if utf_16 else "utf-8-sig", "replace")


def _begins(path: Path, size: int = _MOST) -> bytes:
    with suppress(OSError), path.open("rb") as file:
        return file.read(size)
    return b""


def _names(directory: Path) -> frozenset[str]:
    with suppress(OSError):
        return frozenset(os.listdir(directory))
    return frozenset()
