"""Transcripts as they come: what the trials of a run do while it goes on, and to its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from attrs import define, field

from skillwalker.errors import ConfigurationError
from skillwalker.evals import trial_ids
from skillwalker.events import parse_line
from skillwalker.records import load_run
from skillwalker.reports.console import Paint, plain
from skillwalker.reports.details import event_lines
from skillwalker.results import TestResult
from skillwalker.sandbox.owner import Owner
from skillwalker.store import RunDirectory
from skillwalker.text import safe

_PAUSE_SECONDS = 0.2
_BLOCK = 1 << 20
_LONGEST = 64 << 20
"""Of a line; what is longer is not held until its end comes."""

_TOO_LONG = "a line that is too long to be shown; it is in events.jsonl"


def follow(
    directory: RunDirectory,
    tests: Sequence[TestResult],
    paint: Paint = plain,
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[str]:
    """Line by line, until all trials of `tests` have ended or nobody goes on with the run.

    A heading tells whose the next lines are, wherever that changes.
    """
    trials = [
        _Followed(directory.path / "trials" / one, f"{test.eval}::{test.name}  trial {index}")
        for test in tests
        for index, one in enumerate(_ids(test), 1)
    ]
    speaking: _Followed | None = None
    while trials:
        over = _is_over(directory)  # asked first: what is written until then is read below
        for trial in list(trials):
            ended = trial.has_ended
            lines = trial.news()
            if lines and speaking is not trial:
                yield paint(safe(trial.title), "bold")
                speaking = trial
            yield from lines
            if ended:
                yield from _ending(directory, trial, paint)
                trials.remove(trial)
        if over:
            break
        if trials:
            pause(_PAUSE_SECONDS)
    spared = _spared(directory)
    for trial in trials:
        needed = trial.path.name not in spared
        yield f"{safe(trial.title)}: {'did not run to its end' if needed else 'was not needed'}"


@define
class _Followed:
    """A trial's stream, and how far it was read."""

    path: Path
    title: str
    _offset: int = 0
    _rest: bytearray = field(factory=bytearray)

    @property
    def has_ended(self) -> bool:
        return (self.path / "trial.json").exists()

    def news(self) -> list[str]:
        """What whole lines have come since it was asked last."""
        try:
            with (self.path / "events.jsonl").open("rb") as file:
                if file.seek(0, 2) < self._offset:  # the trial began anew
                    self._offset = 0
                    self._rest.clear()
                file.seek(self._offset)
                data = file.read(_BLOCK)
                found: list[str] = []
                while data:
                    self._offset += len(data)
                    found += self._shown(data)
                    data = file.read(_BLOCK)
        except OSError:  # it has not begun
            return []
        return found

    def _shown(self, data: bytes) -> Iterator[str]:
        *whole, last = data.split(b"\n")
        for line in whole:
            self._rest += line
            event = (
                None if self._rest.isspace() or not self._rest else parse_line(bytes(self._rest), brief=True)
            )
            self._rest.clear()
            if event:
                yield from event_lines(event)
        self._rest += last
        if len(self._rest) > _LONGEST:
            self._rest.clear()
            yield f"  {_TOO_LONG}"


def _is_over(directory: RunDirectory) -> bool:
    """Whether nothing more will come."""
    manifest = directory.manifest()
    if manifest.get("interrupted") is not None:
        return True
    owner = Owner.parse(str(manifest.get("owner") or ""))
    return bool(owner and owner.is_dead())


def _ending(directory: RunDirectory, trial: _Followed, paint: Paint) -> Iterator[str]:
    """How the trial came out."""
    for one in (one for test in _tests(directory) for one in test.trials):
        if one.id == trial.path.name:
            why = f" ({one.reason}: {safe(one.message)})" if one.reason else ""
            yield paint(f"{safe(trial.title)}: {one.outcome}{why}", "bold")


def _tests(directory: RunDirectory) -> tuple[TestResult, ...]:
    """The tests and controls as they stand; none where they are being written just now."""
    try:
        return load_run(directory).all_tests
    except ConfigurationError:
        return ()


def _spared(directory: RunDirectory) -> set[str]:
    """The trials that did not run since they could not have changed an outcome."""
    tests = [test for test in _tests(directory) if test.not_needed]
    ran = {trial.id for test in tests for trial in test.trials}
    return {one for test in tests for one in _ids(test)} - ran


def _ids(test: TestResult) -> list[str]:
    return trial_ids(test.eval, test.name, test.arm, test.planned)
