"""All rules over the selected tests; what is about an eval looks at all of its tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from skillwalker.checks import CheckedTest, check_evals
from skillwalker.errors import ConfigurationError, Problem
from skillwalker.expectations.registry import Registry
from skillwalker.jsonfile import decode, locate, read_bytes
from skillwalker.lint import activation, answers, descriptions, files
from skillwalker.lint.finding import Finding, Remark
from skillwalker.loading import find_evals
from skillwalker.select import Selection
from skillwalker.text import safe


@frozen
class Linted:
    """What was found, in the order of files and lines."""

    findings: tuple[Finding, ...]
    tests: int
    evals: int
    notes: tuple[str, ...] = ()


def lint(selection: Selection, root: Path) -> Linted:
    """Looks at the selected tests; starts nothing and asks no model.

    Raises:
        NothingSelectedError: a part of the selection matches nothing.
        ConfigurationError: the evals have problems; `validate` tells the same.
    """
    found = find_evals(root)
    registry = Registry.scan()
    checked = check_evals(selection.directories(found.evals), root, registry)
    if checked.problems:
        raise ConfigurationError(checked.problems)
    evals = tuple({id(one.eval): one.eval for one in checked.tests}.values())
    chosen = {(each.name, test.name) for each, test in selection.tests(evals)}
    texts: dict[Path, str] = {}
    findings: list[Finding] = []
    for each in evals:
        tests = [one for one in checked.tests if one.eval is each]
        wanted = [one for one in tests if (each.name, one.test.name) in chosen]
        if not wanted:
            continue
        try:
            findings += (_placed(one, root, texts) for one in _remarks(tests, wanted))
        except OSError as error:  # of a scaffold
            raise ConfigurationError(
                [Problem(f"cannot be read: {error.strerror}", file=str(error.filename))]
            ) from None
    selected = [one for one in checked.tests if (one.eval.name, one.test.name) in chosen]
    findings += descriptions.findings(selected, root)
    unique = dict.fromkeys(sorted(findings, key=lambda one: (one.file, one.line or 0, one.rule)))
    told = dict.fromkeys(
        (*descriptions.notes(selected), *files.notes(selected), *map(str, checked.script_notes))
    )
    notes = (*found.notes, *registry.problems, *checked.broken, *told)
    return Linted(tuple(unique), len(chosen), len({name for name, _ in chosen}), notes)


def _remarks(tests: list[CheckedTest], wanted: list[CheckedTest]) -> Iterator[Remark]:
    ids = set(map(id, wanted))
    yield from (one for one in activation.remarks(tests) if id(one.test) in ids)
    yield from descriptions.remarks(wanted)
    for test in wanted:
        yield from answers.remarks(test)
        yield from files.remarks(test)


def _placed(remark: Remark, root: Path, texts: dict[Path, str]) -> Finding:
    file = remark.test.eval.file
    if file not in texts:
        try:
            texts[file] = decode(read_bytes(file))
        except ConfigurationError:  # changed since it was loaded
            texts[file] = ""
    shown = safe((file.relative_to(root) if file.is_relative_to(root) else file).as_posix())
    return Finding(remark.rule, remark.message, shown, locate(texts[file], remark.path), remark.path)
