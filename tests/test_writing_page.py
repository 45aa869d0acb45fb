"""docs/writing-evals.md tells what the code does."""

from __future__ import annotations

import http.client
import json
import re
from pathlib import Path

import pytest
from gateway_support import assistant, connected, events_of, main_request, post, user

from skillwalker.gateway.faults import FaultsResponder
from skillwalker.gateway.rehearsal import RehearsalResponder
from skillwalker.gateway.script import load_scripts
from skillwalker.gateway.server import Caller, Gateway
from skillwalker.outcomes import Reason
from skillwalker.resume import KEPT

PAGE = (Path(__file__).parents[1] / "docs" / "writing-evals.md").read_text("utf-8")


def test_every_reason_is_listed_with_its_advice():
    section = PAGE.partition("## Why something is unmeasured")[2]
    rows = re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", section, re.MULTILINE)

    assert rows == [(str(reason), reason.advice) for reason in Reason]


NAMES = ["Call: said without the word CSV", "Prompt: the shop export", "Prompt: the shop export"]


def scripts(folder):
    """The scripts on the page, in order: the name of the test, and what is scripted for it."""
    blocks = [
        block
        for block in re.findall(r"```jsonc?\n(.*?)```", PAGE, re.DOTALL)
        if block.startswith('{\n  "tests": {')
    ]
    path = folder / "rehearsal.json"
    for block in blocks:
        path.write_text(block, "utf-8")
        yield from load_scripts(path, folder, NAMES, None).items()


def test_scripts_on_the_page_can_be_used(tmp_path):
    assert [name for name, _ in scripts(tmp_path)] == NAMES


def test_the_faults_on_the_page_do_what_is_said(tmp_path):
    *_, (_, script) = scripts(tmp_path)
    second = main_request("Go", assistant(), user("on"), stream=True)
    with (
        Gateway(FaultsResponder(RehearsalResponder())) as gateway,
        gateway.open(Caller("t", "trial", script=script)) as link,
    ):
        assert post(link, main_request("Go"))[0] == 200
        assert [post(link, second)[0] for _ in range(2)] == [529, 529]
        with connected(link) as connection:
            connection.request("POST", "/v1/messages", json.dumps(second))
            with pytest.raises(http.client.IncompleteRead) as cut:
                connection.getresponse().read()
        with connected(link) as connection:
            connection.request("POST", "/v1/messages", json.dumps(second))
            whole = events_of(connection.getresponse().read())
    assert len(events_of(cut.value.partial)) == 4
    assert whole[-1]["type"] == "message_stop"
    assert script.faults[2].delay_seconds == 5


def test_what_may_be_said_beside_resume_is_told():
    told = PAGE.partition("**Going on.**")[2].partition("**Only")[0]
    options = {
        "jobs": "--jobs",
        "timeout_seconds": "--timeout",
        "max_cost_usd": "--max-cost",
        "permitted": "--yes",
    }
    for name in set(KEPT) - {"root", "cwd"}:
        assert f"`{options.get(name, '--' + name.replace('_', '-'))}`" in told
