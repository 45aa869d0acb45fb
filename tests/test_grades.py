"""Quotes are looked up, and votes are joined."""

from __future__ import annotations

import time

import pytest

from skillwalker.expectations.grades import QUOTE_SHOWN, Grade, Quotable, decide

SHOWN = Quotable.of('The report says:\n\t"42 orders" in July,\n  and 50 orders in August ... it ends.')


@pytest.mark.parametrize(
    "quote",
    [
        "42 orders",
        '"42 orders" in July, and 50 orders',
        "in July,\n\n and 50",
        "'in August'",
        "“in August”",
        "The report says: ... in August",
        "The report says: […] 50 orders",
        "in August ... it ends.",
    ],
)
def test_a_quote_is_found_whatever_stands_around_and_between(quote: str) -> None:
    assert SHOWN.holds(quote)


@pytest.mark.parametrize(
    "quote", ["43 orders", "42 Orders", "The report says: ... in September", "…", '""', "report report"]
)
def test_what_was_not_shown_is_not_found(quote: str) -> None:
    assert not SHOWN.holds(quote)


def test_a_quote_in_shreds_is_none() -> None:
    started = time.process_time()
    assert not Quotable.of("word " * 100_000).holds("word ... " * 20_000)
    assert Quotable.of("a b c").holds("a ... c")
    assert time.process_time() - started < 60


def test_one_vote_speaks_for_itself() -> None:
    found = decide([Grade(False, "Too long.", "42 orders")], SHOWN)
    assert (found.passed, found.split, found.unfounded) == (False, False, 0)
    assert found.message == 'Too long. Evidence: "42 orders"'


def test_disagreement_shows_every_vote() -> None:
    votes = [Grade(True, "Short."), Grade(False, "Long.", "43 orders"), Grade(True, "Fine.", "50 orders")]
    found = decide(votes, SHOWN)
    assert (found.passed, found.split, found.unfounded) == (True, True, 1)
    assert found.message == (
        '2 of 3 votes passed it | passed: Short. | passed: Fine. Evidence: "50 orders" | '
        'failed: Long. Quoted, but nowhere in what the judge was shown: "43 orders"'
    )


def test_a_long_quote_is_looked_up_whole_and_shown_in_part() -> None:
    text = "word " * 1_000
    found = decide([Grade(True, "", text)], Quotable.of(text))
    assert found.unfounded == 0
    assert found.message.startswith('Evidence: "word word')
    assert len(found.message) == len('Evidence: ""') + QUOTE_SHOWN
