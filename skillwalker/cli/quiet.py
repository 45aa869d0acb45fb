"""What is seen while one ad hoc trial runs: no outcome, because it has none."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from skillwalker.cli.running import progress_for
from skillwalker.reports.live import LiveProgress, PlainProgress

if TYPE_CHECKING:
    from skillwalker.checks import CheckedTest
    from skillwalker.results import TrialResult


class _QuietLive(LiveProgress):
    def ended(self, test: CheckedTest, result: TrialResult) -> None:
        return None


class _QuietPlain(PlainProgress):
    def ended(self, test: CheckedTest, result: TrialResult) -> None:
        return None


def quiet_progress() -> LiveProgress | PlainProgress:
    """As for a run, without a line at the end."""
    live = isinstance(progress_for(1), LiveProgress)
    return _QuietLive(sys.stderr, 1) if live else _QuietPlain(sys.stderr, 1)
