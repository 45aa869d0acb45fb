"""With what two runs ran that is not the same: versions and options."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from skillwalker.comparison.changes import Change
from skillwalker.events import as_dict
from skillwalker.reports.source import Source
from skillwalker.text import safe

_VERSIONS = ("skillwalker", "claude_code_version", "image", "sandbox", "python")
_NOT_TOLD = ("select", "keyword", "failed", "jobs", "keep")  # they choose tests, or change no trial


def setting_changes(before: Source, after: Source) -> Iterator[Change]:
    """Versions and options; what an option that was not given meant is told where the tests tell it."""
    sides = (before, after)
    shared = {(one.eval, one.name) for one in before.run.tests}
    shared &= {(one.eval, one.name) for one in after.run.tests}
    options = [as_dict(one.manifest.get("options")) for one in sides]
    pairs = {key: [one.manifest.get(key) for one in sides] for key in _VERSIONS}
    for key in dict.fromkeys([*options[0], *options[1]]):
        if key not in _NOT_TOLD and key not in pairs:
            pairs[key] = [one.get(key) for one in options]
    if len(set(map(str, pairs.get("trials", ())))) == 2:
        pairs["trials"] = [
            _planned(side, shared) if given is None else given
            for side, given in zip(sides, pairs["trials"], strict=True)
        ]
    for key, (left, right) in pairs.items():
        if left != right:
            yield Change(key.replace("_", " "), _value(left), _value(right))


def _planned(source: Source, shared: Collection[tuple[str, str]]) -> int | str | None:
    """How many trials the tests said: those that both runs have, or all where they share none."""
    tests = source.run.tests
    told = {one.planned for one in tests if not shared or (one.eval, one.name) in shared}
    if len(told) > 1:
        return f"{min(told)} to {max(told)}"
    return next(iter(told), None)


def _value(value: Any) -> str:
    return "none" if value is None else safe(str(value), 80)
