"""One entry of another tool's list -> a query, a case, or both; what of it is not taken over is noted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define, field

from skillwalker.importing.checks import MUST, advice, entries, kind_of, must, said
from skillwalker.importing.values import Case, Found, InputFile, Query, texts
from skillwalker.text import has_controls, is_blank, safe

PROMPT_KEYS = ("query", "prompt", "input", "question", "user_prompt", "trigger")
_FLAGS = (
    "should_trigger",
    "shouldTrigger",
    "expected_trigger",
    "should_activate",
    "should_invoke",
    "expected_skill",
    "expected_skills",
    "expect_skill",
    "expected_outcome",
    "expected",
)
_BY_WORD = frozenset(("expected_outcome", "expected"))  # a flag where it is one of these words, else prose
_WORDS = {"true": True, "false": False, "yes": True, "no": False, "positive": True, "negative": False}
_UNWANTED = ("should_not_trigger", "unexpected_skills")
_CRITERIA = (
    "expectations",
    "assertions",
    "expected_behaviors",
    "expected_behavior",
    "criteria",
    "expect",
    "checks",
    "assert",
)
_IN_WORDS = ("text", "description", "assertion", "expectation", "criterion", "statement", "prompt")
_MACHINE = frozenset(
    [
        "pattern",
        "value",
        "values",
        "substring",
        "path",
        "file",
        "field",
        "command",
        "target",
        "flags",
        "check",
        "scope",
    ]
)
_ABOUT_CHECKS = frozenset(("id", "name", "type", "kind", "metric", *_IN_WORDS, *_MACHINE))
_EXPECTED = ("expected_output", "expected_outcome", "expected", "ground_truth", "expected_result")
_FILES = ("files", "input_files", "input_file")
_TAGS = ("tags", "category", "area", "split", "branch")
ID_TAG = "id "
"""How a tag begins that keeps an id which is a text."""
_NAMES = ("name", "eval_name", "id")


def prompt_of(item: Mapping[str, Any]) -> str:
    """The request that an entry holds; empty where there is none."""
    for key in PROMPT_KEYS:
        value = item.get(key)
        if isinstance(value, str) and not is_blank(value):
            return value
    return ""


def read_item(
    item: Mapping[str, Any], found: Found, *, number: int, wanted: bool | None, by_name: bool
) -> None:
    """Adds what one entry says to `found`.

    Args:
        number: Its place in the list, from 1.
        wanted: What the list it stands in says; None: the entry does.
        by_name: Whether entries of this list name skills, so that null means none of them.
    """
    prompt, name, tags = prompt_of(item), _name(item), _tags(item)
    title = name or f"Case {_number(item, number)}"
    if not prompt:
        found.leave("an entry without a prompt", who=name or _place(item, number))
        return
    read = {key for key in PROMPT_KEYS if item.get(key) == prompt}
    query = Query(prompt, wanted, tags=tags, name=name) if wanted is not None else None
    flag = None
    if query is None:
        flag = next((key for key in _FLAGS if _is_flag(item, key)), None)
        query = _query(item, flag, prompt, by_name=by_name) if flag else None
        if flag and query is None:
            found.leave(f"a {flag} that is neither true, false nor a skill's name")
    if flag:
        read.add(flag)
    checked = _checked(item, found, title)
    expected = _expected(item, flag, found)
    if query is not None:
        found.queries.append(query)
    # A list of queries may say in words what should happen; only criteria make a case of such an entry.
    if checked.criteria or checked.expect or (expected and query is None):
        files = tuple(_files(item, found))
        skill = item.get("skill")
        if isinstance(skill, str) and skill.strip():
            found.skills.setdefault(skill.strip())
            tags = (*tags, f"skill {skill.strip()}")
            read.add("skill")
        if own := _text_id(item):
            tags = (*tags, f"{ID_TAG}{own}")
        found.cases.append(
            Case(
                title,
                prompt,
                expected,
                tuple(checked.criteria),
                files,
                tags,
                expect=tuple(checked.expect),
                lost=checked.lost or not checked.criteria,  # nothing else says what the outcome should be
            )
        )
    elif query is None:
        found.leave(
            "an entry that says neither what to call nor what to expect", who=name or _place(item, number)
        )
    read |= {*_UNWANTED, *_CRITERIA, *_EXPECTED, *_FILES, *_TAGS, *_NAMES, *MUST, "acceptable_skills"}
    for key in item:
        if key not in read:
            found.leave(f"the field {key} of an entry")


def _is_flag(item: Mapping[str, Any], key: str) -> bool:
    if key not in item:
        return False
    value = item[key]
    if key in _BY_WORD:
        return isinstance(value, bool) or (isinstance(value, str) and value.strip().lower() in _WORDS)
    return True


def _query(item: Mapping[str, Any], flag: str, prompt: str, *, by_name: bool) -> Query | None:
    value = item[flag]
    more: dict[str, Any] = {"tags": _tags(item), "name": _name(item)}
    if isinstance(value, bool):
        # `should_trigger` beside the names of the skills that should be called.
        others = texts(item.get("expected_skills")) or texts(item.get("expected_skill"))
        if value and others:
            return Query(prompt, skills=others, **more)
        return Query(prompt, value, **more)
    if isinstance(value, str) and (word := _WORDS.get(value.strip().lower())) is not None:
        return Query(prompt, word, **more)
    named = flag.startswith(("expected_skill", "expect_skill"))
    if value is None and not (by_name or named):
        return None
    if value is not None and not isinstance(value, str | list):
        return None
    unwanted = next((texts(item[key]) for key in _UNWANTED if isinstance(item.get(key), list | str)), None)
    return Query(
        prompt,
        skills=texts(value),
        unwanted=unwanted,
        acceptable=texts(item.get("acceptable_skills")),
        **more,
    )


@define
class _Checked:
    """What an entry checks."""

    criteria: list[str] = field(factory=list)
    expect: list[dict[str, Any]] = field(factory=list)
    lost: bool = False


def _checked(item: Mapping[str, Any], found: Found, title: str) -> _Checked:
    checked = _Checked()
    for key in _CRITERIA:
        value = item.get(key)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str) and one.strip():
                entry = said(one)
                checked.expect += [entry] if entry else []
                checked.criteria += [] if entry else [one]
            elif isinstance(one, dict):
                _read_check(one, checked, found, title)
            elif one not in (None, "", []):
                found.leave(f"an entry of {key} that is neither text nor object", who=title)
    for key in MUST:
        for entry in must(key, item[key]) if item.get(key) else ():
            if entry is None:
                checked.lost = True
                found.leave(f"an entry of {key} that is neither text nor pattern", who=title)
            else:
                checked.expect.append(entry)
                found.note(f"{key} is looked for in the final answer, not in files", title)
    return checked


def _read_check(one: Mapping[str, Any], checked: _Checked, found: Found, title: str) -> None:
    """Adds one criterion that is an object: its words, what a machine checks, or both."""
    kind, machine = kind_of(one), sorted(_MACHINE & set(one))
    words = next((one[key] for key in _IN_WORDS if isinstance(one.get(key), str) and one[key].strip()), "")
    if not words and not machine and isinstance(one.get("name"), str) and one["name"].strip():
        words = one["name"]
    made = entries(one) or []
    plain = [entry for entry in made if {"result-contains", "result-does-not-contain"} & set(entry)]
    if words:
        checked.criteria.append(words)
        checked.expect += plain
        if machine and not plain:
            found.leave(
                f"the machine's part ({', '.join(machine)}) of a {kind}: the judge has its words; where it "
                f"must be exact, write {advice(kind)}",
                who=title,
            )
    elif made:
        checked.expect += made
    else:
        checked.lost = True
        shown = ", ".join(f"{key} {value}" for key, value in one.items() if isinstance(value, str))
        found.leave(f"a {kind} without words ({shown or ', '.join(map(str, one))})", who=title)
    for key, value in one.items():
        if key == "weight" and value not in (None, 1):
            found.leave("the weight of an expectation: a test passes when all its expectations do", who=title)
        elif key not in _ABOUT_CHECKS and key != "weight" and value not in (None, ""):
            found.leave(f"the {safe(str(key), 40)} of an expectation", who=title)


def _expected(item: Mapping[str, Any], flag: str | None, found: Found) -> str:
    """The outcome in prose."""
    for key in _EXPECTED:
        value = item.get(key)
        if key == flag or not isinstance(value, str) or is_blank(value):
            continue
        if key in _BY_WORD and value.strip().replace("_", "").isalnum() and value.isascii():
            found.leave(f"{key}: {value.strip()[:40]}")  # a class of the author's own, no outcome
            continue
        return value
    return ""


def _files(item: Mapping[str, Any], found: Found) -> Iterator[InputFile]:
    for key in _FILES:
        value = item.get(key)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str) and one.strip():
                yield InputFile(one.strip())
            elif isinstance(one, dict) and isinstance(one.get("path"), str):
                content = one.get("content")
                yield InputFile(one["path"], content if isinstance(content, str) else None)
            elif one is not None:
                found.leave(f"an entry of {key} that names no file")


def _text_id(item: Mapping[str, Any]) -> str:
    value = item.get("id")
    if not isinstance(value, str) or is_blank(value) or has_controls(value):
        return ""
    return value.strip()


def _number(item: Mapping[str, Any], place: int) -> int:
    """The number that the file gives it, or else its place."""
    return item["id"] if type(item.get("id")) is int else place


def _place(item: Mapping[str, Any], place: int) -> str:
    return f"id {item['id']}" if type(item.get("id")) is int else f"entry {place}"


def _name(item: Mapping[str, Any]) -> str:
    """Its name, if it has one; a number is none."""
    for key in _NAMES:
        value = item.get(key)
        if isinstance(value, str) and not is_blank(value) and not has_controls(value):
            return value.strip()
    return ""


def _tags(item: Mapping[str, Any]) -> tuple[str, ...]:
    found = [text.strip() for key in _TAGS for text in texts(item.get(key))]
    return tuple(dict.fromkeys(tag for tag in found if not has_controls(tag) and not is_blank(tag)))
