"""Broken streams: nothing raises, and what was not seen never becomes a fact."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
import transcripts as t
from attrs import evolve, frozen
from fuzzing import JSON, assert_harmless, broken, fuzzed, in_time, mutated
from hypothesis import given
from hypothesis import strategies as st

from skillwalker.evals import Eval, ExpectationSpec, Test, TestType
from skillwalker.events import iter_events
from skillwalker.expectations.base import Health, Trial
from skillwalker.expectations.bound import Bound, judge_trial
from skillwalker.expectations.registry import Registry
from skillwalker.gateway.listing import Listing
from skillwalker.health import assess
from skillwalker.outcomes import Outcome, Reason
from skillwalker.progress import Progress
from skillwalker.sandbox.base import Exit
from skillwalker.tool_calls import RESULT_LIMIT
from skillwalker.transcript import Transcript

STREAMS = tuple(
    path.read_bytes() for path in sorted((Path(__file__).parent / "data" / "transcripts").glob("*.jsonl"))
)
EVENTS = tuple(
    dict(event.data) for stream in STREAMS for event in iter_events(io.BytesIO(stream)) if not event.problem
)
SEEN = ("acme:tidy-csv", "acme:report", "acme:shared", "other:shared")
AGENTS = ("acme:auditor", "acme:writer")
TESTS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("skill-call", {"skill": name, "expected": said}) for name in SEEN for said in (True, False)),
    *(("agent-call", {"agent": name, "expected": said}) for name in AGENTS for said in (True, False)),
    ("result-contains", {"text": "fine"}),
    ("result-does-not-contain", {"text": "fine"}),
)
EVAL = Eval("e", Path("/nowhere"), Path("/nowhere/evals/e"), (), ())
TEST = Test("t", TestType.SKILL_PROMPT, Path("/nowhere/p.md"), "Do it.", (), "tests[0]")
REGISTRY = Registry.scan()
# Made by hand, since binding asks for the plugins, and these streams have none but their names.
BOUND = tuple(
    Bound(ExpectationSpec(kind, value, kind), REGISTRY.load(kind)(**value)) for kind, value in TESTS
)


@frozen
class Served:
    """A gateway that served all that a stream says, or nothing."""

    answers: int = 1
    message_ids: frozenset[str] = frozenset()
    tool_use_ids: frozenset[str] = frozenset()
    miss: str | None = None
    over_budget: str | None = None
    errors: tuple[tuple[int, str, str], ...] = ()
    listing: Listing | None = None
    last_texts: tuple[str, ...] = ()

    @classmethod
    def of(cls, whole: Transcript) -> Served:
        said = (whole.result.text,) if whole.result and whole.result.text else ()
        return cls(message_ids=whole.message_ids, tool_use_ids=whole.tool_use_ids, last_texts=said)


def read(data: bytes, prompt: str = TEST.prompt) -> Transcript:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "events.jsonl"
        path.write_bytes(data)
        with in_time():
            found = Transcript.read(path, t.NAMES, prompt)
            _check_queries(found)
    return found


def _check_queries(found: Transcript) -> None:
    """What reads the file again, and what a stream can never be without being seen."""
    calls = list(found.tool_calls())
    assert {call.id for call in calls} == found.tool_use_ids
    assert all(call.result is None or len(call.result) <= RESULT_LIMIT for call in calls)
    assert sum(event.problem is not None for event in found.events()) == found.not_events
    assert (found.result is None) == (found.results == 0)
    assert found.result is not None or found.final_text is None
    assert found.turns != 0 or found.results == 1
    for text in (found.final_text, *found.notes, *(error for use in found.skills for error in use.errors)):
        assert text is None or text.encode() is not None


def health(found: Transcript, served: Served) -> Health:
    return assess(found, served, ended=Exit(0), stopped=None, plugin_paths=(), servers_matter=True)


def outcomes(found: Transcript, well: Health) -> dict[int, Outcome]:
    trial = Trial(EVAL, TEST, found, well, names=t.NAMES)
    verdicts = [judge_trial(bound, trial) for bound in BOUND]
    for verdict in verdicts:
        assert_harmless(verdict.message)
        assert verdict.reason is not Reason.EXPECTATION_ERROR
    return {number: verdict.outcome for number, verdict in enumerate(verdicts)}


ANY_EVENT = st.sampled_from(EVENTS).flatmap(mutated) | st.sampled_from(EVENTS) | JSON
LINES = st.lists(ANY_EVENT.map(lambda event: json.dumps(event).encode() + b"\n"), max_size=8).map(b"".join)
ANY_STREAM = st.sampled_from(STREAMS).flatmap(broken) | LINES | st.binary(max_size=80)


@fuzzed(60)
@given(ANY_STREAM)
def test_no_stream_raises_and_a_foreign_one_decides_nothing(data: bytes) -> None:
    found = read(data)
    if found.tool_use_ids or found.message_ids:
        foreign = health(found, Served())
        assert foreign.reason is Reason.CONTAMINATED
        assert set(outcomes(found, foreign).values()) == {Outcome.UNMEASURED}
    well = health(found, Served.of(found))
    outcomes(found, well)


@fuzzed(30)
@given(ANY_STREAM)
def test_the_live_view_shows_any_stream(data: bytes) -> None:
    view = Progress(t.NAMES)
    with in_time():
        for line in data.splitlines(keepends=True):
            if (text := view.feed(line)) is not None:
                assert_harmless(text)
                assert len(text) <= 80
    assert view.open_tools >= 0


def a_call(number: int, what: str, name: str) -> list[dict[str, Any]]:
    """A use of a skill or an agent: whole, refused, hidden in a sub-agent, or without an end."""
    call, agent = f"toolu_{number}", f"toolu_agent_{number}"
    match what:
        case "loaded":
            return [t.calls(call, "Skill", skill=name), t.loads(call, name)]
        case "refused":
            refusal = t.answers(call, "Skill is disabled", "Error: Skill is disabled", error=True)
            return [t.calls(call, "Skill", skill=name), refusal]
        case "in an agent":
            return [
                t.calls(agent, "Task", subagent_type="acme:auditor", prompt="Go"),
                t.starts(f"task{number}", agent, "acme:auditor"),
                t.calls(call, "Skill", agent, skill=name),
                t.loads(call, name, agent),
                t.ends(f"task{number}", agent),
                t.answers(agent, "report", {"status": "completed", "agentType": "acme:auditor"}),
            ]
        case "agent":
            kind = name if name in AGENTS else "acme:writer"
            started = t.starts(f"task{number}", agent, kind)
            return [t.calls(agent, "Agent", subagent_type=kind), started, t.ends(f"task{number}", agent)]
        case "bash":
            return [t.calls(call, "Bash", command="ls"), t.answers(call)]
        case _:
            return [t.says(f"I think of {name}")]


USES = st.tuples(
    st.sampled_from(("loaded", "refused", "in an agent", "agent", "bash", "text")),
    st.sampled_from((*SEEN, *AGENTS, "tidy", "shared", "unknown")),
)
END = st.sampled_from((b"\n", b"", b"\n\n"))


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """The stream of a trial that went well, of known events only."""
    events = [t.init(), t.replays(TEST.prompt)]
    for number, (what, name) in enumerate(draw(st.lists(USES, max_size=4))):
        events += a_call(number, what, name)
    events += [t.says("fine"), t.result(draw(st.sampled_from(("fine", "", None))))]
    return b"".join(map(t.as_line, events)).rstrip(b"\n") + draw(END)


def refusals(found: Transcript) -> frozenset[str]:
    return frozenset(use.name for use in found.skills if use.loaded is False)


@fuzzed(60)
@given(streams() | st.sampled_from(STREAMS), st.integers(0, 10**6))
def test_a_cut_stream_never_turns_a_verdict_round(data: bytes, place: int) -> None:
    whole, cut = read(data), read(data[: place % (len(data) + 1)])
    served = Served.of(whole)
    before, after = health(whole, served), health(cut, served)
    if after.healthy:
        assert cut.result is not None
    # A call whose refusal was cut off counts as a call that was seen.
    refused = {number for number, (_, value) in enumerate(TESTS) if value.get("skill") in refusals(whole)}
    first, second = outcomes(whole, before), outcomes(cut, after)
    turned = {n for n in first if {first[n], second[n]} == {Outcome.PASSED, Outcome.FAILED}}
    assert turned <= refused, [(TESTS[n], first[n], second[n]) for n in sorted(turned - refused)]


@fuzzed(30)
@given(streams() | st.sampled_from(STREAMS), st.integers(0, 10**6))
def test_a_stream_that_is_cut_before_its_result_is_never_healthy(data: bytes, place: int) -> None:
    cut = data[: place % (len(data) + 1)]
    found = read(cut)
    complete = [line for line in cut.split(b"\n") if b'"type":"result"' in line and is_json(line)]
    if not complete:
        well = health(found, Served.of(read(data)))
        assert not well.healthy
        assert well.message
        seen = outcomes(found, well)
        absent = {n for n, (_, value) in enumerate(TESTS) if value.get("expected") is False}
        assert all(seen[n] is not Outcome.PASSED for n in absent)
        assert all(seen[n] is Outcome.UNMEASURED for n, (kind, _) in enumerate(TESTS) if "result" in kind)


def is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason is not Reason.CONTAMINATED])
def test_an_unhealthy_trial_never_says_no(reason: Reason) -> None:
    """The same rule for every reason, over every stream that is kept here."""
    for data in STREAMS:
        found = read(data)
        seen = {use.name for use in (*found.skills, *found.agents)}
        for (kind, value), bound in zip(TESTS, BOUND, strict=True):
            verdict = judge_trial(
                bound, evolve(Trial(EVAL, TEST, found, names=t.NAMES), health=Health(reason))
            )
            if seen.isdisjoint(map(str, value.values())):
                assert verdict.outcome is Outcome.UNMEASURED, (kind, value)
