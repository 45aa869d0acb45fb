"""Which cassettes get their places: only those that a replay can play to the same end.

What a trial said is complete when its link has ended, but what it is worth is known only when it was judged.
A part of a trial never takes the place of a whole one.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from attrs import define, field

from skillwalker.gateway.cassettes.cassette import Cassette, Purpose, cassette_file
from skillwalker.gateway.cassettes.files import said, texts, write
from skillwalker.gateway.cassettes.shared import SharedParts
from skillwalker.outcomes import Outcome, Reason
from skillwalker.text import listed

REPEATABLE = frozenset(
    {
        Reason.API_ERROR,
        Reason.RATE_LIMITED,
        Reason.OUT_OF_MEMORY,
        Reason.DISK_LIMIT,
        Reason.PLUGIN_NOT_LOADED,
        Reason.NOT_LISTED,
        Reason.CONTAMINATED,
        Reason.CASSETTE_MISS,
        Reason.JUDGE_ERROR,
        Reason.EXPECTATION_ERROR,
    }
)
"""Ends that come again when the same is answered again. At any other one a trial was cut short from outside:
by a clock, a cap, a user, or a container that was lost. The rest of its answers was never given."""

_SHOWN = 5


@define
class Keeping:
    """Holds what was recorded until it is known what came of its trial. Safe from any thread, each trial on
    one at a time.

    Attributes:
        problems: What could not be written, in words.
    """

    _directory: Path
    _shared: SharedParts = field(init=False)
    _waiting: dict[tuple[str, Purpose], Cassette] = field(factory=dict)
    _stayed: list[str] = field(factory=list)
    _dropped: list[str] = field(factory=list)
    problems: list[str] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self._shared = SharedParts(self._directory)

    def hold(self, cassette: Cassette) -> None:
        """Takes what was recorded of a caller whose link has ended."""
        self._waiting[cassette.trial_id, cassette.purpose] = cassette

    def said(self, trial_id: str) -> tuple[str, ...]:
        """What the model said in a trial, as it was recorded last."""
        held = self._waiting.get((trial_id, "trial"))
        return texts(held) if held else said(self._directory, trial_id)

    def settle(self, trial_id: str, outcome: Outcome, reason: Reason | None) -> None:
        """Puts what is held of a trial in its place, or drops it.

        A new judge's cassette goes with that of its trial; an earlier one goes when its trial's is replaced.
        """
        trial, judge = (self._waiting.pop((trial_id, purpose), None) for purpose in ("trial", "judge"))
        path = cassette_file(self._directory, trial_id, "judge" if judge and not trial else "trial")
        why = f"{path.name} ({reason})"
        try:
            # Without a reason it is whole, also where nobody expected anything of it.
            if reason is not None and (outcome is Outcome.UNMEASURED or reason not in REPEATABLE):
                if path.exists():
                    self._stayed.append(why)
                    return
                if reason not in REPEATABLE and (trial or judge):
                    self._dropped.append(why)
                    return
            for cassette in filter(None, (trial, judge)):
                path = cassette_file(self._directory, trial_id, cassette.purpose)
                write(path, cassette, self._shared)
            if trial and not judge:
                cassette_file(self._directory, trial_id, "judge").unlink(missing_ok=True)
        except OSError as error:
            self.problems.append(f"{path} could not be written: {error.strerror or error}")

    def close(self) -> tuple[str, ...]:
        """Removes the shared parts of cassettes that are no more; says all that there is to tell."""
        for trial_id, purpose in self._waiting:
            self._dropped.append(f"{cassette_file(self._directory, trial_id, purpose).name} (not finished)")
        self._waiting.clear()
        try:
            self._shared.tidy()
        except OSError as error:
            self.problems.append(f"{self._directory} could not be tidied: {error.strerror or error}")
        return tuple(filter(None, (*self.problems, _stayed(self._stayed), _dropped(self._dropped))))


def _stayed(names: Iterable[str]) -> str:
    found = sorted(names)
    told = "kept as recorded before, since the new trials were not measured"
    return f"{told}: {listed(found, _SHOWN)}; to renew one all the same, remove it first" if found else ""


def _dropped(names: Iterable[str]) -> str:
    found = sorted(names)
    told = "not recorded, since the trials were cut short"
    return f"{told}: {listed(found, _SHOWN)}" if found else ""
