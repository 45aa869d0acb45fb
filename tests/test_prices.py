"""Prices: where they come from, which model has which, and what tokens come to."""

import pickle
import re

import pytest

from skillwalker.errors import ConfigurationError
from skillwalker.models import MODEL_IDS
from skillwalker.prices import Price, Rates, load_prices, undated
from skillwalker.tokens import Tokens

OWN = {"input": 1, "output": 2.5, "cache_read": 0, "cache_write_5m": 3, "cache_write_1h": 4}
MILLION = 1_000_000
NEVER = ": US dollars per million tokens (a price is never guessed)"


def test_the_packaged_table_says_when_and_from_where():
    prices = load_prices()
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", prices.date)
    assert "Anthropic" in prices.source
    assert prices.date in prices.models["claude-opus-5-5"].source


def test_every_alias_has_a_price():
    assert load_prices().unknown(set(MODEL_IDS.values())) == ()


def test_every_price_of_the_table_is_sound():
    for model, price in load_prices().models.items():
        assert re.fullmatch(r"claude-[a-z]+-\d(-\d)?", model)
        for rates in filter(None, (price.rates, price.long)):
            assert 0 < rates.cache_read < rates.input < rates.cache_write_5m < rates.cache_write_1h
            assert rates.input < rates.output


def test_each_kind_of_token_has_its_rate():
    prices = load_prices()
    for tokens, usd in (
        (Tokens(MILLION), 2.0),
        (Tokens(0, MILLION), 10.0),
        (Tokens(cache_read_input_tokens=MILLION), 0.1),
        (Tokens(cache_creation_input_tokens=MILLION, cache_write_5m_tokens=MILLION), 2.5),
        (Tokens(cache_creation_input_tokens=MILLION, cache_write_1h_tokens=MILLION), 4.0),
        (Tokens(1_000, 500, 10_000, 300, cache_write_5m_tokens=100, cache_write_1h_tokens=200), 0.00905),
    ):
        assert prices.cost("claude-sonnet-5-5", tokens) == pytest.approx(usd)


@pytest.mark.parametrize(
    "tokens",
    [
        Tokens(None, 1),
        Tokens(1, None),
        Tokens(1, 1, None),
        Tokens(1, 1, 0, 5, cache_write_5m_tokens=None, cache_write_1h_tokens=None),
        Tokens(1, 1, extras=frozenset({"web_search"})),
    ],
)
def test_what_is_not_known_makes_the_cost_unknown(tokens):
    assert load_prices().cost("claude-sonnet-5-5", tokens) is None


def test_a_long_prompt_is_billed_at_its_own_rates_with_its_answer():
    prices = load_prices()
    short = Tokens(40_000, 1_000, 60_000)
    longer = Tokens(40_001, 1_000, 60_000)
    assert prices.cost("claude-haiku-5-5", short) == pytest.approx(0.0051)
    assert prices.cost("claude-haiku-5-5", longer) == pytest.approx(0.0255005)


def test_a_date_at_the_end_is_no_other_model():
    prices = load_prices()
    assert prices.of("claude-sonnet-4-5-20250929") is prices.of("claude-sonnet-4-5") is not None
    assert undated("claude-sonnet-4-5-20250929") == "claude-sonnet-4-5"


@pytest.mark.parametrize(
    "model",
    [
        "claude-sonnet",
        "claude-sonnet-9",
        "claude-sonnet-4-5-v2",
        "claude-sonnet-4-5-2025",
        "claude-sonnet-4-5-20250929-fast",
        "claude-sonnet-4-5-20250929-20250929",
        "claude-sonnet-4",
        "anthropic.claude-sonnet-4-5",
        "CLAUDE-SONNET-4-5",
        "sonnet",
        "",
    ],
)
def test_no_other_id_stands_for_a_model(model):
    prices = load_prices()
    assert prices.of(model) is None
    assert prices.cost(model, Tokens(1, 1)) is None
    assert prices.unknown({model, "claude-opus-5"}) == (model,)


def test_own_prices_come_first_and_may_be_for_any_model():
    prices = load_prices(
        {"claude-opus-5": OWN, "house-model": {**OWN, "over_tokens": 10, "long": {**OWN, "input": 9}}}
    )
    assert prices.of("claude-opus-5") == Price(Rates(1, 2.5, 0, 3, 4), source="the configuration")
    assert prices.cost("house-model", Tokens(11)) == pytest.approx(99e-6)
    assert prices.of("claude-opus-5-5") == load_prices().of("claude-opus-5-5")


def test_own_prices_for_a_dated_id_are_for_it_alone():
    prices = load_prices({"claude-opus-5-20260724": OWN})
    assert prices.of("claude-opus-5-20260724").rates.input == 1
    assert prices.of("claude-opus-5").rates.input == 5


def test_all_that_is_wrong_with_own_prices_is_told_at_once():
    wrong = {
        "a": 5,
        "b": {"input": "5", "output": True, "cache_read": -1, "cach_read": 0},
        "c d": OWN,
        "e": {**OWN, "over_tokens": 1.5},
        "f": {**OWN, "over_tokens": 5, "long": {"input": float("nan")}},
    }
    with pytest.raises(ConfigurationError) as caught:
        load_prices(wrong, where="skillwalker.toml: prices")
    assert [str(problem).removeprefix("skillwalker.toml: ") for problem in caught.value.problems] == [
        "prices.a: expected a table with input, output, cache_read, cache_write_5m, cache_write_1h, got 5",
        "prices.b: unknown field cach_read (did you mean cache_read?)",
        f"prices.b: missing cache_write_5m, cache_write_1h{NEVER}",
        "prices.b.input: expected US dollars per million tokens, from 0 to 10,000, got '5'",
        "prices.b.output: expected US dollars per million tokens, from 0 to 10,000, got True",
        "prices.b.cache_read: expected US dollars per million tokens, from 0 to 10,000, got -1",
        'prices["c d"]: is no model id: write it as the API answers it',
        "prices.e: over_tokens and long belong together: give both or neither",
        "prices.e.over_tokens: expected a whole number of tokens, got 1.5",
        f"prices.f.long: missing output, cache_read, cache_write_5m, cache_write_1h{NEVER}",
        "prices.f.long.input: expected US dollars per million tokens, from 0 to 10,000, got nan",
    ]


def test_the_most_that_an_answer_costs_counts_all_of_the_prompt_as_dearest():
    prices = load_prices()
    assert prices.of("claude-sonnet-5-5").most(1_000, 100) == pytest.approx(0.005)
    assert prices.of("claude-haiku-5-5").most(100_000, 0) == pytest.approx(0.02)
    assert prices.of("claude-haiku-5-5").most(100_001, 0) == pytest.approx(0.100001)


def test_prices_pickle():
    prices = load_prices({"house-model": OWN})
    assert pickle.loads(pickle.dumps(prices)) == prices
