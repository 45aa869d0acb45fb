"""When trials began, so that what a clock told them can be known."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from attrs import define, field

from skillwalker.gateway.responders import Exchange

Clock = Callable[[], datetime]


def now() -> datetime:
    """The time of day of this machine."""
    return datetime.now(UTC)


@define
class Starts:
    """When each trial began; its judge reads of times since then."""

    _clock: Clock
    _trials: dict[str, datetime] = field(factory=dict)

    def of(self, exchange: Exchange) -> datetime:
        """When the trial began, told by the first exchange of one of its links.

        A link is opened before the sandbox is made; a trial that is run anew begins anew.
        """
        opened = self._clock() - timedelta(seconds=exchange.age_seconds)
        if exchange.caller.purpose == "trial":
            self._trials[exchange.caller.trial_id] = opened
        return self._trials.get(exchange.caller.trial_id, opened)
