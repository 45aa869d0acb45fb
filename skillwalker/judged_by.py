"""The files of an eval that verdicts depend on, such as rubrics, by their content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping

from skillwalker.checks import CheckedTest
from skillwalker.evals import Test
from skillwalker.expectations.bound import Bound
from skillwalker.folders import find_inside
from skillwalker.text import safe


def judged_by(checked: CheckedTest) -> dict[str, str]:
    """The SHA-256 of each file that a test's expectations name, by its path in the eval's directory.

    What cannot be read is left out: `requires` of its type has told, or the verdict will.
    """
    found: dict[str, str] = {}
    for bound in checked.expectations:
        for name in _named(bound, checked):
            try:
                data = find_inside(checked.eval.directory, "", name).read_bytes()
            except (OSError, ValueError):
                continue
            found[name] = hashlib.sha256(data).hexdigest()
    return found


def changed_meanwhile(before: Iterable[tuple[CheckedTest, Mapping[str, str]]]) -> tuple[str, ...]:
    """What to tell of files that are not any more what they were when a run began.

    Args:
        before: Tests, each with what `judged_by` gave then.
    """
    names = {
        f"evals/{checked.eval.name}/{path}": None
        for checked, then in before
        for now in [judged_by(checked)]
        for path in dict.fromkeys([*then, *now])
        if then.get(path) != now.get(path)
    }
    return tuple(
        f"{safe(name)} has changed while the run went on, so trials may have been judged by two versions; "
        "judge them again with rejudge"
        for name in names
    )


def _named(bound: Bound, checked: CheckedTest) -> Iterator[str]:
    files = getattr(bound.expectation, "files", None)
    if not callable(files):
        return
    try:
        names = list(files(checked.eval))
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 (another package's code; a run does not depend on it)
        return
    yield from (name for name in names if isinstance(name, str))


def prompt_digest(test: Test) -> str:
    """The SHA-256 of what a test asks."""
    return hashlib.sha256(test.prompt.encode("utf-8", "surrogatepass")).hexdigest()


def expect_digest(test: Test) -> str:
    """The SHA-256 of what a test expects."""
    written = [[spec.type, spec.value] for spec in test.expect]
    return hashlib.sha256(json.dumps(written, sort_keys=True).encode()).hexdigest()
