"""Tokens as answers tell them."""

import pytest

from skillwalker.tokens import Tokens

PLAIN = {"input_tokens": 7, "output_tokens": 40, "cache_read_input_tokens": 1}


def test_writes_to_a_cache_are_split_by_how_long_they_are_kept():
    split = {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 12}
    tokens = Tokens.of({**PLAIN, "cache_creation_input_tokens": 42, "cache_creation": split})
    assert tokens == Tokens(7, 40, 1, 42, cache_write_5m_tokens=30, cache_write_1h_tokens=12)
    assert tokens.prompt == 50


@pytest.mark.parametrize(
    ("written", "kept_1h", "split"),
    [(9, False, (9, 0)), (9, True, (None, None)), (9, None, (None, None)), (0, None, (0, 0))],
)
def test_a_sum_alone_is_split_only_where_the_request_leaves_no_doubt(written, kept_1h, split):
    usage = {**PLAIN, "cache_creation_input_tokens": written}
    tokens = Tokens.of(usage, writes_kept_1h=kept_1h)
    assert tokens.cache_creation_input_tokens == written
    assert (tokens.cache_write_5m_tokens, tokens.cache_write_1h_tokens) == split


def test_a_split_that_contradicts_its_sum_is_none():
    split = {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 0}
    tokens = Tokens.of({**PLAIN, "cache_creation_input_tokens": 42, "cache_creation": split})
    assert (tokens.cache_creation_input_tokens, tokens.cache_write_5m_tokens) == (42, None)


@pytest.mark.parametrize(
    "usage",
    [{}, {"input_tokens": None}, {"input_tokens": "5"}, {"input_tokens": -1}, {"input_tokens": 10**400}],
)
def test_what_is_not_told_is_not_zero(usage):
    tokens = Tokens.of(usage)
    assert (tokens.input_tokens, tokens.output_tokens, tokens.prompt) == (None, None, None)
    assert (Tokens(1, 2) + tokens).input_tokens is None
    assert (tokens + Tokens(1, 2)).output_tokens is None


def test_sums_are_by_kind():
    one = Tokens(1, 2, 3, 4, cache_write_5m_tokens=4, extras=frozenset({"web_search"}))
    other = Tokens(10, 20, 30, 40, cache_write_1h_tokens=40)
    assert one + other == Tokens(
        11, 22, 33, 44, cache_write_5m_tokens=4, cache_write_1h_tokens=40, extras=frozenset({"web_search"})
    )


@pytest.mark.parametrize(
    ("more", "extras"),
    [
        ({"server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 0}}, {"web_search"}),
        ({"server_tool_use": None, "service_tier": "standard", "inference_geo": "global"}, set()),
        ({"service_tier": "priority"}, {"service_tier priority"}),
        ({"speed": "fast"}, {"speed fast"}),
        ({"inference_geo": "us"}, {"inference_geo us"}),
        ({"iterations": [{"type": "message"}, {"type": "advisor_message"}]}, {"advisor_message iterations"}),
        ({"iterations": [7]}, {"None iterations"}),
    ],
)
def test_what_is_used_beside_tokens_is_told(more, extras):
    assert Tokens.of({**PLAIN, **more}).extras == extras
