"""`skillwalker validate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from skillwalker.cli.listing import failed_in_last
from skillwalker.cli.options import Changed, Failed, Format, Globals, Keyword, Output, Select, globals_of

if TYPE_CHECKING:
    from skillwalker.checks import CheckedTest
    from skillwalker.errors import Problem


def validate(
    context: typer.Context,
    select: Select = None,
    keyword: Keyword = None,
    failed: Failed = False,
    changed: Changed = False,
    output: Output = Format.CONSOLE,
) -> None:
    """Check everything that can be known without starting anything."""
    from skillwalker.cli.each_root import in_each_root
    from skillwalker.text import count

    known = globals_of(context)

    def look(root: Path, words: tuple[str, ...]) -> tuple[CheckedTest, ...]:
        return _valid_tests(known, root, words, keyword, failed=failed, any_eval=not changed)

    checked = [one for _, tests in in_each_root(known, select or (), look, changed=changed) for one in tests]
    evals = len({one.eval.directory for one in checked})
    tests = len(checked)
    if output is Format.JSON:
        import json

        typer.echo(json.dumps({"problems": [], "evals": evals, "tests": tests}))
    else:
        typer.echo(f"{count(tests, 'test')} in {count(evals, 'eval')} {'is' if tests == 1 else 'are'} valid")


def _valid_tests(
    known: Globals,
    root: Path,
    words: tuple[str, ...],
    keyword: str | None,
    *,
    failed: bool,
    any_eval: bool,
) -> tuple[CheckedTest, ...]:
    """The selected tests of `root`; without `any_eval` none where nothing is selected.

    Raises:
        ConfigurationError: all that is wrong with them, and with the configuration.
        NothingSelectedError
    """
    from skillwalker.checks import Checked, check
    from skillwalker.errors import ConfigurationError, NothingSelectedError
    from skillwalker.select import Selection

    wrong, told = _settings(root)
    before = failed_in_last(root) if failed else None
    checked, notes = Checked((), ()), tuple[str, ...]()
    try:
        if words or any_eval:
            checked, notes = check(Selection(Path.cwd(), words, keyword, before), root)
    except NothingSelectedError:
        if wrong:
            raise ConfigurationError(wrong) from None
        raise
    known.tell_notes((*told, *notes, *checked.notices))
    problems: list[Problem | str] = [*wrong, *checked.problems, *checked.broken]
    if problems:
        raise ConfigurationError(problems)
    return checked.tests


def _settings(root: Path) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    """Problems and notes of configuration and environment; quick where neither says anything."""
    import os

    from skillwalker.places import CONFIGURATION

    written = any(os.path.lexists(root / name) for name in CONFIGURATION)
    if not written and not any(name.startswith("SKILLWALKER_") for name in os.environ):
        return (), ()
    from skillwalker.configuration import read_configuration
    from skillwalker.sources import settle

    settled = settle({}, os.environ, read_configuration(root))
    return tuple(settled.problems), tuple(settled.notes)
