"""A run's directory on disk: written as things happen, complete at every moment, readable anywhere.

run.json              first: versions, image, options, per test the hashes of all inputs
trials/{trial_id}/    events.jsonl, stderr.txt, gateway.jsonl, workspace.tar, and last trial.json
results.jsonl         a line per verdict
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import secrets
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attrs import field, frozen

from skillwalker.errors import CannotStartError, ConfigurationError
from skillwalker.text import count

SCHEMA = 1

_LOOKED_AT = 50
"""Runs in which an eval is looked for, the newest."""

_RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")


def new_run_id(now: datetime) -> str:
    """Such as `20261130T101500Z-3f9a1c`: sorts by time, unique beyond any chance of meeting."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Writes atomically: a reader finds the old file or the whole new one."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("x", encoding="utf-8") as file:
            json.dump(data, file, indent=2, ensure_ascii=True)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@frozen
class RunDirectory:
    """One run on disk; any thread may add to it."""

    path: Path
    _lock: threading.Lock = field(factory=threading.Lock, repr=False, eq=False)

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def results(self) -> Path:
        return self.path / "results.jsonl"

    def manifest(self) -> dict[str, Any]:
        """What `run.json` says.

        Raises:
            ConfigurationError: it is missing or cannot be read.
        """
        return _read_object(self.path / "run.json")

    def update(self, more: Mapping[str, Any]) -> None:
        """Adds to `run.json` what is known only at the end."""
        write_json(self.path / "run.json", {**self.manifest(), **more})

    def trial(self, trial_id: str) -> Path:
        """The directory of a trial; made where it is not there yet."""
        path = self.path / "trials" / trial_id
        path.mkdir(parents=True, exist_ok=True)
        return path

    def add_verdicts(self, lines: list[dict[str, Any]]) -> None:
        """Appends to `results.jsonl`, all lines in one write."""
        data = "".join(json.dumps(line, ensure_ascii=True) + "\n" for line in lines)
        with self._lock, self.results.open("a+b") as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                # Where a crash or a full disk cut the last line, it must not spoil another.
                data = data if file.read() == b"\n" else f"\n{data}"
            file.write(data.encode())

    def attempt(self, trial_id: str) -> int:
        """Which attempt at a trial is the one that counts now, from 1; earlier ones were set aside."""
        return next(number for number in itertools.count(1) if not self._old(trial_id, number).exists())

    def set_aside(self, trial_id: str) -> None:
        """Keeps what an earlier attempt at a trial left, as `{trial_id}.old-N`."""
        path = self.path / "trials" / trial_id
        if path.exists():
            path.rename(self._old(trial_id, self.attempt(trial_id)))

    def _old(self, trial_id: str, number: int) -> Path:
        return self.path / "trials" / f"{trial_id}.old-{number}"

    def add_judgement(self, lines: list[dict[str, Any]]) -> Path:
        """Writes `judgements/{n}.jsonl` with the next free number."""
        directory = self.path / "judgements"
        directory.mkdir(exist_ok=True)
        for number in itertools.count(1):
            with contextlib.suppress(FileExistsError):
                path = directory / f"{number}.jsonl"
                with path.open("x", encoding="utf-8") as file:
                    try:
                        file.writelines(json.dumps(line, ensure_ascii=True) + "\n" for line in lines)
                        file.flush()
                    except OSError:
                        path.unlink(missing_ok=True)  # half a judgement is none
                        raise
                return path
        raise AssertionError("there is always a next number")

    def finish_trial(self, trial_id: str, data: Mapping[str, Any]) -> None:
        """Writes `trial.json`, by which a trial counts as finished."""
        write_json(self.trial(trial_id) / "trial.json", data)

    def trials(self) -> Iterator[dict[str, Any]]:
        """Every finished trial, in order of its id; not the attempts that were set aside."""
        for path in sorted(self.path.glob("trials/*/trial.json")):
            if ".old-" not in path.parent.name:
                yield _read_object(path)

    def uncounted(self, trials: str = "*") -> list[str]:
        """Names of directories whose trials asked a model and left no result: they go on, or the runner's end
        cut them, so that nobody counted what they cost.

        Args:
            trials: A pattern that the names match; attempts that were set aside are among them.
        """
        logs = self.path.glob(f"trials/{trials}/gateway.jsonl")
        cut = (log for log in logs if _has_content(log) and not log.with_name("trial.json").exists())
        return [log.parent.name for log in cut]

    def verdicts(self) -> Iterator[dict[str, Any]]:
        """Every line of `results.jsonl`; one that a crash cut or filled with garbage is passed over."""
        if not self.results.exists():
            return
        with self.results.open("rb") as file:
            for line in file:
                try:
                    found = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(found, dict):
                    yield found


