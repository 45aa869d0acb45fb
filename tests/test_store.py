"""Runs on disk."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from skillwalker.errors import ConfigurationError
from skillwalker.store import RunDirectory, Store, new_run_id, write_json

FIRST = "20261130T101500Z-aaaaaa"
SECOND = "20261130T111500Z-bbbbbb"
THIRD = "20261201T111500Z-bbcccc"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path)
    for run_id in (SECOND, FIRST, THIRD):
        store.create(run_id, {"schema": 1, "run_id": run_id})
    return store


def test_an_id_tells_its_time_and_is_new_each_time():
    now = datetime(2026, 11, 30, 10, 15, tzinfo=UTC)

    ids = {new_run_id(now) for _ in range(20)}

    assert len(ids) == 20
    assert all(one.startswith("20261130T101500Z-") and len(one) == 23 for one in ids)


def test_runs_keep_themselves_out_of_git(store):
    assert (store.root / ".skillwalker" / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize(
    ("reference", "expected"),
    [("last", THIRD), ("last~1", SECOND), ("last~2", FIRST), (FIRST, FIRST), ("20261201", THIRD)],
)
def test_a_run_is_found_by_id_prefix_or_age(store, reference, expected):
    assert store.find(reference).id == expected


def test_a_copy_elsewhere_is_found_by_its_path(store, tmp_path):
    copy = tmp_path / "copied"
    os.rename(store.runs / FIRST, copy)

    assert store.find(str(copy)).manifest()["run_id"] == FIRST


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("last~3", "there are 3 runs"),
        ("20261130", "not unique"),
        ("nonsense", "the newest is " + THIRD),
        ("", "no run"),
        ("x" * 300, "no run x"),
        ("last~" + "9" * 5000, "no run last"),
    ],
)
def test_what_is_not_found_is_told_with_what_there_is(store, reference, said):
    with pytest.raises(ConfigurationError, match=said):
        store.find(reference)


@pytest.mark.parametrize("written", ["csv", "evals/csv/", "csv::tidy"])
def test_an_eval_in_place_of_a_run_is_told_its_last_run(tmp_path, written):
    store = Store(tmp_path)
    (tmp_path / "evals" / "csv").mkdir(parents=True)
    (tmp_path / "evals" / "csv" / "tests.json").write_text("{}")
    with pytest.raises(ConfigurationError) as caught:
        store.find(written)
    assert "csv is an eval that has not run yet; `skillwalker run csv` runs it" in str(caught.value)

    store.create(FIRST, {"tests": [{"eval": "csv"}]})
    store.create(SECOND, {"tests": [{"eval": "csv"}, {"eval": "more"}]})
    store.create(THIRD, {"tests": [{"eval": "more"}, 1, {}]})
    with pytest.raises(ConfigurationError) as caught:
        store.find(written)
    assert str(caught.value) == (
        f"no run {written}: csv is an eval; its last run is {SECOND}: give that here "
        f"(show takes {written} after it)"
    )


def test_runs_of_the_same_second_come_in_the_order_they_were_made(tmp_path):
    store = Store(tmp_path)
    for at, run_id in enumerate(("20261130T101500Z-ffffff", "20261130T101500Z-000000")):
        path = store.create(run_id, {}).path / "run.json"
        os.utime(path, ns=(at * 1_000, at * 1_000))

    assert store.ids() == ["20261130T101500Z-ffffff", "20261130T101500Z-000000"]


def test_nothing_is_found_where_nothing_ran(tmp_path):
    with pytest.raises(ConfigurationError, match="there is no run yet"):
        Store(tmp_path).find("last")


def test_where_no_root_is_that_is_said(tmp_path):
    with pytest.raises(
        ConfigurationError, match="it is no root: no evals/ in it or above; name the root with"
    ):
        Store(tmp_path).find("last")
    (tmp_path / "evals").mkdir()
    for reference in ("last", "20261130"):
        with pytest.raises(ConfigurationError) as caught:
            Store(tmp_path).find(reference)
        assert "root" not in str(caught.value).replace(str(tmp_path), "")


def test_one_run_is_one(tmp_path):
    store = Store(tmp_path)
    store.create("20261130T101500Z-ffffff", {})
    with pytest.raises(ConfigurationError, match="^no run last~5: there is 1 run below /"):
        store.find("last~5")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "trial.json"
    write_json(path, {"a": 1})

    with pytest.raises(TypeError):
        write_json(path, {"a": object()})

    assert json.loads(path.read_text()) == {"a": 1}
    assert os.listdir(tmp_path) == ["trial.json"]


def test_verdicts_survive_a_line_that_a_crash_cut(tmp_path):
    run = RunDirectory(tmp_path)
    run.add_verdicts([{"trial": "a"}, {"trial": "b"}])
    with run.results.open("a") as file:
        file.write('{"trial": "c", "outc')

    assert [line["trial"] for line in run.verdicts()] == ["a", "b"]


@pytest.mark.parametrize("garbage", [b"\0" * 4096, b"\xff\xfe{}", b'{"trial": "\xe9"}'])
def test_garbage_that_a_crash_left_is_passed_over(tmp_path, garbage):
    run = RunDirectory(tmp_path)
    run.add_verdicts([{"trial": "a"}])
    with run.results.open("ab") as file:
        file.write(garbage)
    run.add_verdicts([{"trial": "b"}])

    assert [line["trial"] for line in run.verdicts()] == ["a", "b"]


def test_a_line_that_a_crash_cut_does_not_spoil_the_next(tmp_path):
    run = RunDirectory(tmp_path)
    for lines in ([{"trial": "a"}], [{"trial": "b"}]):
        with run.results.open("a") as file:
            file.write('{"trial": "c", "outc')
        run.add_verdicts(lines)

    assert [line["trial"] for line in run.verdicts()] == ["a", "b"]


def test_lone_surrogates_are_written(tmp_path):
    run = RunDirectory(tmp_path)
    run.add_verdicts([{"message": "\ud800"}])

    assert next(run.verdicts()) == {"message": "\ud800"}


@pytest.mark.parametrize("content", ["", "[]", "{", None])
def test_a_damaged_manifest_is_told_with_its_path(tmp_path, content):
    if content is not None:
        (tmp_path / "run.json").write_text(content)

    with pytest.raises(ConfigurationError, match="run.json"):
        RunDirectory(tmp_path).manifest()
