"""From a directory to evals: where they are, what they say, and every problem at its place."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from attrs import evolve, field, frozen

from skillwalker.errors import ConfigurationError, Problem
from skillwalker.evals import Eval
from skillwalker.fields import FieldReader
from skillwalker.jsonfile import decode, load, locate, read_bytes
from skillwalker.text import has_controls, listed, near, safe

EVALS = "evals"
FILE = "tests.json"
SCHEMA = "tests.schema.json"
"""For editors, beside the evals that name it as `$schema`."""


@frozen
class Found:
    """What lies in `evals/`.

    Attributes:
        evals: The directories with a `tests.json`, by name.
        notes: What else lies there, a sentence each: other tools use the same directory.
    """

    evals: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()


@frozen
class LoadedEval:
    """What could be made of a directory's `tests.json`.

    Attributes:
        eval: None where there is any problem.
        draft: For further checks of the file (plugins, expectations), so that their problems are told with
            these; never to be run. It is `eval` where there is no problem. Otherwise `plugins` is empty where
            one of them is a problem, and tests stand without what could not be read (an empty name or prompt,
            a guessed type). None where the file itself cannot be read.
        problems: With their JSON paths; `place` gives them their lines.
    """

    directory: Path
    root: Path
    eval: Eval | None
    draft: Eval | None = field(repr=False)
    problems: tuple[Problem, ...] = ()

    def placed(self, more: Iterable[Problem] = ()) -> tuple[Problem, ...]:
        """All problems of this file, `more` among them, in the order of its lines."""
        return place((*self.problems, *more), self.directory / FILE, self.root)


def find_root(start: Path) -> Path | None:
    """The nearest directory, from `start` upwards, that holds an eval."""
    here = Path(os.path.abspath(start))
    for directory in (here, *here.parents):
        try:
            with os.scandir(directory / EVALS) as entries:
                if any(_holds(entry, FILE) for entry in entries):
                    return directory
        except OSError:  # no evals/ here, or not ours to read
            continue
    return None


def find_evals(root: Path) -> Found:
    """The evals of `root`: each is a directory `evals/{name}/` with a `tests.json`; deeper ones are none.

    Raises:
        ConfigurationError: `evals/` cannot be read.
    """
    try:
        with os.scandir(root / EVALS) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return Found()
    except OSError as error:
        raise ConfigurationError([Problem(f"cannot be read: {error.strerror}", file=EVALS)]) from None
    evals, notes, others = [], [], []
    for entry in entries:
        if _holds(entry, FILE):
            evals.append(root / EVALS / entry.name)
        elif not entry.name.startswith((".", "_")):
            foreign, note = _judged(entry)
            others += [entry.name + "/" * entry.is_dir()] if foreign else []
            notes += [note] if note else []
    return Found(tuple(evals), (*_foreign(others), *notes))


def load_eval(directory: Path, root: Path) -> LoadedEval:
    """Reads `directory`/tests.json and the files it names; never raises for what is wrong there."""
    try:
        document = load(directory / FILE)
    except ConfigurationError as error:
        return LoadedEval(directory, root, None, None, error.problems)
    reader = FieldReader(directory, root)
    plugins, tests = reader.read(document.value)
    problems = [*document.problems, *reader.problems]
    if has_controls(directory.name):
        problems.append(Problem("the name of the eval's directory holds control characters"))
    draft = Eval(directory.name, root, directory, plugins, tests)
    return LoadedEval(directory, root, None if problems else draft, draft, tuple(problems))


def place(problems: Iterable[Problem], file: Path, root: Path | None = None) -> tuple[Problem, ...]:
    """The problems of `file` with its name (relative to `root`) and the lines of their paths, in order.

    What a path names may be absent; then it is the line of what it is missing from.
    """
    problems = tuple(problems)
    shown = safe((file.relative_to(root) if root and file.is_relative_to(root) else file).as_posix())
    text = None
    if any(problem.path and problem.line is None for problem in problems):
        try:
            text = decode(read_bytes(file))
        except ConfigurationError:  # changed since it was loaded: the path alone has to do
            text = None
    placed = []
    for problem in problems:
        line = problem.line
        if line is None and problem.path and text is not None:
            line = locate(text, problem.path)
        placed.append(evolve(problem, file=problem.file or shown, line=line))
    return tuple(sorted(placed, key=lambda problem: problem.line or 0))


def _holds(directory: os.DirEntry[str], name: str) -> bool:
    """Whether a file of this name is there; yes where that cannot be seen, so that reading it tells why."""
    try:
        os.lstat(f"{directory.path}/{name}")
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _judged(entry: os.DirEntry[str]) -> tuple[bool, str]:
    """Whether what is no eval seems to be another tool's, or else what is to be said of it, if anything."""
    shown = f"{EVALS}/{safe(entry.name)}"
    if not entry.is_dir():
        return not (entry.name.endswith((".md", ".txt")) or entry.name == SCHEMA), ""
    try:
        with os.scandir(entry.path) as scan:
            inner = {child.name: child for child in scan}
    except OSError as error:
        return False, f"{shown}/ cannot be read: {error.strerror}"
    deeper = sorted(name for name, child in inner.items() if _holds(child, FILE))
    if deeper:
        names = listed([f"{entry.name}/{name}" for name in deeper], limit=3)
        todo = f"evals do not nest: {names} not read; move them up into {EVALS}/"
        return False, f"{shown}/ is no eval, and {todo}"
    if similar := _similar(inner):
        hint = f" (did you mean {FILE}?)" if _is_slip(similar) else ""
        return False, f"{shown}/ has no {FILE}, only {safe(similar)}: not read{hint}"
    return True, ""


def _similar(names: Iterable[str]) -> str | None:
    """A file whose name comes near that of an eval's file."""
    options = (name for name in names if name.endswith((".json", ".jsonc", ".yaml")))
    return next(iter(near(FILE, options, limit=1)), None)


def _is_slip(name: str) -> bool:
    """Whether it is ours but for its name; `evals.json` is another tool's."""
    return name.casefold().startswith("test")


def misnamed(root: Path) -> tuple[str, ...]:
    """Files below `evals/`, relative to `root`, that were meant to be an eval's, where there is none."""
    found = []
    for directory in sorted(root.glob(f"{EVALS}/*/")):
        with contextlib.suppress(OSError):
            names = os.listdir(directory)
            if FILE not in names and (similar := _similar(names)) and _is_slip(similar):
                found.append(f"{EVALS}/{directory.name}/{similar}")
    return tuple(found)


def _foreign(names: list[str]) -> tuple[str, ...]:
    """One sentence for all of them: they are told with every command."""
    match names:
        case []:
            return ()
        case [only]:
            without = f"has no {FILE} and " if only.endswith("/") else ""
            return (f"{EVALS}/{safe(only)} {without}belongs to another tool: not read",)
    what = f"without a {FILE}" if all(name.endswith("/") for name in names) else "of other tools"
    return (f"{len(names)} entries {what} in {EVALS}/ are not read: {listed(names, 6)}",)
