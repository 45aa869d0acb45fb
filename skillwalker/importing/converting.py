"""What was read of another tool's files -> the draft of an eval about one skill or agent."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from skillwalker.drafting import ANSWER, Draft, one_line, rubric
from skillwalker.importing.reading import Imported
from skillwalker.importing.values import Case, InputFile, Query
from skillwalker.targets import Target
from skillwalker.text import count, has_controls, is_blank, listed, safe

_POSITIVE_MODEL = "opus"
_NEGATIVE_MODEL = "sonnet"
_MOST_FILES = 500
_MOST_BYTES = 10_000_000
# What lies beside input files and says what should come of them.
_ANSWERS = re.compile(
    r"(?:(?:answers?|expected|golden|rubrics?|grading|graders?|solutions?)(?![a-z])|evals?\.json$|case\.yaml$)",
    re.IGNORECASE,
)


def convert(
    imported: Imported, target: Target, targets: Sequence[Target], name: str
) -> tuple[Draft, list[str]]:
    """The draft, and what was not taken over, a line each."""
    draft = Draft(name, target)
    left = [*imported.found.told(), *(f"not read: {why}" for why in imported.refused)]
    left += _add_queries(draft, imported.found.queries)
    bases = _bases(imported.files, target)
    for number, case in enumerate(imported.found.cases, 1):
        left += _add_case(draft, case, number, bases, targets)
    draft.rehearse_queries()
    return draft, left


def _add_queries(draft: Draft, queries: Sequence[Query]) -> Iterator[str]:
    silent, others = 0, dict[str, int]()
    wanted: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    said: dict[str, set[bool]] = {}
    skill = draft.target.tail
    for query in queries:
        verdict = query.wants(skill)
        if verdict is None:
            silent += 1
            continue
        if query.wanted is None and not verdict:
            for other in query.skills:
                others[other] = others.get(other, 0) + 1
        said.setdefault(query.text, set()).add(verdict)
        entry: dict[str, Any] = {"query": query.text, "should_trigger": verdict}
        if query.tags:
            entry["tags"] = list(query.tags)
        wanted[verdict].append(entry)
    draft.add_queries(wanted[True], model=_POSITIVE_MODEL, title="Call", tags=["activation"])
    draft.add_queries(wanted[False], model=_NEGATIVE_MODEL, title="Near miss", tags=["activation"])
    if silent:
        yield f"{count(silent, 'query', 'queries')}: the file does not say whether {skill} should be called"
    if others:
        yield (
            f"{count(sum(others.values()), 'query', 'queries')} meant for other skills "
            f"({listed(others, 5)}) became near misses of {skill}"
        )
    for text, verdicts in said.items():
        if len(verdicts) > 1:
            yield f"the file says both yes and no of: {safe(text, 80)}"


def _add_case(
    draft: Draft, case: Case, number: int, bases: Sequence[Path], targets: Sequence[Target]
) -> Iterator[str]:
    title = case.name if not has_controls(case.name) else ""
    title = one_line(title)[:80] or f"Case {number}"
    expect: list[Mapping[str, Any]] = []
    called, texts, judges = False, [], 0
    for entry in case.expect:
        [(kind, value)] = entry.items()
        if isinstance(value, dict):
            resolved = _resolved(kind, value, draft.target, targets)
            if resolved is None:
                yield f"{safe(title)}: a call of {safe(str(value), 80)}: that is no one part of the plugin"
                continue
            expect.append({kind: resolved})
            called = called or (
                resolved["expected"] and resolved[kind.removesuffix("-call")] == draft.target.part.id
            )
        else:
            expect.append(entry)
            texts += [value] if kind == "result-contains" else []
    criteria = [one for one in case.criteria if not is_blank(one)]
    if not criteria and not expect and case.expected:
        criteria = [f"The outcome is as follows: {case.expected}"]
    if criteria:
        file = draft.add_file("rubrics", f"{_stem(title)}.md", rubric(title, criteria, case.expected))
        expect.append({"llm-judge": {"rubricFile": file}})
        judges = len(criteria)
    if not expect:
        yield f"{safe(title)}: nothing of what it checks could be taken over, so it was left out"
        return
    more: dict[str, Any] = {}
    if draft.target.kind == "skill":
        more["skillFile"] = draft.target.part.id
    if case.model:
        more["model"] = case.model
    if case.trials > 1:
        more["trials"] = case.trials
    if case.tags:
        more["tags"] = list(case.tags)
    if case.files:
        taken = any(path.startswith(f"scaffolds/{_stem(title)}/") for path in draft.files)
        folder = f"{_stem(title)}-{number}" if taken else _stem(title)
        put, missing, left_out = _scaffold(draft, folder, case.files, bases)
        for why in (*missing, *left_out):
            yield f"{safe(title)}: {why}"
        if put:
            more["scaffold"] = folder
        if missing:  # without what it is about, a trial would cost money and measure nothing
            which = "an input file is" if len(missing) == 1 else f"{len(missing)} input files are"
            scaffold = "" if put else f', write "scaffold": "{folder}"'
            more["skip"] = f"{which} missing: complete scaffolds/{folder}/{scaffold}, and remove this line"
    name = draft.add_prompt(title, case.prompt, expect, **more)
    script: dict[str, Any] = {
        "main": draft.turns(called=called, prompt=case.prompt, answer="\n".join(texts) or ANSWER)
    }
    if draft.target.kind == "agent":
        script["main"] = draft.turns(called=True, prompt=case.prompt, answer="\n".join(texts) or ANSWER)
    if judges:
        script["judge"] = [{"passed": [True] * judges}]
    draft.script[name] = script


def _resolved(
    kind: str, value: Mapping[str, Any], target: Target, targets: Sequence[Target]
) -> dict[str, Any] | None:
    """A call with its name in full; a pattern for the tool's input counts where it fits one part alone."""
    what = kind.removesuffix("-call")
    own = [one for one in targets if one.kind == what and one.plugin.directory == target.plugin.directory]
    pattern = value[what]
    if not pattern:
        fitting = [target] if target.kind == what else own
    else:
        exact = [one for one in own if pattern in (one.part.id, one.tail)]
        fitting = exact or [one for one in own if _fits(pattern, one)]
    if len(fitting) != 1:
        return None
    return {what: fitting[0].part.id, "expected": value["expected"]}


