"""Finds the expectation types that are installed, without importing any of them.

Entry points are read with the parts of `entrypoints`, one distribution at a time: its own scan over a path
ends at the first damaged file and cannot say which file it was, so one broken package would hide all others.
"""

from __future__ import annotations

import configparser
import os
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import entrypoints
from attrs import frozen

GROUP = "skillwalker.expectations"


@frozen
class Candidate:
    """One entry of the group: found, not loaded.

    Attributes:
        name: The key in `tests.json`.
        reference: `module:attribute`, as written.
        version: None where the distribution does not tell.
        file: The file that says so.
    """

    name: str
    reference: str
    distribution: str
    version: str | None
    file: str

    @property
    def origin(self) -> str:
        """Distribution and version."""
        return f"{self.distribution} {self.version}" if self.version else self.distribution


class Found(NamedTuple):
    """What a scan found.

    Attributes:
        damaged: A sentence for each file of entry points that cannot be read, naming the file.
    """

    candidates: tuple[Candidate, ...] = ()
    damaged: tuple[str, ...] = ()


class _Source(NamedTuple):
    """One distribution's entry points: either read, or the reason why they cannot be."""

    file: str
    distribution: str
    version: str | None = None
    entries: tuple[tuple[str, str], ...] = ()
    damage: str | None = None
    is_egg: bool = False

    @property
    def key(self) -> str:
        """The distribution's name, so that all spellings of it are one."""
        return re.sub(r"[-_.]+", "-", self.distribution).lower()


def scan(path: Sequence[str] | None = None) -> Found:
    """Looks through `path` (`sys.path` by default).

    A distribution that is found more than once counts once: a dist-info before an egg-info, which an editable
    install or a build leaves beside it, else the first on the path, as an import would take it.
    """
    first: dict[str, _Source] = {}
    damaged: list[str] = []
    for folder in dict.fromkeys(os.path.abspath(entry) for entry in (sys.path if path is None else path)):
        for source in _sources(folder):
            if source.damage is not None:
                damaged.append(
                    f"{source.file}: the entry points of {source.distribution} cannot be read"
                    f" ({source.damage}); its expectation types are missing until it is installed again"
                )
            elif source.key not in first or (first[source.key].is_egg and not source.is_egg):
                first[source.key] = source
    return Found(
        tuple(candidate for source in first.values() for candidate in _candidates(source)), tuple(damaged)
    )


def _candidates(source: _Source) -> Iterator[Candidate]:
    if not source.entries:
        return
    name, version = _metadata(Path(source.file).parent)
    for entry, reference in source.entries:
        yield Candidate(entry, reference, name or source.distribution, version or source.version, source.file)


def _sources(folder: str) -> Iterator[_Source]:
    if folder.endswith(".egg") or os.path.isfile(folder):
        yield from _archive_sources(folder)
    try:
        names = sorted(os.listdir(folder))
    except OSError:  # an entry of the path that is no directory, or is not there: imports pass it over too
        return
    for name in names:
        # A tilde is what pip puts before the name of what it is about to remove, and leaves if it is stopped.
        if name.endswith((".dist-info", ".egg-info")) and not name.startswith("~"):
            yield _read(os.path.join(folder, name, "entry_points.txt"), name)


def _archive_sources(path: str) -> Iterator[_Source]:
    """Eggs and zip archives, which `entrypoints` reads as a whole."""
    name = os.path.basename(path)
    if not (os.path.isdir(path) or zipfile.is_zipfile(path)):
        return
    try:
        for config, distribution in entrypoints.iter_files_distros(path=[path]):
            yield _Source(path, distribution.name, distribution.version, _entries(config), is_egg=True)
    except (configparser.Error, UnicodeDecodeError, OSError, zipfile.BadZipFile) as error:
        yield _Source(path, name, damage=_one_line(error))


def _read(file: str, directory: str) -> _Source:
    stem, kind = os.path.splitext(directory)
    distribution = entrypoints.Distribution.from_name_version(stem)
    is_egg = kind == ".egg-info"
    config = entrypoints.CaseSensitiveConfigParser(delimiters=("=",))
    if not os.path.lexists(file):  # without any; yet it hides an older one of the same name
        return _Source(file, distribution.name, distribution.version, is_egg=is_egg)
    try:
        text = Path(file).read_bytes().decode("utf-8")
        if GROUP in text or not _looks_sound(text):  # parsing every file would take most of a scan's time
            config.read_string(text, source=file)
    except (configparser.Error, UnicodeDecodeError, OSError) as error:
        return _Source(file, distribution.name, damage=_one_line(error), is_egg=is_egg)
    return _Source(file, distribution.name, distribution.version, _entries(config), is_egg=is_egg)


def _looks_sound(text: str) -> bool:
    """Whether a text has nothing but sections and assignments, so that nobody needs to parse it."""
    lines = [line for line in text.splitlines() if line.strip() and line.lstrip()[0] not in "#;"]
    return not lines or (lines[0][0] == "[" and all(line[0] in "[ \t" or "=" in line for line in lines))


def _entries(config: configparser.ConfigParser) -> tuple[tuple[str, str], ...]:
    return tuple(config.items(GROUP, raw=True)) if config.has_section(GROUP) else ()


def _metadata(directory: Path) -> tuple[str | None, str | None]:
    """Name and version as the distribution itself writes them; the directory's name only comes near."""
    for file in ("METADATA", "PKG-INFO"):
        try:
            text = (directory / file).read_text("utf-8", "replace")
        except OSError:
            continue
        header = re.split(r"\r?\n\r?\n", text, maxsplit=1)[0].splitlines()
        return _header(header, "Name"), _header(header, "Version")
    return None, None


def _header(lines: Iterable[str], key: str) -> str | None:
    found = (line.partition(":")[2].strip() for line in lines if line.lower().startswith(f"{key.lower()}:"))
    return next(found, None) or None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
