"""What a judge gets to see of a trial: every text of it fenced as data, and every cut told.

A fence is a pair of tags named after the hash of what stands between them, so that no text can close its own
fence, and the same trial always makes the same prompt.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from attrs import field, frozen

from skillwalker.errors import NotSavedError
from skillwalker.expectations.base import Trial
from skillwalker.tool_calls import ToolCall
from skillwalker.workspace import Workspace

# In characters; together about a third of a context of 1,000,000 tokens even where a character is a token.
TEXT_LIMIT = 100_000
FILE_LIMIT = 20_000
FILES_LIMIT = 100_000
CALL_LIMIT = 4_000
CALLS_LIMIT = 100_000
MOST_NAMES = 500


@frozen
class Evidence:
    """The part of a prompt that shows a trial.

    Attributes:
        cuts: What is not shown in full, in words.
    """

    text: str = field(repr=False)
    cuts: tuple[str, ...] = ()


def gather(trial: Trial) -> Evidence:
    """Everything that a judge may see.

    Raises:
        NotObservedError: the trial is not healthy, or its work directory was not saved.
    """
    workspace = trial.workspace
    cuts: list[str] = []
    sections = (
        _section("The task that was given", [_text("task", trial.test.prompt, cuts)]),
        _section("Files that were there at the start", _scaffold(workspace, cuts)),
        _section("Tool calls, in their order, one JSON object a line", _calls(trial, cuts)),
        _section("Files that were created or changed, as they were at the end", _changed(workspace, cuts)),
        _section("Files that were deleted", _names(workspace.deleted, "deleted files", cuts)),
        _section("The final answer", [_text("final answer", trial.final_text, cuts)]),
    )
    cuts += workspace.notes
    return Evidence(encodable("\n\n".join(sections)), tuple(dict.fromkeys(map(encodable, cuts))))


def fence(kind: str, content: str) -> str:
    """`content` between tags that it cannot contain."""
    content = encodable(content)
    tag = "evidence-" + hashlib.sha256(f"{kind}\n{content}".encode()).hexdigest()[:24]
    return f'<{tag} kind="{kind}">\n{content}\n</{tag}>'


def encodable(text: str) -> str:
    """Lone surrogates, which no request can carry, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _section(title: str, parts: Iterable[str]) -> str:
    return "\n".join((f"## {title}", *(list(parts) or ["(none)"])))


def _text(kind: str, text: str, cuts: list[str]) -> str:
    if not text:
        return "(empty)"
    shown, note = _cut(kind, text, TEXT_LIMIT, cuts)
    return note + fence(kind, shown)


def _cut(what: str, text: str, limit: int, cuts: list[str]) -> tuple[str, str]:
    """The text within the limit, beginning and end kept, and a line for the prompt that tells of a cut."""
    if len(text) <= limit:
        return text, ""
    end = limit // 3
    cuts.append(f"{what}: {limit} of {len(text)} characters")
    note = f"(cut: the first {limit - end} and the last {end} of {len(text)} characters)\n"
    return f"{text[: limit - end]}\n[...]\n{text[-end:]}", note


def _scaffold(workspace: Workspace, cuts: list[str]) -> Iterator[str]:
    tree = workspace.scaffold
    if tree is None:
        return
    files = [entry.path for entry in tree.entries if entry.kind == "file"]
    yield from _files(files, lambda path: tree.read(path, FILE_LIMIT * 4 + 1), "files at the start", cuts)


def _changed(workspace: Workspace, cuts: list[str]) -> Iterator[str]:
    paths = sorted((*workspace.created, *workspace.changed))
    yield from _files(
        paths, lambda path: workspace.read(path, FILE_LIMIT * 4 + 1), "created or changed files", cuts
    )


def _files(paths: list[str], read: Callable[[str], bytes], what: str, cuts: list[str]) -> Iterator[str]:
    """A fence for each file, as long as there is room; then only the names."""
    room = FILES_LIMIT
    for position, path in enumerate(paths):
        if room <= 0:
            cuts.append(f"{what}: {position} of {len(paths)} with their content")
            yield "Without their content, for want of room:"
            yield from _names(paths[position:], what, cuts)
            return
        shown, note = _file(path, read, cuts)
        room -= len(shown)
        yield note + fence("file", f"path: {json.dumps(path)}\n{shown}")


