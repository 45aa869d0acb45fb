"""The example's cassettes: whole, small, and for every trial and judge of it."""

from __future__ import annotations

import pytest

from skillwalker.expectations.judge import SYSTEM
from skillwalker.gateway.cassettes.cassette import cassette_file
from skillwalker.gateway.cassettes.checking import check, missing
from skillwalker.gateway.cassettes.files import read
from skillwalker.packaged import packaged
from skillwalker.preparing import prepare
from skillwalker.request import RunRequest

ROOT = packaged("examples/csv-toolbox").resolve()
CASSETTES = ROOT / "cassettes"


@pytest.fixture(scope="module")
def trials() -> tuple[list[str], list[str]]:
    tests = prepare(RunRequest(ROOT, ROOT, isolated=True, replay=CASSETTES)).tests
    ids = [trial for test in tests for trial in test.trial_ids()]
    return ids, [trial for test in tests if test.checked.uses_judge for trial in test.trial_ids()]


def test_there_is_one_for_every_trial_and_judge_and_no_other(trials: tuple[list[str], list[str]]) -> None:
    ids, judged = trials

    assert check(CASSETTES, ids, judged) == []
    assert missing(CASSETTES, ids, judged) == []
    paths = {cassette_file(CASSETTES, one, "trial") for one in ids}
    paths |= {cassette_file(CASSETTES, one, "judge") for one in judged}
    assert set(CASSETTES.glob("*.jsonl")) == paths


def test_they_say_that_no_model_was_asked_and_that_they_are_whole() -> None:
    for path in CASSETTES.glob("*.jsonl"):
        cassette = read(path)
        assert (cassette.rehearsed, cassette.cut) == (True, False)
        assert cassette.exchanges


def test_they_are_small_and_tell_nothing_of_the_machine_that_recorded_them() -> None:
    texts = [path.read_text("utf-8") for path in CASSETTES.rglob("*") if path.is_file()]

    assert sum(len(text) for text in texts) < 300_000
    assert not [text for text in texts if "OS Version: Linux" in text or "user_id" in text]


def test_judges_are_asked_as_when_they_were_recorded() -> None:
    """Otherwise: `make cassettes`."""
    for path in CASSETTES.glob("*.judge.jsonl"):
        for one in read(path).exchanges:
            assert [part.value["text"] for part in one.request.system] == [SYSTEM]
