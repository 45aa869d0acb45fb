"""A new eval before it is written: its tests, the files beside them, and the script of its rehearsal."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field

from skillwalker.errors import ConfigurationError, Problem
from skillwalker.expectations.rubric import parse_rubric
from skillwalker.loading import EVALS, FILE
from skillwalker.queries import short_name, unique_names
from skillwalker.targets import Target
from skillwalker.text import has_controls, safe

ANSWER = "Done, as asked."
DRAFT = "draft"
"""The tag of what its author has to look at."""
EDIT_ME = "EDIT ME"
"""How a prompt begins that is none yet."""

_REHEARSED = "Rehearsed task"
_WIDTH = 110
_NAME = 64  # characters of a file's name
_INLINE = 300  # characters; a longer prompt is easier to edit in a file of its own


@define
class Draft:
    """An eval that is being put together.

    Attributes:
        name: Its directory's name.
        files: What lies beside `tests.json`, by path.
    """

    name: str
    target: Target
    tests: list[dict[str, Any]] = field(factory=list)
    files: dict[str, bytes] = field(factory=dict)
    script: dict[str, Any] = field(factory=dict)

    def add_queries(
        self,
        queries: Sequence[Mapping[str, Any]],
        *,
        title: str = "",
        tags: Iterable[str] = (),
    ) -> None:
        """A list of queries, each with `query`, `should_trigger` and whatever else a query may have."""
        if not queries:
            return
        kind = self.target.kind
        test: dict[str, Any] = {"name": title} if title else {}
        test |= {"type": f"{kind}-call", f"{kind}File": self.target.part.id}
        if tags:
            test["tags"] = list(tags)
        self.tests.append({**test, "queries": [dict(query) for query in queries]})

    def add_prompt(self, name: str, prompt: str, expect: Sequence[Mapping[str, Any]], **more: Any) -> str:
        """A test with all of the plugin; returns the name it got."""
        taken = [test["name"] for test in self.tests if "queries" not in test]
        [name] = unique_names([name], taken)
        test: dict[str, Any] = {"name": name, "type": "skill-prompt"}
        if self.target.kind == "agent":
            test |= {"type": "agent-prompt", "agentFile": self.target.part.id}
        if "\n" in prompt.strip() or len(prompt) > _INLINE:
            test["promptFile"] = self.add_file(
                "prompts", f"{_slug(name)}.md", prompt.encode("utf-8", "replace")
            )
        else:
            test["prompt"] = prompt
        self.tests.append({**test, **more, "expect": [dict(one) for one in expect]})
        return name

    def add_file(self, folder: str, name: str, data: bytes) -> str:
        """Puts a file into a folder of the eval; returns its name there, which is a new one."""
        stem, dot, ending = name.rpartition(".")
        number, free = 1, name
        while f"{folder}/{free}" in self.files:
            number += 1
            free = f"{stem}-{number}{dot}{ending}" if dot else f"{name}-{number}"
        self.files[f"{folder}/{free}"] = data
        return free

    def rehearse_queries(self) -> None:
        """A script by which every query is answered as its author wants it."""
        taken = [test["name"] for test in self.tests if "queries" not in test]
        taken += [one["name"] for test in self.tests for one in test.get("queries", ()) if "name" in one]
        unnamed = [
            (f"{test['name']}: " if "name" in test else "") + short_name(one["query"])
            for test in self.tests
            for one in test.get("queries", ())
            if "name" not in one
        ]
        made = iter(unique_names(unnamed, taken))
        for test in self.tests:
            for one in test.get("queries", ()):
                name = one.get("name") or next(made)
                self.script[name] = self.turns(called=one["should_trigger"], prompt=one["query"])

    def turns(self, *, called: bool, prompt: str, answer: str = ANSWER) -> list[dict[str, Any]]:
        """What a rehearsed model says: the call, if there is to be one, and the answer."""
        return turns(self.target.kind, self.target.part.id, called=called, prompt=prompt, answer=answer)

    def contents(self) -> dict[str, bytes]:
        """Every file of the eval, by path."""
        plugins = list(dict.fromkeys((self.target.written, *self.target.needs)))
        tests = {"plugins": plugins, "tests": self.tests}
        script = {"tests": self.script}
        return {
            FILE: written_json(tests),
            **self.files,
            **({"rehearsal.json": written_json(script)} if self.script else {}),
        }


def turns(kind: str, id: str, *, called: bool, prompt: str, answer: str = ANSWER) -> list[dict[str, Any]]:
    """What a rehearsed model says: the call of a skill or an agent, if there is to be one, and the answer."""
    if not called:
        return [{"content": answer}]
    if kind == "skill":
        use = {"type": "tool_use", "name": "Skill", "input": {"skill": id}}
    else:
        given = {"subagent_type": id, "description": _REHEARSED, "prompt": prompt}
        use = {"type": "tool_use", "name": "Agent", "input": given}
    return [{"content": [use]}, {"content": answer}]


def is_drafted(entry: Any) -> bool:
    """Whether an entry of a `rehearsal.json` is as a draft has it, so that nobody's work is in it."""
    if isinstance(entry, dict):
        judged = [reply.get("passed") for reply in entry.get("judge", ()) if set(reply) == {"passed"}]
        votes = len(judged) == len(entry.get("judge", ())) and all(all(passed) for passed in judged)
        return set(entry) <= {"main", "judge"} and votes and is_drafted(entry.get("main"))
    if not isinstance(entry, list) or not 1 <= len(entry) <= 2 or entry[-1] != {"content": ANSWER}:
        return False
    if len(entry) == 1:
        return True
    uses = entry[0].get("content")
    if set(entry[0]) != {"content"} or not isinstance(uses, list) or len(uses) != 1:
        return False
    [use] = uses
    given = use.get("input", {})
    skill = use.get("name") == "Skill" and set(given) == {"skill"}
    return skill or (use.get("name") == "Agent" and given.get("description") == _REHEARSED)


