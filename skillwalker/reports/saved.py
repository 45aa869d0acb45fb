"""What a trial left in its work directory, as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from skillwalker.errors import SkillwalkerError
from skillwalker.loading import find_evals, load_eval
from skillwalker.results import TestResult
from skillwalker.store import RunDirectory
from skillwalker.text import listed, safe
from skillwalker.tree import Tree
from skillwalker.workspace import Workspace

_SHOWN = 20


@frozen
class Scaffold:
    """What a trial found in its work directory at the start.

    Attributes:
        tree: None where the directory was empty.
    """

    tree: Tree | None


def scaffold_of(test: TestResult, directory: RunDirectory, root: Path) -> Scaffold | None:
    """The scaffold that the test's trials had; None where it is not there any more, or not the same.

    Args:
        root: Where the test's eval is expected.
    """
    inputs = next(
        (
            one.get("inputs")
            for one in directory.manifest()["tests"]
            if (one["eval"], one["name"]) == (test.eval, test.name)
        ),
        None,
    )
    if not isinstance(inputs, dict) or "scaffold" not in inputs:
        return None
    if inputs["scaffold"] is None:
        return Scaffold(None)
    try:
        tree = _tree_now(test, root)
        return Scaffold(tree) if tree and tree.digest == inputs["scaffold"] else None
    except (OSError, SkillwalkerError):
        return None


def _tree_now(test: TestResult, root: Path) -> Tree | None:
    for evaluation in find_evals(root).evals:
        if evaluation.name != test.eval or (draft := load_eval(evaluation, root).draft) is None:
            continue
        for one in draft.tests:
            if one.name == test.name and one.scaffold:
                return Tree.of_directory(one.scaffold, root=one.scaffold)
    return None


def work_directory(saved: Path, scaffold: Scaffold | None) -> Iterator[str]:
    """What is new in a saved work directory; all that is in it where nobody knows what was there before."""
    workspace = Workspace(saved, scaffold.tree if scaffold else None)
    if scaffold is None:
        files = [one.path for one in workspace.entries() if one.kind != "dir"]
        yield "the scaffold is not there as it was, so what is new is not known"
        yield f"files: {listed(files, _SHOWN)}" if files else "no files"
    else:
        groups = {"created": workspace.created, "changed": workspace.changed, "deleted": workspace.deleted}
        told = [f"{what}: {listed(paths, _SHOWN)}" for what, paths in groups.items() if paths]
        yield from told or [
            "nothing created, changed or deleted" if workspace.complete else "nothing new seen"
        ]
    for note in workspace.notes:
        yield f"note: {safe(note)}"
