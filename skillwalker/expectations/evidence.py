"""What a judge gets to see of a trial: every text of it fenced as data, and every cut told.

A fence is a pair of tags named after the hash of what stands between them, so that no text can close its own
fence, and the same trial always makes the same prompt.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from attrs import define, field, frozen

from skillwalker.errors import NotSavedError
from skillwalker.expectations.base import Trial
from skillwalker.expectations.cutting import Shown, beginning, cut, encodable, room, tokens
from skillwalker.expectations.judged_files import JudgedFile
from skillwalker.tool_calls import ToolCall
from skillwalker.workspace import Workspace

# In tokens, estimated. Together 160,000: with an answer they fit into the smallest context, of 200,000.
TEXT_LIMIT = 20_000
"""Of the task, and of the final answer."""
NAMED_LIMIT = 40_000
"""Of all files that criteria are about together; one may have all of it."""
FILE_LIMIT = 8_000
START_LIMIT = 20_000
FILES_LIMIT = 30_000
CALL_LIMIT = 1_500
"""Of one call's input, and of its result, of which a transcript gives 4,000 characters at most."""
CALLS_LIMIT = 30_000

NAMES_LIMIT = 3_000
"""Of a list of names; what is beyond it is only counted."""

_READ_MOST = 1 << 20
"""Bytes of a file; of a longer one only the beginning can be shown."""


@frozen
class Evidence:
    """The part of a prompt that shows a trial.

    Attributes:
        cuts: What is not shown in full, in words.
        quotable: All that a quote may be taken from.
    """

    text: str = field(repr=False)
    cuts: tuple[str, ...] = ()
    quotable: str = field(repr=False, default="")


@define
class _Collected:
    """What is noted while the evidence is put together."""

    cuts: list[str] = field(factory=list)
    said: list[str] = field(factory=list)  # what JSON shows in another spelling

    def fit(self, what: str, shown: Shown) -> str:
        """A line for the prompt that tells of a cut, or nothing."""
        if shown.note is None:
            return ""
        self.cuts.append(f"{what}: {shown.note}")
        return f"(cut: {shown.note})\n"


def gather(trial: Trial, files: Sequence[JudgedFile] = ()) -> Evidence:
    """Everything that a judge may see.

    Args:
        files: Those that criteria are about, as far as they are there.

    Raises:
        NotObservedError: the trial is not healthy, or its work directory was not saved.
    """
    workspace = trial.workspace
    notes = _Collected()
    sections = [
        _section("The task that was given", [_text("task", trial.test.prompt, notes)]),
        _section("Files that were there at the start", _scaffold(workspace, notes)),
        _section("Tool calls, in their order, one JSON object a line", _calls(trial, notes)),
    ]
    if files:
        sections.append(_section("Files that criteria are about", _named(workspace, files, notes)))
    others = " other" if files else ""
    sections += [
        _section(
            f"All{others} files that were created or changed, as they were at the end",
            _changed(workspace, {one.place for one in files}, notes),
        ),
        _section("Files that were deleted", _names(workspace.deleted, "deleted files", notes)),
        _section("The final answer", [_text("final answer", trial.final_text, notes)]),
    ]
    text = encodable("\n\n".join(sections))
    cuts = dict.fromkeys(map(encodable, (*notes.cuts, *workspace.notes)))
    return Evidence(text, tuple(cuts), encodable("\n".join((text, *notes.said))))


def fence(kind: str, content: str) -> str:
    """`content` between tags that it cannot contain."""
    content = encodable(content)
    tag = "evidence-" + hashlib.sha256(f"{kind}\n{content}".encode()).hexdigest()[:24]
    return f'<{tag} kind="{kind}">\n{content}\n</{tag}>'


def _section(title: str, parts: Iterable[str]) -> str:
    return "\n".join((f"## {title}", *(list(parts) or ["(none)"])))


def _text(kind: str, text: str, notes: _Collected) -> str:
    if not text:
        return "(empty)"
    shown = cut(text, TEXT_LIMIT)
    return notes.fit(kind, shown) + fence(kind, shown.text)


def _scaffold(workspace: Workspace, notes: _Collected) -> Iterator[str]:
    tree = workspace.scaffold
    if tree is None:
        return
    files = [entry.path for entry in tree.entries if entry.kind == "file"]
    yield from _files(files, tree.read, "files at the start", START_LIMIT, notes)


def _changed(workspace: Workspace, shown: set[str], notes: _Collected) -> Iterator[str]:
    paths = sorted({*workspace.created, *workspace.changed} - shown)
    yield from _files(paths, workspace.read, "created or changed files", FILES_LIMIT, notes)


