"""A budget for all callers together, asked over real sockets."""

import http.client
import json
import threading
from contextlib import contextmanager, nullcontext

import pytest
from gateway_support import assistant, connected, main_request, post, script, user
from waiting import PATIENCE, wait_until

from skillwalker.gateway.budget import (
    OUTPUT_ASSUMED,
    PROMPT_ASSUMED,
    Budget,
    BudgetResponder,
    Overrun,
    price_problems,
    worst_overrun,
)
from skillwalker.gateway.messages import OVER_BUDGET
from skillwalker.gateway.rehearsal import RehearsalResponder
from skillwalker.gateway.server import Caller, Gateway
from skillwalker.prices import load_prices

PRICES = load_prices()
USAGE = {"input_tokens": 1_000, "output_tokens": 100}  # 0.003 dollars
NO_OVERRUN = Overrun(0.0, "")


@contextmanager
def served(budget, script=None, inner=None, **caller):
    who = {"trial_id": "t", "purpose": "trial", **caller}
    responder = BudgetResponder(inner or RehearsalResponder(), budget)
    with Gateway(responder) as gateway, gateway.open(Caller(script=script, **who)) as link:
        yield link


def later(turn):
    return main_request("Go", *[message for _ in range(turn) for message in (assistant(), user("on"))])


def test_at_the_cap_no_new_turn_starts(tmp_path):
    budget = Budget(0.005, PRICES)
    turns = script([{"content": "on", "usage": USAGE}] * 5, tmp_path)
    with served(budget, turns) as link:
        answers = [post(link, later(turn)) for turn in range(4)]
        traffic = link.traffic()
    assert [status for status, _, _ in answers] == [200, 200, 409, 409]
    assert budget.spent_usd == pytest.approx(0.006)
    _, headers, body = answers[2]
    assert headers["x-should-retry"] == "false"
    assert body["error"] == {
        "type": OVER_BUDGET,
        "message": "--max-cost $0.005 is reached: $0.0060 are spent",
    }
    assert traffic.over_budget == body["error"]["message"]
    assert (traffic.answers, traffic.miss) == (2, None)


def test_all_trials_and_judges_share_it(tmp_path):
    budget = Budget(0.005, PRICES)
    turns = script(
        {"main": [{"content": "on", "usage": USAGE}] * 3, "judge": [{"content": "x", "usage": USAGE}]},
        tmp_path,
    )
    with Gateway(BudgetResponder(RehearsalResponder(), budget)) as gateway:
        one = gateway.open(Caller("1", "trial", script=turns))
        judge = gateway.open(Caller("1", "judge", script=turns))
        other = gateway.open(Caller("2", "trial", script=turns))
        assert [post(link, later(0))[0] for link in (one, judge, other)] == [200, 200, 409]
        assert [link.traffic().over_budget is None for link in (one, judge, other)] == [True, True, False]


def test_what_was_spent_before_counts(tmp_path):
    with served(Budget(1, PRICES, spent_usd=1.0)) as link:
        assert post(link, later(0))[0] == 409


class Slow:
    """Tells its usage and then waits until it may end."""

    def __init__(self, usage=None, model="claude-sonnet-5-5"):
        self.go = threading.Event()
        self.asked = 0
        self.usage = usage or {**USAGE, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
        self.model = model
        self.closed = 0

    async def aclose(self):
        self.closed += 1

    async def reply(self, exchange):
        import asyncio

        self.asked += 1
        message = {"id": f"msg_{self.asked}", "model": self.model, "content": [], "usage": self.usage}
        yield {"type": "message_start", "message": message}
        while not self.go.is_set():
            await asyncio.sleep(0.005)
        yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 100}}
        yield {"type": "message_stop"}


@contextmanager
def asking(link, body):
    """A request whose answer is taken in a thread of its own; yields where its status will be."""
    found = []
    thread = threading.Thread(target=lambda: found.append(post(link, body)))
    thread.start()
    yield found
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_an_answer_under_way_counts_with_what_it_has_told(tmp_path):
    inner = Slow()
    budget = Budget(0.003, PRICES)
    with served(budget, inner=inner) as link:
        with asking(link, later(0)) as first:
            wait_until(lambda: budget.spent_usd > 0)
            assert budget.spent_usd == pytest.approx(0.003)
            assert post(link, later(1))[0] == 409
            inner.go.set()
        assert first[0][0] == 200
    assert (inner.asked, inner.closed) == (1, 1)
    assert budget.spent_usd == pytest.approx(0.003)


def test_an_answer_that_is_broken_off_keeps_what_it_told(tmp_path):
    budget = Budget(1, PRICES)
    turns = script([{"content": "x", "usage": USAGE, "fault": "drop", "after_events": 2}], tmp_path)
    with served(budget, turns) as link, connected(link) as connection:
        connection.request("POST", "/v1/messages", json.dumps({**later(0), "stream": True}))
        with pytest.raises(http.client.IncompleteRead):
            connection.getresponse().read()
    assert budget.spent_usd == pytest.approx(0.00201)
    assert budget.stopped is None


def test_requests_that_could_go_beyond_the_overrun_wait_for_each_other():
    inner = Slow()
    budget = Budget(1, PRICES, Overrun(0.3, ""))  # one answer of 128,000 tokens may cost 1.28
    with served(budget, inner=inner) as link:
        with asking(link, later(0)) as first:
            wait_until(lambda: inner.asked == 1)
            with asking(link, later(1)) as second:
                wait_until(lambda: link.traffic().held_seconds > 0.05)
                assert (inner.asked, second) == (1, [])
                inner.go.set()
        assert (first[0][0], second[0][0], inner.asked) == (200, 200, 2)
        assert link.traffic().requests == 2