def _file(path: str, read: Callable[[str], bytes], cuts: list[str]) -> tuple[str, str]:
    try:
        data = read(path)
    except FileNotFoundError:
        return "(a link or a special file)", ""
    except NotSavedError as error:
        cuts.append(str(error))
        return f"({error})", ""
    whole = len(data) <= FILE_LIMIT * 4
    try:
        # A cut may lie inside a character; only a whole file must decode to its last byte.
        text = data.decode("utf-8") if whole else data.decode("utf-8", "ignore")
    except UnicodeDecodeError:
        return "(no text)", ""
    if "\0" in text:
        return "(no text)", ""
    if whole:
        return _cut(json.dumps(path), text, FILE_LIMIT, cuts)
    cuts.append(f"{json.dumps(path)}: its first {FILE_LIMIT} characters")
    return text[:FILE_LIMIT], f"(cut: only the first {FILE_LIMIT} characters)\n"


def _names(paths: Iterable[str], what: str, cuts: list[str]) -> Iterator[str]:
    names = list(paths)
    if not names:
        return
    if len(names) > MOST_NAMES:
        cuts.append(f"{what}: {MOST_NAMES} of {len(names)} names")
        yield f"(cut: the first {MOST_NAMES} of {len(names)} names)"
    yield fence("names", json.dumps(names[:MOST_NAMES], indent=0))


def _calls(trial: Trial, cuts: list[str]) -> Iterator[str]:
    """The calls, those of a sub-agent after the one that started it, whichever of several was faster.

    They are read twice, since an order needs all of them and memory should not hold them.
    """
    sizes: dict[int, int] = {}

    def measured() -> Iterator[ToolCall]:
        for call in trial.transcript.tool_calls():
            sizes[call.position] = len(_call_line(call, 0))
            yield call

    order = _in_order(measured())
    room = CALLS_LIMIT
    numbers: dict[int, int] = {}
    for position in order:
        if room <= 0:
            break
        numbers[position] = len(numbers) + 1
        room -= sizes[position]
    if not numbers:
        return
    lines, shortened = [""] * len(numbers), False
    for call in trial.transcript.tool_calls():
        if number := numbers.get(call.position):
            lines[number - 1] = _call_line(call, number)
            passed = json.dumps(call.input, ensure_ascii=False)
            shortened = shortened or len(passed) > CALL_LIMIT or len(call.result or "") >= CALL_LIMIT
    if len(lines) < len(order):
        cuts.append(f"tool calls: the first {len(lines)} of {len(order)}")
        yield f"(cut: the first {len(lines)} of {len(order)} calls)"
    if shortened:
        cuts.append(f"inputs and results of tool calls: {CALL_LIMIT} characters of each")
        yield f"(inputs and results are cut after {CALL_LIMIT} characters)"
    yield fence("tool calls", "\n".join(lines))


def _in_order(calls: Iterable[ToolCall]) -> list[int]:
    """The positions of all calls, those of an agent after the call that started it."""
    inner: dict[str | None, list[tuple[int, str]]] = {}
    known: set[str] = set()
    for call in calls:
        inner.setdefault(call.parent if call.parent in known else None, []).append((call.position, call.id))
        known.add(call.id)
    order = []
    waiting = inner.pop(None, [])[::-1]
    while waiting:
        position, identity = waiting.pop()
        order.append(position)
        waiting += inner.pop(identity, [])[::-1]
    return order


def _call_line(call: ToolCall, number: int) -> str:
    passed = json.dumps(call.input, ensure_ascii=False)
    shown: dict[str, Any] = {
        "call": number,
        "tool": call.name,
        "input": call.input if len(passed) <= CALL_LIMIT else passed[:CALL_LIMIT],
        "result": (call.result or "")[:CALL_LIMIT] if call.result is not None else None,
    }
    if call.is_error:
        shown["error"] = True
    if call.parent is not None:
        shown["in_sub_agent"] = True
    return json.dumps(shown, ensure_ascii=False)
