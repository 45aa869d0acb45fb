"""Files that an installed Skillwalker brings along, and a checkout has at its top."""

from __future__ import annotations

from pathlib import Path

from skillwalker.errors import SkillwalkerError

_PACKAGE = Path(__file__).parent


def packaged(name: str) -> Path:
    """The file or directory, e.g. `Dockerfile.sandbox` or `examples/csv-toolbox`.

    Raises:
        SkillwalkerError: it is in neither place.
    """
    for directory in (_PACKAGE / "data", _PACKAGE.parent):
        if (directory / name).exists():
            return directory / name
    raise SkillwalkerError(f"{name} is missing from this installation of Skillwalker; install it again")
