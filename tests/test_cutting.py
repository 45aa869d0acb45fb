"""Texts are cut by an estimate of their tokens."""

from __future__ import annotations

import pytest

from skillwalker.expectations.cutting import beginning, cut, encodable, room, tokens


@pytest.mark.parametrize(
    ("text", "number"), [("", 0), ("a", 1), ("abcde", 2), ("abcdef", 3), ("語" * 10, 12), ("é" * 5, 4)]
)
def test_a_token_is_two_and_a_half_bytes(text: str, number: int) -> None:
    assert tokens(text) == number


@pytest.mark.parametrize("letter", ["a", "é", "語", "😀"])
@pytest.mark.parametrize("limit", [1, 3, 7, 100])
def test_what_is_cut_fits_and_is_never_cut_within_a_character(letter: str, limit: int) -> None:
    text = "".join(f"{letter}{number}" for number in range(200))
    for shown in (cut(text, limit), beginning(text, limit)):
        kept = shown.text.replace("\n[...]\n", "")
        assert len(kept.encode()) <= room(limit)
        assert shown.note is not None
        assert "\ufffd" not in kept
    head, _, tail = cut(text, limit).text.partition("\n[...]\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert text.startswith(beginning(text, limit).text)


def test_what_fits_is_shown_whole_and_without_a_note() -> None:
    for show in (cut, beginning):
        shown = show("a" * room(10), 10)
        assert (shown.text, shown.note) == ("a" * 25, None)


def test_a_cut_says_of_how_much() -> None:
    text = "a" * 25_000
    assert cut(text, 4_000).note == "about 4,000 of 10,000 tokens, the beginning and the end"
    assert beginning(text, 4_000).note == "the first 4,000 of about 10,000 tokens"


def test_lone_surrogates_become_question_marks() -> None:
    assert encodable("a\ud800b") == cut("a\ud800b", 10).text == beginning("a\ud800b", 10).text == "a?b"
