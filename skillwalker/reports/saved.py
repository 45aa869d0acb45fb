"""What a trial left in its work directory, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from skillwalker.errors import SkillwalkerError
from skillwalker.events import as_dict, as_list
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


@define
class Scaffolds:
    """The scaffolds of a run's tests; each eval and each directory is read once.

    Attributes:
        manifest: The run's `run.json`, which holds their hashes.
        root: Where the evals are expected; None where nobody knows.
    """

    manifest: Mapping[str, Any]
    root: Path | None
    _written: dict[tuple[str, str], Path] | None = field(default=None, init=False)
    _trees: dict[Path, Tree] = field(factory=dict, init=False)

    def of(self, test: TestResult) -> Scaffold | None:
        """The scaffold that the test's trials had; None where it is not there any more, or not the same."""
        inputs = self.inputs(test)
        if "scaffold" not in inputs:
            return None
        if inputs["scaffold"] is None:
            return Scaffold(None)
        try:
            tree = self._tree_now(test)
            return Scaffold(tree) if tree and tree.digest == inputs["scaffold"] else None
        except (OSError, SkillwalkerError):
            return None

    def inputs(self, test: TestResult) -> Mapping[str, Any]:
        """The hashes of what the test's trials depended on; empty where they were not written down."""
        for one in as_list(self.manifest.get("tests")):
            if (as_dict(one).get("eval"), as_dict(one).get("name")) == (test.eval, test.name):
                return as_dict(as_dict(one).get("inputs"))
        return {}

    def _tree_now(self, test: TestResult) -> Tree | None:
        if self._written is None:
            self._written = dict(self._directories())
        directory = self._written.get((test.eval, test.name))
        if directory is None:
            return None
        if directory not in self._trees:
            self._trees[directory] = Tree.of_directory(directory, root=directory)
        return self._trees[directory]

    def _directories(self) -> Iterator[tuple[tuple[str, str], Path]]:
        """The scaffolds that are written down now, by eval and test."""
        run = {as_dict(one).get("eval") for one in as_list(self.manifest.get("tests"))}
        for evaluation in find_evals(self.root).evals if self.root else ():
            if evaluation.name in run and self.root and (draft := load_eval(evaluation, self.root).draft):
                yield from (
                    ((evaluation.name, one.name), one.scaffold) for one in draft.tests if one.scaffold
                )


def scaffold_of(test: TestResult, directory: RunDirectory, root: Path) -> Scaffold | None:
    """As `Scaffolds.of`, for one test.

    Args:
        root: Where the test's eval is expected.
    """
    return Scaffolds(directory.manifest(), root).of(test)


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
