"""`--max-cost`: one budget for all trials and judges of a run. At the cap no new turn starts.

What can be promised: when the cap is reached only the requests that are under way go on. A request costs at
most its prompt at the dearest rate for input and its `max_tokens` of output. So that these stay below the
overrun that was told before the start, a request that could go beyond waits until others have ended.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping
from contextlib import aclosing, contextmanager

from attrs import define, evolve, frozen

from skillwalker.gateway.messages import Aggregate, ApiError, Event, over_budget
from skillwalker.gateway.responders import ConnectionDroppedError, Exchange, Responder, close
from skillwalker.gateway.traffic import tokens_of
from skillwalker.prices import Price, Prices
from skillwalker.text import listed, safe

PROMPT_ASSUMED = 200_000
"""Tokens of the longest prompt that the overrun is told for."""

OUTPUT_ASSUMED = 128_000
"""Tokens of the longest answer: what the models of the packaged table can give."""

_BYTES_PER_TOKEN = 2  # of a request's body at least, also of Base64 and of Chinese
_CONTEXT = 1_000_000  # no prompt is longer


@frozen
class Overrun:
    """What a run may spend beyond its cap at most.

    Attributes:
        assumptions: What it rests on, in words.
    """

    usd: float
    assumptions: str

    def __str__(self) -> str:
        return f"at most ${self.usd:.2f} beyond it: {self.assumptions}"


def worst_overrun(jobs: int, models: Collection[str], prices: Prices) -> Overrun:
    """What requests under way when the cap is reached may still cost, all trials at their dearest.

    Args:
        jobs: Trials at a time.
        models: All that are known to be asked, judges' too; those without a price are passed over (see
            `price_problems`).
    """
    known = [(model, price) for model in _requested(models) if (price := prices.of(model))]
    dearest, price = max(
        known, key=lambda pair: pair[1].most(PROMPT_ASSUMED, OUTPUT_ASSUMED), default=("no model", None)
    )
    usd = jobs * price.most(PROMPT_ASSUMED, OUTPUT_ASSUMED) if price else 0.0
    return Overrun(
        usd,
        f"{jobs} x one request to {dearest} with a prompt of {PROMPT_ASSUMED:,} tokens, all written to the "
        f"cache, and an answer of {OUTPUT_ASSUMED:,} tokens; parallel requests of a trial wait where they "
        "could cost more",
    )


def price_problems(
    models: Collection[str], prices: Prices, named_by: Mapping[str, str] | None = None
) -> list[str]:
    """Why a run with a cap must not start; empty where every model has a price.

    Args:
        named_by: What asks for a model that no test names.
    """

    def who(model: str) -> str:
        asks = (named_by or {}).get(model)
        return f", which {safe(asks)} asks for" if asks else ""

    return [
        f"--max-cost needs a price for {safe(model)}{who(model)}, and none is known: {_how(model)}"
        for model in prices.unknown(_requested(models))
    ]


def _requested(models: Collection[str]) -> set[str]:
    """As Claude Code asks for them: the wish for a long context is no part of the id."""
    return {model.removesuffix("[1m]") for model in models}


def _how(model: str) -> str:
    return (
        f'give one in skillwalker.toml, [prices."{safe(model)}"] with input, output, cache_read, '
        "cache_write_5m and cache_write_1h in US dollars per million tokens"
    )


@define(eq=False)
class _Running:
    """A request that was let through.

    Attributes:
        most: What it may cost at most.
        told: What it has told so far.
        out: Whether it may be with the model, and is not held back before it.
    """

    most: float
    told: float | None = None
    out: bool = True

    @property
    def open(self) -> float:
        return max(self.most - (self.told or 0.0), 0.0)


class Budget:
    """Counts what a run spends. Used on the gateway's loop; `spent_usd` and `stopped` are read anywhere.

    Args:
        overrun: As told before the start; requests wait so that it holds. None: they do not wait.
        spent_usd: What the run has spent before, where it is gone on with.
    """

    def __init__(
        self, max_usd: float, prices: Prices, overrun: Overrun | None = None, spent_usd: float = 0.0
    ) -> None:
        self.max_usd = max_usd
        self.prices = prices
        self.spent_usd = spent_usd
        self.unbounded: str | None = None
        self._overrun = overrun
        self._running: set[_Running] = set()
        self._changed: asyncio.Event | None = None

    @property
    def stopped(self) -> str | None:
        """Why no new turn starts; None where one may."""
        if self.unbounded:
            return f"{self.unbounded}, so that what is spent can no longer be held below --max-cost"
        if self.spent_usd >= self.max_usd:
            return f"--max-cost ${self.max_usd:g} is reached: ${self.spent_usd:.4f} are spent"
        return None

    def fits(self, most: float) -> bool:
        """Whether a request that costs `most` at most may start beside those that are under way."""
        if self._overrun is None or not self._running:
            return True
        under_way = sum(running.open for running in self._running)
        return self.spent_usd + under_way + most <= self.max_usd + self._overrun.usd

    def begin(self, most: float) -> _Running:
        running = _Running(most)
        self._running.add(running)
        return running

    def told(self, running: _Running, usd: float) -> None:
        """What a request has cost so far, by what its answer has told."""
        self.spent_usd += max(usd - (running.told or 0.0), 0.0)
        running.told = max(usd, running.told or 0.0)
        self._wake()

    def end(self, running: _Running) -> None:
        self._running.discard(running)
        self._wake()

    async def change(self) -> None:
        """Returns when something was spent, or a request has ended."""
        if self._changed is None:
            self._changed = asyncio.Event()
        await self._changed.wait()

    def _wake(self) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None


class BudgetResponder:
    """Lets requests through as long as the budget does; counts what their answers tell, as they tell it."""

    def __init__(self, inner: Responder, budget: Budget) -> None:
        self._inner = inner
        self._budget = budget

    async def reply(self, exchange: Exchange) -> AsyncGenerator[Event, None]:
        budget = self._budget
        price = self._price(exchange)
        most = _most(exchange, price)
        self._require()
        if not budget.fits(most):
            with exchange.holding():
                while not budget.fits(most):
                    await budget.change()
                    self._require()
        running = budget.begin(most)
        answer = Aggregate()

        @contextmanager
        def holding() -> Iterator[None]:
            running.out = False
            with exchange.holding():
                yield
            running.out = True

        try:
            async with aclosing(self._inner.reply(evolve(exchange, holding=holding))) as events:
                async for event in events:
                    answer.add(event)
                    if event.get("type") in ("message_start", "message_delta", "message"):
                        self._count(exchange, answer, running)
                    yield event
        except (ApiError, ConnectionDroppedError):
            running.out = False
            raise
        finally:
            # What it cost is not known, but no more than that.
            if running.told is None and not budget.unbounded:
                if answer.model is not None:
                    budget.told(running, most)
                elif running.out:  # its client left before the first word, of which there is none in a stream
                    budget.told(
                        running, _most(exchange, price, silent=exchange.request.get("stream") is True)
                    )
            budget.end(running)

    async def aclose(self) -> None:
        await close(self._inner)

    def _require(self) -> None:
        if why := self._budget.stopped:
            raise over_budget(why)

    def _price(self, exchange: Exchange) -> Price:
        model = str(exchange.request.get("model"))
        price = self._budget.prices.of(model)
        if price is None:
            raise over_budget(f"{safe(model, 80)} was asked for, which has no price: {_how(model)}")
        return price

    def _count(self, exchange: Exchange, answer: Aggregate, running: _Running) -> None:
        budget, model = self._budget, str(answer.model)
        tokens = tokens_of(exchange.request, answer)
        price = budget.prices.of(model)
        usd = price.cost(tokens) if price else None
        if usd is not None:
            budget.told(running, usd)
        elif price is None:
            budget.unbounded = f"{safe(model, 80)} answered, which has no price"
        elif tokens.extras:
            budget.unbounded = f"{safe(model, 80)} used {listed(sorted(tokens.extras))}, which has no price"


def _most(exchange: Exchange, price: Price, *, silent: bool = False) -> float:
    """What a request costs at most, in US dollars.

    Args:
        silent: Whether not even the beginning of an answer came.
    """
    told = exchange.headers.get("content-length", "")
    size = int(told) if told.isdecimal() else len(json.dumps(exchange.request))
    output = exchange.request.get("max_tokens")
    asked = output if isinstance(output, int) and 0 < output < _CONTEXT else OUTPUT_ASSUMED
    return price.most(min(size // _BYTES_PER_TOKEN, _CONTEXT), 0 if silent else asked)