def test_a_request_that_waits_is_refused_when_the_cap_is_reached():
    inner = Slow(
        {
            "input_tokens": 1_000,
            "output_tokens": 1,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
        }
    )
    budget = Budget(0.0025, PRICES, NO_OVERRUN)
    with served(budget, inner=inner) as link, asking(link, later(0)):
        wait_until(lambda: inner.asked == 1)
        with asking(link, later(1)) as second:
            wait_until(lambda: link.traffic().requests == 2)
            inner.go.set()
        assert second[0][0] == 409


def test_far_from_the_cap_nothing_waits():
    inner = Slow()
    budget = Budget(100, PRICES, NO_OVERRUN)
    with served(budget, inner=inner) as link:
        with asking(link, later(0)), asking(link, later(1)):
            wait_until(lambda: inner.asked == 2)
            inner.go.set()
        assert link.traffic().held_seconds == 0


def test_a_model_without_a_price_is_not_asked():
    inner = Slow()
    with served(Budget(1, PRICES), inner=inner) as link:
        status, _, body = post(link, {**later(0), "model": "gpt-9"})
        assert status == 409
        assert body["error"]["message"].startswith(
            "gpt-9 was asked for, which has no price: give one in skillwalker"
        )
        inner.go.set()
        assert post(link, later(0))[0] == 200
    assert inner.asked == 1


def test_a_model_that_answers_without_a_price_stops_new_turns():
    inner = Slow(model="surprise-1")
    inner.go.set()
    budget = Budget(1, PRICES)
    with served(budget, inner=inner) as link:
        assert [post(link, later(turn))[0] for turn in range(2)] == [200, 409]
        assert link.traffic().over_budget.startswith("surprise-1 answered, which has no price, so that")
    assert budget.spent_usd == 0


def test_what_has_no_price_beside_tokens_stops_new_turns():
    usage = {**USAGE, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    inner = Slow({**usage, "server_tool_use": {"web_search_requests": 1}})
    inner.go.set()
    with served(Budget(1, PRICES), inner=inner) as link:
        assert [post(link, later(turn))[0] for turn in range(2)] == [200, 409]
        assert "used web_search, which has no price" in link.traffic().over_budget


def test_an_answer_that_does_not_tell_its_tokens_counts_at_its_most():
    inner = Slow({"output_tokens": 1})
    inner.go.set()
    budget = Budget(1, PRICES)
    with served(budget, inner=inner) as link:
        assert [post(link, {**later(turn), "max_tokens": 100_000})[0] for turn in range(2)] == [200, 409]
    assert 1.0 < budget.spent_usd < 1.1


class Silent:
    """Says nothing until its client has left; `held` holds the request back before it is asked."""

    def __init__(self, *, held):
        self.held = held
        self.asked = 0

    async def reply(self, exchange):
        import asyncio

        self.asked += 1
        with exchange.holding() if self.held else nullcontext():
            await asyncio.Event().wait()
        yield {"type": "ping"}


@pytest.mark.parametrize(
    ("stream", "held", "least", "most"),
    [(True, False, 0.04, 0.05), (False, False, 1.03, 1.05), (True, True, 0, 0), (False, True, 0, 0)],
)
def test_a_client_that_leaves_before_the_first_word_cannot_ask_for_nothing(stream, held, least, most):
    inner = Silent(held=held)
    budget = Budget(100, PRICES)
    with served(budget, inner=inner) as link:
        with connected(link) as connection:
            asked = {**later(0), "system": "x" * 20_000, "max_tokens": 100_000, "stream": stream}
            connection.request("POST", "/v1/messages", json.dumps(asked))
            wait_until(lambda: inner.asked == 1 and bool(link.traffic().held_seconds) == held)
        wait_until(lambda: link.traffic().open_requests == 0)
    assert least <= budget.spent_usd <= most


def test_an_error_costs_nothing(tmp_path):
    budget = Budget(1, PRICES)
    with served(budget, script([{"error": {"status": 529}}], tmp_path)) as link:
        assert post(link, later(0))[0] == 529
    assert budget.spent_usd == 0


def test_the_overrun_is_that_of_the_dearest_model_in_every_job():
    told = worst_overrun(3, {"claude-haiku-5-5", "claude-opus-5-5", "unknown"}, PRICES)
    one = (PROMPT_ASSUMED * 8 + OUTPUT_ASSUMED * 20) / 1_000_000
    assert told.usd == pytest.approx(3 * one)
    assert str(told).startswith(f"at most ${3 * one:.2f} beyond it: 3 x one request to claude-opus-5-5 with")


def test_models_without_a_price_are_named_with_what_to_do():
    assert price_problems({"claude-opus-5[1m]", "claude-sonnet-4-5-20250929"}, PRICES) == []
    (problem,) = price_problems({"claude-x", "claude-opus-5"}, PRICES)
    assert problem == (
        "--max-cost needs a price for claude-x, and none is known: give one in skillwalker.toml, "
        '[prices."claude-x"] with input, output, cache_read, cache_write_5m and cache_write_1h in US dollars '
        "per million tokens"
    )
