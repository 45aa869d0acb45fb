"""docs/writing-evals.md tells what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from skillwalker.gateway.script import load_scripts
from skillwalker.outcomes import Reason
from skillwalker.resume import KEPT

PAGE = (Path(__file__).parents[1] / "docs" / "writing-evals.md").read_text("utf-8")


def test_every_reason_is_listed_with_its_advice():
    section = PAGE.partition("## Why something is unmeasured")[2]
    rows = re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", section, re.MULTILINE)

    assert rows == [(str(reason), reason.advice) for reason in Reason]


def test_scripts_on_the_page_can_be_used(tmp_path):
    scripts = [
        block
        for block in re.findall(r"```jsonc?\n(.*?)```", PAGE, re.DOTALL)
        if block.startswith('{\n  "tests": {')
    ]
    assert len(scripts) == 2
    names = ["Call: said without the word CSV", "Prompt: the shop export"]
    found = []
    for block in scripts:
        path = tmp_path / "rehearsal.json"
        path.write_text(block, "utf-8")
        found += load_scripts(path, tmp_path, names, None)

    assert found == names


def test_what_may_be_said_beside_resume_is_told():
    told = PAGE.partition("**Going on.**")[2].partition("**Only")[0]
    options = {"jobs": "--jobs", "timeout_seconds": "--timeout", "permitted": "--yes"}
    for name in set(KEPT) - {"root", "cwd"}:
        assert f"`{options.get(name, '--' + name.replace('_', '-'))}`" in told
