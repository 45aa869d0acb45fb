"""A stored run with everything that a report may want to read of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from skillwalker.errors import ConfigurationError
from skillwalker.jsonfile import decode, locate, read_bytes
from skillwalker.outcomes import Outcome
from skillwalker.records import load_run
from skillwalker.rejudged import Rejudged
from skillwalker.reports.saved import Scaffolds
from skillwalker.results import RunResult, TestResult, TrialResult
from skillwalker.store import RunDirectory

_ORDER = (Outcome.FAILED, Outcome.UNMEASURED, Outcome.PASSED)
_STDERR = 4_000  # bytes, the last


@frozen
class Place:
    """Where a test is written down.

    Attributes:
        file: Of its `tests.json`.
        line: None where the test is not in it any more.
    """

    file: Path
    line: int | None


@define
class Source:
    """A stored run; what it is asked for is read then.

    Attributes:
        root: Where the run's evals are expected; None where nobody knows.
        again: What judging again has changed, where `run` has later verdicts than its own.
    """

    directory: RunDirectory
    run: RunResult
    manifest: Mapping[str, Any]
    root: Path | None
    scaffolds: Scaffolds
    again: Rejudged | None = None
    _places: dict[str, dict[str, Place]] = field(factory=dict, init=False)

    @classmethod
    def of(cls, directory: RunDirectory, root: Path | None = None, again: Rejudged | None = None) -> Source:
        """The run in `directory`.

        Args:
            root: If not given, the root in whose `.skillwalker` the run lies.
            again: Later verdicts, which then stand in place of the run's own.

        Raises:
            ConfigurationError: it does not hold a whole run.
        """
        root = root or own_root(directory)
        run, manifest = again.run if again else load_run(directory), directory.manifest()
        return cls(directory, run, manifest, root, Scaffolds(manifest, root), again)

    def tests(self) -> list[TestResult]:
        """The tests, failures first."""
        return sorted(self.run.tests, key=_rank)

    def all_tests(self) -> list[TestResult]:
        """The tests and the controls, failures first: a control that failed is why others are unmeasured."""
        return sorted(self.run.all_tests, key=_rank)

    def folder(self, trial: TrialResult) -> Path:
        return self.directory.path / "trials" / trial.id

    def stderr(self, trial: TrialResult) -> str:
        """The end of what Claude Code wrote to stderr; empty where there is nothing."""
        try:
            with (self.folder(trial) / "stderr.txt").open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(0, size - _STDERR))
                return file.read().decode("utf-8", "replace")
        except OSError:
            return ""

    def place(self, test: TestResult) -> Place | None:
        """Where the test is written down; None where its eval is not there."""
        if self.root is None or "/" in test.eval or "\0" in test.eval:
            return None
        if test.eval not in self._places:
            self._places[test.eval] = places(self.root / "evals" / test.eval / "tests.json")
        known = self._places[test.eval]
        return known.get(test.name) or next((Place(one.file, None) for one in known.values()), None)


def _rank(test: TestResult) -> int:
    return _ORDER.index(test.outcome)


def own_root(directory: RunDirectory) -> Path | None:
    """The root below whose `.skillwalker/runs` the run lies; None for a copy elsewhere."""
    path = directory.path.absolute()
    return path.parents[2] if path.parts[-3:-1] == (".skillwalker", "runs") else None


def places(file: Path) -> dict[str, Place]:
    """The tests of a `tests.json` with their lines; none where it cannot be read."""
    try:
        text = decode(read_bytes(file))
        tests = json.loads(text)["tests"]
        names = [(number, one["name"]) for number, one in enumerate(tests)]
    except (ConfigurationError, ValueError, RecursionError, KeyError, TypeError):
        return {}
    return {name: Place(file, locate(text, f"tests[{number}]")) for number, name in names if name}


def started(run: RunResult) -> str | None:
    """When the run began, by its id, such as `2026-11-30T10:15:00Z`; None where the id does not say."""
    match = re.match(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-", run.run_id)
    return "{}-{}-{}T{}:{}:{}Z".format(*match.groups()) if match else None
