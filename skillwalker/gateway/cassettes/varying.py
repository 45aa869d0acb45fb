"""Where a text holds what differs between two equal runs: ids that are drawn by lot, times, temporary names.

Each is looked for only where it comes from. What an author may have changed is none of it: a date in a table
is data, and only a time at which the trial ran is the clock's. Ids seen with Claude Code 2.1.197 and 2.1.332.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Literal

from attrs import frozen

Source = Literal["said", "told", "result"]
"""Who wrote a text: the model, Claude Code or the user, a tool."""

BLANK = frozenset({"duration", "date", "kernel", "time", "day", "inode"})
"""Kinds whose values nobody has to name again; the others are numbered, so that an answer can name them."""

MARGIN = timedelta(seconds=90)
"""A listing of files tells minutes only, and an engine's clock may be a little off."""

_SCAN_KEPT_CHARS = 100_000

# In a judge's evidence, results stand as JSON, so a line begins after a written-out \n.
_START = r"(?:(?<![0-9A-Za-z_])|(?<=\\[nrt]))"
_END = r"(?![0-9A-Za-z_])"
_LINE = r"(?:^|(?<=\\n))"
_GAP = r"(?:\s+|\\t)"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"

_IDS = rf"""
    {_START}(?P<uuid>[0-9a-f]{{8}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}-[0-9a-f]{{12}}){_END}
  | {_START}(?P<agent>a[0-9a-f]{{16}}){_END}
  | {_START}(?P<evidence>evidence-[0-9a-f]{{24}}){_END}
  | (?P<run>skillwalker-run-[0-9A-Za-z_-]{{8}})(?![0-9A-Za-z])  # a directory of trials on this machine
  | (?<=/tool-results/)(?P<file>[0-9A-Za-z_-]+)(?=\.)
  | (?<=/tasks/)(?P<task>b[0-9a-z]{{8}})(?=\.output)
  | (?<=in\ background\ with\ ID:\ )(?P<task2>b[0-9a-z]{{8}}){_END}
  | (?<=<task-id>)(?P<task3>[0-9A-Za-z_-]+)(?=</task-id>)
  | (?P<literal>\[\[[a-z]+(?:\ \d+)?\]\])  # what looks like a placeholder is one for itself
"""
_TOLD = r"""
  | (?<=duration_ms:\ )(?P<duration>\d+)
  | (?<=<duration_ms>)(?P<duration2>\d+)
  | (?<=Today's\ date\ is\ )(?P<date>[^\n.<]+)
  | (?<=Today's\ date:\ )(?P<date2>[^\n<]+)
  | (?<=OS\ Version:\ )(?P<kernel>[^\n<]+)
"""
_RESULT = rf"""
  | (?<=duration_ms)(?P<duration3>[:\ "]{{1,4}}\d+(?:\.\d+)?)
  | (?<=\bin\ )(?P<duration4>\d+(?:\.\d+)?\ ?(?:ms|s|sec|seconds)){_END}
  | {_START}(?:real|user|sys){_GAP}(?P<duration5>\d+m\d+\.\d+s){_END}
  | (?:Time|Duration|took):?{_GAP}(?P<duration6>\d+(?:\.\d+)?\ ?m?s){_END}
  | (?<=\()(?P<duration7>\d+(?:\.\d+)?\ ?m?s)(?=\))
  | (?<=Inode:\ )(?P<inode>\d+)
  | (?<=CLAUDE_CODE_MESSAGING_TOKEN=)(?P<token>[0-9a-f]{{32}}){_END}
  | (?<=/)(?P<temp>tmp\.[0-9A-Za-z]{{10}}|tmp[a-z0-9_]{{8}}){_END}
  | {_START}(?P<time>
        \d{{4}}-\d\d-\d\d[T\ ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|\ ?[+-]\d\d:?\d\d)?
      | \d{{8}}[T_-]\d{{4}}(?:\d\d)?Z?
      | {_DAY}\ {_MONTH}\ [\ \d]?\d\ \d\d:\d\d:\d\d(?:\ [AP]M)?(?:\ [A-Z]{{3,4}})?\ \d{{4}}(?:\ [+-]\d{{4}})?
      | {_DAY}\ {_MONTH}\ \d\d\ \d{{4}}\ \d\d:\d\d:\d\d(?:\ GMT[+-]\d{{4}})?
      | \d\d?/{_MONTH}/\d{{4}}:\d\d:\d\d:\d\d(?:\ [+-]\d{{4}})?
      | (?:\d{{4}}/\d\d/\d\d|\d\d?/\d\d?/\d{{4}}|\d\d?\.\d\d?\.\d{{4}}),?\ \d\d?:\d\d(?::\d\d)?
        (?:\.\d+|\ [AP]M)?
      | {_DAY},\ \d\d?\ {_MONTH}\ \d{{4}}\ \d\d:\d\d:\d\d\ (?:GMT|[+-]\d{{4}})
      | {_MONTH}\ [\ \d]?\d\ \d\d:\d\d(?::\d\d)?
      | \d{{10}}(?:\.\d+)?
      | \d{{13}}(?:\d{{3}}){{0,2}}
    ){_END}
"""
_GIT = rf"""
  | {_LINE}(?P<commit>[0-9a-f]{{7,40}})(?=\ )
  | {_LINE}(?P<commit7>(?=\d*[a-f])[0-9a-f]{{7,40}})(?=$|\\n|")
  | (?<=commit\ )(?P<commit2>[0-9a-f]{{7,40}}){_END}
  | (?<=now\ at\ )(?P<commit3>[0-9a-f]{{7,40}}){_END}
  | (?<=\ )(?P<commit4>[0-9a-f]{{7,40}})(?=\]\ )
  | {_START}(?P<commit5>[0-9a-f]{{7,40}})(?=\.\.[0-9a-f]{{7,40}}{_END})
  | (?<=[0-9a-f]\.\.)(?P<commit6>[0-9a-f]{{7,40}}){_END}
"""
_DATE = rf"""
  | {_START}(?P<day>
        \d{{4}}[-/]\d\d[-/]\d\d|\d\d[./]\d\d[./]\d{{4}}|\d{{8}}|\d\d:\d\d(?::\d\d(?:\.\d+)?)?
    ){_END}
"""
_DAYS = ("%Y-%m-%d", "%Y%m%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y")
_NUMERIC = re.compile(
    r"(\d+)[/.](\d+)[/.](\d+),? (?P<hour>\d+):(?P<minute>\d+)(?::(?P<second>\d+))?(?:\.\d+)?"
    r"(?: (?P<half>[AP])M)?"
)
_FLAGS = re.VERBOSE | re.MULTILINE
_TEMPLATE = re.compile(r"(?<![\w.-])([\w.-]+[._-])(X{3,})")  # of `mktemp`, whose command names it
_NUMBER = re.compile(r"\d+$")