def _fits(pattern: str, target: Target) -> bool:
    try:
        return len(pattern) < 200 and re.search(re.escape(target.tail), pattern) is not None
    except re.error:
        return False


def _bases(files: Sequence[Path], target: Target) -> list[Path]:
    """Where the paths of input files may begin: the skill's directory, and that of the list."""
    found: dict[Path, None] = {}
    for file in files:
        folder = file if file.is_dir() else file.parent
        found[folder.parent if folder.name == "evals" else folder] = None
        found[folder] = None
    found[target.part.path.parent] = None
    return list(found)


def _scaffold(
    draft: Draft, folder: str, files: Sequence[InputFile], bases: Sequence[Path]
) -> tuple[int, list[str], list[str]]:
    """Puts input files into a scaffold; how many there are, what is missing, and what was left out."""
    put, missing, left_out = 0, list[str](), list[str]()
    for file in files:
        parts = [part for part in file.path.replace("\\", "/").split("/") if part not in ("", ".")]
        if not parts or ".." in parts or file.path.startswith("/") or has_controls(file.path):
            missing.append(f"the file {safe(file.path, 80)} does not lie below the eval or the skill")
            continue
        if file.content is not None:
            draft.files[f"scaffolds/{folder}/{'/'.join(parts)}"] = file.content.encode("utf-8", "replace")
            put += 1
            continue
        source = next((found for base in bases if (found := _inside(base, parts))), None)
        if source is None:
            missing.append(f"the file {safe(file.path, 80)} was not found")
            continue
        try:
            taken, answers = _read_all(source, parts)
        except OSError as error:
            missing.append(f"{safe(file.path, 80)} cannot be read: {error.strerror}")
            continue
        why = "was left out: by its name it says what is expected, and the tested model could read it"
        left_out += (f"{safe(path, 80)} {why}" for path in answers)
        if not taken:
            why = "is too big for a scaffold" if taken is None else "holds no regular file"
            missing.append(f"{safe(file.path, 80)} {why}")
            continue
        for path, data in taken:
            draft.files[f"scaffolds/{folder}/{path}"] = data
        put += len(taken)
    return put, missing, left_out


def _inside(base: Path, parts: Sequence[str]) -> Path | None:
    """What lies at this path in `base`; None where there is nothing, or a link leads out."""
    path = base.joinpath(*parts)
    try:
        real = Path(os.path.realpath(path, strict=True))
    except OSError:
        return None
    return path if real.is_relative_to(os.path.realpath(base)) else None


def _read_all(source: Path, parts: Sequence[str]) -> tuple[list[tuple[str, bytes]] | None, list[str]]:
    """The file, or the files below it, without links, and the paths of those that give answers away.

    What is named itself is always taken. None: they are too many or too big.
    """
    answers: list[str] = []
    if source.is_file():
        regular = [(source, tuple(parts))]  # a link that stays inside is followed, as anywhere
    else:
        regular = []
        for here, below, names in os.walk(source):
            inside = (*parts, *Path(here).relative_to(source).parts)
            answers += (
                "/".join((*inside, name)) for name in sorted((*below, *names)) if _ANSWERS.match(name)
            )
            below[:] = sorted(name for name in below if name != ".git" and not _ANSWERS.match(name))
            for name in sorted(names):
                path = Path(here, name)
                if not _ANSWERS.match(name) and not path.is_symlink() and path.is_file():
                    regular.append((path, (*inside, name)))
    if len(regular) > _MOST_FILES or sum(path.stat().st_size for path, _ in regular) > _MOST_BYTES:
        return None, answers
    return [("/".join(where), path.read_bytes()) for path, where in regular], answers


def _stem(title: str) -> str:
    kept = "".join(char if char.isalnum() else "-" for char in title.lower())
    return "-".join(part for part in kept.split("-") if part)[:40] or "case"