def _named(workspace: Workspace, files: Sequence[JudgedFile], notes: _Collected) -> Iterator[str]:
    for one in files:
        shown, note, is_text = _file(one.path, one.place, workspace.read, NAMED_LIMIT // len(files), notes)
        if not is_text:
            notes.cuts.append(f"{json.dumps(one.path)}: it is no text, so its content was not shown")
        facts = f"path: {json.dumps(one.path)}\nsince the start: {one.state}"
        yield note + fence("file", f"{facts}\n{shown}")


def _files(
    paths: list[str], read: Callable[[str, int], bytes], what: str, limit: int, notes: _Collected
) -> Iterator[str]:
    """A fence for each file, as long as there is room; then only the names."""
    for position, path in enumerate(paths):
        if limit <= 0:
            notes.cuts.append(f"{what}: {position} of {len(paths)} with their content")
            yield "Without their content, for want of room:"
            yield from _names(paths[position:], what, notes)
            return
        shown, note, _ = _file(path, path, read, min(FILE_LIMIT, limit), notes)
        limit -= tokens(shown) + tokens(path)
        yield note + fence("file", f"path: {json.dumps(path)}\n{shown}")


def _file(
    path: str, place: str, read: Callable[[str, int], bytes], limit: int, notes: _Collected
) -> tuple[str, str, bool]:
    """What is shown of a file, a line that tells of a cut, and whether it is a text."""
    most = max(_READ_MOST, room(limit) + 1)
    try:
        data = read(place, most)
    except FileNotFoundError:
        return "(a link or a special file)", "", False
    except NotSavedError as error:
        notes.cuts.append(str(error))
        return f"({error})", "", False
    whole = len(data) < most
    try:
        # A cut may lie inside a character; only a whole file must decode to its last byte.
        text = data.decode("utf-8") if whole else data.decode("utf-8", "ignore")
    except UnicodeDecodeError:
        return "(no text)", "", False
    if "\0" in text:
        return "(no text)", "", False
    if whole:
        shown = cut(text, limit)
    else:
        shown = Shown(beginning(text, limit).text, f"its first {limit:,} tokens, about")
    return shown.text, notes.fit(json.dumps(path), shown), True


def _names(paths: Iterable[str], what: str, notes: _Collected) -> Iterator[str]:
    names = list(paths)
    if not names:
        return
    limit, kept = NAMES_LIMIT, 0
    while kept < len(names) and limit > 0:
        limit -= tokens(json.dumps(names[kept]))
        kept += 1
    if kept < len(names):
        notes.cuts.append(f"{what}: {kept} of {len(names)} names")
        yield f"(cut: the first {kept} of {len(names)} names)"
    yield fence("names", json.dumps(names[:kept], indent=0))


def _calls(trial: Trial, notes: _Collected) -> Iterator[str]:
    """The calls, those of a sub-agent after the one that started it, whichever of several was faster.

    They are read twice, since an order needs all of them and memory should not hold them.
    """
    sizes: dict[int, int] = {}

    def measured() -> Iterator[ToolCall]:
        for call in trial.transcript.tool_calls():
            sizes[call.position] = tokens(_call_line(call, 0)[0])
            yield call

    order = _in_order(measured())
    limit = CALLS_LIMIT
    numbers: dict[int, int] = {}
    for position in order:
        if limit <= 0:
            break
        numbers[position] = len(numbers) + 1
        limit -= sizes[position]
    if not numbers:
        return
    lines, shortened = [""] * len(numbers), False
    for call in trial.transcript.tool_calls():
        if number := numbers.get(call.position):
            lines[number - 1], is_cut = _call_line(call, number, notes.said)
            shortened = shortened or is_cut
    if len(lines) < len(order):
        notes.cuts.append(f"tool calls: the first {len(lines)} of {len(order)}")
        yield f"(cut: the first {len(lines)} of {len(order)} calls)"
    if shortened:
        notes.cuts.append(f"inputs and results of tool calls: about {CALL_LIMIT:,} tokens of each")
        yield f"(inputs and results are cut after about {CALL_LIMIT:,} tokens)"
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


def _call_line(call: ToolCall, number: int, said: list[str] | None = None) -> tuple[str, bool]:
    """The call as JSON, and whether that is cut; its texts are added to `said`."""
    passed = beginning(json.dumps(call.input, ensure_ascii=False), CALL_LIMIT)
    result = beginning(call.result or "", CALL_LIMIT)
    shown: dict[str, Any] = {
        "call": number,
        "tool": call.name,
        "input": call.input if passed.note is None else passed.text,
        "result": result.text if call.result is not None else None,
    }
    if call.is_error:
        shown["error"] = True
    if call.parent is not None:
        shown["in_sub_agent"] = True
    if said is not None:
        said += [*_texts(shown["input"]), result.text]
    return json.dumps(shown, ensure_ascii=False), passed.note is not None or result.note is not None


def _texts(value: Any) -> Iterator[str]:
    """All texts in a JSON value, but for keys."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case dict() as inner:
                waiting += reversed(inner.values())
            case list() as inner:
                waiting += reversed(inner)
