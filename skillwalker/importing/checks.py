"""A check that a machine makes in another tool -> entries for `expect`.

They may be of types that only skillwalker-expectations-contrib has; who writes them asks whether it is there.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from skillwalker.expectations.known import CONTRIB
from skillwalker.importing.values import texts
from skillwalker.text import has_controls, is_blank

MUST = {"must_have": True, "must_contain": True, "must_not_have": False, "must_not_contain": False}
"""Lists of texts that must, or must not, be in the answer; those that `have` may hold patterns."""

OUTCOME = "The outcome is as follows: "
"""How the criterion begins that is the outcome in prose."""
SAID = {
    "result-contains": "The final answer contains the text: ",
    "result-does-not-contain": "The final answer does not contain the text: ",
}
"""How a file that knows only criteria says it."""

_HAS = frozenset(
    [
        "contains",
        "contains-all",
        "includes",
        "includes-all",
        "substring",
        "substring-all",
        "content-includes",
        "content-includes-all",
        "output-contains",
        "result-contains",
        "must-contain",
        "must-have",
    ]
)
_HAS_NOT = frozenset(
    [
        "not-contains",
        "not-contain",
        "does-not-contain",
        "excludes",
        "not-includes",
        "absent-substring",
        "content-excludes",
        "output-not-contains",
        "result-does-not-contain",
        "must-not-contain",
        "must-not-have",
    ]
)
_MATCHES = frozenset(["regex", "regex-match", "regex-includes", "matches", "pattern", "result-matches"])
_MATCHES_NOT = frozenset(["regex-absent", "absent-regex", "not-regex", "regex-excludes", "not-matches"])
_ANSWER = (
    "",
    "output",
    "response",
    "answer",
    "result",
    "last-message",
    "final-answer",
    "assistant-text",
    "stdout",
)
_VALUES = ("value", "values", "substring", "pattern")
_LOOKS_LIKE_A_PATTERN = re.compile(r"\\.|\||[.\])][*+?]|\(\?|\[\^|^\^|\$$")


def entries(check: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """What it checks; None: nothing here says that."""
    kind = kind_of(check)
    given = [text for key in _VALUES for text in texts(check.get(key))]
    file = _file(check)
    if kind == "file-exists":
        path = check.get("path", check.get("file", check.get("value")))
        return [{"file-exists": path}] if isinstance(path, str) and _is_path(path) else None
    if file is None or not given or (file and not _is_path(file)):
        return None
    if kind in _HAS or kind in _HAS_NOT:
        wanted = kind in _HAS
        if not file:
            return [{_literal(wanted): text} for text in given]
        return [{"file-contains": _with({"path": file, "text": text}, wanted)} for text in given]
    if kind in _MATCHES or kind in _MATCHES_NOT:
        flags = check.get("flags")
        found = [
            matches(text, kind in _MATCHES, flags if isinstance(flags, str) else "", file) for text in given
        ]
        return None if None in found else [one for one in found if one]
    return None


def kind_of(check: Mapping[str, Any]) -> str:
    """Its type, spelt in one way; `check` where it has none."""
    kind = next((check[key] for key in ("type", "check", "kind") if isinstance(check.get(key), str)), "")
    return kind.strip().lower().replace("_", "-") or "check"


def must(key: str, value: Any) -> Iterator[dict[str, Any] | None]:
    """The entries for a list of texts; None for one that nothing says."""
    wanted = MUST[key]
    for text in value if isinstance(value, list) else [value]:
        if not isinstance(text, str) or is_blank(text):
            yield None
        elif key.endswith("have") and _LOOKS_LIKE_A_PATTERN.search(text):
            yield matches(text, wanted)
        else:
            yield {_literal(wanted): text}


def said(criterion: str) -> dict[str, Any] | None:
    """The entry that a criterion stands for which an export has made of one."""
    for kind, words in SAID.items():
        if criterion.startswith(words) and not is_blank(text := criterion.removeprefix(words)):
            return {kind: text}
    return None


def matches(pattern: str, wanted: bool, flags: str = "", file: str = "") -> dict[str, Any] | None:
    """`result-matches` or `file-matches`; None: it is no pattern in Python's syntax."""
    flags = "".join(sorted(set(flags) & set("imsx")))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(pattern)
    except (re.error, ValueError, OverflowError, RecursionError, Warning):
        return None
    if not flags and wanted and not file:
        return {"result-matches": pattern}
    value = {**({"path": file} if file else {}), "pattern": pattern, **({"flags": flags} if flags else {})}
    return {"file-matches" if file else "result-matches": _with(value, wanted)}


def advice(kind: str) -> str:
    """What to write for a check whose words alone are taken over."""
    if kind.startswith("file"):
        return f"file-exists or file-matches ({CONTRIB})"
    if kind in _HAS or kind in _HAS_NOT:
        return "result-contains or result-does-not-contain"
    return f"result-matches, or another type of {CONTRIB}"


def _literal(wanted: bool) -> str:
    return "result-contains" if wanted else "result-does-not-contain"


def _with(value: dict[str, Any], wanted: bool) -> dict[str, Any]:
    return value if wanted else {**value, "expected": False}


def _file(check: Mapping[str, Any]) -> str | None:
    """The file that it looks into; empty: at the answer; None: at something else."""
    for key in ("target", "scope", "field", "file", "path"):
        value = check.get(key)
        if isinstance(value, dict) and isinstance(value.get("file"), str):
            return str(value["file"])
        if key in ("file", "path") and isinstance(value, str) and value:
            return value
        if value is not None and not (
            isinstance(value, str) and value.strip().lower().replace("_", "-") in _ANSWER
        ):
            return None
    return ""


def _is_path(path: str) -> bool:
    parts = path.split("/")
    plain = not is_blank(path) and not has_controls(path) and "\\" not in path and ":" not in path
    return plain and path == path.strip() and not any(part in ("", ".", "..", ".git") for part in parts)
