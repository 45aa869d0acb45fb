"""`skillwalker.toml`, or `[tool.skillwalker]` in `pyproject.toml`: what a project says once and for all.

Read as strictly as `tests.json`, by the converter that also reads the options of expectations: nothing is
guessed, and every problem is told with its file, line and path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, fields_dict, frozen

from skillwalker.errors import ConfigurationError, Problem
from skillwalker.expectations.options import OptionsError
from skillwalker.expectations.options import shown as as_json
from skillwalker.folders import find_inside
from skillwalker.jsonfile import child, decode, read_bytes
from skillwalker.models import MODEL_IDS
from skillwalker.sandbox.base import Limits
from skillwalker.settings import TABLES, ModelTable, NetworkTable, RunTable, SandboxTable, structurer_of
from skillwalker.text import did_you_mean, safe

FILE, PROJECT_FILE = "skillwalker.toml", "pyproject.toml"
PROJECT_TABLE = "tool.skillwalker"

_MAX_DEPTH = 100

_PARSE_PLACE = re.compile(r"(?P<what>.*) \(at (line (?P<line>\d+), column \d+|end of document)\)", re.DOTALL)


@frozen
class Configuration:
    """What a root's configuration says. Where it says nothing, the default is here, and no place.

    Attributes:
        options: What it says of `run`'s options.
        dockerfile: Absolute.
        env: Names of variables.
        allow: `host:port`, normalised.
        prices: As `load_prices` takes them.
        places: `file:line` of each setting that it has, by `jobs` for an option of `run` and by its path
            (`sandbox.cpus`) for another.
        problems: Nothing may start while there are any.
    """

    options: Mapping[str, Any] = field(factory=dict)
    dockerfile: Path | None = None
    limits: Limits = field(factory=Limits)
    env: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    subscription: bool = False
    prices: Mapping[str, Mapping[str, Any]] = field(factory=dict)
    places: Mapping[str, str] = field(factory=dict)
    problems: tuple[Problem, ...] = ()


def read_configuration(root: Path) -> Configuration:
    """The configuration of `root`; never raises for what its files hold."""
    found = []
    for name, tables in ((FILE, ()), (PROJECT_FILE, ("tool", "skillwalker"))):
        try:
            if (one := _document(root / name, tables)) is not None:
                found.append((name, ".".join(tables), *one))
        except ConfigurationError as error:
            problems = (evolve(one, file=name) for one in error.problems)
            return Configuration(problems=tuple(problems))
    if len(found) > 1:
        both = f"{FILE} and [{PROJECT_TABLE}] in {PROJECT_FILE} both have settings: keep one of them"
        return Configuration(problems=(Problem(both, file=FILE),))
    return _read(root, *found[0]) if found else Configuration()


def load_configuration(root: Path) -> Configuration:
    """As `read_configuration`, of what can be used.

    Raises:
        ConfigurationError: with every problem.
    """
    configuration = read_configuration(root)
    if configuration.problems:
        raise ConfigurationError(configuration.problems)
    return configuration


def _document(file: Path, tables: tuple[str, ...]) -> tuple[dict[str, Any], str] | None:
    """What stands in `tables` of `file`, and its text; None where that is nothing.

    Raises:
        ConfigurationError: it cannot be read or is not TOML; its problems have no `file`.
    """
    if not os.path.lexists(file):
        return None
    data = read_bytes(file)
    if tables and tables[-1].encode() not in data:
        return None  # whatever is wrong there is not ours to tell
    import tomllib

    text = decode(data)
    try:
        value: Any = tomllib.loads(text)
        if _depth(value) > _MAX_DEPTH:
            raise RecursionError
    except RecursionError:
        raise ConfigurationError(["is nested too deeply"]) from None
    except ValueError as error:  # TOMLDecodeError, and an integer of over 4,300 digits
        match = _PARSE_PLACE.fullmatch(str(error))
        what = safe(match["what"], 300) if match else "it holds a number of thousands of digits"
        line = match["line"] if match else None
        last = text.rstrip().count("\n") + 1 if match else None
        raise ConfigurationError(
            [Problem(f"is not TOML: {what}", line=int(line) if line else last)]
        ) from None
    for position, table in enumerate(tables):
        value = value.get(table, {})
        if not isinstance(value, dict):
            if position + 1 < len(tables):
                return None
            raise ConfigurationError([Problem(f"must be a table, not {_shown(value)}", path=PROJECT_TABLE)])
    return (value, text) if value else None


def _depth(value: Any) -> int:
    """How many tables and lists lie in each other; dots in a key make as many as one likes."""
    depth, level = 0, [value]
    while level := [one for one in level if isinstance(one, dict | list)]:
        depth += 1
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
    return depth


def _read(root: Path, name: str, prefix: str, value: dict[str, Any], text: str) -> Configuration:
    from skillwalker.tomlscan import lines_of

    reader = _Reader(root, prefix)
    found = reader.read(value)
    lines = lines_of(text)

    def line(path: str) -> int | None:
        while path and path not in lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return lines.get(path)

    def placed(problem: Problem) -> Problem:
        return Problem(problem.message, name, line(problem.path or ""), problem.path)

    problems = sorted(map(placed, reader.problems), key=lambda problem: problem.line or 0)
    places = {key: f"{name}:{line(path)}" for key, path in reader.places.items()}
    return Configuration(**found, places=places, problems=tuple(problems))


@define
class _Reader:
    """Reads one file's tables; goes on after a problem, so that all are told at once."""

    root: Path
    prefix: str
    problems: list[Problem] = field(factory=list)
    places: dict[str, str] = field(factory=dict)

    def read(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of `Configuration` that the file says something of."""
        for key in value:
            if key not in TABLES:
                self._tell(child(self.prefix, key), f"unknown table or key {safe(key, 80)}{_where(key, '')}")
        options = self._table(value, ("run",), RunTable)
        sandbox = self._table(value, ("sandbox",), SandboxTable, more=("network",))
        network = self._table(value, ("sandbox", "network"), NetworkTable)
        model = self._table(value, ("model",), ModelTable)
        for one in [name for name in ("record", "replay", "rehearse") if options.get(name)][1:]:
            self._tell(
                child(self.prefix, "run", one), "rehearse, record and replay exclude each other: keep one"
            )
        if sandbox.get("image") and sandbox.get("dockerfile"):
            self._tell(
                child(self.prefix, "sandbox", "dockerfile"),
                "image and dockerfile exclude each other: keep one",
            )
        if image := sandbox.get("image"):
            options["image"] = image
            self.places["image"] = self.places.pop("sandbox.image")
        limits = {key: sandbox[key] for key in ("memory_mib", "cpus", "pids") if key in sandbox}
        return {
            "options": options,
            "dockerfile": self._dockerfile(sandbox.get("dockerfile")),
            "limits": Limits(**limits),
            "env": self._each(("sandbox", "env"), sandbox.get("env", ()), _variable),
            "allow": self._each(("sandbox", "network", "allow"), network.get("allow", ()), _address),
            "subscription": model.get("subscription", False),
            "prices": self._prices(value["prices"]) if "prices" in value else {},
        }

    def _table(
        self, value: Mapping[str, Any], keys: tuple[str, ...], cls: Any, more: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """What can be used of a table."""
        path = self.prefix
        inner: Any = value
        for key in keys:
            path = child(path, key)
            inner = inner.get(key, {}) if isinstance(inner, dict) else {}
        return self._fields(inner, path, cls, ".".join(keys), more)

    def _fields(
        self, value: Any, path: str, cls: Any, table: str, more: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        if not isinstance(value, dict):
            hint = (
                f"; the model of the tests is {child(self.prefix, 'run', 'model')}"
                if table == "model"
                else ""
            )
            self._tell(path, f"must be a table, not {_shown(value)}{hint}")
            return {}
        found = {}
        known = (*fields_dict(cls), *more)
        for key, one in value.items():
            if key not in known:
                hint = did_you_mean(key, known) or _where(key, table) or f"; there are: {', '.join(known)}"
                self._tell(child(path, key), f"unknown key {safe(key, 80)}{hint}")
            elif key not in more:
                # Each key alone: of several that a validator refuses, the converter would tell the first.
                try:
                    found[key] = getattr(structurer_of(cls)({key: one}, path), key)
                except OptionsError as error:
                    self.problems += error.problems
                else:
                    self.places[key if table == "run" else f"{table}.{key}"] = child(path, key)
        return found

    def _dockerfile(self, name: str | None) -> Path | None:
        if name is None:
            return None
        try:
            return find_inside(self.root, "", name)
        except ValueError as error:
            self._tell(child(self.prefix, "sandbox", "dockerfile"), str(error))
            return None

    def _each(
        self, keys: tuple[str, ...], values: tuple[str, ...], read: Callable[[str], str]
    ) -> tuple[str, ...]:
        """The elements as `read` has them; they must differ."""
        path = child(self.prefix, *keys)
        found: dict[str, str] = {}
        for index, value in enumerate(values):
            place = child(path, index)
            try:
                first = found.setdefault(read(value), place)
            except ValueError as error:
                self._tell(place, f"{_shown(value)} {error}")
            else:
                if first != place:
                    self._tell(place, f"is the same as {first}")
        return tuple(found)

    def _prices(self, value: Any) -> Mapping[str, Any]:
        from skillwalker.prices import load_prices

        path = child(self.prefix, "prices")
        if not isinstance(value, dict):
            self._tell(path, f"must be a table with a table for each model, not {_shown(value)}")
            return {}
        for model in value:
            if model in MODEL_IDS:
                what = f"prices are for a model's id, such as {MODEL_IDS[model]}"
                self._tell(child(path, model), f"is a short name; {what}")
        try:
            load_prices(value, where=path)
        except ConfigurationError as error:
            self.problems += error.problems
        except (ValueError, RecursionError):  # a number of thousands of digits; tables in tables
            self._tell(path, "cannot be read")
        else:
            self.places |= {f"prices.{model}": child(path, model) for model in value}
        return value

    def _tell(self, path: str, message: str) -> None:
        self.problems.append(Problem(message, path=path))


def _where(key: str, table: str) -> str:
    """Where a key belongs that stands in the wrong table, or what it may be a mistyping of."""
    for other, known in TABLES.items():
        if key in known and other != table:
            return f"; it belongs into [{other}]"
    if table:
        return ""
    every = dict.fromkeys([*TABLES, *(name for known in TABLES.values() for name in known)])
    return did_you_mean(key, every) or f"; the tables are {', '.join(TABLES)}"


def _shown(value: Any) -> str:
    try:
        return as_json(value)
    except (ValueError, RecursionError):  # a number of thousands of digits; a table in a thousand others
        return "this"


def _variable(name: str) -> str:
    from skillwalker.sandbox.passing import refusal

    if why := refusal(name):
        raise ValueError(why)
    return name


def _address(text: str) -> str:
    from skillwalker.sandbox.allowed import Address

    return str(Address.parse(text))
