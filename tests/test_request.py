from __future__ import annotations

import json
from pathlib import Path

from attrs import evolve, fields

from skillwalker.request import RunRequest
from skillwalker.sandbox.base import Limits

ROOT, CWD = Path("/root"), Path("/root/evals")
PLAIN = RunRequest(root=ROOT, cwd=CWD)
FULL = RunRequest(
    root=ROOT,
    cwd=CWD,
    select=("csv", "x::y"),
    keyword="a and b",
    failed=True,
    isolated=True,
    rehearse=True,
    record=ROOT / "cassettes",
    replay=Path("/elsewhere/cassettes"),
    trials=3,
    stop_early=True,
    control=True,
    jobs=2,
    model="opus",
    judge_model="haiku",
    timeout_seconds=60.0,
    max_cost_usd=2.5,
    background=True,
    allow_unmeasured=1,
    keep=True,
    image="mine:1",
    dockerfile=ROOT / "sandbox" / "Dockerfile",
    claude="claude-next",
    permitted=True,
    limits=Limits(memory_mib=512, cpus=1.5, pids=100),
    sandbox_env=("TOKEN",),
    network_allow=("a.example:443",),
    subscription=True,
    prices={"claude-x": {"input": 1.0, "output": 2.0}},
)


def test_the_example_says_something_of_every_field() -> None:
    same = {one.name for one in fields(RunRequest) if getattr(FULL, one.name) == getattr(PLAIN, one.name)}
    assert same == {"root", "cwd"}


def test_options_are_json_and_lead_back_to_the_request() -> None:
    stored = json.loads(json.dumps(FULL.options()))
    assert evolve(PLAIN, permitted=True).with_options(stored) == FULL
    assert json.loads(json.dumps(PLAIN.options())) == PLAIN.options() | {
        "select": [],
        "sandbox_env": [],
        "network_allow": [],
    }


def test_a_root_that_moved_is_no_matter_to_what_lies_in_it() -> None:
    stored = FULL.options()
    assert (stored["record"], stored["dockerfile"]) == ("cassettes", "sandbox/Dockerfile")
    moved = evolve(PLAIN, root=Path("/moved")).with_options(stored)
    assert (moved.root, moved.record) == (Path("/moved"), Path("/moved/cassettes"))
    assert moved.replay == Path("/elsewhere/cassettes")


def test_what_a_stored_run_does_not_know_stays_and_what_we_do_not_know_is_left_out() -> None:
    assert FULL.with_options({"trials": 9, "colour": "red"}) == evolve(FULL, trials=9)


def test_neither_places_nor_the_users_agreement_are_kept() -> None:
    assert not {"root", "cwd", "permitted"} & FULL.options().keys()
