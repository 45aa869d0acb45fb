"""Puts files in their place at once."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Whatever happens, there is the old file or the new one, whole.

    Raises:
        OSError
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)  # `mkstemp` makes it for this user alone
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def rewrite(path: Path, data: bytes) -> None:
    """As `replace`, of what may be somebody's own: a link stays one, and a file keeps its mode.

    Raises:
        OSError
    """
    real = Path(os.path.realpath(path))
    mode = real.stat().st_mode & 0o7777 if real.exists() else 0o644
    replace(real, data, mode)
