"""Commands that parse without pydantic where there is nothing to convert.

Typer converts every parameter through pydantic, a tenth of a second to import, also those not given.
Texts, paths, words from a closed list and plain numbers need none of it; what is wrong still goes that way.
A path is taken as it is written: typer's own checks of paths are not for commands of this kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from skillwalker.cli.options import globals_of

Process = Callable[[Any, Any], Any]

ANYWHERE = {"root": "given_root", "verbose": "given_verbose", "quiet": "given_quiet"}
"""Options of the program that may stand after the command too, and where `Globals` has what they say."""

_NUMBERS = {int: re.compile(r"[0-9]{1,9}"), float: re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")}

_IN_OUR_WORDS = (
    (r"Input should be greater than or equal to (\S+)", r"must be at least \1"),
    (r"Input should be less than or equal to (\S+)", r"must be at most \1"),
    (r"Input should be a valid integer.*", "must be a whole number"),
    (r"Input should be a valid number.*", "must be a number"),
)
"""What pydantic says of a number, and what we say."""


class _Quick:
    """What commands and groups have in common."""

    def get_params(self, ctx: Any) -> Any:
        return _quick(super().get_params(ctx))  # type: ignore[misc]

    def parse_args(self, ctx: Any, args: Any) -> Any:
        try:
            return super().parse_args(ctx, args)  # type: ignore[misc]
        except typer.TyperException as error:
            _explain_unknown(error, ctx)
            _explain_usage(error, ctx)
            raise


class QuickCommand(_Quick, TyperCommand):
    """A command with quick parameters, and with those of the program, which may stand before it as well."""

    def get_params(self, ctx: Any) -> Any:
        found = super().get_params(ctx)
        known = ctx.find_root()
        if ctx is known:
            return found
        own = _options(found)
        anywhere = [_of_program(one) for one in known.command.params if _fits(one, own)]
        return [*found[:-1], *anywhere, *found[-1:]]  # the last is --help


class QuickGroup(_Quick, TyperGroup):
    """A group with quick parameters of its own."""

    def resolve_command(self, ctx: Any, args: Any) -> Any:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from skillwalker.cli.meant import no_command
            from skillwalker.errors import ConfigurationError

            told = no_command(args[0], ctx.command_path, self.list_commands(ctx), top=ctx.parent is None)
            raise ConfigurationError([told])
        return super().resolve_command(ctx, args)


def _options(parameters: Any) -> set[str]:
    return {option for parameter in parameters for option in parameter.opts}


def _fits(parameter: Any, own: set[str]) -> bool:
    return parameter.name in ANYWHERE and own.isdisjoint(parameter.opts)


def _of_program(parameter: Any) -> Any:
    """The same option for a command, but none of the arguments of its function."""
    found = copy(parameter)
    found.process_value = partial(_set, ANYWHERE[parameter.name], parameter.process_value)
    found.expose_value = False
    return found


def _set(attribute: str, process: Process, context: Any, value: Any) -> None:
    """What is said after the command beats what is said before it."""
    if value is not None:
        setattr(globals_of(context), attribute, process(context, value))


def _quick(parameters: Any) -> Any:
    for parameter in parameters:
        if not isinstance(parameter.process_value, partial):
            parameter.process_value = partial(_process, parameter, parameter.process_value)
            _name_plainly(parameter)
    return parameters


def _name_plainly(parameter: Any) -> None:
    """In help an argument has its name alone: that it is a text says nothing."""
    if parameter.param_type_name != "argument" or parameter.metavar is None:
        return
    parameter.display_type_rich = lambda ctx: ""
    if " " in parameter.metavar:  # it tells itself which words come in which order
        parameter._usage_display_name = lambda: parameter.metavar


def _is_word(annotation: Any, value: Any) -> bool:
    """Whether `value` is one of a closed list's words."""
    return isinstance(annotation, type) and issubclass(annotation, StrEnum) and value in list(annotation)


