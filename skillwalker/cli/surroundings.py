"""What reports take from the environment."""

from __future__ import annotations

import os
from pathlib import Path

from skillwalker.reports.formats import Surroundings


def surroundings() -> Surroundings:
    """GitHub Actions' directory of the repository and file for step summaries, where this is a step of it."""
    workspace, summary = (os.environ.get(name) for name in ("GITHUB_WORKSPACE", "GITHUB_STEP_SUMMARY"))
    return Surroundings(Path(workspace) if workspace else None, Path(summary) if summary else None)
