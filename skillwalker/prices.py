"""What tokens cost: a table in the package, with the user's own prices before it. Nothing is guessed.

A model is looked up by the id that answered; an id with a date at its end (`claude-sonnet-4-5-20250929`) is
that model if the table does not have it with the date. No other id stands for another model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from attrs import field, frozen

from skillwalker.errors import ConfigurationError, Problem
from skillwalker.jsonscan import join
from skillwalker.packaged import packaged
from skillwalker.text import did_you_mean, listed, safe
from skillwalker.tokens import Tokens

_DATED = re.compile(r"(.+)-20\d{6}")
_RATES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
_MOST_USD = 10_000.0
_MILLION = 1_000_000


@frozen
class Rates:
    """US dollars per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write_5m: float
    cache_write_1h: float

    def cost(self, tokens: Tokens) -> float | None:
        """US dollars; None where a count is not known, or something has no price."""
        pairs = (
            (self.input, tokens.input_tokens),
            (self.output, tokens.output_tokens),
            (self.cache_read, tokens.cache_read_input_tokens),
            (self.cache_write_5m, tokens.cache_write_5m_tokens),
            (self.cache_write_1h, tokens.cache_write_1h_tokens),
        )
        if tokens.extras:
            return None
        total = 0.0
        for rate, number in pairs:
            if number is None:
                return None
            total += rate * number
        return total / _MILLION

    @property
    def dearest_input(self) -> float:
        """Of one token of a prompt, whatever caches do with it."""
        return max(self.input, self.cache_read, self.cache_write_5m, self.cache_write_1h)


@frozen
class Price:
    """What a model costs.

    Attributes:
        over_tokens: A prompt longer than this is billed at `long` throughout, its answer too.
        source: Where it is from, with the date.
    """

    rates: Rates
    over_tokens: int | None = None
    long: Rates | None = None
    source: str = ""

    def cost(self, tokens: Tokens) -> float | None:
        """US dollars of ONE answer (the length of its prompt counts); None where it is not known."""
        if self.long is None or self.over_tokens is None:
            return self.rates.cost(tokens)
        if tokens.prompt is None:
            return None
        return (self.long if tokens.prompt > self.over_tokens else self.rates).cost(tokens)

    def most(self, prompt_tokens: int, output_tokens: int) -> float:
        """US dollars that an answer costs at most."""
        applying = [self.rates]
        if self.long is not None and self.over_tokens is not None and prompt_tokens > self.over_tokens:
            applying.append(self.long)
        return max(
            (rates.dearest_input * prompt_tokens + rates.output * output_tokens) / _MILLION
            for rates in applying
        )


@frozen
class Prices:
    """Prices by model id.

    Attributes:
        date: When the packaged ones were looked at.
        source: Where the packaged ones are from.
    """

    date: str
    source: str
    models: Mapping[str, Price] = field(repr=False)

    def of(self, model: str) -> Price | None:
        """The price of a model; None where there is none."""
        if model in self.models:
            return self.models[model]
        return self.models.get(undated(model))

    def cost(self, model: str, tokens: Tokens) -> float | None:
        """US dollars of one answer; None where they are not known."""
        price = self.of(model)
        return price.cost(tokens) if price else None

    def unknown(self, models: Collection[str]) -> tuple[str, ...]:
        """Those of `models` without a price, sorted."""
        return tuple(sorted({model for model in models if self.of(model) is None}))


def undated(model: str) -> str:
    """The id without the date at its end, such as `-20250929`."""
    dated = _DATED.fullmatch(model)
    return dated[1] if dated else model


def load_prices(own: Mapping[str, Any] | None = None, *, where: str = "prices") -> Prices:
    """The packaged prices, with those of the user's configuration before them.

    Args:
        own: From the configuration: model id to `input`, `output`, `cache_read`, `cache_write_5m`,
            `cache_write_1h`, and maybe `over_tokens` with a table `long` of the same five. US dollars per
            million tokens.
        where: Path of `own` in the configuration, for messages.

    Raises:
        ConfigurationError: all that is wrong with `own`.
    """
    data = json.loads(packaged("prices.json").read_text("utf-8"))
    source = f"{data['source']}, {data['date']}"
    models = {name: _price(given, evidence=source) for name, given in data["models"].items()}
    if own:
        problems: list[Problem] = []
        for name, given in own.items():
            path = join(where, name)
            before = len(problems)
            _check_price(name, given, path, problems)
            if len(problems) == before:
                models[name] = _price(given, evidence="the configuration")
        if problems:
            raise ConfigurationError(problems)
    return Prices(data["date"], data["source"], models)


def _price(given: Mapping[str, Any], *, evidence: str) -> Price:
    long = given.get("long")
    return Price(
        Rates(*(float(given[key]) for key in _RATES)),
        given.get("over_tokens"),
        Rates(*(float(long[key]) for key in _RATES)) if long else None,
        evidence,
    )


def _check_price(name: str, given: Any, path: str, problems: list[Problem]) -> None:
    if not name or name != name.strip() or not name.isprintable() or " " in name:
        problems.append(Problem("is no model id: write it as the API answers it", path=path))
    _check_rates(given, path, (*_RATES, "over_tokens", "long"), problems)
    if not isinstance(given, Mapping):
        return
    if ("long" in given) != ("over_tokens" in given):
        problems.append(Problem("over_tokens and long belong together: give both or neither", path=path))
    if "over_tokens" in given and not _is_number(given["over_tokens"], whole=True):
        message = f"expected a whole number of tokens, got {safe(repr(given['over_tokens']), 40)}"
        problems.append(Problem(message, path=f"{path}.over_tokens"))
    if "long" in given:
        _check_rates(given["long"], f"{path}.long", _RATES, problems)


def _check_rates(given: Any, path: str, known: tuple[str, ...], problems: list[Problem]) -> None:
    if not isinstance(given, Mapping):
        message = f"expected a table with {listed(_RATES)}, got {safe(repr(given), 40)}"
        problems.append(Problem(message, path=path))
        return
    for key in given:
        if key not in known:
            hint = did_you_mean(key, known) or f"; known are {listed(known)}"
            problems.append(Problem(f"unknown field {safe(key)}{hint}", path=path))
    if missing := [key for key in _RATES if key not in given]:
        message = f"missing {listed(missing)}: US dollars per million tokens (a price is never guessed)"
        problems.append(Problem(message, path=path))
    for key in _RATES:
        if key in given and not _is_number(given[key]):
            shown = safe(repr(given[key]), 40)
            message = f"expected US dollars per million tokens, from 0 to {_MOST_USD:,g}, got {shown}"
            problems.append(Problem(message, path=f"{path}.{key}"))


def _is_number(value: Any, *, whole: bool = False) -> bool:
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        return False
    return 1 <= value <= 10**9 if whole else 0 <= value <= _MOST_USD
