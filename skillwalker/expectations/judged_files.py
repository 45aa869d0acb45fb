"""The files of the final work directory that a rubric's criteria are about: there, or not produced."""

from __future__ import annotations

import posixpath

from attrs import frozen

from skillwalker.expectations.base import NotObservedError, Trial
from skillwalker.workspace import Workspace

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
        thing = kinds.get(place)
        if thing is None or thing.kind != "link" or thing.link is None:
            break
        place = posixpath.normpath(posixpath.join(posixpath.dirname(place), thing.link))
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
