"""How soon the command line answers, as a ratio to what Python alone, or its libraries alone, take.

- `skillwalker --help` against `python -c pass`
- `skillwalker validate` on the example against a process that imports typer, cattrs and entrypoints and runs
  an empty command
"""

from __future__ import annotations

import sys
from pathlib import Path

from pairs import command, compare, options

from skillwalker.packaged import packaged

EMPTY = """
import cattrs, entrypoints, typer
app = typer.Typer()
@app.command()
def nothing() -> None: ...
app()
"""

if __name__ == "__main__":
    wanted = options(__doc__)
    skillwalker = str(Path(sys.executable).with_name("skillwalker"))
    example = str(packaged("examples/csv-toolbox"))
    results = [
        compare(
            "--help / python -c pass",
            command(skillwalker, "--help"),
            command(sys.executable, "-c", "pass"),
            wanted.pairs,
            10.0,
        ),
        compare(
            "validate / empty command",
            command(skillwalker, "--root", example, "validate"),
            command(sys.executable, "-c", EMPTY),
            wanted.pairs,
            1.5,
        ),
    ]
    sys.exit(0 if all(results) else 1)
