"""JSON of other tools -> queries and cases: trigger lists and output evals in the shapes they come in.

The shapes differ in where the list is and in what its keys are called, not in what they say. What is a result
of a run and only looks like them is refused: to read it would make old verdicts into expectations.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skillwalker.importing.items import PROMPT_KEYS, prompt_of, read_item
from skillwalker.importing.values import Found, NotImportableError
from skillwalker.text import listed

LISTS = ("evals", "cases", "queries", "tasks", "evaluations", "test_cases", "tests", "items", "examples")
_SKILL = ("skill_name", "skill", "skillName", "target_skill", "name")
_YES = ("should_trigger", "should_activate", "shouldTrigger", "positive", "positives")
_NO = ("should_not_trigger", "should_not_activate", "shouldNotTrigger", "negative", "negatives")
_ABOUT = frozenset((*_SKILL, "version", "schema_version", "$schema"))
_RESULTS = {
    *("query_results", "run_summary", "runs", "results", "scores", "score", "passed", "grading", "history"),
    *("verdict", "best_description", "pass_rate", "trigger_rate", "baseline_score", "assertion_results"),
}
_ITEM_RESULTS = {
    *("trigger_rate", "trigger_count", "run_count", "passed", "triggered", "did_trigger"),
    *("actual", "evidence", "verdict"),
}


def read_value(value: Any, found: Found) -> None:
    """Adds what a decoded file says to `found`.

    Raises:
        NotImportableError: it is no list of queries or cases.
    """
    if isinstance(value, list):
        _read_list(value, found)
        return
    if not isinstance(value, dict):
        raise NotImportableError("is no list of queries or evals")
    _refuse(value)
    named = next((value[key] for key in _SKILL if isinstance(value.get(key), str) and value[key].strip()), "")
    if two := list(_two_lists(value)):
        _note_skill(named, found)
        for wanted, items in two:
            _read_list(items, found, wanted=wanted)
        _leave_keys(value, {*_YES, *_NO}, found)
        return
    lists = {key: value[key] for key in LISTS if isinstance(value.get(key), list)}
    if not any(lists.values()):
        # Lists under keys of the author's own.
        lists = {key: items for key, items in value.items() if _is_list_of_items(items)} or lists
    if any(lists.values()):
        _note_skill(named, found)
        refused: dict[str, NotImportableError] = {}
        for key, items in lists.items():
            try:
                _read_list(items, found)
            except NotImportableError as error:
                refused[key] = error
        if len(refused) == len(lists):
            raise next(iter(refused.values()))
        for key, why in refused.items():
            found.leave(f"the list {key}: {why}", len(lists[key]) or 1)
        _leave_keys(value, set(lists), found)
        return
    if lists:
        raise NotImportableError(f"{listed(lists)} is an empty list: there is nothing to take over")
    sets = {key: inner for key, inner in value.items() if isinstance(inner, dict) and _has_list(inner)}
    if not sets:
        raise NotImportableError("is no list of queries or evals: " + _what_it_has(value))
    raise NotImportableError(
        f"holds a list for each of {len(sets)} skills ({listed(sets, 20)}); say which one is meant: "
        "add PLUGIN:SKILL"
    )


def part_for(value: Any, skill: str) -> Any:
    """In a file with a list for each skill, the part of `skill`; else all of it."""
    if not isinstance(value, dict) or not value:
        return value
    if not all(isinstance(inner, dict) and _has_list(inner) for inner in value.values()):
        return value
    same = [key for key in value if key.replace(":", "-").endswith(skill) or skill == key]
    exact = [key for key in same if key.rpartition(":")[2] == skill]
    chosen = exact or (same if len(same) == 1 else [])
    return value[chosen[0]] if chosen else value


def read_lines(text: str) -> list[Any]:
    """The values of JSON Lines.

    Raises:
        NotImportableError: a line is no JSON object.
    """
    values = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            raise NotImportableError(f"line {number} is not JSON") from None
        if not isinstance(value, dict):
            raise NotImportableError(f"line {number} is no JSON object")
        values.append(value)
    return values


def _read_list(items: Sequence[Any], found: Found, wanted: bool | None = None) -> None:
    if not items and wanted is None:
        raise NotImportableError("is an empty list: there is nothing to take over")
    results = [item for item in items if isinstance(item, dict) and _ITEM_RESULTS & set(item)]
    if results and len(results) * 2 > len(items):
        keys = sorted(_ITEM_RESULTS & set(results[0]))
        raise NotImportableError(f"holds results of a run ({listed(keys)}), not queries or evals")
    before = len(found.queries), len(found.cases)
    by_name = any(isinstance(item, dict) and isinstance(item.get("should_trigger"), str) for item in items)
    for number, entry in enumerate(items, 1):
        item = {"query": entry} if isinstance(entry, str) and wanted is not None else entry
        if not isinstance(item, dict):
            found.leave("an entry that is no object", who=f"entry {number}")
            continue
        read_item(item, found, number=number, wanted=wanted, by_name=by_name)
    if (len(found.queries), len(found.cases)) == before:
        if not any(isinstance(item, dict) and prompt_of(item) for item in items):
            raise NotImportableError(f"no entry has a prompt ({', '.join(PROMPT_KEYS)})")
        raise NotImportableError(
            "no entry says what is expected of it: neither should_trigger nor expected_output, expectations "
            "or assertions"
        )


def _two_lists(value: Mapping[str, Any]) -> Iterator[tuple[bool, list[Any]]]:
    """(wanted, items) of a file with a list of what should trigger and one of what should not."""
    for wanted, keys in ((True, _YES), (False, _NO)):
        for key in keys:
            if isinstance(value.get(key), list):
                yield wanted, value[key]


def _refuse(value: Mapping[str, Any]) -> None:
    if "properties" in value and ("$schema" in value or value.get("type") == "object"):
        raise NotImportableError("is a JSON Schema, not a list of queries or evals")
    lists = [value[key] for key in LISTS if _is_list_of_items(value.get(key))]
    if not lists and (keys := sorted(_RESULTS & set(value))):
        raise NotImportableError(f"holds results of a run ({listed(keys)}), not queries or evals")
    if "expectations" in value and "summary" in value:
        raise NotImportableError("holds the grading of a run, not queries or evals")
    if prompt_of(value) and ("assertions" in value or "eval_id" in value):
        raise NotImportableError("describes one run of an eval, not a list of evals")


def _is_list_of_items(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) and prompt_of(item) for item in value)


def _has_list(value: Mapping[str, Any]) -> bool:
    return any(_is_list_of_items(value.get(key)) for key in LISTS)


def _note_skill(name: str, found: Found) -> None:
    if name.strip():
        found.skills[name.strip()] = None


def _leave_keys(value: Mapping[str, Any], read: set[str], found: Found) -> None:
    for key in value:
        if key not in read and key not in _ABOUT:
            found.leave(f"the file's field {key}")


def _what_it_has(value: Mapping[str, Any]) -> str:
    return f"its fields are {listed(value)}" if value else "it is an empty object"
