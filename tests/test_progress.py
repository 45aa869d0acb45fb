"""What a trial is doing right now, as its lines come."""

import json
from typing import Any

import pytest
from transcripts import (
    NAMES,
    answers,
    as_line,
    calls,
    ends,
    init,
    loads,
    message,
    result,
    says,
    starts,
    system,
    told,
)

from skillwalker.progress import Progress


def shown(*events: dict[str, Any] | bytes) -> list[str | None]:
    progress = Progress(NAMES)
    return [progress.feed(as_line(event).rstrip(b"\n")) for event in events]


def test_a_trial_from_its_start_to_its_end() -> None:
    assert shown(
        init(),
        message({"type": "thinking", "thinking": "hm"}),
        calls("t1", "Skill", skill="tidy"),
        loads("t1", "tidy"),
        calls("t2", "Bash", command="npm   test\n--silent"),
        answers("t2"),
        says("Here"),
        says("it is"),
        result(),
    ) == [
        "waiting for the model",
        "writing",
        "Skill acme:tidy-csv",
        "waiting for the model",
        "Bash: npm test --silent",
        "waiting for the model",
        "writing",
        None,
        "done",
    ]


def test_what_happens_in_an_agent_says_so() -> None:
    assert shown(
        calls("a1", "Agent", subagent_type="acme:auditor", description="Look"),
        starts("k1", "a1", "acme:auditor"),
        told("go", "a1"),
        calls("t1", "Read", "a1", file_path="notes.md"),
        answers("t1", parent="a1"),
        says("found", "a1"),
        ends("k1", "a1"),
        answers("a1"),
    ) == [
        "Agent acme:auditor",
        None,
        None,
        "acme:auditor > Read: notes.md",
        "Agent acme:auditor",
        "acme:auditor > writing",
        None,
        "waiting for the model",
    ]


def test_retries_are_told() -> None:
    retry = system("api_retry", attempt=2, max_retries=4, error_status=529)
    assert shown(retry) == ["retry 2 of 4 (529)"]


@pytest.mark.parametrize("line", [b"", b"stray", b'{"type":"tool_pro', b"[]", as_line({"type": "hologram"})])
def test_lines_that_say_nothing_are_passed_over(line: bytes) -> None:
    assert shown(line) == [None]


def test_open_tools_are_counted_until_they_answer() -> None:
    progress = Progress()
    counts = []
    for event in (
        calls("t1", "Bash", command="sleep 1"),
        calls("t2", "Bash", command="sleep 2"),
        answers("t1"),
        answers("t2"),
        answers("unseen"),
    ):
        progress.feed(as_line(event))
        counts.append(progress.open_tools)
    assert counts == [1, 2, 1, 0, 0]
    progress.feed(as_line(calls("t3", "Bash")))
    progress.feed(as_line(result()))
    assert progress.open_tools == 0


def test_parallel_tools_show_the_last_one_still_open() -> None:
    assert shown(
        calls("t1", "Bash", command="slow"), calls("t2", "Read", file_path="a"), answers("t2"), answers("t1")
    ) == ["Bash: slow", "Read: a", "Bash: slow", "waiting for the model"]


@pytest.mark.parametrize(
    ("tool_input", "text"),
    [
        ({"command": "x" * 500}, "Bash: " + "x" * 73 + "…"),
        ({"command": "echo \x1b[31m\u202e"}, "Bash: echo \\x1b[31m\\u202e"),
        ({"command": ["odd"]}, "Bash"),
        ({}, "Bash"),
    ],
)
def test_texts_are_short_harmless_and_one_line(tool_input: dict[str, Any], text: str) -> None:
    assert shown(calls("t1", "Bash", **tool_input)) == [text]


def test_a_line_of_many_megabytes_is_read() -> None:
    progress = Progress()
    progress.feed(as_line(calls("t1", "Bash", command="cat big")))
    assert progress.feed(json.dumps(answers("t1", "x" * 6_000_000)).encode()) == "waiting for the model"


def test_a_result_ends_a_stream_unless_something_still_works() -> None:
    started = {"type": "system", "subtype": "task_started", "task_id": "a1", "subagent_type": "acme:auditor"}
    notified = {"type": "system", "subtype": "task_notification", "task_id": "a1", "status": "completed"}
    progress = Progress()
    ended = []
    for event in (started, result(), notified, calls("t1", "Bash"), result()):
        progress.feed(as_line(event))
        ended.append(progress.ended)
    assert ended == [False, False, True, False, True]


def test_a_retry_cannot_steer_the_terminal() -> None:
    assert shown(system("api_retry", attempt="\x1b[2J", max_retries=3, error_status=529)) == [
        r"retry \x1b[2J of 3 (529)"
    ]
