"""What answers come to, and what is told of it."""

import pytest
from attrs import evolve

from skillwalker.gateway.conversations import Conversations
from skillwalker.gateway.spending import (
    bill,
    cost_of,
    is_same_model,
    model_notes,
    spending_notes,
    spends,
)
from skillwalker.gateway.traffic import Answered, Meter
from skillwalker.prices import load_prices
from skillwalker.tokens import Tokens

PRICES = load_prices()
SONNET, HAIKU = "claude-sonnet-5-5", "claude-haiku-5-5"


TOKENS = Tokens(1_000, 100)


def answered(conversation="main", asked=SONNET, model=SONNET, tokens=TOKENS, cut=False):
    return Answered(conversation, asked, model, tokens, cut)


def test_answers_are_summed_by_conversation_and_model_in_their_order():
    spent = spends(
        [
            answered(),
            answered("agent:acme:auditor", HAIKU, HAIKU, Tokens(5, 6)),
            answered(tokens=Tokens(1, 2), cut=True),
        ],
        PRICES,
    )
    assert [(one.conversation, one.model, one.answers, one.cut, one.tokens) for one in spent] == [
        ("main", SONNET, 2, 1, Tokens(1_001, 102)),
        ("agent:acme:auditor", HAIKU, 1, 0, Tokens(5, 6)),
    ]
    assert spent[0].cost_usd == pytest.approx(0.003022)
    assert cost_of(spent) == pytest.approx(0.003022 + 0.0000035)


def test_each_answer_is_priced_by_the_length_of_its_own_prompt():
    spent = spends([answered("main", HAIKU, HAIKU, Tokens(60_000)) for _ in range(2)], PRICES)
    assert cost_of(spent) == pytest.approx(0.012)


def test_a_part_that_is_not_known_makes_the_whole_unknown():
    spent = spends([answered(), answered("side", "m", "m"), answered()], PRICES)
    assert [one.cost_usd is None for one in spent] == [False, True]
    assert cost_of(spent) is None
    assert cost_of(spends([answered(tokens=Tokens(None)), answered()], PRICES)) is None


def test_nothing_answered_costs_nothing_and_without_prices_there_is_no_cost():
    assert cost_of(()) == 0.0
    assert cost_of(spends([answered()], None)) is None


def test_claude_codes_own_figure_is_compared_beyond_rounding():
    spent = spends([answered()], PRICES)
    assert spending_notes(spent, PRICES, 0.00304) == ()
    assert spending_notes(spent, PRICES, None) == ()
    (note,) = spending_notes(spent, PRICES, 0.0045)
    assert note == (
        "Claude Code counts $0.0045 for this trial, its answers at the prices of "
        f"{PRICES.date} come to $0.0030"
    )


def test_what_makes_a_cost_unknown_or_a_least_is_told():
    spent = spends(
        [
            answered(model="m\x1b[2J", cut=True),
            answered(tokens=Tokens(1, 1, extras=frozenset({"web_search"}))),
        ],
        PRICES,
    )
    assert spending_notes(spent, PRICES, 1.0, unheard=1) == (
        r"no price is known for m\x1b[2J: the cost is unknown",
        "no price is known for web_search: the cost is unknown",
        "2 answers broken off, counted with what was told before: it may have cost more",
    )


def test_counts_that_a_server_did_not_tell_are_named():
    given = {"input_tokens": 1, "output_tokens": 2}
    spent = spends([answered(tokens=Tokens.of(given)), answered("side", tokens=Tokens.of(given))], PRICES)
    (note,) = spending_notes(spent, PRICES, 1.0)
    missing = "cache_read_input_tokens, cache_creation_input_tokens"
    assert note == f"{SONNET} did not tell its {missing}: the cost is unknown"
    written = Tokens.of({**given, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 9})
    (note,) = spending_notes(spends([answered(tokens=written)], PRICES), PRICES, None)
    assert "did not tell its cache_write_5m_tokens, cache_write_1h_tokens: " in note


def test_an_answer_of_a_model_without_a_name_has_no_known_cost():
    meter = Meter("t", None)
    record = meter.begin({"model": SONNET}, Conversations("trial").place({"model": SONNET}, {}), None)
    record.answer.add({"type": "message", "content": [], "usage": {"input_tokens": 1}})
    meter.end(record)

    found = bill(meter.snapshot(), Meter("t", None).snapshot(), PRICES, claude_codes_usd=None)

    assert found.cost_usd is None
    assert "no price is known for a model without a name: the cost is unknown" in found.notes


def test_another_model_than_asked_for_is_told():
    spent = spends([answered(model=HAIKU), answered("side", model=HAIKU), answered()], PRICES)
    assert model_notes(spent) == (f"{HAIKU} answered where {SONNET} was asked for (2 answers)",)


def test_another_model_asked_for_than_the_test_names_is_told():
    spent = spends([answered("side", HAIKU, HAIKU), answered()], PRICES)
    assert model_notes(spent, SONNET) == ()
    assert model_notes(spent, f"{SONNET}-20260929") == model_notes(spent, f"{SONNET}[1m]") == ()
    assert model_notes(spent, "claude-opus-4-1") == (
        f"{SONNET} was asked for by Claude Code instead of claude-opus-4-1",
    )


@pytest.mark.parametrize(
    ("asked", "model", "same"),
    [
        ("claude-opus-5", "claude-opus-5", True),
        ("claude-opus-5", "claude-opus-5-20260724", True),
        ("claude-opus-5-20260724", "claude-opus-5", True),
        ("claude-opus-5-20260724", "claude-opus-5-20260801", False),
        ("claude-opus-5", "claude-opus-5-5", False),
    ],
)
def test_a_date_is_no_other_model(asked, model, same):
    assert is_same_model(asked, model) is same


def test_a_bill_keeps_a_trial_and_its_judges_apart():
    trial, judge = Meter("t", None).snapshot(), Meter("t", None).snapshot()
    trial = evolve(trial, answered=(answered(), answered("side", HAIKU, HAIKU, Tokens(10, 1))))
    judge = evolve(judge, answered=(answered("judge", "claude-opus-5-5", "claude-opus-5-5"),), unheard=1)
    found = bill(trial, judge, PRICES, claude_codes_usd=0.003, wanted=SONNET)
    assert [one.conversation for one in found.spent] == ["main", "side", "judge"]
    assert found.cost_usd == pytest.approx(0.0030015)
    assert found.judge_cost_usd == pytest.approx(0.006)
    assert found.notes == (
        "judge: 1 answer broken off, counted with what was told before: it may have cost more",
    )


def test_what_was_asked_and_never_answered_has_no_known_cost():
    asked = evolve(Meter("t", None).snapshot(), unheard=2)
    found = bill(asked, asked, PRICES, claude_codes_usd=0.0)
    assert (found.cost_usd, found.judge_cost_usd) == (None, None)
    told = "2 requests broken off before an answer: the cost is unknown"
    assert found.notes == (told, f"judge: {told}")


def test_without_judges_they_cost_nothing_and_a_rehearsal_has_no_cost_at_all():
    nothing = Meter("t", None).snapshot()
    assert bill(nothing, nothing, PRICES, claude_codes_usd=None).judge_cost_usd == 0.0
    rehearsed = bill(evolve(nothing, answered=(answered(model="m"),)), nothing, None, claude_codes_usd=1.0)
    assert (rehearsed.cost_usd, rehearsed.judge_cost_usd) == (None, None)
    assert rehearsed.spent[0].tokens == TOKENS
    assert rehearsed.notes == (f"m answered where {SONNET} was asked for (1 answer)",)
