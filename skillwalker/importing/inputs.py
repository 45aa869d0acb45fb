"""The input files of a case -> a scaffold: where they are looked for, and what stays out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import define, field, frozen

from skillwalker.drafting import Draft
from skillwalker.importing.landing import landings, listed_path
from skillwalker.importing.values import InputFile
from skillwalker.targets import Target
from skillwalker.text import has_controls, safe

ANSWERS = (
    *("answer", "answers", "expected", "golden", "grader", "graders", "grading", "reference", "rubric"),
    *("rubrics", "solution", "solutions"),
)
"""How a name begins that says what should come of the files beside it."""
ANSWER_PARTS = ("expected", "golden")
"""What says the same anywhere in a name, between dots, dashes and underscores."""
ANSWER_FILES = ("eval.json", "evals.json", "case.yaml")

_ANSWER = re.compile(
    rf"(?:(?:{'|'.join(ANSWERS)})(?![a-z])|(?:.*[._-])?(?:{'|'.join(ANSWER_PARTS)})(?:[._-]|$)"
    rf"|(?:{'|'.join(map(re.escape, ANSWER_FILES))})$)",
    re.IGNORECASE,
)
_MOST_FILES = 500
_MOST_BYTES = 10_000_000
_MOST_LOOKED_AT = 20_000


@define
class Scaffold:
    """What became of a case's input files.

    Attributes:
        put: Where they are in the scaffold.
        missing: Those that are needed and not there, with the reason.
        left: What was left out, with the reason.
        given_away: What the case lists itself, and says by its name what is expected.
        moved: What lies elsewhere than the case says, and was found all the same.
    """

    put: list[tuple[str, ...]] = field(factory=list)
    missing: list[str] = field(factory=list)
    left: list[str] = field(factory=list)
    given_away: list[str] = field(factory=list)
    moved: list[str] = field(factory=list)


@frozen
class Places:
    """Where the paths of input files may begin.

    Attributes:
        own: The skill's directory.
        homes: That, and what has the list in its `evals`: they are looked through.
        near: Beside the list, and the skill's directory.
        root: Where `evals/` is, for paths into scaffolds of other evals; None: not known.
    """

    own: Path
    homes: tuple[Path, ...]
    near: tuple[Path, ...]
    root: Path | None

    @classmethod
    def around(cls, files: Sequence[Path], target: Target, root: Path | None) -> Places:
        found: dict[Path, None] = {}
        for file in files:
            folder = file if file.is_dir() else file.parent
            found[folder.parent if folder.name == "evals" else folder] = None
            found[folder] = None
        own = target.part.path.parent
        homes = {own: None, **{file.parent.parent: None for file in files if file.parent.name == "evals"}}
        homes |= {file: None for file in files if file.is_dir()}
        return cls(own, tuple(homes), tuple({**found, own: None}), root)

    def find(self, parts: Sequence[str], *, exported: bool) -> Path | None:
        """What lies at a path, which an export of this program may have written."""
        places = (*self.near, self.root) if exported and self.root else self.near
        return next((found for base in places if (found := _inside(base, parts))), None)


def fill(draft: Draft, folder: str, files: Sequence[InputFile], prompt: str, places: Places) -> Scaffold:
    """Puts input files into a scaffold of the draft."""
    done = Scaffold()
    sound: list[tuple[InputFile, tuple[str, ...], tuple[str, ...]]] = []
    for file in files:
        parts = tuple(part for part in file.path.replace("\\", "/").split("/") if part not in ("", "."))
        if not parts or ".." in parts or file.path.startswith("/") or has_controls(file.path):
            done.missing.append(f"the file {safe(file.path, 80)} does not lie below the eval or the skill")
            continue
        sound.append((file, parts, tuple(listed_path("/".join(parts)).split("/"))))
    ends = landings([shown for _, _, shown in sound], prompt)
    for (file, parts, shown), end in zip(sound, ends, strict=True):
        _put(draft, folder, file, parts, end, done, places, exported=parts != shown)
    return done


def _put(
    draft: Draft,
    folder: str,
    file: InputFile,
    parts: tuple[str, ...],
    end: tuple[str, ...],
    done: Scaffold,
    places: Places,
    *,
    exported: bool,
) -> None:
    name = safe(file.path, 80)
    if file.content is not None:
        taken: list[tuple[tuple[str, ...], bytes]] | None = [(end, file.content.encode("utf-8", "replace"))]
    else:
        source = places.find(parts, exported=exported)
        for home in places.homes if source is None else ():
            if source := _alike(home, parts):
                where = source.relative_to(home).as_posix()
                done.moved.append(f"{name} was taken from {safe(where, 80)}")
                break
        if source is None:
            done.missing.append(f"the file {name} was not found")
            return
        try:
            taken, left = _read_all(source, end)
        except OSError as error:
            done.missing.append(f"{name} cannot be read: {error.strerror}")
            return
        done.left += left
    if not taken:
        why = "is too big for a scaffold" if taken is None else "holds no regular file"
        done.missing.append(f"{name} {why}")
        return
    if _ANSWER.match(parts[-1]):
        done.given_away.append(name)
    for path, data in taken:
        draft.files[f"scaffolds/{folder}/{'/'.join(path)}"] = data
        done.put.append(path)


def _inside(base: Path, parts: Sequence[str]) -> Path | None:
    """What lies at this path in `base`; None where there is nothing, or a link leads out."""
    path = base.joinpath(*parts)
    try:
        real = Path(os.path.realpath(path, strict=True))
    except OSError:
        return None
    return path if real.is_relative_to(os.path.realpath(base)) else None


def _alike(base: Path, parts: Sequence[str]) -> Path | None:
    """The one file or directory in `base` whose path ends most like this one; None: none or several do.

    A name alone is enough only where no more was asked for.
    """
    best: dict[int, list[Path]] = {}
    for number, path in enumerate(_below(base)):
        if number == _MOST_LOOKED_AT:
            return None
        theirs = path.relative_to(base).parts
        same = 0
        while same < min(len(theirs), len(parts)) and theirs[-1 - same] == parts[-1 - same]:
            same += 1
        if same >= min(2, len(parts)):
            best.setdefault(same, []).append(path)
    found = best[max(best)] if best else []
    return _inside(base, found[0].relative_to(base).parts) if len(found) == 1 else None


def _below(base: Path) -> Iterator[Path]:
    for here, below, names in os.walk(base):
        inside = Path(here).relative_to(base).parts
        below[:] = sorted(name for name in below if name not in (".git", "node_modules"))
        if len(inside) > 1 and inside[-2:-1] == ("scaffolds",):
            below[:] = []  # what was written from here before is no source
            continue
        for name in (*below, *sorted(names)):
            yield Path(here, name)


def _read_all(
    source: Path, end: tuple[str, ...]
) -> tuple[list[tuple[tuple[str, ...], bytes]] | None, list[str]]:
    """The file, or the files below it, and what of them is left out; None: they are too many or too big.

    What is named itself is always taken.
    """
    left: list[str] = []
    if source.is_file():
        regular = [(source, end)]  # a link that stays inside is followed, as anywhere
    else:
        regular = []
        for here, below, names in os.walk(source):
            inside = (*end, *Path(here).relative_to(source).parts)
            for name in sorted((*below, *names)):
                path, shown = Path(here, name), safe("/".join((*inside, name)), 80)
                if name == ".git":
                    continue
                if _ANSWER.match(name):
                    why = "by its name it says what is expected, and the tested model could read it"
                    left.append(f"{shown} was left out: {why}")
                elif path.is_symlink():
                    left.append(f"{shown} was left out: it is a link")
                elif path.is_file():
                    regular.append((path, (*inside, name)))
                elif not path.is_dir():
                    left.append(f"{shown} was left out: it is no regular file")
            below[:] = sorted(name for name in below if name != ".git" and not _ANSWER.match(name))
    if len(regular) > _MOST_FILES or sum(path.stat().st_size for path, _ in regular) > _MOST_BYTES:
        return None, left
    return [(where, path.read_bytes()) for path, where in regular], left
