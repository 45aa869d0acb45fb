"""What reports there are, how they are asked for, and how they come into their files."""

from __future__ import annotations

import contextlib
import enum
import os
import secrets
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from attrs import frozen

from skillwalker.errors import ConfigurationError
from skillwalker.reports.source import Source
from skillwalker.text import did_you_mean, listed, safe

if TYPE_CHECKING:
    from skillwalker.comparison.compare import Comparison
    from skillwalker.rejudged import Rejudged
    from skillwalker.store import RunDirectory


class ReportFormat(enum.StrEnum):
    """A kind of report."""

    JUNIT = "junit"
    GITHUB = "github"
    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"


@frozen
class ReportSpec:
    """One report that is wanted.

    Attributes:
        file: None means standard output.
    """

    format: ReportFormat
    file: Path | None

    def __str__(self) -> str:
        return f"{self.format}={'-' if self.file is None else self.file}"


@frozen
class Surroundings:
    """What a report takes from where it is made.

    Attributes:
        base: Directory of the repository: annotations name files relative to it.
        summary: File to which GitHub Actions wants a step summary to be added.
    """

    base: Path | None = None
    summary: Path | None = None


def parse_reports(texts: Sequence[str], *, stdout: str | None = None) -> tuple[ReportSpec, ...]:
    """The reports that `FORMAT=FILE` ask for, checked as far as can be before there is anything to report.

    Args:
        stdout: What standard output is for already, where a report has no room there, such as
            `--format json`.

    Raises:
        ConfigurationError: with every problem.
    """
    problems: list[str] = []
    specs: list[ReportSpec] = []
    for text in texts:
        word, equals, target = text.partition("=")
        if word not in list(ReportFormat):
            what = "no FORMAT=FILE" if not equals else f"no format{did_you_mean(word, list(ReportFormat))}"
            formats = listed(list(ReportFormat))
            problems.append(f"--report {safe(text)} is {what}: write FORMAT=FILE, FORMAT one of {formats}")
            continue
        if not target:
            problems.append(f"--report {safe(text)} names no file: write {word}=FILE, or {word}=- for stdout")
            continue
        spec = ReportSpec(ReportFormat(word), None if target == "-" else Path(target))
        problems += _target_problems(spec, specs, stdout)
        specs.append(spec)
    if problems:
        raise ConfigurationError(problems)
    return tuple(specs)


def write_reports(
    directory: RunDirectory,
    specs: Iterable[ReportSpec],
    *,
    root: Path | None = None,
    surroundings: Surroundings | None = None,
    comparison: Comparison | None = None,
    again: Rejudged | None = None,
) -> tuple[str, ...]:
    """Makes reports of a stored run; each is written whole, or not at all.

    Args:
        root: Where the run's evals are, for lines of `tests.json` and for diffs; if not given, the root in
            whose `.skillwalker` the run lies.
        comparison: Goes into the HTML.
        again: Later verdicts, which are told in place of the run's own.

    Returns:
        Why reports could not be written, a sentence each; the others are.

    Raises:
        ConfigurationError: the directory does not hold a whole run.
    """
    specs = tuple(specs)
    if not specs:
        return ()
    source = Source.of(directory, root, again)
    failures = []
    for spec in specs:
        try:
            with _opened(spec.file) as file:
                file.writelines(_pieces(spec.format, source, surroundings or Surroundings(), comparison))
            if spec.format is ReportFormat.GITHUB and surroundings and surroundings.summary:
                _add_summary(source, surroundings.summary)
        except BrokenPipeError:  # who reads standard output has had enough
            continue
        except OSError as error:
            failures.append(f"--report {safe(str(spec))} could not be written: {error.strerror or error}")
    return tuple(failures)


def _pieces(
    kind: ReportFormat, source: Source, surroundings: Surroundings, comparison: Comparison | None
) -> Iterator[str]:
    match kind:
        case ReportFormat.JUNIT:
            from skillwalker.reports.junit import junit

            return junit(source)
        case ReportFormat.GITHUB:
            from skillwalker.reports.github import github

            return github(source, surroundings.base)
        case ReportFormat.MARKDOWN:
            from skillwalker.reports.markdown import markdown

            return markdown(source)
        case ReportFormat.HTML:
            from skillwalker.reports.html import html

            return html(source, comparison)
        case ReportFormat.JSON:
            import json

            from skillwalker.records import run_object
            from skillwalker.rejudged import rejudged_object

            more = rejudged_object(source.again) if source.again else {}
            return iter([json.dumps({**run_object(source.run), **more}), "\n"])


def _add_summary(source: Source, file: Path) -> None:
    from skillwalker.reports.markdown import markdown

    with file.open("a", encoding="utf-8") as summary:
        summary.writelines(markdown(source))


def _target_problems(spec: ReportSpec, before: list[ReportSpec], stdout: str | None) -> Iterator[str]:
    shown = safe(str(spec))
    if spec.file is None:
        if stdout:
            yield f"--report {shown} and {stdout} would both go to stdout: name a file"
        elif any(one.file is None for one in before):
            yield f"--report {shown}: another report goes to stdout already: name a file"
        return
    if any(one.file and _same(one.file, spec.file) for one in before):
        yield f"--report {shown}: another report goes to this file already"
    try:
        if spec.file.is_dir():
            yield f"--report {shown} names a directory, not a file"
        elif why := _unwritable(spec.file):
            yield f"--report {shown} cannot be written: {why}"
    except (OSError, ValueError) as error:  # a name that is no name
        yield f"--report {shown} cannot be written: {getattr(error, 'strerror', None) or error}"


def _unwritable(file: Path) -> str | None:
    if file.exists():
        writable = os.access(file, os.W_OK) and (not file.is_file() or os.access(file.parent, os.W_OK))
        return None if writable else "no permission"
    parent = next(one for one in file.absolute().parents if one.exists())
    if not parent.is_dir():
        return f"{safe(str(parent))} is no directory"
    return None if os.access(parent, os.W_OK | os.X_OK) else f"no permission in {safe(str(parent))}"


def _same(one: Path, other: Path) -> bool:
    return os.path.abspath(one) == os.path.abspath(other)


@contextlib.contextmanager
def _opened(file: Path | None) -> Iterator[IO[str]]:
    """A place to write to; a file is replaced only when all has been written."""
    if file is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    if file.exists() and not file.is_file():  # a device or a FIFO, such as /dev/stderr
        with file.open("w", encoding="utf-8") as written:
            yield written
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name[:100]}.{secrets.token_hex(4)}")
    try:
        with temporary.open("x", encoding="utf-8") as written:
            yield written
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
