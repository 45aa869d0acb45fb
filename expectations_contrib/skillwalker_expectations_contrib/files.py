"""Types about single files of the final work directory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Literal

from attrs import field, frozen

from skillwalker.expectations import Outcome, Trial, Verdict, listed, safe
from skillwalker_expectations_contrib.paths import any_file, find, is_path, missing, summary
from skillwalker_expectations_contrib.patterns import around, is_flags, is_pattern, search

Change = Literal["created", "changed", "unchanged"]
_SHOWN = 5


@frozen
class FileExists:
    """A file is in the final work directory, or is not.

    It does not matter whether the trial created it, changed it or left it as it was, unless `change` says so.

    Attributes:
        path: Relative to the work directory; `*` and `?` within a name, `**` over directories.
        expected: false if there must be no such file (nor a link): never made, or deleted.
        change: Counts only files that the trial `created`, `changed` or left `unchanged`.

    Examples:
        {"file-exists": "reports/*.csv"}
        {"file-exists": {"path": "**/*.tmp", "expected": false}}
    """

    shorthand: ClassVar[str] = "path"

    path: str = field(validator=is_path)
    expected: bool = True
    change: Change | None = None

    def check(self, trial: Trial) -> Verdict:
        found = find(trial, self.path)
        there = found.files if self.expected else (*found.files, *found.others)
        changes = _changes(trial, there) if self.change else {}
        counted = tuple(path for path in there if changes.get(path) == self.change)
        if counted:
            message = f"{listed(counted, _SHOWN)}: {self.change or 'there'}"
            return Verdict.of(True, message, expected=self.expected)
        if there:
            seen = ", ".join(f"{safe(path, 120)} is {changes[path]}" for path in there[:_SHOWN])
            return Verdict.of(False, f"no file is {self.change}: {seen}", expected=self.expected)
        return Verdict.of(False, missing(trial, self.path, found), expected=self.expected)


def _changes(trial: Trial, paths: Iterable[str]) -> Mapping[str, Change]:
    workspace = trial.workspace
    created, changed = frozenset(workspace.created), frozenset(workspace.changed)
    return {
        path: "created" if path in created else "changed" if path in changed else "unchanged"
        for path in paths
    }


@frozen
class FileContains:
    """A file of the final work directory contains `text`, exactly as written.

    No file at `path` fails, whatever is expected. Where `path` means several, one that contains it is enough,
    and where it is not expected none may.

    Attributes:
        path: Relative to the work directory; `*` and `?` within a name, `**` over directories.
        text: What to look for; in binary files its UTF-8 bytes.
        expected: false if no file may contain it.
        ignoreCase: Whether capitals do not count.

    Examples:
        {"file-contains": {"path": "README.md", "text": "## Installation"}}
    """

    path: str = field(validator=is_path)
    text: str = field()
    expected: bool = True
    ignore_case: bool = field(default=False, alias="ignoreCase")

    @text.validator
    def _not_empty(self, attribute: Any, value: str) -> None:
        if not value:
            raise ValueError("'text' must not be empty: every file contains the empty text")

    def check(self, trial: Trial) -> Verdict:
        return _in_files(trial, self.path, f'"{safe(self.text, 100)}"', self._found, expected=self.expected)

    def _found(self, data: bytes) -> str | None:
        text, wanted = data.decode("utf-8", "surrogateescape"), self.text
        if self.ignore_case:
            text, wanted = text.casefold(), wanted.casefold()
        place = text.find(wanted)
        return None if place < 0 else around(text, place, place + len(wanted))


@frozen
class FileMatches:
    r"""A file of the final work directory matches a regular expression.

    The pattern may match anywhere; anchor it with `^` and `$` if it must not. No file at `path` fails,
    whatever is expected. Where `path` means several, one that matches is enough, and where it is not expected
    none may.

    Attributes:
        path: Relative to the work directory; `*` and `?` within a name, `**` over directories.
        pattern: The regular expression, in Python's syntax.
        flags: Any of `i` (capitals do not count), `m` (`^` and `$` at every line), `s` (a dot is also a line
            break), `x` (spaces and comments in the pattern).
        expected: false if no file may match.

    Examples:
        {"file-matches": {"path": "src/**/*.py", "pattern": "\\beval\\(", "expected": false}}
    """

    path: str = field(validator=is_path)
    pattern: str = field(validator=is_pattern)
    flags: str = field(default="", validator=is_flags)
    expected: bool = True

    def check(self, trial: Trial) -> Verdict:
        quoted = f"/{safe(self.pattern, 100)}/{self.flags}"
        return _in_files(trial, self.path, quoted, self._found, expected=self.expected)

    def _found(self, data: bytes) -> str | None:
        text = data.decode("utf-8", "replace")
        match = search(self.pattern, text, self.flags)
        return None if match is None else around(text, *match.span())


def _in_files(
    trial: Trial, path: str, wanted: str, test: Callable[[bytes], str | None], *, expected: bool
) -> Verdict:
    found = find(trial, path)
    if not found.files:
        return Verdict(Outcome.FAILED, f"looked for {wanted}, but {missing(trial, path, found)}")
    hit = any_file(trial, found.files, test)
    if hit is not None:
        return Verdict.of(True, f"{wanted} is in {safe(hit[0], 120)}: {hit[1]}", expected=expected)
    where = listed(found.files, _SHOWN)
    return Verdict.of(False, f"{wanted} is not in {where}; {summary(trial)}", expected=expected)
