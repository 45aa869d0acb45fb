"""Files of the final work directory, named by a path or a glob.

Links are not followed: a link is no file. Directories do not count; they come and go with their files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from fnmatch import fnmatchcase
from typing import Any
from unicodedata import normalize

from attrs import frozen

from skillwalker.expectations import NotObservedError, NotSavedError, Trial, listed, path_fault, safe

READ_LIMIT = 16 << 20
"""Bytes of a file that are looked at."""

_SHOWN = 5
_GLOB = frozenset("*?[")


def is_path(_: Any, attribute: Any, value: str) -> None:
    """A validator of one path or glob, relative to the work directory."""
    if fault := path_fault(value):
        raise ValueError(f"'{attribute.name}' {fault}")
    if value.endswith("/"):
        raise ValueError(
            f"'{attribute.name}' names a directory; write {safe(value, 80)}** for all files in it"
        )


def are_paths(instance: Any, attribute: Any, value: Collection[str]) -> None:
    """A validator of several."""
    for one in value:
        is_path(instance, attribute, one)


def is_glob(path: str) -> bool:
    return not _GLOB.isdisjoint(path)


def matches(pattern: str, path: str) -> bool:
    """Whether a glob (`*` and `?` within one name, `**` over any number of directories) means a path.

    A path always means itself, so a name with brackets needs no escape.
    """
    pattern = pattern.removeprefix("./")
    return pattern == path or _matches(pattern.split("/"), path.split("/"))


def _matches(wanted: list[str], parts: list[str]) -> bool:
    """Walks both at once; `reached` are the places in `parts` that the pattern so far can lead to."""
    reached = {0}
    for name in wanted:
        if name == "**":
            reached = set(range(min(reached), len(parts) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(parts) and fnmatchcase(parts[at], name)}
        if not reached:
            return False
    # `src/**` is what lies in src, not a file of that name.
    return len(parts) in reached and (wanted[-1] != "**" or len(parts) >= len(wanted))


@frozen
class Found:
    """What a glob means in a final work directory.

    Attributes:
        files: Regular files.
        others: Links and special files.
    """

    files: tuple[str, ...]
    others: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.files or self.others)


def find(trial: Trial, pattern: str) -> Found:
    """
    Raises:
        NotObservedError: the trial is not healthy, or nothing was found and not everything is listed.
    """
    workspace = trial.workspace
    there = [each for each in workspace.entries() if each.kind != "dir" and matches(pattern, each.path)]
    if not there and not workspace.complete:
        raise NotObservedError(f"whether there is {safe(pattern, 100)} (not everything was saved)", None)
    files = tuple(each.path for each in there if each.kind == "file")
    return Found(files, tuple(each.path for each in there if each.kind != "file"))


def missing(trial: Trial, pattern: str, found: Found) -> str:
    """A sentence on a file that is not there: what is there instead, what the trial did."""
    quoted = safe(pattern, 120)
    if found.others:
        return f"{listed(found.others, _SHOWN)} is no regular file (links are not followed)"
    workspace = trial.workspace
    deleted = [path for path in workspace.deleted if matches(pattern, path)]
    if deleted:
        return f"{listed(deleted, _SHOWN)} was deleted by the trial"
    wanted = normalize("NFC", pattern)
    alike = [one.path for one in workspace.files() if matches(wanted, normalize("NFC", one.path))]
    if alike:
        return f"{listed(alike, _SHOWN)} only looks like {quoted}: other code points (Unicode's NFC and NFD)"
    what = f"no file matches {quoted}" if is_glob(pattern) else f"there is no {quoted}"
    return f"{what}; {summary(trial)}"


def summary(trial: Trial) -> str:
    """What the trial did to its work directory, in a few words."""
    workspace = trial.workspace
    done = {"created": workspace.created, "changed": workspace.changed, "deleted": workspace.deleted}
    parts = [f"{what}: {listed(paths, _SHOWN)}" for what, paths in done.items() if paths]
    return "the trial " + "; ".join(parts) if parts else "the trial created, changed and deleted nothing"


def read(trial: Trial, path: str) -> tuple[bytes, bool]:
    """A file's content, and whether that is all of it.

    Raises:
        NotObservedError: the content was not saved.
    """
    try:
        data = trial.workspace.read(path, READ_LIMIT + 1)
    except NotSavedError as error:
        raise NotObservedError(f"the content of {safe(path, 120)} ({safe(str(error), 200)})", None) from error
    return data[:READ_LIMIT], len(data) <= READ_LIMIT


def any_file(
    trial: Trial, paths: Iterable[str], test: Callable[[bytes], str | None]
) -> tuple[str, str] | None:
    """The first file for which `test` has an answer, with that answer.

    Raises:
        NotObservedError: none has, and one is too large to be looked through or was not saved.
    """
    unseen: NotObservedError | None = None
    for path in paths:
        try:
            data, whole = read(trial, path)
            answer = test(data)
            if answer is None and not whole:
                limit = f"the first {READ_LIMIT >> 20} MiB"
                raise NotObservedError(f"the content of {safe(path, 120)} after {limit}", None)
        except NotObservedError as error:
            unseen = unseen or error
        else:
            if answer is not None:
                return path, answer
    if unseen is not None:
        raise unseen
    return None
