"""Server-sent events out of pieces of bytes."""

from __future__ import annotations

import pytest

from skillwalker.gateway.sse import Parser


def fed(*pieces: bytes, limit: int = 1000) -> list[tuple[str, bytes]]:
    parser = Parser(limit)
    return [event for piece in pieces for event in parser.feed(piece)]


TWO = b"event: a\ndata: 1\n\nevent: b\ndata: 2\n\n"


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_events_however_they_are_cut(ends, size):
    data = TWO.replace(b"\n", ends)
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert fed(*pieces) == [("a", b"1"), ("b", b"2")]


def test_an_event_comes_with_its_last_byte():
    parser = Parser(1000)
    assert list(parser.feed(TWO[:-1])) == [("a", b"1")]
    assert list(parser.feed(TWO[-1:])) == [("b", b"2")]
    assert list(parser.feed(b"data: 3\r\n\r")) == []
    assert list(parser.feed(b"\n")) == [("", b"3")]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n\n\n\n", []),
        (b"data: no end", []),
        (b"data: no end\n", []),
        (b": a comment\n\n", []),
        (b"event: without data\n\n", []),
        (b"data\n\n", [("", b"")]),
        (b"data:\n\n", [("", b"")]),
        (b"data:x\n\n", [("", b"x")]),
        (b"data:  x \n\n", [("", b" x ")]),
        (b"data: a:b: c\n\n", [("", b"a:b: c")]),
        (b"data: 1\ndata: 2\n\n", [("", b"1\n2")]),
        (b"data: 1\n: between\nid: 7\nretry: 1\nother: x\nevent: a\n\n", [("a", b"1")]),
        (b"event: a\nevent: b\ndata: 1\n\n", [("b", b"1")]),
        (b"\n\n\ndata: 1\n\n\n\ndata: 2\n\n", [("", b"1"), ("", b"2")]),
        (b"data: 1\rdata: 2\r\rdata: 3\r\r:", [("", b"1\n2"), ("", b"3")]),
        (b"\xef\xbb\xbfdata: 1\n\n", [("", b"1")]),
        (b"data: \xff\n\nevent: \xff\ndata: 1\n\n", [("", b"\xff"), ("\ufffd", b"1")]),
    ],
)
def test_what_counts_as_an_event(data, expected):
    assert fed(data) == expected
    assert fed(*(data[at : at + 1] for at in range(len(data)))) == expected


@pytest.mark.parametrize(
    "pieces",
    [
        [b"data: " + b"x" * 2000 + b"\n\n"],
        [b"data: 1\n\ndata: " + b"x" * 2000 + b"\n\n"],
        [b"data: ", *([b"x" * 400] * 3)],
        [b"data: x\n"] * 200,
    ],
)
def test_an_event_without_end_is_not_held(pieces):
    with pytest.raises(ValueError, match="more than 1000 bytes"):
        fed(*pieces)


def test_many_small_events_are_no_large_one():
    assert len(fed(b"data: 1234567890\n\n" * 500)) == 500
