"""Variables of the runner's environment that the configuration gives to trials, treated as secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from skillwalker.errors import ConfigurationError, Problem
from skillwalker.redaction import SHORTEST
from skillwalker.text import listed

SETTING = "sandbox.env"
"""Where the names stand in the configuration, for messages."""

_LINE = 16
"""Characters; a line of a longer secret, such as a key file, that is one by itself."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PROXIES = re.compile(r"(HTTP|HTTPS|ALL|FTP|NO)_PROXY", re.IGNORECASE)
_OURS = re.compile(
    r"PATH|HOME|(OLD)?PWD|SHELL|USER|LOGNAME|HOSTNAME|IFS|ENV|BASH_ENV|BASHOPTS|SHELLOPTS|BASH_FUNC_.*|TMPDIR"
    r"|API_TIMEOUT_MS|DISABLE_AUTOUPDATER|IS_SANDBOX|LD_.*|DYLD_.*|BUN_.*"
    r"|GIT_(DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY)"
)
_CREDENTIALS = ("ANTHROPIC_", "CLAUDE")
_FOR_US = "SKILLWALKER_"


def passed_environment(names: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """The named variables with their values.

    Raises:
        ConfigurationError: with every name that cannot be given to a trial or has no value here.
    """
    found, problems = {}, []
    for index, name in enumerate(names):
        problem = refusal(name)
        if problem is None:
            value = environment.get(name, "")
            if not value:  # where a secret is missing, continuous integration sets an empty one
                problem = "is not set in the environment of skillwalker, or is empty: set it, or take it out"
            elif not _is_text(value):
                problem = "has a value that is no UTF-8"
            found[name] = value
        if problem:
            problems.append(Problem(f"{SETTING}[{index}]: {name} {problem}"))
    if problems:
        raise ConfigurationError(problems)
    return found


def refusal(name: str) -> str | None:
    """Why a variable cannot be given to trials, in words that follow on its name; None if it can."""
    if not _NAME.fullmatch(name):
        return "is no name of a variable: letters, digits and underscores"
    if name.startswith(_CREDENTIALS):
        return (
            "is for Claude Code itself, which a trial gets from Skillwalker: no credential enters a sandbox"
        )
    if _PROXIES.fullmatch(name):
        return "leads nowhere in a sandbox: list what trials may reach in sandbox.network.allow"
    if _OURS.fullmatch(name):
        return "belongs to the sandbox, where Claude Code would break with another value"
    if name.startswith(_FOR_US):
        return "is for skillwalker itself, and no trial gets to know how it is run: take another name"
    return None


def secrets_of(passed: Mapping[str, str]) -> tuple[str, ...]:
    """What must be in nothing that is kept or shown: the values, and their long lines."""
    found = dict.fromkeys(passed.values())
    for value in passed.values():
        lines = [line.strip() for line in value.splitlines()]
        if len(lines) > 1:
            found.update(dict.fromkeys(line for line in lines if len(line) >= _LINE))
    return tuple(found)


def passing_notices(passed: Mapping[str, str]) -> tuple[str, ...]:
    """What a user should know before the start."""
    short = [name for name, value in passed.items() if len(value) < SHORTEST]
    if not short:
        return ()
    return (
        f"{listed(short)} of {SETTING}: a value of fewer than {SHORTEST} characters is not found in what "
        "trials write and say, so it is not overwritten there",
    )


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