def _number(parameter: Any, annotation: Any, value: Any) -> int | float | None:
    """The number that `value` is, within the parameter's limits; None where that is for others to judge."""
    pattern = _NUMBERS.get(annotation)
    if pattern is None or not isinstance(value, str) or not pattern.fullmatch(value):
        return None
    found: int | float = annotation(value)
    low, high = parameter.min, parameter.max
    return found if (low is None or found >= low) and (high is None or found <= high) else None


def _explain_unknown(error: typer.TyperException, context: Any) -> None:
    """Raises ConfigurationError where `error` is about an option that is not there."""
    name = getattr(error, "option_name", None)
    if name is None or not hasattr(error, "possibilities"):
        return
    from skillwalker.errors import ConfigurationError
    from skillwalker.text import did_you_mean, safe

    parameters = context.command.get_params(context)
    hint = did_you_mean(name, [option for parameter in parameters for option in parameter.opts])
    for parameter in parameters:
        if _is_word(parameter.type_descriptor.annotation, name.lstrip("-")):
            hint = f" (did you mean {parameter.opts[0]} {name.lstrip('-')}?)"
    above = context.parent.command.get_params(context.parent) if context.parent else ()
    if any(name in parameter.opts for parameter in above):
        hint = "; write it before the command"
    below = getattr(context.command, "commands", {}).values()
    if any(name in parameter.opts for command in below for parameter in command.get_params(context)):
        hint = "; write it after the command"
    raise ConfigurationError([f"{context.command_path} has no option {safe(name)}{hint}"])


def _explain_usage(error: typer.TyperException, context: Any) -> None:
    """Raises ConfigurationError, which also says where to look, for words too many or too few."""
    message = error.format_message()
    path = context.command_path
    if match := re.fullmatch(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)\.?", message, re.DOTALL):
        message = f"{path} has no place for {match[1]}"
    elif not re.match(r"Missing |Option .* requires ", message):
        return
    from skillwalker.errors import ConfigurationError

    raise ConfigurationError([f"{message.rstrip('.')}; see `{path} --help`"])


def _process(parameter: Any, process: Process, context: Any, value: Any) -> Any:
    """As `_processed`, and what is wrong with `value` is said in our words.

    Raises:
        ConfigurationError: `value` is no such word or number.
    """
    try:
        return _processed(parameter, process, context, value)
    except typer.BadParameter as error:
        from skillwalker.errors import ConfigurationError
        from skillwalker.text import did_you_mean, listed, safe

        name = f"{parameter.opts[-1]} " if parameter.opts[-1].startswith("-") else ""
        annotation = parameter.type_descriptor.annotation
        if isinstance(value, str) and isinstance(annotation, type) and issubclass(annotation, StrEnum):
            words = [str(word) for word in annotation]
            hint = did_you_mean(value, words)
            raise ConfigurationError([f"{name}{safe(value)} is not one of {listed(words)}{hint}"]) from None
        for theirs, ours in _IN_OUR_WORDS:
            if match := re.fullmatch(theirs, error.message):
                raise ConfigurationError([f"{name}{match.expand(ours)}, not {safe(str(value))}"]) from None
        raise


def _processed(parameter: Any, process: Process, context: Any, value: Any) -> Any:
    """As `process`, which is the parameter's own way, but without a conversion where none is needed."""
    if parameter.required:
        return process(context, value)
    annotation = parameter.type_descriptor.annotation
    if value is None or value is parameter.default:
        found = value
    elif (annotation in (str, Path) and isinstance(value, str)) or _is_word(annotation, value):
        found = annotation(value)
    elif (number := _number(parameter, annotation, value)) is not None:
        found = number
    elif (annotation is bool and isinstance(value, bool)) or (
        annotation == list[str] and isinstance(value, tuple | list)
    ):
        found = value
    else:
        return process(context, value)
    return found if parameter.callback is None else parameter.callback(context, parameter, found)
