"""Types about what a trial may take.

Cost, tokens and time are told at the end, so they are facts only where a trial came to its end. More turns
than allowed are one as soon as they were seen. What was not told is unmeasured, never zero.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from attrs import field, frozen, validators

from skillwalker.expectations import NotObservedError, Outcome, Trial, Verdict


def _verdict(trial: Trial, what: str, value: float | None, limit: float, shape: str = "{:,}") -> Verdict:
    trial.require_healthy(what)
    if value is None:
        raise NotObservedError(what, None)
    said = f"{what}: {shape.format(value)}, at most {shape.format(limit)} expected"
    return Verdict.of(value <= limit, said)


@frozen
class MaxCost:
    """The trial cost at most so many US dollars, sub-agents included.

    A rehearsed or replayed trial costs nothing that could be measured, so there it is unmeasured.

    Attributes:
        usd: US dollars.

    Examples:
        {"max-cost": 0.25}
    """

    shorthand: ClassVar[str] = "usd"

    usd: float = field(validator=validators.gt(0))

    def check(self, trial: Trial) -> Verdict:
        what = "the cost in US dollars"
        trial.require_healthy(what)
        if trial.cost_usd is None:
            raise NotObservedError(f"{what} (where a model is rehearsed or replayed, there is none)", None)
        return _verdict(trial, what, trial.cost_usd, self.usd, "{:.4f}")


@frozen
class MaxTurns:
    """The trial took at most so many turns: answers of the model in the main conversation.

    Attributes:
        turns: Answers.

    Examples:
        {"max-turns": 12}
    """

    shorthand: ClassVar[str] = "turns"

    turns: int = field(validator=validators.ge(1))

    def check(self, trial: Trial) -> Verdict:
        trial.require_own("turns")
        turns = trial.transcript.turns
        if turns is not None and turns > self.turns and not trial.health.healthy:
            return Verdict(Outcome.FAILED, f"turns: {turns:,} or more, at most {self.turns:,} expected")
        return _verdict(trial, "turns", turns, self.turns)


@frozen
class MaxSeconds:
    """The trial took at most so many seconds, from the start of its process to its end.

    In a trial that did not come to its end, time says nothing of the skill: it is unmeasured.

    Attributes:
        seconds: Seconds.

    Examples:
        {"max-seconds": 120}
    """

    shorthand: ClassVar[str] = "seconds"

    seconds: float = field(validator=validators.gt(0))

    def check(self, trial: Trial) -> Verdict:
        took = None if trial.duration_ms is None else trial.duration_ms / 1000
        return _verdict(trial, "seconds", took, self.seconds, "{:,.1f}")


@frozen
class MaxTokens:
    """The trial took at most so many tokens, sub-agents included.

    Attributes:
        tokens: Tokens.
        count: Which: `output` (what the model wrote), `input` (what it read, from the cache too), or `total`.

    Examples:
        {"max-tokens": {"tokens": 4000, "count": "output"}}
    """

    shorthand: ClassVar[str] = "tokens"

    tokens: int = field(validator=validators.ge(1))
    count: Literal["total", "input", "output"] = "total"

    def check(self, trial: Trial) -> Verdict:
        what = "tokens" if self.count == "total" else f"{self.count} tokens"
        return _verdict(trial, what, self._used(trial), self.tokens)

    def _used(self, trial: Trial) -> int | None:
        usage = trial.transcript.usage
        if usage is None:
            return None
        read = (usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens)
        parts = {"input": read, "output": (usage.output_tokens,), "total": (*read, usage.output_tokens)}
        known = [part for part in parts[self.count] if part is not None]
        # Where a part was not told, the rest is at least that much: enough to be over the limit.
        return sum(known) if len(known) == len(parts[self.count]) or sum(known) > self.tokens else None
