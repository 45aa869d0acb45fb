"""Looks at cassettes before a start: what cannot be replayed at all, and what will be missed."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from skillwalker.errors import Problem
from skillwalker.gateway.cassettes.cassette import CassetteError, Purpose, cassette_file
from skillwalker.gateway.cassettes.files import read
from skillwalker.gateway.cassettes.shared import SharedParts
from skillwalker.text import listed

_RECORD = "record with --record"


def check(
    directory: Path, trial_ids: Collection[str], judged_trial_ids: Collection[str] = ()
) -> list[Problem]:
    """Everything that makes a replay of these trials impossible or pointless; empty if it may start.

    That some trials have no cassette is no such thing: see `missing`.

    Args:
        judged_trial_ids: Those of them that ask a judge.
    """
    if not os.path.isdir(directory):  # no error, whatever the name
        what = "is no directory" if os.path.exists(directory) else "does not exist"
        todo = "name another" if os.path.exists(directory) else f"a run with --record {directory} makes it"
        return [Problem(f"this directory of cassettes {what}: {todo}", str(directory))]
    # Where no trial is to run, stored ones are judged again.
    purpose: Purpose = "trial" if trial_ids else "judge"
    paths = [cassette_file(directory, one, purpose) for one in sorted(trial_ids or judged_trial_ids)]
    if paths and not any(map(os.path.exists, paths)):
        many = f"the {len(paths)} trials, such as {paths[0].name}"
        what = f"no cassette for any of {many}" if len(paths) > 1 else f"no cassette {paths[0].name}"
        return [Problem(f"it has {what}; {_RECORD}", str(directory))]
    return list(_unreadable(directory, trial_ids, judged_trial_ids))


def missing(directory: Path, trial_ids: Collection[str], judged_trial_ids: Collection[str] = ()) -> list[str]:
    """Notices: which trials will end as `cassette-miss` since they have no cassette."""
    without = sorted(one for one in trial_ids if not os.path.exists(cassette_file(directory, one, "trial")))
    silent = sorted(
        one
        for one in judged_trial_ids
        if one not in without and not os.path.exists(cassette_file(directory, one, "judge"))
    )
    notices = []
    if without:
        notices.append(f"no cassette in {directory} for {listed(without, 3)}: {_RECORD}")
    if silent:
        notices.append(f"no judge's cassette in {directory} for {listed(silent, 3)}: {_RECORD}")
    return notices


def asked_by_claude_code(directory: Path, trial_ids: Iterable[str]) -> Iterator[str]:
    """The trials whose judge, as it was recorded, is a Claude Code; nothing is said of damaged cassettes."""
    for one in trial_ids:
        try:
            with cassette_file(directory, one, "judge").open("rb") as file:
                header = json.loads(file.readline())
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(header, dict) and header.get("claude_code"):
            yield one


def _unreadable(directory: Path, trial_ids: Collection[str], judged: Collection[str]) -> Iterator[Problem]:
    paths = [cassette_file(directory, one, "trial") for one in trial_ids]
    paths += [cassette_file(directory, one, "judge") for one in judged]
    shared = SharedParts(directory)
    for path in paths:
        try:
            read(path, shared)
        except FileNotFoundError:
            continue
        except CassetteError as error:
            yield Problem(error.reason, str(path), error.line)
        except OSError as error:
            yield Problem(f"it cannot be read: {error.strerror}", str(path))
