"""A file or a directory of another tool -> what can be taken over."""

from __future__ import annotations

from pathlib import Path

from attrs import field, frozen

from skillwalker.errors import ConfigurationError, Problem
from skillwalker.importing.plugin_eval import find_cases, read_case
from skillwalker.importing.shapes import part_for, read_lines, read_value
from skillwalker.importing.values import Found, NotImportableError
from skillwalker.jsonfile import decode, parse, read_bytes
from skillwalker.text import safe

_JSON = (".json", ".jsonl")
_EVALS = "evals"


@frozen
class Imported:
    """What was read.

    Attributes:
        files: Where it stood.
        refused: Other files that lay there, and why they are none, a line each.
    """

    found: Found
    files: tuple[Path, ...]
    refused: tuple[str, ...] = field(default=())


def read_source(source: Path, skill: str = "") -> Imported:
    """Everything that `source` holds.

    Args:
        skill: The skill meant (without its plugin), for a file about several; empty: not known.

    Raises:
        ConfigurationError: nothing there can be taken over; says why.
    """
    try:
        if not source.exists():
            raise ConfigurationError([Problem("does not exist", file=safe(str(source)))])
        if source.is_dir():
            return _read_directory(source, skill)
    except OSError as error:
        where = safe(str(error.filename or source))
        raise ConfigurationError([Problem(f"cannot be read: {error.strerror}", file=where)]) from None
    found = Found()
    try:
        if source.name in ("case.yaml", "prompt.md"):
            read_case(source.parent, found)
        else:
            _read_file(source, found, skill)
    except NotImportableError as error:
        raise ConfigurationError([Problem(str(error), file=safe(str(source)))]) from None
    return Imported(found, (source,))


def _read_directory(directory: Path, skill: str) -> Imported:
    found, files, refused = Found(), [], []
    cases = find_cases(directory)
    for case in cases:
        try:
            read_case(case, found)
            files.append(case)
        except NotImportableError as error:
            refused.append(f"{safe(str(case))}: {error}")
    if not cases:
        where = directory / _EVALS if (directory / _EVALS).is_dir() else directory
        for file in sorted(where.iterdir()):
            if file.suffix in _JSON and file.is_file():
                own = Found()
                try:
                    _read_file(file, own, skill)
                except (NotImportableError, ConfigurationError) as error:
                    why = error.problems[0].message if isinstance(error, ConfigurationError) else str(error)
                    refused.append(f"{safe(file.name)}: {why}")
                    continue
                files.append(file)
                found.add(own)
    if not files:
        what = "holds no list of queries, no evals.json and no case of `claude plugin eval`"
        raise ConfigurationError(
            [Problem(what, file=safe(str(directory))), *(Problem(one) for one in refused)]
        )
    return Imported(found, tuple(files), tuple(refused))


def _read_file(file: Path, found: Found, skill: str) -> None:
    """Raises NotImportableError, or ConfigurationError for what is no JSON."""
    try:
        text = decode(read_bytes(file))
        if file.suffix == ".jsonl":
            read_value(read_lines(text), found)
            return
        value = parse(text).value
    except ConfigurationError as error:
        raise ConfigurationError(
            [Problem(one.message, file=safe(str(file))) for one in error.problems]
        ) from None
    part = part_for(value, skill) if skill else value
    if part is not value:
        found.skills[skill] = None
    read_value(part, found)
