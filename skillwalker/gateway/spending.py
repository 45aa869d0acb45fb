"""What answers came to: tokens and cost by conversation and model, and what there is to tell of it."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import asdict, evolve, frozen

from skillwalker.gateway.traffic import Answered, Traffic
from skillwalker.prices import Prices, undated
from skillwalker.text import count, listed, safe
from skillwalker.tokens import Tokens

TOLD_FROM_USD = 0.00005
"""Differences below the last digit that is shown are rounding."""


@frozen
class Spend:
    """The answers of one model in one conversation, or in several of the same kind.

    Attributes:
        conversation: As in `Answered`.
        asked: The model that was asked for.
        model: The one that answered.
        cut: How many of `answers` were broken off; they count with what they told before.
        cost_usd: None where it is not known.
    """

    conversation: str
    asked: str
    model: str
    answers: int
    cut: int
    tokens: Tokens
    cost_usd: float | None


def spends(answered: Iterable[Answered], prices: Prices | None) -> tuple[Spend, ...]:
    """One for each conversation and model, in the order of their first answers.

    Args:
        prices: None where nothing was spent, as in a rehearsal: no cost is given.
    """
    found: dict[tuple[str, str, str], Spend] = {}
    for one in answered:
        key = (one.conversation, one.asked, one.model)
        cost = prices.cost(one.model, one.tokens) if prices else None
        before = found.get(key)
        if before is None:
            found[key] = Spend(*key, 1, int(one.cut), one.tokens, cost)
            continue
        both = None if before.cost_usd is None or cost is None else before.cost_usd + cost
        found[key] = evolve(
            before,
            answers=before.answers + 1,
            cut=before.cut + one.cut,
            tokens=before.tokens + one.tokens,
            cost_usd=both,
        )
    return tuple(found.values())


def cost_of(spent: Iterable[Spend], unheard: int = 0) -> float | None:
    """US dollars of all together: 0 where nothing was answered, None where one part is not known.

    Args:
        unheard: Requests that were broken off before they told anything. Beside answers they are told of in a
            note; alone, nothing is known of the cost.
    """
    total, spent = 0.0, tuple(spent)
    if unheard and not spent:
        return None
    for one in spent:
        if one.cost_usd is None:
            return None
        total += one.cost_usd
    return total


@frozen
class Bill:
    """What a trial and its judges came to.

    Attributes:
        spent: The trial's answers first, then its judges'.
        cost_usd: Of the trial alone; None where it is not known, or nothing was really spent.
        judge_cost_usd: Of its judges; likewise.
        notes: What a reader should know of it.
    """

    spent: tuple[Spend, ...]
    cost_usd: float | None
    judge_cost_usd: float | None
    notes: tuple[str, ...]


def bill(
    trial: Traffic,
    judge: Traffic,
    prices: Prices | None,
    *,
    claude_codes_usd: float | None,
    wanted: str | None = None,
) -> Bill:
    """What went over a trial's own link and over its judges'.

    Args:
        prices: None where nothing was really spent, as in a rehearsal or a replay.
        claude_codes_usd: What Claude Code itself counts for the trial; None where it did not tell.
        wanted: As in `model_notes`.
    """
    own, judged = spends(trial.answered, prices), spends(judge.answered, prices)
    notes = model_notes((*own, *judged), wanted)
    if prices is None:
        return Bill((*own, *judged), None, None, notes)
    notes += spending_notes(own, prices, claude_codes_usd, trial.unheard)
    notes += tuple(f"judge: {note}" for note in spending_notes(judged, prices, None, judge.unheard))
    return Bill((*own, *judged), cost_of(own, trial.unheard), cost_of(judged, judge.unheard), notes)


def spending_notes(
    spent: Iterable[Spend], prices: Prices, claude_codes_usd: float | None, unheard: int = 0
) -> tuple[str, ...]:
    """What a reader of a trial's cost should know.

    Args:
        spent: Of a trial, without its judges.
        claude_codes_usd: What Claude Code itself counts; None where it did not tell.
        unheard: Requests that were broken off before they told anything.
    """
    spent = tuple(spent)
    notes = []
    if unknown := prices.unknown({one.model for one in spent}):
        names = ", ".join(safe(model, 80) for model in unknown)
        notes.append(f"no price is known for {names}: the cost is unknown")
    for extra in sorted({extra for one in spent for extra in one.tokens.extras}):
        notes.append(f"no price is known for {safe(extra, 80)}: the cost is unknown")
    for one in spent:
        if (missing := _untold(one.tokens)) and one.model not in unknown:
            notes.append(f"{safe(one.model, 80)} did not tell its {listed(missing)}: the cost is unknown")
    if unheard and not spent:
        notes.append(f"{count(unheard, 'request')} broken off before an answer: the cost is unknown")
    elif cut := unheard + sum(one.cut for one in spent):
        notes.append(
            f"{count(cut, 'answer')} broken off, counted with what was told before: it may have cost more"
        )
    own = cost_of(spent)
    if own is not None and claude_codes_usd is not None and abs(own - claude_codes_usd) > TOLD_FROM_USD:
        notes.append(
            f"Claude Code counts ${claude_codes_usd:.4f} for this trial, its answers at the prices of "
            f"{prices.date} come to ${own:.4f}"
        )
    return tuple(dict.fromkeys(notes))


def _untold(tokens: Tokens) -> list[str]:
    """The counts that a server did not give, as its `usage` names them."""
    found = [name for name, number in asdict(tokens).items() if number is None]
    if "cache_creation_input_tokens" in found:
        return [name for name in found if not name.startswith("cache_write_")]
    return found


def model_notes(spent: Iterable[Spend], wanted: str | None = None) -> tuple[str, ...]:
    """Where another model was asked for or answered than should have.

    Args:
        wanted: The full id that the trial's test names; None for an alias, which may lead to any model.
    """
    spent = tuple(spent)
    notes = []
    first = next((one.asked for one in spent if one.conversation == "main"), None)
    if wanted and first and not is_same_model(wanted.removesuffix("[1m]"), first):
        notes.append(f"{safe(first, 80)} was asked for by Claude Code instead of {safe(wanted, 80)}")
    counts: dict[tuple[str, str], int] = {}
    for one in spent:
        if not is_same_model(one.asked, one.model):
            counts[one.asked, one.model] = counts.get((one.asked, one.model), 0) + one.answers
    notes += [
        f"{safe(model, 80)} answered where {safe(asked, 80)} was asked for ({count(times, 'answer')})"
        for (asked, model), times in counts.items()
    ]
    return tuple(notes)


def is_same_model(asked: str, answered: str) -> bool:
    """Whether the id that answered is the one asked for, but for a date at its end."""
    return answered in (asked, undated(asked)) or undated(answered) == asked
