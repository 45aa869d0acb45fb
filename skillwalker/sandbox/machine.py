"""What this machine has, or the container that this process runs in."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")


def cpus() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_bytes(cgroups: Path = CGROUPS) -> int:
    found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):  # no such file, or it says `max`
            found = min(found, int((cgroups / limit).read_text("ascii")))
    return found
