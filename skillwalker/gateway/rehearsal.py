"""The rehearsal responder: answers from the script beside a test, else by the rule."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from skillwalker import judging
from skillwalker.gateway import rule
from skillwalker.gateway.instances import instance
from skillwalker.gateway.messages import ApiError, Event, cassette_miss, message_events
from skillwalker.gateway.replies import Reply, TestScript, Turn, choose
from skillwalker.gateway.responders import ConnectionDroppedError, Exchange
from skillwalker.text import count

_USAGE = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 5,
}
_WHY = "rehearsed"
_JUDGES_TURNS = (
    "each llm-judge takes one for each of its votes, and one more after an answer that cannot be read"
)


class RehearsalResponder:
    """Keeps nothing between requests: equal runs get equal answers, ids included."""

    async def reply(self, exchange: Exchange) -> AsyncGenerator[Event, None]:
        reply = _scripted(exchange)
        if reply is None:
            reply = Reply("", content=tuple(_by_rule(exchange)))
        if reply.delay_seconds:
            await asyncio.sleep(reply.delay_seconds)
        sent = 0
        breaks = reply.error is not None or reply.fault is not None
        if not breaks or reply.after_events:
            for event in _events(exchange, reply):
                if breaks and sent >= reply.after_events:
                    break
                yield event
                sent += 1
        if error := reply.error:  # a new one: a raised exception collects tracebacks
            raise ApiError(error.status, error.type, error.message, error.headers)
        if reply.fault == "drop":
            raise ConnectionDroppedError("scripted")
        if reply.fault == "hang":
            await asyncio.Event().wait()


def _scripted(exchange: Exchange) -> Reply | None:
    """The scripted reply; None where the rule is to answer."""
    script, thread = exchange.caller.script, exchange.thread
    if script is None or thread.kind == "side":
        return None
    own = script.for_trial(exchange.caller.index)
    turns = _turns(own, exchange)
    if turns is None:
        return None
    end = _JUDGES_TURNS if thread.kind == "judge" else "the last one is usually a text"
    return choose(turns, exchange.turn, exchange.attempt, file=script.file, end=end)


def _turns(script: TestScript, exchange: Exchange) -> tuple[Turn, ...] | None:
    """The turns of the exchange's conversation; None where they are not scripted."""
    thread = exchange.thread
    if thread.kind == "judge":
        return script.judge
    if thread.kind == "agent" or (thread.fork and script.agent(thread.agent)):
        return script.agent(thread.agent)
    return script.main


def _by_rule(exchange: Exchange) -> list[dict[str, Any]]:
    if exchange.caller.purpose == "judge":
        return _judged(exchange, None, "")
    return rule.answer(exchange.request, exchange.thread, exchange.turn)


def _judged(exchange: Exchange, passed: tuple[bool, ...] | None, path: str) -> list[dict[str, Any]]:
    """A judge's answer; without `passed` every criterion passes.

    Args:
        path: Of the reply that has `passed`, for messages.

    Raises:
        ApiError: `passed` is for another number of criteria.
    """
    where = f"{exchange.caller.script.file if exchange.caller.script else ''}: {path}.passed"
    ids = judging.asked_ids(exchange.request)
    if ids is None:
        if passed is not None:
            raise cassette_miss(
                f"{where}: the judge is not asked for criteria (its turn {exchange.turn + 1}); use content"
            )
        return [{"type": "text", "text": instance(_schema(exchange.request))}]
    fitting = (True,) * len(ids) if passed is None else judging.passed_for(ids, passed)
    if fitting is None:
        raise cassette_miss(
            f"{where} has {count(len(passed or ()), 'answer')}, and in turn {exchange.turn + 1} the judge is "
            f"asked for {count(len(ids), 'criterion', 'criteria')}"
        )
    verdicts = [(id_, verdict, _WHY) for id_, verdict in zip(ids, fitting, strict=True)]
    return [{"type": "text", "text": judging.answer_text(verdicts)}]


def _schema(request: Mapping[str, Any]) -> Any:
    """The JSON Schema that an answer shall have; {} allows anything."""
    found: Any = request
    for key in ("output_config", "format", "schema"):
        found = found.get(key) if isinstance(found, dict) else None
    return found or {}


def _events(exchange: Exchange, reply: Reply) -> list[Event]:
    content = reply.content
    if content is None:
        content = tuple(_judged(exchange, reply.passed, reply.path))
    calls = any(block["type"] == "tool_use" for block in content)
    events = message_events(
        id=_message_id(exchange),
        model=reply.model or str(exchange.request.get("model")),
        content=content,
        stop_reason=reply.stop_reason or ("tool_use" if calls else "end_turn"),
        usage={**_USAGE, **reply.usage},
    )
    return list(events)


def _message_id(exchange: Exchange) -> str:
    """Different for every request of a run, equal in every run."""
    caller = exchange.caller
    parts = (
        caller.trial_id,
        caller.purpose,
        caller.index,
        exchange.thread.key,
        exchange.turn,
        exchange.attempt,
    )
    return "msg_" + hashlib.sha256(repr(parts).encode()).hexdigest()[:22]
