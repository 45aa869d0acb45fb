"""What is told before a run that cannot start."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillwalker.errors import ConfigurationError
from skillwalker.request import Prepared, RunRequest
from skillwalker.session import require_startable


@pytest.mark.parametrize(
    ("given", "told"), [({}, True), ({"isolated": True}, False), ({"rehearse": True}, False)]
)
def test_without_any_flag_the_first_line_says_what_to_type(given: dict[str, bool], told: bool) -> None:
    with pytest.raises(ConfigurationError) as caught:
        require_startable(Prepared(RunRequest(root=Path(), cwd=Path(), **given), (), ()), {})
    first, *_ = caught.value.problems
    assert first.message.startswith("type `skillwalker run --isolated --rehearse`") is told
