"""Files that an eval names: found below their folder, and refused where they lead out of it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from skillwalker.text import did_you_mean, has_controls, safe

Kind = Literal["file", "directory"]
_DRIVE = re.compile(r"[A-Za-z]:")


def path_fault(name: str) -> str | None:
    """Why `name` cannot be a path below a folder, by its text alone; None where it can.

    The same on every system: what is absolute on Windows is refused everywhere.
    """
    if not name.strip():
        return "is empty"
    if has_controls(name):
        return f"holds control characters: {safe(name, 80)}"
    slashed = name.replace("\\", "/")
    if slashed.startswith("/") or _DRIVE.match(name):
        return f"must be relative, not {safe(name, 80)}"
    if ".." in slashed.split("/"):
        return f"must not lead upwards (..): {safe(name, 80)}"
    if slashed != name:
        return f"holds a backslash; write {safe(slashed, 80)}"
    return None


def find_inside(base: Path, folder: str, name: str, kind: Kind = "file") -> Path:
    """The file or directory that `name` means in the folder `base`/`folder`.

    Links are followed where they stay in that folder; `base` itself may be reached through links. An empty
    `folder` means `base`.

    Raises:
        ValueError: `name` leads out of the folder, is not there, or is no such thing; for the author to read.
    """
    if fault := path_fault(name):
        raise ValueError(fault)
    inner = [part for part in name.split("/") if part not in ("", ".")]
    if folder and not inner:
        raise ValueError(f"must name something in {folder}/")
    if kind == "file" and name.endswith(("/", "/.")):
        raise ValueError(f"must name a file, without a slash at its end: {safe(name, 80)}")
    parts = [folder, *inner] if folder else inner
    path, shown = base.joinpath(*parts), safe("/".join(parts), 120) or "."
    try:
        mode = mode_inside(base, parts, depth=1 if folder else 0)
    except FileNotFoundError:
        if os.path.islink(path):  # no error, however long the path is
            raise ValueError(f"{shown} is a link that leads nowhere") from None
        hint = _suggestion(base / folder, "/".join(inner), kind)
        if folder and inner[0] == folder:
            hint += f"; the name is relative to {folder}/"
        raise ValueError(f"{shown} does not exist{hint}") from None
    except NotADirectoryError:
        raise ValueError(f"{shown} does not exist") from None
    except OSError as error:
        raise ValueError(f"{shown} cannot be read: {error.strerror}") from None
    if mode is None:
        raise ValueError(f"{shown} is a link that leads out of its folder")
    if kind == "directory" and not stat.S_ISDIR(mode):
        raise ValueError(f"{shown} is not a directory")
    if kind == "file" and not stat.S_ISREG(mode):
        raise ValueError(
            f"{shown} is {'a directory, not a file' if stat.S_ISDIR(mode) else 'not a regular file'}"
        )
    return path


def mode_inside(base: Path, parts: Sequence[str], depth: int = 0) -> int | None:
    """The file mode of `base`/`parts`; None where a link on the way leads out of its first `depth` parts.

    Raises:
        OSError: the way cannot be followed, as where nothing is there.
    """
    mode = stat.S_IFDIR
    step = str(base)
    for part in parts:
        step = f"{step}/{part}"
        mode = os.lstat(step).st_mode
        if stat.S_ISLNK(mode):
            path = base.joinpath(*parts)
            # Where it leads is asked first: whether something lies outside is not told.
            if not Path(os.path.realpath(path)).is_relative_to(Path(os.path.realpath(base), *parts[:depth])):
                return None
            return os.stat(path).st_mode
    return mode  # without a link nothing leads out: far cheaper than `realpath` for every file


def _suggestion(folder: Path, name: str, kind: Kind) -> str:
    """What lies where it was looked for, or has its name at the top of the folder."""
    parent, slash, last = name.rpartition("/")
    if slash and last in _names(folder, kind):
        return f" (did you mean {safe(last)}?)"
    return did_you_mean(name, (f"{parent}{slash}{entry}" for entry in _names(folder / parent, kind)))


def _names(folder: Path, kind: Kind) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [name for name in names if os.path.isdir(folder / name) == (kind == "directory")]
