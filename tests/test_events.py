import io
import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwalker import events
from skillwalker.events import Event, as_float, as_int, iter_events, iter_lines, parse_line


def read(data: bytes, *, brief: bool = False) -> list[Event]:
    return list(iter_events(io.BytesIO(data), brief=brief))


TEXT = "café 😀 東京 \u2028 \u2029 \x85 \x0b \x0c"


def test_only_a_newline_ends_a_line() -> None:
    line = json.dumps({"type": "result", "result": TEXT}, ensure_ascii=False).encode()
    assert list(iter_lines([line + b"\n" + line])) == [line, line]


def test_a_character_cut_between_chunks_stays_whole() -> None:
    line = json.dumps({"type": "result", "result": TEXT}, ensure_ascii=False).encode()
    [whole] = iter_lines(bytes([byte]) for byte in line)
    assert parse_line(whole).data["result"] == TEXT


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=6))
def test_lines_do_not_depend_on_how_the_bytes_were_cut(data: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(data)]
    chunks = [data[start:end] for start, end in pairwise(places)]
    wanted = data.split(b"\n")
    if not wanted[-1]:
        wanted.pop()
    assert list(iter_lines(chunks)) == wanted


def test_a_line_of_30_mb_in_small_chunks_takes_no_quadratic_time() -> None:
    started = time.monotonic()
    [line] = iter_lines(b"x" * 1000 for _ in range(30_000))
    assert len(line) == 30_000_000
    assert time.monotonic() - started < 100  # it takes a tenth of a second


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"type": "assist', "not JSON, and without an end of line"),
        (b'{"type": "assist\n', "not JSON"),
        (b"Warning: no stdin data received\n", "not JSON"),
        (b"[1, 2]\n", "no JSON object"),
        (b'"text"\n', "no JSON object"),
        (b"NaN\n", "no JSON object"),
        (b"{}\n", "an object without a type"),
        (b'{"type": 1}\n', "an object without a type"),
        (b'{"type": ""}\n', "an object without a type"),
        (b"[" * 200_000 + b"\n", "not JSON"),
        (b'{"type": ' + b"1" * 5000 + b"}\n", "not JSON"),
        (b"\xff\xfe{\x00\n", "not JSON"),
    ],
)
def test_a_line_that_is_no_event_is_told_not_lost(line: bytes, problem: str) -> None:
    [event] = read(line)
    assert (event.kind, event.problem, dict(event.data)) == ("", problem, {})
    assert len(event.line) <= 200


def test_blank_lines_are_nothing() -> None:
    assert [event.kind for event in read(b'\n \r\n{"type":"user"}\n\n')] == ["user"]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b'{"type":"user"}\r\n', "user"),
        (b'{"type":"user"}', "user"),
        (b'\xef\xbb\xbf{"type":"user"}\n', "user"),
        (b'{"type":"system","subtype":"init"}\n', "system/init"),
        (b'{"type":"system","subtype":5}\n', "system"),
        (b'{"type":"result","subtype":"success"}\n', "result"),
        (b'{"type":"from the future"}\n', "from the future"),
        (b'{"type":"user","type":"result"}\n', "result"),
        (b'{"type":"user","n":NaN}\n', "user"),
        (b'{"type":"user","text":"a\x01b\xff"}\n', "user"),
    ],
)
def test_kinds(line: bytes, kind: str) -> None:
    [event] = read(line)
    assert (event.kind, event.problem) == (kind, None)


def test_offsets_find_the_line_again() -> None:
    data = b'{"type":"user"}\n\nstray\n{"type":"result"}'
    assert [(event.kind, event.offset) for event in read(data)] == [("user", 0), ("", 17), ("result", 23)]
    assert data[23:] == b'{"type":"result"}'


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        (r"a\ud800b", "a\ufffdb"),
        (r"a\udc00b", "a\ufffdb"),
        (r"\ud83d\ude00", "😀"),
        (r"\ud83dx\ude00", "\ufffdx\ufffd"),
        (r"\\ud800", r"\ud800"),
        (r"\ud800\ud83d\ude00", "\ufffd😀"),
        (r"\uD83D\uDE00 \uD800", "😀 \ufffd"),
    ],
)
def test_half_a_character_is_replaced_and_only_that(escaped: str, text: str) -> None:
    event = parse_line(b'{"type":"result","result":"' + escaped.encode() + b'"}')
    assert event.data["result"] == text
    event.data["result"].encode()


def test_numbers_that_are_none() -> None:
    huge = 10**400
    assert [as_float(value) for value in (1, 0.5, True, "1", None, float("nan"), float("inf"), huge)] == [
        1.0,
        0.5,
        *[None] * 6,
    ]
    assert [as_int(value) for value in (3, 3.0, True, "3")] == [3, None, None, None]


def large(**more: Any) -> bytes:
    """A line over the size from which brief reading cuts strings."""
    block = {"type": "tool_result", "tool_use_id": "t1", "content": 'start \\ "quoted" \n' * 400_000}
    return (
        json.dumps({"type": "user", "message": {"content": [block]}, "last": "here", **more}).encode() + b"\n"
    )


def test_brief_reading_cuts_long_strings_and_nothing_else() -> None:
    line = large(tool_use_result={"success": True, "commandName": "acme:tidy"})
    [whole], [brief] = read(line), read(line, brief=True)
    kept = brief.data["message"]["content"][0].pop("content")
    full = whole.data["message"]["content"][0].pop("content")
    assert full.startswith(kept)
    assert 50_000 < len(kept) < 70_000
    assert brief.data == whole.data


@pytest.mark.parametrize("cut", range(65_530, 65_545))
def test_a_cut_never_falls_into_an_escape(cut: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "x" * cut + '\\"\u00e9\U0001f600\n' * 50
    for ascii_only in (True, False):
        line = json.dumps({"type": "user", "text": text, "end": [1]}, ensure_ascii=ascii_only).encode()
        value = json.loads(events._shortened(line).decode("utf-8", "ignore"))
        assert value["end"] == [1]
        assert text.startswith(value["text"].encode("utf-8", "ignore").decode())


@pytest.mark.parametrize(
    "more",
    [
        {"isReplay": True},
        {"type": "result"},
        {"type": "assistant", "parent_tool_use_id": None},
    ],
)
def test_brief_reading_leaves_whole_what_verdicts_rest_on(more: dict[str, Any]) -> None:
    line = large(**more)
    assert read(line, brief=True) == read(line)


def test_brief_reading_of_a_broken_large_line_is_told() -> None:
    [event] = read(large()[:-10], brief=True)
    assert event.problem == "not JSON, and without an end of line"


@given(st.binary(max_size=80))
def test_no_bytes_raise(data: bytes) -> None:
    for event in read(data):
        assert event.kind or event.problem


def test_a_file_is_read_as_it_lies(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"type":"user"}\n' * 3)
    with path.open("rb") as file:
        assert len(list(iter_events(file))) == 3
