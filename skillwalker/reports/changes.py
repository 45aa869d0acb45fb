"""What a trial changed in its work directory, file by file, as lines of a diff."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from attrs import frozen

from skillwalker.errors import SkillwalkerError
from skillwalker.reports.excerpt import Budget, Harmless
from skillwalker.reports.saved import Scaffold
from skillwalker.text import count, safe
from skillwalker.tree import Tree
from skillwalker.workspace import Workspace, WorkspaceFile

_FILES = 50
_READ = 64 * 2**10  # bytes of a file; beyond it lines are not compared
_COMPARED = (
    1_500  # lines between the first and the last that differ, of both sides: time grows with their product
)
_LINES = 200  # lines of one file's diff
_LINE = 400  # characters

Mark = Literal["+", "-", " ", "@"]
What = Literal["created", "changed", "deleted", "found"]


@frozen
class Line:
    """One line of a diff; `@` stands before what has been passed over."""

    mark: Mark
    text: Harmless


@frozen
class FileChange:
    """One file.

    Attributes:
        what: `found` where nobody knows what was there at the start.
        note: Why there are no lines, or not all.
    """

    path: str
    what: What
    lines: tuple[Line, ...] = ()
    note: str | None = None


@frozen
class Changes:
    """All files of a trial that are worth showing.

    Attributes:
        number: How many there are, with those that `files` has no room for.
        complete: Whether there are no others.
        known: Whether the start is known, so that `files` holds changes and not simply all files.
        notes: What else a reader should know, a sentence each.
    """

    files: tuple[FileChange, ...] = ()
    number: int = 0
    complete: bool = True
    known: bool = True
    notes: tuple[str, ...] = ()


def file_changes(saved: Path, scaffold: Scaffold | None, budget: Budget) -> Changes:
    """The changes between the scaffold and a saved work directory.

    Args:
        scaffold: None where it is not known any more: then the files that are there are shown.
    """
    workspace = Workspace(saved, scaffold.tree if scaffold else None)
    before = scaffold.tree if scaffold else None
    if scaffold is None:
        kinds: dict[What, tuple[str, ...]] = {
            "found": tuple(one.path for one in workspace.entries() if one.kind != "dir")
        }
    else:
        kinds = {
            "created": workspace.created,
            "changed": workspace.changed,
            "deleted": workspace.deleted,
        }
    all_paths = [(path, what) for what, paths in kinds.items() for path in paths]
    things = {one.path: one for one in workspace.entries()}
    reader = _Reader(workspace, things, before)
    files = tuple(_change(path, what, reader, budget) for path, what in all_paths[:_FILES])
    notes = [safe(note) for note in workspace.notes]
    if more := len(all_paths) - len(files):
        notes.append(f"{count(more, 'more file')} in workspace.tar")
    return Changes(files, len(all_paths), workspace.complete, scaffold is not None, tuple(notes))


def _change(path: str, what: What, reader: _Reader, budget: Budget) -> FileChange:
    old = reader.before(path) if what in ("changed", "deleted") else b""
    new = reader.after(path) if what != "deleted" else b""
    shown = safe(path, 300)
    if isinstance(new, str):
        return FileChange(shown, what, note=new)
    if isinstance(old, str):
        return FileChange(shown, what, note=old)
    before, after = _text(old), _text(new)
    if before is None or after is None:
        return FileChange(shown, what, note="not text")
    lines, note = diff_lines(before, after, budget)
    if what == "changed" and not lines and not note:
        only = "line ends differ" if before != after else "its kind or its executable bit changed"
        note = f"only {only}"
    return FileChange(shown, what, lines, note)


@frozen
class _Reader:
    """Reads a file as it was and as it is: its content, or in words why there is none to show."""

    workspace: Workspace
    things: Mapping[str, WorkspaceFile]
    tree: Tree | None

    def before(self, path: str) -> bytes | str:
        entry = self.tree.get(path) if self.tree else None
        if self.tree is None or entry is None or entry.kind != "file":
            return f"was a link to {safe(entry.link, 200)}" if entry and entry.link else "was no regular file"
        if entry.size > _READ:
            return f"{entry.size:,} bytes, too large to be compared"
        try:
            return self.tree.read(path)
        except (OSError, SkillwalkerError):
            return "the scaffold cannot be read any more"

    def after(self, path: str) -> bytes | str:
        thing = self.things[path]
        if thing.kind != "file":
            return f"a link to {safe(thing.link or '', 200)}" if thing.kind == "link" else "no regular file"
        if thing.size > _READ:
            return f"{thing.size:,} bytes, too large to be shown"
        try:
            return self.workspace.read(path)
        except (OSError, SkillwalkerError) as error:
            return safe(str(error), 200)


def _text(content: bytes) -> str | None:
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def diff_lines(old: str, new: str, budget: Budget, most: int = _LINES) -> tuple[tuple[Line, ...], str | None]:
    """At most `most` lines of a diff, and a note where that is not all; no lines where nothing differs."""
    before, after = _split(old), _split(new)
    if before == after:
        return (), None
    head, tail = _alike(before, after)
    if len(before) + len(after) - 2 * (head + tail) > _COMPARED and before and after:
        return (), f"{count(len(before), 'line')} became {len(after):,}: too many to be compared"
    lines: list[Line] = []
    left_out = 0
    for mark, text in _compared(before, after, head, tail):
        if len(lines) >= most or budget.room <= 0:
            left_out += 1
            continue
        shown = budget.excerpt(text, _LINE)
        lines.append(Line(mark, Harmless(f"{shown.text}…") if shown.left_out else shown.text))
    return tuple(lines), f"{count(left_out, 'more line')} of the diff" if left_out else None


def _alike(before: list[str], after: list[str]) -> tuple[int, int]:
    """How many lines at the beginning, and how many of the others at the end, are the same."""
    pairs = zip(before, after, strict=False)
    head = next((number for number, (one, other) in enumerate(pairs) if one != other), None)
    if head is None:
        head = min(len(before), len(after))
    most = min(len(before), len(after)) - head
    tail = 0
    while tail < most and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return head, tail


class _Matcher(difflib.SequenceMatcher[str]):
    """Compares what is between lines that are the same anyway."""

    def __init__(self, before: list[str], after: list[str], head: int, tail: int) -> None:
        ends = (len(before) - tail, len(after) - tail)
        super().__init__(None, before[head : ends[0]], after[head : ends[1]], autojunk=False)
        codes = [(tag, a + head, b + head, c + head, d + head) for tag, a, b, c, d in super().get_opcodes()]
        first = [("equal", 0, head, 0, head)] if head else []
        last = [("equal", ends[0], len(before), ends[1], len(after))] if tail else []
        self._codes = [*first, *codes, *last]

    def get_opcodes(self) -> Any:
        return self._codes


def _compared(before: list[str], after: list[str], head: int, tail: int) -> Iterator[tuple[Mark, str]]:
    if not before or not after:  # nothing to compare
        yield from (("-", line) for line in before)
        yield from (("+", line) for line in after)
        return
    for number, group in enumerate(_Matcher(before, after, head, tail).get_grouped_opcodes(2)):
        if number or group[0][1] or group[0][3]:
            yield "@", f"line {group[0][3] + 1}"
        for tag, first, last, start, stop in group:
            if tag == "equal":
                yield from ((" ", line) for line in before[first:last])
            else:
                yield from (("-", line) for line in before[first:last])
                yield from (("+", line) for line in after[start:stop])


def _split(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines
