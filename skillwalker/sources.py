"""Where the options of a run come from: command line, environment, configuration, in this order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from attrs import field, fields_dict, frozen

from skillwalker.configuration import Configuration
from skillwalker.errors import Problem
from skillwalker.settings import OPTIONS, RunTable, option_faults
from skillwalker.text import did_you_mean, safe

if TYPE_CHECKING:
    from skillwalker.request import RunRequest

PREFIX = "SKILLWALKER_"

FIELDS = {"timeout": "timeout_seconds", "max_cost": "max_cost_usd", "yes": "permitted"}
"""The fields of a request that are not named as their options."""

NO_FIELDS = ("format", "dry_run", "report", "quiet")
"""Options that are about the command, not about the run."""

BESIDE_RESUME = ("yes", *NO_FIELDS)
"""What environment and configuration may say to a run that is gone on with; the rest it has itself."""

_OTHERS = (f"{PREFIX}CA_FILE", f"{PREFIX}TEST_")
"""What looks like a mistyped option and is none; the other variables of ours look like nothing else."""

_ANSWERS = ("rehearse", "record", "replay")
_PATHS = ("record", "replay", "claude")
_TYPED = {"keyword": "-k"}
_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


@frozen
class Origin:
    """Where a value comes from.

    Attributes:
        place: `file:line`, a variable's name or a run's id, where there is one.
    """

    source: Literal["default", "file", "environment", "command line", "run"] = "default"
    place: str | None = None

    def __str__(self) -> str:
        return f"{self.source} {self.place}" if self.place else self.source


@frozen
class Settled:
    """What holds, of all that was said.

    Attributes:
        values: By the option's name; what nobody said is not there.
        origins: The same, and the settings of the configuration by their paths, such as `sandbox.cpus`.
        problems: Nothing may start while there are any.
        notes: What a user should know, a sentence each.
    """

    values: Mapping[str, Any]
    origins: Mapping[str, Origin]
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    configuration: Configuration = field(factory=Configuration)

    def said(self) -> frozenset[str]:
        """The fields of a request that the command line names."""
        return frozenset(
            FIELDS.get(name, name)
            for name in self.values
            if self.origins[name].source == "command line" and name not in NO_FIELDS
        )

    def request(self, root: Path, cwd: Path, select: tuple[str, ...] = ()) -> RunRequest:
        """The request for a run. Paths in the configuration are relative to `root`, others to `cwd`."""
        from skillwalker.request import RunRequest  # all that a run needs; `validate` does not

        values = {name: value for name, value in self.values.items() if name not in NO_FIELDS}
        for name in _PATHS:
            if name in values:
                base = root if self.origins[name].source == "file" else cwd
                values[name] = _path(name, values[name], base, cwd)
        # What is meant for the other kind of sandbox, and not for this call, does no harm.
        unused = "claude" if values.get("isolated") else "image"
        if unused in values and self.origins[unused].source != "command line":
            del values[unused]
        own = self.configuration
        return RunRequest(
            root=root,
            cwd=cwd,
            select=select,
            dockerfile=None if self.values.get("image") else own.dockerfile,
            limits=own.limits,
            sandbox_env=own.env,
            network_allow=own.allow,
            subscription=own.subscription,
            prices=own.prices,
            **{FIELDS.get(name, name): value for name, value in values.items()},
        )


def settle(
    given: Mapping[str, Any],
    environment: Mapping[str, str],
    configuration: Configuration,
    *,
    resuming: bool = False,
) -> Settled:
    """What holds; never raises.

    Args:
        given: What the command line said, by the option's name; None where it said nothing.
        resuming: A stored run is gone on with: only the command line, and who asks, can add to it.
    """
    named, typed, problems = _usable(given, environment)
    if resuming:
        named = _only(named, BESIDE_RESUME)
        configuration = Configuration(
            options=_only(configuration.options, BESIDE_RESUME),
            places=_only(configuration.places, BESIDE_RESUME),
            problems=configuration.problems,
        )
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    for layer, where in (
        (configuration.options, {key: Origin("file", place) for key, place in configuration.places.items()}),
        (named, {name: Origin("environment", variable(name)) for name in named}),
        (typed, {name: Origin("command line") for name in typed}),
    ):
        if any(layer.get(name) for name in _ANSWERS):  # who answers is one choice
            for name in _ANSWERS:
                values.pop(name, None)
                origins.pop(name, None)
        values |= layer
        origins |= where
    return Settled(
        values, origins, (*problems, *configuration.problems), tuple(_mistyped(environment)), configuration
    )


def variable(option: str) -> str:
    """The variable that gives an option's default."""
    return PREFIX + option.upper()


def typed_as(option: str) -> str:
    """The option as it is typed."""
    return _TYPED.get(option, "--" + option.replace("_", "-"))


def _usable(
    given: Mapping[str, Any], environment: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Any], list[Problem]]:
    """What variables and command line say as far as it can be used, and the problems of the rest."""
    named: dict[str, Any] = {}
    problems = []
    for option in OPTIONS:
        if text := environment.get(variable(option)):  # an empty one says nothing
            try:
                named[option] = _read(text, option)
            except ValueError as error:
                problems.append(Problem(f"{variable(option)} must be {error}, not {safe(text, 80)}"))
    typed = {name: value for name, value in given.items() if value is not None}
    for layer, spelled in ((typed, typed_as), (named, variable)):
        for name in tuple(layer):
            if faults := option_faults(name, layer[name]):
                problems += (Problem(f"{spelled(name)} {fault}") for fault in faults)
                del layer[name]
        chosen = [spelled(name) for name in _ANSWERS if layer.get(name)]
        if len(chosen) > 1:
            problems.append(Problem(f"{' and '.join(chosen)} exclude each other: give one of them"))
    return named, typed, problems


def _read(text: str, option: str) -> Any:
    """The value that a variable's text means.

    Raises:
        ValueError: it means none; says what is wanted.
    """
    wanted = fields_dict(RunTable)[option].type if option != "image" else "str"
    match str(wanted).partition(" ")[0]:
        case "bool":
            if text.lower() not in _TRUTH:
                raise ValueError("true or false")
            return _TRUTH[text.lower()]
        case "int":
            if not _INTEGER.fullmatch(text):
                raise ValueError("a whole number")
            return int(text)
        case "float":
            try:
                return float(text)
            except ValueError:
                raise ValueError("a number") from None
        case "tuple[str,":
            return [part.strip() for part in text.split(",") if part.strip()]
    return text


def _mistyped(environment: Mapping[str, str]) -> Iterator[str]:
    known = [variable(option) for option in OPTIONS]
    for name in environment:
        if name.startswith(PREFIX) and not name.startswith(_OTHERS) and name not in known:
            hint = did_you_mean(name.removeprefix(PREFIX), [option.upper() for option in OPTIONS])
            if hint:
                yield f"{safe(name, 80)} is no variable of ours{hint}"


def _only(layer: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in layer.items() if name in names}


def _path(name: str, value: str, base: Path, cwd: Path) -> str | Path:
    if name == "claude":  # a name is looked for on PATH
        return str(base / value) if "/" in value and base != cwd else value
    return base / value
