"""The cases of `claude plugin eval`: a directory each with `case.yaml`, or `prompt.md` and `graders/*.md`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from skillwalker.evals import MAX_TRIALS
from skillwalker.importing.values import Case, Found, NotImportableError, texts
from skillwalker.models import is_model
from skillwalker.text import has_controls, is_blank, safe

CASE = "case.yaml"
PROMPT = "prompt.md"
GRADERS = "graders"
_DEFAULT_RUNS = 3
_MAX_BYTES = 1_000_000
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?\n?", re.DOTALL | re.MULTILINE)
_TOP = ("schema_version", "name", "description", "tags", "runs", "expected_outcome", "graders", "execution")
_AGENT_TOOLS = ("Agent", "Task")
_OTHERS = {
    "regex": "result-matches or file-matches",
    "file_exists": "file-exists",
    "tool_used": "tool-call or tool-not-used",
    "tool_order": "tool-call with `after`",
}
_BODY = {"llm": "criteria", "baseline": "criteria", "regex": "pattern"}


def find_cases(directory: Path) -> list[Path]:
    """The directories below (or at) `directory` that hold a case, sorted; results of runs are passed over."""
    found = []
    for here, below, files in os.walk(directory):
        below[:] = sorted(name for name in below if name != "results" and not name.startswith("."))
        if CASE in files or (PROMPT in files and GRADERS in below):
            found.append(Path(here))
            below[:] = [name for name in below if name != GRADERS]
    return found


def read_case(directory: Path, found: Found) -> None:
    """Adds one case to `found`.

    Raises:
        NotImportableError: its files cannot be read, or make no case.
    """
    data: dict[str, Any] = {}
    if os.path.lexists(directory / CASE):
        data = _mapping(_read(directory / CASE), CASE)
    execution = data.get("execution")
    execution = dict(execution) if isinstance(execution, dict) else {}
    graders = [one for one in data.get("graders") or () if isinstance(one, dict)]
    if os.path.lexists(directory / PROMPT):
        front, body = _divided(_read(directory / PROMPT), PROMPT)
        for key, value in front.items():
            (data if key in _TOP else execution)[key] = value
        if not is_blank(body):
            execution["prompt"] = body.strip()
    for file in sorted((directory / GRADERS).glob("*")):
        if file.suffix != ".md":
            found.leave(f"{GRADERS}/{safe(file.name, 60)}, which is no grader in words", who=directory.name)
            continue
        front, body = _divided(_read(file), f"{GRADERS}/{file.name}")
        if isinstance(kind := front.get("type"), str):
            own = {_BODY[kind]: body.strip()} if kind in _BODY and body.strip() else {}
            graders.append({"name": file.stem, **own, **front})
        else:
            found.leave(f"{GRADERS}/{safe(file.name, 60)}, which has no type", who=directory.name)
    prompt = execution.pop("prompt", None)
    if not isinstance(prompt, str) or is_blank(prompt):
        raise NotImportableError("has no prompt")
    _leave(data, execution, found)
    name = data.get("name")
    if not (isinstance(name, str) and not has_controls(name) and name.strip()):
        name = directory.name
    criteria, expect = [], []
    lost = False
    for grader in graders:
        graded = list(_graded(grader, found, name))
        lost = lost or not graded
        for kind, value in graded:
            if kind == "criterion":
                criteria.append(value)
            else:
                expect.append({kind: value})
    model = execution.get("model")
    if model is not None and not (isinstance(model, str) and is_model(model)):
        found.leave(f"the model {safe(str(model), 40)}")
        model = None
    runs = data.get("runs", _DEFAULT_RUNS)
    if "runs" not in data:
        found.note(
            f"without runs a case is run {_DEFAULT_RUNS} times, so its test has trials {_DEFAULT_RUNS}", name
        )
    found.cases.append(
        Case(
            name=name,
            prompt=prompt,
            expected=data["expected_outcome"] if isinstance(data.get("expected_outcome"), str) else "",
            criteria=tuple(criteria),
            tags=tuple(tag for tag in texts(data.get("tags")) if not has_controls(tag)),
            model=model,
            trials=runs if type(runs) is int and 1 <= runs <= MAX_TRIALS else 1,
            expect=tuple(expect),
            lost=lost,
        )
    )


def _graded(grader: Mapping[str, Any], found: Found, case: str) -> Iterator[tuple[str, Any]]:
    """`criterion` and its text, or an expectation's type and its value."""
    kind = grader.get("type")
    if grader.get("weight", 1) != 1:
        found.leave("the weight of a grader: a test passes when all its expectations do", who=case)
    if kind == "llm" and isinstance(grader.get("criteria"), str):
        if grader.get("focus", "last_message") != "last_message":
            found.leave("the focus of an llm grader: the judge sees answer, tool calls and files", who=case)
        yield "criterion", grader["criteria"]
    elif kind == "regex" and (literal := _literal(grader)):
        match = grader.get("match", "contains")
        yield ("result-contains" if match == "contains" else "result-does-not-contain"), literal
    elif kind == "tool_used" and (called := _called(grader)):
        yield called
    else:
        name, other = safe(str(grader.get("name")), 60), _OTHERS.get(str(kind))
        advice = f"write it as {other} (skillwalker-expectations-contrib)" if other else "nothing says that"
        found.leave(f"the {safe(str(kind), 20)} grader {name}: {advice}", who=case)


