"""What a command may print as its last line to say more than its exit code."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from skillwalker.expectations import Detail, Outcome, shown
from skillwalker_expectations_contrib.schemas import NotJsonError, parse

_KEYS = ("passed", "message", "details")
_DETAIL_KEYS = ("name", "passed", "message")


class AnswerError(ValueError):
    """There is an answer that cannot be understood, or none where one is needed."""


@frozen
class Answer:
    """As read; None where it does not say."""

    passed: bool | None
    message: str | None
    details: tuple[Detail, ...]


def read_answer(stdout: str, *, required: bool) -> Answer | None:
    """The JSON object that is all of `stdout` or its last line.

    Args:
        required: Whether it must be there and say whether it passed. Otherwise an object that has other names
            than an answer's is none, but something that another program printed.

    Raises:
        AnswerError
    """
    found = _object(stdout)
    if found is None or not found:
        if required:
            raise AnswerError("its last line is no JSON object")
        return None
    unknown = [key for key in found if key not in _KEYS]
    if unknown:
        if required:
            raise AnswerError(f"{shown(unknown[0])} is unknown; there are: {', '.join(_KEYS)}")
        return None
    answer = Answer(
        _optional(found, "passed", bool, "true or false"),
        _optional(found, "message", str, "a text"),
        _details(found.get("details")),
    )
    if required and answer.passed is None and not answer.details:
        raise AnswerError("it does not say whether it passed")
    return answer


def _object(stdout: str) -> dict[str, Any] | None:
    text = stdout.strip()
    for candidate in (text.rpartition("\n")[2], text):
        try:
            value = parse(candidate)
        except NotJsonError:
            continue
        if isinstance(value, dict):
            return value
    return None


def _optional(found: dict[str, Any], key: str, kind: type[Any], words: str, where: str = "") -> Any:
    value = found.get(key)
    if value is not None and not isinstance(value, kind):
        raise AnswerError(f"{where}{key} must be {words}, not {shown(value)}")
    return value


def _details(value: Any) -> tuple[Detail, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise AnswerError(f"details must be a list of objects, not {shown(value)}")
    return tuple(_detail(one, f"details[{number}].") for number, one in enumerate(value))


def _detail(found: dict[str, Any], where: str) -> Detail:
    if unknown := [key for key in found if key not in _DETAIL_KEYS]:
        raise AnswerError(f"{where}{shown(unknown[0])} is unknown; there are: {', '.join(_DETAIL_KEYS)}")
    name = _optional(found, "name", str, "a text", where)
    if name is None:
        raise AnswerError(f"{where}name is missing")
    passed = _optional(found, "passed", bool, "true, false or null", where)
    outcome = Outcome.UNMEASURED if passed is None else Outcome.of(passed)
    return Detail(name, outcome, _optional(found, "message", str, "a text", where) or "")