@frozen
class Spot:
    """One place in a text."""

    start: int
    end: int
    kind: str
    value: str


def spots(text: str, source: Source, command: str = "") -> tuple[Spot, ...]:
    """The places that hold something that may vary, in their order.

    Args:
        command: What a shell was asked to do, of a result.
    """
    git, date = re.search(r"\bgit\b", command) is not None, re.search(r"\bdate\b", command) is not None
    templates = tuple(_TEMPLATE.findall(command)) if "mktemp" in command else ()
    scan = _scan_again if len(text) <= _SCAN_KEPT_CHARS else _scan
    return scan(text, source, git, date, templates)


def _scan(
    text: str, source: Source, git: bool, date: bool, templates: tuple[tuple[str, str], ...]
) -> tuple[Spot, ...]:
    return tuple(_spots(text, _pattern(source, git, date, templates)))


# The same texts come with every request of a trial, and many with every trial.
_scan_again = functools.lru_cache(maxsize=256)(_scan)


@functools.lru_cache(maxsize=256)
def _pattern(
    source: Source, git: bool, date: bool, templates: tuple[tuple[str, str], ...]
) -> re.Pattern[str]:
    parts = [_IDS]
    if source != "said":
        parts.append(_TOLD)
    if source == "result":
        made = (
            rf"| (?<={re.escape(before)})(?P<temp{number}>[0-9A-Za-z]{{{len(letters)}}}){_END}"
            for number, (before, letters) in enumerate(templates)
        )
        parts += [*made, _RESULT, _GIT if git else "", _DATE if date else ""]
    return re.compile("".join(parts), _FLAGS)


def _spots(text: str, pattern: re.Pattern[str]) -> Iterator[Spot]:
    for match in pattern.finditer(text):
        group = match.lastgroup
        assert group
        yield Spot(match.start(group), match.end(group), _NUMBER.sub("", group), match[group])


