"""Cassettes are looked at before anything starts, and everything is told at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cassette_support import LONG, answer, linked, recording, text
from gateway_support import post, request, user

from skillwalker.gateway.cassettes.cassette import CassetteError, cassette_file
from skillwalker.gateway.cassettes.checking import check, missing
from skillwalker.gateway.cassettes.files import read
from skillwalker.gateway.messages import events_of

TOOLS = [{"name": name, "description": LONG} for name in ("Agent", "Skill")]
TRIALS = ("a.one.01234567.main.1", "b.two.89abcdef.main.1")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    for trial in TRIALS:
        for purpose in ("trial", "judge"):
            with linked(recording(tmp_path, answer(text("ö\ud800"))), trial, purpose) as link:
                post(link, request(user("go\u2028on"), tools=TOOLS))
    return tmp_path


def damage(path: Path, *, line: int, new: str) -> None:
    lines = path.read_text("utf-8").split("\n")
    lines[line - 1] = new
    path.write_text("\n".join(lines), "utf-8")


def test_whole_cassettes_may_be_replayed(recorded: Path) -> None:
    assert check(recorded, TRIALS, TRIALS) == []
    assert missing(recorded, TRIALS, TRIALS) == []


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    (one,), (two,) = check(tmp_path / "no", TRIALS), check(tmp_path / "file", TRIALS)

    no = tmp_path / "no"
    assert str(one) == f"{no}: this directory of cassettes does not exist: a run with --record {no} makes it"
    assert str(two) == f"{tmp_path}/file: this directory of cassettes is no directory: name another"


def test_a_replay_of_nothing_does_not_start(tmp_path: Path) -> None:
    (many,), (one,) = check(tmp_path, TRIALS, TRIALS), check(tmp_path, TRIALS[1:])
    (judge,) = check(tmp_path, (), TRIALS)

    assert "no cassette for any of the 2 trials, such as a.one.01234567.main.1.jsonl;" in str(many)
    assert "no cassette b.two.89abcdef.main.1.jsonl;" in str(one)
    assert "such as a.one.01234567.main.1.judge.jsonl;" in str(judge)


def test_what_is_missing_here_and_there_is_a_notice(recorded: Path) -> None:
    cassette_file(recorded, TRIALS[0], "trial").unlink()
    cassette_file(recorded, TRIALS[1], "judge").unlink()

    assert check(recorded, TRIALS, TRIALS) == []
    notices = missing(recorded, TRIALS, TRIALS)

    assert [TRIALS[0] in notices[0], TRIALS[1] in notices[1], len(notices)] == [True, True, 2]
    assert "judge" in notices[1]


def test_all_damages_are_told_at_once_with_file_and_line(recorded: Path) -> None:
    first, second = (cassette_file(recorded, one, "trial") for one in TRIALS)
    judge = cassette_file(recorded, TRIALS[1], "judge")
    damage(first, line=1, new=json.dumps({"cassette": 2, "exchanges": 1}))
    damage(second, line=3, new="<<<<<<< HEAD")
    judge.write_text("")

    found = [str(problem) for problem in check(recorded, TRIALS, TRIALS)]

    assert found == [
        f"{first}:1: the cassette has format 2, this Skillwalker reads format 1; record it again",
        f"{second}:3: this line is no part of a cassette",
        f"{judge}: the cassette is empty; record it again",
    ]


def test_only_selected_trials_are_looked_at(recorded: Path) -> None:
    cassette_file(recorded, TRIALS[0], "trial").write_text("broken")

    assert check(recorded, TRIALS[1:], TRIALS) == []


REQUEST = {"model": "m", "messages": [], "system": [], "tools": [], "options": {}}
BAD_ERROR, BAD_MESSAGE = {"error": {"status": "x"}}, {"message": {"id": "x", "content": [5]}}


@pytest.mark.parametrize(
    ("line", "new"),
    [
        (1, []),
        (1, {}),
        (1, {"cassette": True}),
        (-1, {}),
        (-1, {"request": 5, "answer": {}}),
        (-1, {"request": {"from": 1, "messages": []}, "answer": {"dropped": True}}),
        (-1, {"request": {**REQUEST, "messages": ["../../x"]}, "answer": {"dropped": True}}),
        (-1, {"request": {**REQUEST, "tools": ["tool-0123456789abcdef"]}, "answer": {"dropped": True}}),
        (-1, {"request": REQUEST, "answer": {}}),
        (-1, {"request": REQUEST, "answer": BAD_ERROR}),
        (-1, {"request": REQUEST, "answer": BAD_MESSAGE}),
        (-1, {"request": REQUEST, "answer": {"message": {"id": "x", "content": [], "usage": 5}}}),
        (-1, {"request": REQUEST, "answer": {"error": {"status": 20, "type": "t", "message": "m"}}}),
        (-1, {"part": "x"}),
        (-1, {"part": ["x"], "value": 1}),
        (-1, "[" * 100_000),
    ],
)
def test_nothing_damaged_is_read(recorded: Path, line: int, new: Any) -> None:
    path = cassette_file(recorded, TRIALS[0], "trial")
    lines = path.read_text("utf-8").rstrip("\n").split("\n")
    lines[line - 1 if line > 0 else line] = new if isinstance(new, str) else json.dumps(new)
    path.write_text("\n".join(lines), "utf-8")

    with pytest.raises(CassetteError):
        read(path)


def test_a_file_that_lost_its_end_is_not_taken_for_whole(recorded: Path) -> None:
    path = cassette_file(recorded, TRIALS[0], "trial")
    whole = path.read_bytes()

    for size in range(0, len(whole) - 1, 9):
        path.write_bytes(whole[:size])
        with pytest.raises(CassetteError):
            read(path)
    path.write_bytes(whole.rstrip(b"\n"))  # an editor may take the last line break away
    assert len(read(path).exchanges) == 1


def test_line_ends_of_other_systems_do_no_harm(recorded: Path) -> None:
    path = cassette_file(recorded, TRIALS[0], "trial")
    before = read(path)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))

    assert read(path) == before


@pytest.mark.parametrize("message", [{}, {"id": 5}, {"content": [{"text": "x"}]}, {"usage": None}])
def test_what_no_api_would_say_can_be_read_if_it_was_recorded(recorded: Path, message: Any) -> None:
    path = cassette_file(recorded, TRIALS[0], "trial")
    *lines, _ = path.read_text("utf-8").rstrip("\n").split("\n")
    given = {"request": REQUEST, "answer": {"message": {"content": [], **message}}}
    path.write_text("\n".join([*lines, json.dumps(given)]), "utf-8")

    answer = read(path).exchanges[0].answer.message
    assert answer is not None
    assert list(events_of(answer))[-1] == {"type": "message_stop"}


def test_what_an_editor_adds_does_no_harm(recorded: Path) -> None:
    path = cassette_file(recorded, TRIALS[0], "trial")
    before, data = read(path), path.read_bytes()
    for added in (b"\n" + data + b"\n\n", b"\xef\xbb\xbf" + data, data.replace(b"\n", b"\n \r\n")):
        path.write_bytes(added)
        assert read(path) == before


def test_a_shared_part_that_is_gone_or_damaged_is_told(recorded: Path) -> None:
    first, second = sorted((recorded / "parts").iterdir())
    first.unlink()
    second.write_text("{")

    found = check(recorded, TRIALS[:1])

    assert len(found) == 1
    assert "parts/tool-" in str(found[0])
    assert "record it again" in str(found[0])


def test_a_directory_that_no_file_system_can_have_is_told(recorded: Path) -> None:
    where = recorded / ("x" * 300)
    (problem,) = check(where, TRIALS)
    assert "does not exist" in problem.message
    assert len(missing(where, TRIALS)) == 1
