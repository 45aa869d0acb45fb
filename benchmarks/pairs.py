"""Two commands in turn, A B A B ..., and the median of the pairs' ratios: right though the speed drifts."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time
from collections.abc import Callable

Side = Callable[[], None]


def seconds(side: Side) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    side()
    return time.perf_counter() - started


def compare(name: str, ours: Side, reference: Side, pairs: int, at_most: float) -> bool:
    """Prints the median ratio; True where it is at most `at_most`. One uncounted call of each comes first."""
    ours()
    reference()
    ratios, times = [], []
    for _ in range(pairs):
        pair = seconds(ours), seconds(reference)
        times.append(pair)
        ratios.append(pair[0] / pair[1])
    median = statistics.median(ratios)
    ours_median, reference_median = (statistics.median(side) for side in zip(*times, strict=True))
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    print(
        f"{name}: {median:.3f} (at most {at_most}; {spread}; "
        f"{ours_median:.3f} s against {reference_median:.3f} s)",
        flush=True,
    )
    return median <= at_most


def command(*arguments: str) -> Side:
    """A side that runs a command and does not look at what it prints."""

    def run() -> None:
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    return run


def options(description: str | None, pairs: int = 10) -> argparse.Namespace:
    """The command line of a benchmark."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--pairs", type=int, default=pairs)
    return parser.parse_args()
