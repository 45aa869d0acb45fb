"""What matching costs: the whole example replayed from its cassettes against the same rehearsed."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from pairs import command, compare, options

from skillwalker.packaged import packaged

JOBS = "4"
NO_SLOWER = 1.05
"""Whole runs of the same side differ by more than that."""

if __name__ == "__main__":
    wanted = options(__doc__)
    skillwalker = str(Path(sys.executable).with_name("skillwalker"))
    with tempfile.TemporaryDirectory() as temporary:
        root = shutil.copytree(
            packaged("examples/csv-toolbox"),
            Path(temporary) / "example",
            ignore=shutil.ignore_patterns(".skillwalker"),
        )
        run = (skillwalker, "--root", str(root), "run", "--isolated", "--jobs", JOBS)
        good = compare(
            "replay / rehearsal",
            command(*run, "--replay", str(root / "cassettes")),
            command(*run, "--rehearse"),
            wanted.pairs,
            NO_SLOWER,
        )
    sys.exit(0 if good else 1)
