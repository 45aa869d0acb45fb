"""What `skillwalker.toml` can set, and the rules, which the command line and the environment share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from attrs import Attribute, field, fields_dict, frozen
from attrs.validators import ge, gt, le, optional

from skillwalker.evals import MAX_TRIALS
from skillwalker.expectations.options import OptionsError, structurer
from skillwalker.models import MODEL_IDS, is_model
from skillwalker.sandbox.base import Limits
from skillwalker.text import did_you_mean, has_controls, is_blank, safe

MAX_SECONDS = 604_800
"""A week; more is a mistyped number, and so are more jobs than this."""
MAX_JOBS = 1000


def _text(_: Any, attribute: Attribute[Any], value: str | None) -> None:
    if value is None:
        return
    if is_blank(value):
        raise ValueError(f"'{attribute.name}' is {'blank' if value else 'empty'}")
    if has_controls(value):
        raise ValueError(f"'{attribute.name}' holds control characters: {safe(value, 80)}")


def _model(_: Any, attribute: Attribute[Any], value: str | None) -> None:
    if value is not None and not is_model(value):
        hint = did_you_mean(value, MODEL_IDS)
        raise ValueError(
            f"'{attribute.name}' must be opus, sonnet, haiku or a full claude-... name, "
            f"not {safe(value, 80)}{hint}"
        )


def _at_least(bound: float, most: float | None = None) -> Any:
    return optional([ge(bound)] if most is None else [ge(bound), le(most)])


def _limit(name: str) -> Any:
    rule: Any = fields_dict(Limits)[name].validator
    return optional(rule)


@frozen
class RunTable:
    """`[run]`: the options of `run`, named as the long ones with underscores. None: not said."""

    keyword: str | None = field(default=None, validator=_text)
    failed: bool | None = None
    isolated: bool | None = None
    trials: int | None = field(default=None, validator=_at_least(1, MAX_TRIALS))
    stop_early: bool | None = None
    control: bool | None = None
    jobs: int | None = field(default=None, validator=_at_least(1, MAX_JOBS))
    model: str | None = field(default=None, validator=_model)
    judge_model: str | None = field(default=None, validator=_model)
    rehearse: bool | None = None
    record: str | None = field(default=None, validator=_text)
    replay: str | None = field(default=None, validator=_text)
    timeout: float | None = field(default=None, validator=_at_least(1, MAX_SECONDS))
    max_cost: float | None = field(default=None, validator=optional(gt(0)))
    background: bool | None = None
    format: Literal["console", "json"] | None = None
    allow_unmeasured: int | None = field(default=None, validator=_at_least(0))
    dry_run: bool | None = None
    keep: bool | None = None
    claude: str | None = field(default=None, validator=_text)
    yes: bool | None = None
    report: tuple[str, ...] | None = None
    quiet: bool | None = None


@frozen
class SandboxTable:
    """`[sandbox]`, without its table `network`."""

    image: str | None = field(default=None, validator=_text)
    dockerfile: str | None = field(default=None, validator=_text)
    memory_mib: int | None = field(default=None, validator=_limit("memory_mib"))
    cpus: float | None = field(default=None, validator=_limit("cpus"))
    pids: int | None = field(default=None, validator=_limit("pids"))
    env: tuple[str, ...] = ()


@frozen
class NetworkTable:
    """`[sandbox.network]`"""

    allow: tuple[str, ...] = ()


@frozen
class ModelTable:
    """`[model]`"""

    subscription: bool = False


TABLES: Mapping[str, tuple[str, ...]] = {
    "run": tuple(fields_dict(RunTable)),
    "sandbox": (*fields_dict(SandboxTable), "network"),
    "model": tuple(fields_dict(ModelTable)),
    "prices": (),
}

OPTIONS: tuple[str, ...] = (*fields_dict(RunTable), "image")
"""Every option of `run` that can have a default; `--resume` names one run and has none."""


def option_faults(name: str, value: Any) -> tuple[str, ...]:
    """What is wrong with a value for an option of `run`, by the rules of the file."""
    try:
        structurer_of(SandboxTable if name == "image" else RunTable)({name: value}, "")
    except OptionsError as error:
        return tuple(problem.message for problem in error.problems)
    return ()


@cache
def structurer_of(cls: Any) -> Any:
    """The converter for one of the tables, made once."""
    return structurer(cls)
