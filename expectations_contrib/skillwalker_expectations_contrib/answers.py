"""Types about the final text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar
from unicodedata import normalize

from attrs import field, frozen

from skillwalker.expectations import Eval, NotObservedError, Test, Trial, Verdict, find_inside, safe
from skillwalker_expectations_contrib.patterns import around, is_flags, is_pattern, search

_BEGINNING = 160
_FILE_LIMIT = 4 << 20


@frozen
class ResultMatches:
    r"""The final text matches a regular expression.

    The pattern may match anywhere; anchor it with `^` and `$` if it must not. It is Python's syntax. An empty
    or missing final text fails, whatever is expected.

    Attributes:
        pattern: The regular expression.
        flags: Any of `i` (capitals do not count), `m` (`^` and `$` at every line), `s` (a dot is also a line
            break), `x` (spaces and comments in the pattern).
        expected: false if it must not match.

    Examples:
        {"result-matches": "^# Code Review"}
        {"result-matches": {"pattern": "\\bTODO\\b", "flags": "i", "expected": false}}
    """

    shorthand: ClassVar[str] = "pattern"

    pattern: str = field(validator=is_pattern)
    flags: str = field(default="", validator=is_flags)
    expected: bool = True

    def check(self, trial: Trial) -> Verdict:
        final = trial.final_text
        quoted = f"/{safe(self.pattern, 100)}/{self.flags}"
        if not final.strip():
            return Verdict.of(False, f"the final text is empty; looked for {quoted}")
        match = search(self.pattern, final, self.flags)
        if match is None:
            message = f'{quoted} matches nothing in the final text, which begins: "{safe(final, _BEGINNING)}"'
            return Verdict.of(False, message, expected=self.expected)
        message = f"{quoted} matches in the final text: {around(final, *match.span())}"
        return Verdict.of(True, message, expected=self.expected)


def _one_of_both(instance: Any, _: Any, value: str | None) -> None:
    if (value is None) == (instance.text is None):
        raise ValueError("needs one of the options text and file, not both")


def _not_empty(_: Any, attribute: Any, value: str | None) -> None:
    if value is not None and not value.strip():
        raise ValueError(f"'{attribute.name}' must not be empty: an empty final text always fails")


@frozen
class ResultEquals:
    """The final text is exactly a given one.

    Space and line breaks at its beginning and end do not count unless `trim` is false; how lines end never
    does. An empty or missing final text fails.

    Attributes:
        text: The text.
        file: Instead of `text`, a file in the eval's directory that holds it.
        trim: Whether space at the beginning and the end is left out of both texts.
        ignoreCase: Whether capitals do not count.

    Examples:
        {"result-equals": "42"}
        {"result-equals": {"text": "yes", "ignoreCase": true}}
    """

    shorthand: ClassVar[str] = "text"

    text: str | None = field(default=None, validator=_not_empty)
    file: str | None = field(default=None, validator=_one_of_both)
    trim: bool = True
    ignore_case: bool = field(default=False, alias="ignoreCase")

    def requires(self, eval: Eval, test: Test) -> Iterable[str]:
        try:
            wanted = self._wanted(eval)
        except ValueError as error:
            yield f"file: {error}"
        else:
            if not wanted.strip():
                yield f"file: {self.file} is empty, and an empty final text always fails"

    def check(self, trial: Trial) -> Verdict:
        final = trial.final_text
        try:
            wanted = self._wanted(trial.eval)
        except ValueError as error:  # it was there before the run
            raise NotObservedError(
                f"whether the final text is the one in {self.file} ({error})", None
            ) from error
        if not final.strip():
            return Verdict.of(False, f'the final text is empty; expected "{safe(wanted, _BEGINNING)}"')
        found, expected = self._comparable(final), self._comparable(wanted)
        if found == expected:
            return Verdict.of(True, f'the final text is "{safe(wanted, _BEGINNING)}"')
        return Verdict.of(False, _difference(found, expected))

    def _wanted(self, eval: Eval) -> str:
        if self.file is None:
            return self.text or ""
        return read_text(eval, self.file)

    def _comparable(self, text: str) -> str:
        text = text.replace("\r\n", "\n")
        text = text.strip() if self.trim else text
        return text.casefold() if self.ignore_case else text


def read_text(eval: Eval, name: str) -> str:
    """A text file in the eval's directory.

    Raises:
        ValueError: it is not there, leads out of the directory, is too large or is no UTF-8.
    """
    path = find_inside(eval.directory, "", name)
    try:
        with path.open("rb") as file:
            data = file.read(_FILE_LIMIT + 1)
    except OSError as error:
        raise ValueError(f"{name} cannot be read: {error.strerror}") from error
    if len(data) > _FILE_LIMIT:
        raise ValueError(f"{name} is larger than {_FILE_LIMIT >> 20} MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{name} is no text in UTF-8") from None


def _difference(found: str, expected: str) -> str:
    """Where two texts part, with what stands there."""
    if normalize("NFC", found) == normalize("NFC", expected):
        return "the final text looks like the expected one, but has other code points (Unicode's NFC and NFD)"
    place = next(
        (at for at, (one, other) in enumerate(zip(found, expected, strict=False)) if one != other),
        min(len(found), len(expected)),
    )
    line = expected.count("\n", 0, place) + 1
    begin = max(0, place - 20)
    said, wanted = (
        f'"{safe(text[begin:], 80)}"' if text[begin:] else "the end" for text in (found, expected)
    )
    return f"the final text differs from the expected one in line {line}: found {said}, expected {wanted}"