@frozen
class Window:
    """When a trial ran, so far."""

    start: datetime
    end: datetime

    def holds(self, written: str) -> bool:
        """Whether the time that is written down lies in it, in UTC or in this machine's zone."""
        here = self.end.astimezone().utcoffset() or timedelta()
        for moment in _moments(written, self.end):
            if moment.tzinfo is not None:
                found = [moment]
            else:
                found = [moment.replace(tzinfo=UTC), moment.replace(tzinfo=UTC) - here]
            if any(self.start - MARGIN <= one <= self.end + MARGIN for one in found):
                return True
        return False

    def holds_day(self, written: str) -> bool:
        """The same of a day or a time of day without the other."""
        here = self.end.astimezone().utcoffset() or timedelta()
        for offset in (timedelta(), here):
            start, end = self.start + offset - MARGIN, self.end + offset + MARGIN
            if ":" in written:
                times = (f"{start:%Y-%m-%d} {written}", f"{end:%Y-%m-%d} {written}")
                if any(self.holds(one) for one in times):
                    return True
            elif any(written in (f"{start:{how}}", f"{end:{how}}") for how in _DAYS):
                return True
        return False


def _moments(written: str, now: datetime) -> Iterator[datetime]:
    """What a written time may mean; without a zone where it tells none."""
    try:
        if re.fullmatch(r"\d{10}(\.\d+)?|\d{13}(\d{3}){0,2}", written):
            whole, _, _ = written.partition(".")
            yield datetime.fromtimestamp(int(whole) / 10 ** (len(whole) - 10), UTC)
        elif match := _NUMERIC.fullmatch(written):
            yield from _numeric(match)
        elif "/" in written:
            yield from _in_forms(written, ("%d/%b/%Y:%H:%M:%S", "%d/%b/%Y:%H:%M:%S %z"))
        elif re.match(r"\d{4}-", written):
            yield datetime.fromisoformat(re.sub(r" (?=[+-]\d\d:?\d\d$)", "", written.replace(",", ".")))
        elif written[0].isdigit():
            digits = re.sub(r"\D", "", written)
            yield datetime.strptime(digits.ljust(14, "0"), "%Y%m%d%H%M%S")
        elif "," in written:
            yield parsedate_to_datetime(written)
        elif re.match(_MONTH, written):
            for year in (now.year, now.year - 1):
                yield from _in_forms(f"{year} {written}", ("%Y %b %d %H:%M", "%Y %b %d %H:%M:%S"))
        elif re.match(rf"{_DAY} {_MONTH} \d\d \d{{4}}", written):
            yield from _in_forms(written, ("%a %b %d %Y %H:%M:%S", "%a %b %d %Y %H:%M:%S GMT%z"))
        else:
            yield _of_date_program(written)
    except (ValueError, OverflowError, OSError):
        return


def _numeric(match: re.Match[str]) -> Iterator[datetime]:
    """`11/12/2026` is a day in November or in December; nobody knows."""
    first, second, third = (int(match[number]) for number in (1, 2, 3))
    hour, minute, moment = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    if match["half"]:
        hour = hour % 12 + 12 * (match["half"] == "P")
    days = [(first, second, third)] if first > 31 else [(third, second, first), (third, first, second)]
    for day in days:
        with contextlib.suppress(ValueError):
            yield datetime(*day, hour, minute, moment)


def _in_forms(written: str, forms: Iterable[str]) -> Iterator[datetime]:
    """What it means in those forms that it has."""
    for form in forms:
        with contextlib.suppress(ValueError):
            yield datetime.strptime(written, form)


def _of_date_program(written: str) -> datetime:
    """`Mon Nov 30 14:23:04 UTC 2026` as `date` prints it, and as `git log` does with an offset at its end."""
    written, offset = (written[:-6], written[-5:]) if written[-5] in "+-" else (written, "")
    parts = written.split()
    clock, rest = parts[3], parts[4:]
    half = rest.pop(0) if rest[0] in ("AM", "PM") else ""
    text = " ".join((*parts[1:3], clock, half, rest[-1], offset)).replace("  ", " ").strip()
    hours = "%I:%M:%S %p" if half else "%H:%M:%S"
    return datetime.strptime(text, f"%b %d {hours} %Y" + (" %z" if offset else ""))
