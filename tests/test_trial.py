"""Whether a trial says yes, no or not observed of a skill or an agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from transcripts import (
    NAMES,
)

from skillwalker.agent_uses import AgentUse
from skillwalker.expectations.base import Health, Trial
from skillwalker.outcomes import Observation, Reason
from skillwalker.skill_uses import SkillUse
from skillwalker.transcript import Transcript


class TestCalledOrNot:
    """`Trial.skill_called` and `agent_called`: yes, no, or not observed."""

    def trial(self, transcript: Transcript, reason: Reason | None = None) -> Trial:
        nothing: Any = None
        return Trial(eval=nothing, test=nothing, transcript=transcript, health=Health(reason), names=NAMES)

    @pytest.mark.parametrize(
        ("loaded", "reason", "seen"),
        [
            (True, None, Observation.YES),
            (True, Reason.TIMEOUT, Observation.YES),
            (False, None, Observation.NOT_OBSERVED),
            (None, None, Observation.NOT_OBSERVED),
        ],
    )
    def test_a_skill_that_was_attempted(
        self, tmp_path: Path, loaded: bool | None, reason: Reason | None, seen: Observation
    ) -> None:
        trial = self.trial(Transcript(tmp_path, skills=(SkillUse("acme:tidy-csv", 1, loaded),)), reason)
        assert trial.skill_called("acme:tidy") is seen

    @pytest.mark.parametrize(
        ("transcript", "reason", "seen"),
        [
            ({}, None, Observation.NO),
            ({}, Reason.STALLED, Observation.NOT_OBSERVED),
            ({"skills_hidden": True}, None, Observation.NOT_OBSERVED),
            ({"agents_hidden": True}, None, Observation.NOT_OBSERVED),
        ],
    )
    def test_what_was_not_seen(
        self, tmp_path: Path, transcript: dict[str, Any], reason: Reason | None, seen: Observation
    ) -> None:
        trial = self.trial(Transcript(tmp_path, **transcript), reason)
        asked = trial.agent_called if "agents_hidden" in transcript else trial.skill_called
        assert asked("acme:auditor") is seen

    def test_a_name_with_two_owners_answers_for_neither(self, tmp_path: Path) -> None:
        use = SkillUse("shared", 1, True, candidates=("acme:shared", "other:shared"))
        trial = self.trial(Transcript(tmp_path, skills=(use,)))
        assert trial.skill_called("acme:shared") is Observation.NOT_OBSERVED
        assert trial.skill_called("acme:report") is Observation.NO

    @pytest.mark.parametrize(
        ("started", "seen"),
        [(True, Observation.YES), (False, Observation.NOT_OBSERVED), (None, Observation.NOT_OBSERVED)],
    )
    def test_an_agent_that_was_attempted(
        self, tmp_path: Path, started: bool | None, seen: Observation
    ) -> None:
        trial = self.trial(Transcript(tmp_path, agents=(AgentUse("acme:auditor", 1, started, None),)))
        assert trial.agent_called("acme:auditor") is seen
        assert trial.agent_called("acme:writer") is Observation.NO
