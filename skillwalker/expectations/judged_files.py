"""The files of the final work directory that a rubric's criteria are about: there, or not produced."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from attrs import frozen

from skillwalker.expectations.base import NotObservedError, Trial
from skillwalker.workspace import Workspace, WorkspaceFile

_MOST_LINKS = 8


@frozen
class JudgedFile:
    """What became of a file that criteria are about.

    Attributes:
        path: As the rubric names it.
        place: Where it lies: elsewhere than `path` only where that is a link.
        state: `created`, `changed`, or `unchanged` since the start.
        missing: Why there is none, in words; None where it is there.
    """

    path: str
    place: str = ""
    state: str = ""
    missing: str | None = None


def judged_files(trial: Trial, paths: tuple[str, ...]) -> tuple[JudgedFile, ...]:
    """One for each path.

    Raises:
        NotObservedError: the trial is not healthy, its work directory was not saved, or not enough of it to
            say that a file is not there.
    """
    if not paths:
        return ()
    workspace = trial.workspace
    states = dict.fromkeys(workspace.created, "created") | dict.fromkeys(workspace.changed, "changed")
    return tuple(_judged_file(workspace, path, states) for path in paths)


def _judged_file(workspace: Workspace, path: str, states: dict[str, str]) -> JudgedFile:
    kinds = {thing.path: thing for thing in workspace.entries()}
    place = path
    for _ in range(_MOST_LINKS):
        if (next_place := _past_a_link(place, kinds)) is None:
            break
        place = next_place
    thing = kinds.get(place)
    if thing is None and not workspace.complete:
        raise NotObservedError(f"whether {path} is in the work directory", None)
    if thing is None and place != path:
        return JudgedFile(path, missing="is a link that leads to no file of the work directory")
    if thing is None:
        gone = " any more" if path in workspace.deleted else ""
        return JudgedFile(path, missing=f"is not there{gone}")
    if thing.kind != "file":
        what = {"dir": "a directory", "link": "a link without an end"}.get(thing.kind, "a special file")
        return JudgedFile(path, missing=f"is {what}")
    if not thing.saved:
        raise NotObservedError(f"the content of {path}, which is too large to be kept,", None)
    return JudgedFile(path, place, states.get(place, "unchanged"))


def _past_a_link(path: str, kinds: Mapping[str, WorkspaceFile]) -> str | None:
    """Where a path leads whose first link, a directory's or its own, is followed; None where it has none."""
    parts = path.split("/")
    for number in range(1, len(parts) + 1):
        thing = kinds.get("/".join(parts[:number]))
        if thing is not None and thing.link is not None:
            whole = posixpath.join(*parts[: number - 1], thing.link, *parts[number:])
            return posixpath.normpath(whole)
    return None
