"""A test of one's own from a prompt that was tried: a new eval, or one more test in one that exists."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from json import JSONDecoder
from pathlib import Path
from typing import Any

from attrs import frozen

from skillwalker.atomic import rewrite
from skillwalker.checks import check_evals
from skillwalker.cli.attempt import Attempt, common_root, relative
from skillwalker.errors import ConfigurationError, Problem, SkillwalkerError
from skillwalker.evals import slug
from skillwalker.expectations.registry import Registry
from skillwalker.folders import path_fault
from skillwalker.jsonfile import decode, load, read_bytes
from skillwalker.jsonscan import scan
from skillwalker.text import listed, safe

_BOM = b"\xef\xbb\xbf"
_NAME_BYTES = 255  # what file systems take at most
_MOST = 5
"""Skills that a test says were not called; more would be a list that nobody reads."""
_TO_CHECK = (
    "EDIT ME: written by a rehearsal, where no model was asked. Say in `expect` what a model should do with "
    "this prompt, then take this line out"
)
"""Why a test is not run whose expectations nobody has seen come true."""


@frozen
class Saved:
    """A test that was written.

    Attributes:
        left_out: Ids of skills and agents that it says nothing of, although they were not called either.
        skipped: Whether it is not run before its author has read it, since no model was asked.
    """

    test: str
    expect: Sequence[Mapping[str, Any]]
    left_out: Sequence[str] = ()
    skipped: bool = False


@frozen
class Target:
    """Where a test is to be saved, found fit for it.

    Attributes:
        plugins: As `plugins` of the eval has, or will have, them.
    """

    root: Path
    directory: Path
    plugins: tuple[str, ...]

    @property
    def file(self) -> Path:
        return self.directory / "tests.json"

    @property
    def is_new(self) -> bool:
        return not os.path.lexists(self.file)


def find_target(name: str, directories: Sequence[Path], root: Path) -> Target:
    """Looks before anything runs.

    Args:
        name: Of the eval, or a path to it.
        root: The directory that holds `evals/`, or will.

    Raises:
        ConfigurationError: nothing can be saved there.
    """
    name = name.rstrip("/")
    name = name.removeprefix("./").removeprefix("evals/")
    if path_fault(name) or "/" in name or name in (".", "..") or len(os.fsencode(name)) > _NAME_BYTES:
        raise ConfigurationError([f"--save {safe(name)} is no name of an eval; it becomes evals/NAME/"])
    places = [Path(os.path.abspath(one)) for one in directories]
    if common_root(places, root) != root:
        outside = [str(one) for one in places if not one.is_relative_to(root)]
        raise ConfigurationError(
            [
                f"--save: {listed(outside)} is not below {root}, and an eval's plugins are; copy it there, "
                "or name another root with --root DIR"
            ]
        )
    plugins = tuple(dict.fromkeys(relative(one, root) for one in places))
    target = Target(root, root / "evals" / name, plugins)
    if target.is_new:
        return target
    checked = check_evals([target.directory], root, Registry.scan())
    if checked.problems:
        raise ConfigurationError(
            [*checked.problems, Problem(f"--save: mend evals/{name} first, then try again")]
        )
    known = tuple(load(target.file).value["plugins"])
    if missing := [one for one in plugins if os.path.normpath(one) not in map(os.path.normpath, known)]:
        raise ConfigurationError(
            [
                f"--save: evals/{name}/tests.json does not load {listed(missing)}, and all its tests would "
                "if it did; save to another eval, or add it to `plugins` there"
            ]
        )
    return Target(root, target.directory, known)


def save_test(target: Target, attempt: Attempt, prompt: str) -> Saved:
    """Writes the prompt and the test.

    Raises:
        ConfigurationError: nothing is known to expect, the file has changed meanwhile, or it cannot be
            written.
        SkillwalkerError: what was written is not valid, so it was taken back.
    """
    expect, left_out = expectations(attempt)
    rehearsed = attempt.run.model_source == "rehearsal"
    if not expect:
        raise ConfigurationError(
            ["--save: these plugins have no skill and no agent that a test could expect"]
        )
    before = None if target.is_new else read_bytes(target.file)
    taken = (
        {test["name"] for test in json.loads(decode(before))["tests"] if "name" in test} if before else set()
    )
    name = _free(_title(prompt), taken)
    prompts = target.directory / "prompts"
    prompt_file = _free_file(prompts, slug(name) or "prompt")
    test = {
        "name": name,
        "type": "skill-prompt",
        "model": attempt.run.tests[0].model,
        "promptFile": prompt_file.name,
        **({"skip": _TO_CHECK} if rehearsed else {}),
        "expect": expect,
    }
    text = appended(before, test) if before else _new(target.plugins, test)
    made = [path for path in (prompts, target.directory) if not path.exists()]
    try:
        prompts.mkdir(parents=True, exist_ok=True)
        prompt_file.write_bytes(prompt.encode("utf-8", "surrogatepass"))
        rewrite(target.file, text)
        problems = check_evals([target.directory], target.root, Registry.scan()).problems
        if problems:
            raise SkillwalkerError("the saved test is not valid:\n" + "\n".join(map(str, problems)))
    except BaseException as error:
        with contextlib.suppress(OSError):
            prompt_file.unlink(missing_ok=True)
            if before is None:
                target.file.unlink(missing_ok=True)
            else:
                rewrite(target.file, before)
            for path in made:
                path.rmdir()
        if isinstance(error, OSError):
            why = f"--save: cannot be written: {error.strerror}"
            raise ConfigurationError([Problem(why, file=safe(str(target.directory)))]) from None
        raise
    return Saved(name, expect, left_out, rehearsed)


def expectations(attempt: Attempt) -> tuple[list[dict[str, Any]], list[str]]:
    """What was seen: what was called, or, if nothing was, that nothing is; and of whom that is not said."""
    called = [
        *(_expected("skill", use.name, True) for use in attempt.trial.skills),
        *(_expected("agent", use.name, True) for use in attempt.trial.agents if ":" in use.name),
    ]
    if called:
        return called, []
    plugins = attempt.plugins.plugins
    skills = [skill.id for plugin in plugins for skill in plugin.skills if skill.model_may_call]
    agents = [agent.id for plugin in plugins for agent in plugin.agents]
    silent = [
        *(_expected("skill", name, False) for name in skills),
        *(_expected("agent", name, False) for name in agents),
    ]
    return silent[:_MOST], [*skills, *agents][_MOST:]


def saved_lines(saved: Saved, eval_name: str) -> Iterator[str]:
    """For people: what was written, and what its author has to do."""
    told = ", ".join(json.dumps(one) for one in saved.expect)
    file = f"evals/{safe(eval_name)}/tests.json"
    yield f"saved     {safe(eval_name)}::{safe(saved.test)}"
    if saved.skipped:
        yield "          NO MODEL WAS ASKED: it expects what a rule or a script did, not what a model does:"
        yield f"          {safe(told)}"
        yield f"          so it is skipped until you have read it: check `expect` in {file}, then"
        yield "          take its line `skip` out"
    else:
        yield f"          it expects what was seen: {safe(told)}"
    if saved.left_out:
        left = listed(saved.left_out, 20)
        yield f"          left out, though not called either: {safe(left)}; add those that matter"


def _expected(kind: str, name: str, expected: bool) -> dict[str, Any]:
    return {f"{kind}-call": {kind: name, "expected": expected}}


def appended(before: bytes, test: Mapping[str, Any]) -> bytes:
    """The file with one more test at the end of `tests`, all else to the byte as it was.

    Raises:
        SkillwalkerError: it cannot be done without losing something.
    """
    text = before.decode("utf-8-sig")
    last = list(scan(text).root.inner["tests"].inner.values())[-1].offset
    _, end = JSONDecoder(strict=False).raw_decode(text, last)
    match = re.search(r"[ \t\r\n]*\Z", text[:last])
    assert match is not None  # it matches nothing, too
    space = match[0]
    newline = "\r\n" if "\r\n" in space else "\n"
    if "\n" in space:
        indent = space.rpartition("\n")[2]
        step = indent[: len(indent) // 2] or "  "
        lines = json.dumps(test, indent=step, ensure_ascii=False).split("\n")
        new = "," + newline + indent + f"{newline}{indent}".join(lines)
    else:
        new = ", " + json.dumps(test, ensure_ascii=False)
    made = (text[:end] + new + text[end:]).encode("utf-8", "surrogatepass")
    old, now = json.loads(text), json.loads(made.decode("utf-8", "surrogatepass"))
    if now != {**old, "tests": [*old["tests"], test]}:
        raise SkillwalkerError("the test could not be added to tests.json; nothing was changed")
    return (_BOM if before.startswith(_BOM) else b"") + made


def _new(plugins: Sequence[str], test: Mapping[str, Any]) -> bytes:
    value = {"plugins": list(plugins), "tests": [test]}
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


def _title(prompt: str) -> str:
    """The prompt's beginning as a name."""
    line = safe(prompt.strip().splitlines()[0].strip())
    if len(line) <= 60:
        return line
    return line[:60].rpartition(" ")[0] or line[:60]


def _free(name: str, taken: set[str]) -> str:
    number, found = 2, name
    while found in taken:
        found, number = f"{name} ({number})", number + 1
    return found


def _free_file(directory: Path, stem: str) -> Path:
    number, found = 2, directory / f"{stem}.md"
    while os.path.lexists(found):
        found, number = directory / f"{stem}-{number}.md", number + 1
    return found
