"""The type about what a trial must not touch."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from skillwalker.expectations import (
    Detail,
    Eval,
    NotObservedError,
    Outcome,
    Test,
    Trial,
    Verdict,
    listed,
    safe,
    shown,
)
from skillwalker_expectations_contrib.paths import are_paths, matches

_SHOWN = 5
_DETAILS = 50


def _some(_: Any, attribute: Any, value: Collection[str]) -> None:
    if not value:
        raise ValueError(f"'{attribute.name}' must name a file; leave it out for the whole work directory")


@frozen
class FilesUnchanged:
    """Nothing was created, changed or deleted, in the whole work directory or among the files that are named.

    Changed means other content, another kind, or the executable bit. Without a scaffold the work directory
    began empty.

    Attributes:
        paths: Which files; `*` and `?` within a name, `**` over directories. Each must mean a file of the
            scaffold.
        exclude: Which of them may change all the same.

    Examples:
        {"files-unchanged": true}
        {"files-unchanged": {"exclude": ["reports/**"]}}
    """

    paths: tuple[str, ...] = field(default=("**",), validator=[_some, are_paths])
    exclude: tuple[str, ...] = field(default=(), validator=are_paths)

    @classmethod
    def expand(cls, value: Any, test: Test) -> Any:
        if value is True:
            return {}
        if isinstance(value, str):
            return {"paths": [value]}
        if isinstance(value, list):
            return {"paths": value}
        if not isinstance(value, dict):
            what = "a path, a list of paths, or an object with the options paths, exclude"
            raise ValueError(f"expected true, {what}, got {shown(value)}")
        return value

    def requires(self, eval: Eval, test: Test) -> Iterable[str]:
        named = [path for path in self.paths if path != "**"]
        if test.scaffold is None or not named:
            return
        there = tuple(_files(test.scaffold))
        for pattern in named:
            if not any(matches(pattern, path) for path in there):
                yield (
                    f"paths: no file of the scaffold is {safe(pattern, 80)}, so it cannot be unchanged (that "
                    'nothing of the kind is made says file-exists with "expected": false)'
                )

    def check(self, trial: Trial) -> Verdict:
        workspace = trial.workspace
        done: Mapping[str, tuple[str, ...]] = {
            how: tuple(path for path in paths if self._counts(path))
            for how, paths in (
                ("created", workspace.created),
                ("changed", workspace.changed),
                ("deleted", workspace.deleted),
            )
        }
        if not any(done.values()):
            if not workspace.complete:
                raise NotObservedError("whether files were deleted (not everything was saved)", None)
            return Verdict(Outcome.PASSED, f"unchanged: {self._in_words()}")
        parts = [f"{how}: {listed(paths, _SHOWN)}" for how, paths in done.items() if paths]
        details = [
            Detail(safe(path, 200), Outcome.FAILED, how) for how, paths in done.items() for path in paths
        ]
        return Verdict(Outcome.FAILED, "; ".join(parts), tuple(details[:_DETAILS]))

    def _counts(self, path: str) -> bool:
        return any(matches(one, path) for one in self.paths) and not any(
            matches(one, path) for one in self.exclude
        )

    def _in_words(self) -> str:
        what = "the work directory" if self.paths == ("**",) else listed(self.paths, _SHOWN)
        return f"{what} (but for {listed(self.exclude, _SHOWN)})" if self.exclude else what


def _files(directory: Path) -> Iterator[str]:
    """POSIX paths of the files and links below a directory, as a trial gets them."""
    for place, directories, names in os.walk(directory):
        inner = Path(place).relative_to(directory)
        links = [name for name in directories if os.path.islink(Path(place, name))]
        directories[:] = [name for name in directories if name != ".git" and name not in links]
        for name in (*names, *links):
            yield (inner / name).as_posix()