def _literal(grader: Mapping[str, Any]) -> str | None:
    """The text that a pattern stands for; None where it is more than a text, or not about the answer."""
    pattern = grader.get("pattern")
    plain = grader.get("target", "last_message") == "last_message" and not grader.get("flags")
    if not plain or not isinstance(pattern, str) or is_blank(pattern):
        return None
    if grader.get("match", "contains") not in ("contains", "not_contains"):
        return None
    text = re.sub(r"\\([^A-Za-z0-9])", r"\1", pattern)
    return (
        text if re.escape(text).replace("\\", "") == pattern.replace("\\", "") and _plain(pattern) else None
    )


def _plain(pattern: str) -> bool:
    """Whether nothing in it means more than itself."""
    return not re.search(r"[.^$*+?()\[\]{}|]|\\[A-Za-z0-9]", re.sub(r"\\[^A-Za-z0-9]", "", pattern))


def _called(grader: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """A call of a skill or an agent; its name is still to be resolved."""
    tool, match = grader.get("tool"), grader.get("input_match")
    kind = "skill" if tool == "Skill" else "agent" if tool in _AGENT_TOOLS else None
    least, most = grader.get("min", 1), grader.get("max")
    if kind is None or not (match is None or isinstance(match, str)):
        return None
    if most == 0:
        wanted = False
    elif least == 1 and most is None:
        wanted = True
    else:
        return None
    return f"{kind}-call", {kind: match or "", "expected": wanted}


def _leave(data: Mapping[str, Any], execution: Mapping[str, Any], found: Found) -> None:
    for key in data:
        if key == "context" and isinstance(data[key], dict):
            for inner, value in data[key].items():
                if value:
                    found.leave(f"context.{inner}")
        elif key not in _TOP and key != "plugins":
            found.leave(f"the field {key}")
    for key in execution:
        if key != "model":
            found.leave(f"execution.{key}")


def _read(file: Path) -> str:
    if file.is_symlink() or not file.is_file():
        raise NotImportableError(f"{file.name} is no regular file")
    if file.stat().st_size > _MAX_BYTES:
        raise NotImportableError(f"{file.name} has over {_MAX_BYTES:,} bytes")
    try:
        return file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise NotImportableError(f"{file.name} cannot be read: {error}") from None


def _divided(text: str, shown: str) -> tuple[dict[str, Any], str]:
    front = _FRONT.match(text)
    if not front:
        return {}, text
    return _mapping(front[1], shown), text[front.end() :]


def _mapping(text: str, shown: str) -> dict[str, Any]:
    import yaml

    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise NotImportableError(f"{shown} is not YAML: {str(error).splitlines()[0]}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise NotImportableError(f"{shown} holds no fields")
    texts_only: dict[str, Any] = json.loads(json.dumps(value, default=str))  # dates, and keys, as texts
    return texts_only
