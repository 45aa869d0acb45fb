"""What a rehearsed model says, as frozen values; `script` reads them from `rehearsal.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from attrs import field, frozen

from skillwalker.gateway.messages import ApiError, cassette_miss
from skillwalker.text import count

Turn = tuple["Reply", ...]
"""The replies to one turn: all but the last have `times`."""


@frozen
class Reply:
    """One entry of a list in the script.

    Attributes:
        content: Blocks as the API has them; None where the reply never gets that far.
        usage: As written; what is left out is the rehearsal's choice.
        path: Its JSON path, for messages.
    """

    path: str
    content: tuple[Mapping[str, Any], ...] | None = None
    usage: Mapping[str, int] = field(factory=dict)
    stop_reason: str | None = None
    model: str | None = None
    passed: tuple[bool, ...] | None = None
    error: ApiError | None = None
    fault: Literal["drop", "hang"] | None = None
    after_events: int = 0
    times: int | None = None
    delay_seconds: float = 0.0


@frozen
class Fault:
    """What happens to requests of one turn, whoever answers them.

    Attributes:
        path: Its JSON path, for messages.
        turn: From 1.
        agent: Whose turn, as in `TestScript.agents`; None: the main conversation's.
        times: How many requests of the turn it meets.
        after_events: So many events of the answer come before the error or the fault.
    """

    path: str
    turn: int
    agent: str | None = None
    times: int = 1
    error: ApiError | None = None
    fault: Literal["drop", "hang"] | None = None
    after_events: int = 0
    delay_seconds: float = 0.0

    @property
    def breaks(self) -> bool:
        """Whether more than a delay comes."""
        return self.error is not None or self.fault is not None


@frozen
class TestScript:
    """What is scripted for one test; None leaves a conversation to the rule.

    Attributes:
        file: The script's path as shown to the user.
        agents: Keyed by the agent's full id, or by a forked skill's.
        trials: Scripts of single trials by their number; what they leave out is taken from here.
        faults: What is injected whoever answers; None: nothing is said of faults.
    """

    __test__ = False

    file: str
    main: tuple[Turn, ...] | None = None
    agents: Mapping[str, tuple[Turn, ...]] = field(factory=dict)
    judge: tuple[Turn, ...] | None = None
    trials: Mapping[int, TestScript] = field(factory=dict)
    faults: tuple[Fault, ...] | None = None

    @property
    def answers(self) -> bool:
        """Whether it says what a model answers, in any trial; otherwise it has faults only."""
        own = self.main is not None or bool(self.agents) or self.judge is not None
        return own or any(script.answers for script in self.trials.values())

    def for_trial(self, index: int) -> TestScript:
        """The script of one trial, with nothing left to override."""
        own = self.trials.get(index)
        if own is None:
            return TestScript(self.file, self.main, self.agents, self.judge, faults=self.faults)
        return TestScript(
            self.file,
            self.main if own.main is None else own.main,
            {**self.agents, **own.agents},
            self.judge if own.judge is None else own.judge,
            faults=self.faults if own.faults is None else own.faults,
        )

    def agent(self, name: str | None) -> tuple[Turn, ...] | None:
        """The turns of an agent or forked skill by its id, or by a bare name that only one of them has."""
        if name is None or name in self.agents:
            return self.agents.get(name or "")
        owners = [key for key in self.agents if called(key, name)]
        return self.agents[owners[0]] if len(owners) == 1 else None


def called(id: str, name: str | None) -> bool:
    """Whether a model that says `name` may mean the agent or skill with this id."""
    return name is not None and name in (id, id.rpartition(":")[2])


def choose(turns: Sequence[Turn], turn: int, attempt: int, *, file: str, end: str) -> Reply:
    """The reply to a request.

    Args:
        turns: At least one.
        turn: From 0.
        attempt: From 1.
        end: What a message says of the turn that is missing.

    Raises:
        ApiError: a `cassette_miss`: the script is over.
    """
    if turn >= len(turns):
        where = f"{file}: {turns[0][0].path.rpartition('[')[0]}"
        have = f"has {count(len(turns), 'turn')}, and turn {turn + 1} was asked for"
        raise cassette_miss(f"{where} {have}: add turn {len(turns) + 1}; {end}")
    for reply in turns[turn]:
        if reply.times is None or attempt <= reply.times:
            return reply
        attempt -= reply.times
    raise AssertionError("the last reply of a turn has no `times`")
