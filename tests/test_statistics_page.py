"""The page on numbers tells of every rule, and its figures are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

from skillwalker.lint.finding import RULES
from skillwalker.listing import SHOWN_CHARACTERS
from skillwalker.statistics import rate

PAGE = (Path(__file__).parents[1] / "docs" / "statistics.md").read_text("utf-8")


def test_every_rule_has_its_row_and_there_is_no_other() -> None:
    table = PAGE[PAGE.index("| rule |") : PAGE.index("`do-nothing` and `parrot` put")]
    assert sorted(re.findall(r"^\| `([a-z-]+)`", table, re.MULTILINE)) == list(RULES)
    assert f"{SHOWN_CHARACTERS:,} characters" in table


def test_the_figures_of_the_examples_are_computed_ones() -> None:
    assert f"recall {rate(9, 10)}, 9 of 10" in PAGE
    three = rate(3, 3)
    assert three
    assert three.low is not None
    assert f"3 of 3 fits everything from {three.low:.0%} up".replace("%", " %") in PAGE
