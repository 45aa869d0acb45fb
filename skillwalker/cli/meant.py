"""What to type in place of a command that is not there."""

from __future__ import annotations

import os
from collections.abc import Collection

from skillwalker.cli.options import evals_here
from skillwalker.text import did_you_mean, listed, safe

_ELSEWHERE = {
    "build": "image build",
    "cassettes": "run --record DIR",
    "check": "validate",
    "clean": "prune",
    "create": "init",
    "diff": "compare",
    "eval": "run",
    "evals": "list evals",
    "evaluate": "run",
    "export": "list evals --as evals-json",
    "follow": "show --follow",
    "help": "--help",
    "history": "list runs",
    "html": "report --report html=FILE",
    "import": "init --from PATH",
    "junit": "report --report junit=FILE",
    "logs": "show --follow",
    "ls": "list",
    "new": "init",
    "record": "run --record DIR",
    "rehearse": "run --rehearse",
    "replay": "run --replay DIR",
    "results": "show",
    "resume": "run --resume RUN",
    "runs": "list runs",
    "start": "run",
    "status": "show",
    "test": "run",
    "tests": "list evals",
    "types": "expectations list",
    "version": "--version",
}
"""Words by which people look for what is there under another name."""


def no_command(word: str, group: str, commands: Collection[str], *, top: bool) -> str:
    """What is said of a word that is no command.

    Args:
        group: The program, with the command that has these `commands`.
        top: Whether these are all commands of the program.
    """
    what = f"{group} has no command {safe(word, 80)}"
    if top and word in _ELSEWHERE:
        return f"{what}: type `{group} {_ELSEWHERE[word]}`"
    if hint := did_you_mean(word, commands):
        return f"{what}{hint}"
    if top and (word.partition("::")[0] in evals_here("") or os.path.exists(word)):
        return f"{what}: to run an eval of that name, or there, type `{group} run {safe(word, 80)}`"
    known = f"; there are {listed(commands)}" if not top else ""
    return f"{what}{known}; `{group} --help` tells what each does"