def rubric(title: str, criteria: Iterable[str], about: str = "") -> bytes:
    """A rubric file; what is about it, in prose, is for its reader."""
    lines = [f"# Criteria of {one_line(title)}", ""]  # never `File: ...`, which is a heading with a meaning
    if about.strip():
        lines += [f"> {one_line(line)}".rstrip() for line in about.strip().splitlines()] + [""]
    lines += [f"- {_criterion(criterion)}" for criterion in criteria]
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _criterion(text: str) -> str:
    """On one line, and read as one criterion: dashes alone would be a rule."""
    line = one_line(text)
    found = parse_rubric(f"- {line}")
    return line if len(found) == 1 and found[0].text == line else f"This holds: {line}"


def one_line(text: str) -> str:
    """`text` without line breaks and control characters, and without what would begin a comment."""
    plain = "".join(" " if has_controls(char) else char for char in text) if has_controls(text) else text
    return " ".join(plain.split()).replace("<!--", "<! --")


def write_draft(draft: Draft, root: Path, here: Path | None = None) -> list[Path]:
    """Writes the eval, all of it or nothing; returns its files.

    Args:
        here: What paths in messages are relative to; None: `root`.

    Raises:
        ConfigurationError: something is there already, or it cannot be written.
    """
    directory = root / EVALS / draft.name
    if os.path.lexists(directory):
        where = safe(shown(directory, root, here or root))
        raise ConfigurationError([f"{where} is there already; name another eval with --eval NAME"])
    partial = directory.with_name(f".{draft.name}.partial-{os.getpid()}")
    contents = draft.contents()
    try:
        for name, data in contents.items():
            path = partial / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        partial.rename(directory)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        why = error.strerror or str(error)
        raise ConfigurationError([Problem(f"cannot be written: {why}", file=safe(str(directory)))]) from None
    return [directory / name for name in contents]


def name_of_file(name: str) -> str:
    """The name of a skill or an agent as one of a file or directory: an agent's may hold anything."""
    kept = "".join("-" if char in "/\\:" or has_controls(char) else char for char in name)
    return kept.strip().lstrip("._-")[:_NAME].strip() or "draft"


def shown(path: Path, root: Path, here: Path) -> str:
    """A path below `root` as it is found from `here`; in full from outside, where it would lead far up."""
    near = path.is_relative_to(here) or here.is_relative_to(root)
    return os.path.relpath(path, here) if near else str(path)


def _slug(name: str) -> str:
    kept = "".join(char if char.isalnum() else "-" for char in name.lower())
    return "-".join(part for part in kept.split("-") if part)[:48] or "prompt"


def written_json(value: Any) -> bytes:
    """As people write it, to be edited by them."""
    return (_pretty(value, "") + "\n").encode("utf-8", "replace")


def _pretty(value: Any, indent: str) -> str:
    """As people write it: what fits on a line stands on one."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value:
        return flat
    if len(indent) + len(flat) <= _WIDTH and not any(isinstance(one, dict | list) for one in _inner(value)):
        return f"{{ {flat[1:-1]} }}" if isinstance(value, dict) else flat
    if len(indent) + len(flat) <= _WIDTH and isinstance(value, dict) and len(value) == 1:
        [(key, inner)] = value.items()
        return f"{{ {json.dumps(key)}: {_pretty(inner, indent)} }}"
    deeper = indent + "  "
    if isinstance(value, list):
        lines = [_pretty(one, deeper) for one in value]
    else:
        lines = [
            f"{json.dumps(key, ensure_ascii=False)}: {_pretty(one, deeper)}" for key, one in value.items()
        ]
    opening, closing = ("[", "]") if isinstance(value, list) else ("{", "}")
    return f"{opening}\n" + ",\n".join(deeper + line for line in lines) + f"\n{indent}{closing}"


def _inner(value: Mapping[str, Any] | Sequence[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, Mapping) else value