@frozen
class Store:
    """All runs below one root."""

    root: Path

    @property
    def runs(self) -> Path:
        return self.root / ".skillwalker" / "runs"

    def create(self, run_id: str, manifest: Mapping[str, Any]) -> RunDirectory:
        """A new run's directory, with `run.json` in it.

        Raises:
            CannotStartError: it cannot be written.
        """
        path, new = self.runs / run_id, self.runs / f".{run_id}"
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
            ignore = self.runs.parent / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")
            new.mkdir()
            write_json(new / "run.json", manifest)
            new.rename(path)  # whoever finds a run finds what it is
        except OSError as error:
            raise CannotStartError(
                f"the run cannot be written to {path}: {error.strerror}; make it writable, or free space"
            ) from error
        return RunDirectory(path)

    def ids(self) -> list[str]:
        """The ids of all runs, oldest first; runs of the same second by when they were written."""
        if not self.runs.is_dir():
            return []
        found = [path for path in self.runs.iterdir() if _RUN_ID.fullmatch(path.name)]
        return [path.name for path in sorted(found, key=lambda path: (path.name[:16], _written(path)))]

    def find(self, reference: str) -> RunDirectory:
        """The run that `reference` names: an id, a unique prefix, `last`, `last~1`, or a directory's path.

        Raises:
            ConfigurationError: no run or more than one fits.
        """
        known = self.ids()
        if match := re.fullmatch(r"last(?:~(\d{1,9}))?", reference):
            back = int(match[1] or 0)
            if back < len(known):
                return RunDirectory(self.runs / known[-1 - back])
            if not known:
                raise ConfigurationError([self._no_run_yet(reference)])
            are = f"there {'is' if len(known) == 1 else 'are'} {count(len(known), 'run')}"
            raise ConfigurationError([f"no run {reference}: {are} below {self.runs}"])
        if os.path.exists(os.path.join(reference, "run.json")):  # no error, whatever the name
            return RunDirectory(Path(reference).resolve())
        fitting = [run_id for run_id in known if run_id.startswith(reference)] if reference else []
        if len(fitting) == 1:
            return RunDirectory(self.runs / fitting[0])
        if fitting:
            raise ConfigurationError([f"run {reference} is not unique: {', '.join(fitting)}"])
        if is_eval := self._is_eval(reference, known):
            raise ConfigurationError([f"no run {reference}: {is_eval}"])
        if not known:
            raise ConfigurationError([self._no_run_yet(reference)])
        see = f"the newest is {known[-1]}; see `skillwalker list runs`"
        raise ConfigurationError([f"no run {reference} below {self.runs}; {see}"])

    def _no_run_yet(self, reference: str) -> str:
        todo = self._no_root() or "; `skillwalker run` makes one"
        return f"no run {reference}: there is no run yet below {self.runs}{todo}"

    def _is_eval(self, reference: str, known: list[str]) -> str | None:
        """What to type where an eval's name, or one of its tests, stands for a run."""
        name = reference.partition("::")[0].removeprefix("./").removeprefix("evals/").rstrip("/")
        if not name or "/" in name or "\0" in name:
            return None
        for run_id in reversed(known[-_LOOKED_AT:]):
            if name in self._evals_of(run_id):
                what = f"{name} is an eval; its last run is {run_id}"
                return f"{what}: give that here (show takes {reference} after it)"
        if os.path.exists(self.root / "evals" / name / "tests.json"):
            return f"{name} is an eval that has not run yet; `skillwalker run {name}` runs it"
        return None

    def _evals_of(self, run_id: str) -> set[str]:
        """The evals of a run; none where that cannot be read."""
        try:
            tests = RunDirectory(self.runs / run_id).manifest().get("tests")
        except ConfigurationError:
            return set()
        tests = tests if isinstance(tests, list) else []
        names = (test.get("eval") for test in tests if isinstance(test, dict))
        return {name for name in names if isinstance(name, str)}

    def _no_root(self) -> str:
        """What to do where runs are looked for in a directory that is no root."""
        if (self.root / "evals").is_dir():
            return ""
        return ", and it is no root: no evals/ in it or above; name the root with --root DIR"


def _has_content(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except OSError:
        return False


def _written(run: Path) -> int:
    try:
        return (run / "run.json").stat().st_mtime_ns
    except OSError:
        return 0


def _read_object(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigurationError([f"cannot read {path}: {error.strerror}"]) from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError([f"{path} is not valid JSON: {error}"]) from error
    if not isinstance(found, dict):
        raise ConfigurationError([f"{path} holds no JSON object"])
    return found
