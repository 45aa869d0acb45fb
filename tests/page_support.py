"""docs/expectations.md as a list of files and commands, and a reader who does all that it says."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import NamedTuple

from roots import write
from wheel_support import Installed

from skillwalker.packaged import packaged

PAGE = (Path(__file__).parents[1] / "docs" / "expectations.md").read_text("utf-8")


class Step(NamedTuple):
    """A command of the page, and what the page shows of its output."""

    command: str
    output: str | None


def files() -> dict[str, str]:
    return dict(re.findall(r"<!-- file: (\S+) -->\n```\w*\n(.*?)```\n", PAGE, re.DOTALL))


def steps() -> list[Step]:
    found = []
    for block, output in re.findall(r"```console\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", PAGE, re.DOTALL):
        commands = [line.removeprefix("$ ") for line in block.splitlines()]
        found += [Step(command, None) for command in commands[:-1]]
        found.append(Step(commands[-1], output or None))
    return found


def follow(reader: Installed, directory: Path, *, with_containers: bool) -> None:
    """Does what the page says, in its order."""
    shutil.copytree(packaged("examples/csv-toolbox"), directory, dirs_exist_ok=True)
    for name, content in files().items():
        write(directory / name, content)
    for step in steps():
        if "--isolated" in step.command and not with_containers:
            continue
        done = reader.shell(step.command, directory)
        assert done.returncode == 0, f"{step.command}\n{done.stdout}\n{done.stderr}"
        if step.output is not None:
            assert done.stdout == step.output
