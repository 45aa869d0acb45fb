"""Commands that parse without pydantic where there is nothing to convert.

Typer converts every parameter through pydantic, a tenth of a second to import, also those not given.
Texts, paths and words from a closed list need none of it; numbers, and whatever is wrong, still go that way.
A path is taken as it is written: typer's own checks of paths are not for commands of this kind.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

Process = Callable[[Any, Any], Any]


class QuickCommand(TyperCommand):
    """A command with quick parameters."""

    def get_params(self, ctx: Any) -> Any:
        return _quick(super().get_params(ctx))


class QuickGroup(TyperGroup):
    """A group with quick parameters of its own."""

    def get_params(self, ctx: Any) -> Any:
        return _quick(super().get_params(ctx))


def _quick(parameters: Any) -> Any:
    for parameter in parameters:
        if not isinstance(parameter.process_value, partial):
            parameter.process_value = partial(_process, parameter, parameter.process_value)
    return parameters


def _is_word(annotation: Any, value: Any) -> bool:
    """Whether `value` is one of a closed list's words."""
    return isinstance(annotation, type) and issubclass(annotation, StrEnum) and value in list(annotation)


def _process(parameter: Any, process: Process, context: Any, value: Any) -> Any:
    """As `process`, which is the parameter's own way, but without a conversion where none is needed."""
    if parameter.required:
        return process(context, value)
    annotation = parameter.type_descriptor.annotation
    if value is None or value is parameter.default:
        found = value
    elif (annotation in (str, Path) and isinstance(value, str)) or _is_word(annotation, value):
        found = annotation(value)
    elif annotation == list[str] and isinstance(value, tuple | list):
        found = value
    else:
        return process(context, value)
    return found if parameter.callback is None else parameter.callback(context, parameter, found)
