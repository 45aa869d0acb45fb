"""Queries over the events of one trial. The file is read once for all of them, and not held.

What a stream did not say is None here, never 0, False or an empty text.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from attrs import field, frozen

from skillwalker.agent_uses import AgentUse
from skillwalker.events import Event, iter_events
from skillwalker.names import Names
from skillwalker.skill_uses import SkillUse
from skillwalker.stream_facts import Init, ResultEvent, Usage
from skillwalker.stream_reader import StreamReader
from skillwalker.tool_calls import ToolCall, read_tool_calls

__all__ = ["AgentUse", "Init", "ResultEvent", "SkillUse", "ToolCall", "Transcript", "Usage"]

_NO_NAMES = Names()


@frozen
class Transcript:
    """What one trial's stream says.

    Attributes:
        path: The file; `events` and `tool_calls` read it again.
        final_text: The last result's text, whole even where Claude Code continued a cut answer.
        usage: Tokens of the whole process, sub-agents included.
        models: Every model that answered, in the order of first answers.
        usage_by_model: What `usage` sums up; None where Claude Code told only the main conversation's.
        cost_usd: US dollars of the whole process, by Claude Code's own price list.
        turns: Answers of the model in the main conversation.
        init: The first start that was seen; there can be several.
        result: The last result.
        results: How many there were.
        retries: Requests to the API that Claude Code repeated.
        api_error: Class of the API error that ended the main conversation, such as `rate_limit`.
        message_ids: Ids of all answers of models, for the comparison with the gateway.
        tool_use_ids: Ids of all tool calls, likewise.
        task_calls: Ids of calls that sub-agents and forks say they were started by, likewise; not all of them
            need be in the stream.
        uncalled: Skills and agents at work that neither a call nor a slash command started.
        background_open: Agents or forks began whose end was not seen.
        skills_hidden: A skill may have been used that is not among `skills`: a sub-agent used the Skill tool
            out of sight, or the prompt begins as a slash command and was not replayed.
        agents_hidden: An agent may have been used that is not among `agents`: an unknown tool was passed a
            `subagent_type`.
        not_events: Lines that are no events.
        ended: Nothing of the main conversation came after the last result.
        cut_off: The last line is no event and has no end.
        notes: What a reader of the results should know of the stream.
    """

    path: Path
    final_text: str | None = field(default=None, repr=False)
    skills: tuple[SkillUse, ...] = ()
    agents: tuple[AgentUse, ...] = ()
    usage: Usage | None = None
    usage_by_model: dict[str, Usage] | None = None
    cost_usd: float | None = None
    turns: int | None = None
    models: tuple[str, ...] = ()
    init: Init | None = field(default=None, repr=False)
    result: ResultEvent | None = field(default=None, repr=False)
    results: int = 0
    retries: int = 0
    api_error: str | None = None
    message_ids: frozenset[str] = field(default=frozenset(), repr=False)
    tool_use_ids: frozenset[str] = field(default=frozenset(), repr=False)
    task_calls: frozenset[str] = field(default=frozenset(), repr=False)
    uncalled: frozenset[str] = frozenset()
    background_open: bool = False
    skills_hidden: bool = False
    agents_hidden: bool = False
    not_events: int = 0
    cut_off: bool = False
    ended: bool = False
    notes: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path, names: Names = _NO_NAMES, prompt: str | None = None) -> Transcript:
        """Reads a file of events; whatever its lines hold, they raise nothing.

        Args:
            prompt: What was sent, to tell a slash command that Claude Code understood from a text that looks
                like one.
        """
        reader = StreamReader(names, prompt)
        with path.open("rb") as file:
            for event in iter_events(file, brief=True):
                reader.feed(event)
        reader.finish()
        return cls(
            path=path,
            final_text=reader.final_text,
            skills=reader.skills.uses(),
            agents=reader.agents.uses(),
            usage=reader.usage,
            usage_by_model=reader.usage_by_model,
            cost_usd=reader.cost_usd,
            turns=reader.turns,
            models=tuple(reader.models),
            init=reader.init,
            result=reader.result,
            results=reader.results,
            retries=reader.retries,
            api_error=reader.api_error,
            message_ids=frozenset(reader.message_ids),
            tool_use_ids=frozenset(reader.tools.ids),
            task_calls=frozenset(reader.task_calls),
            uncalled=reader.uncalled,
            background_open=reader.agents.open or reader.skills.open_forks,
            skills_hidden=reader.skills.call_hidden or reader.skills.command_hidden,
            agents_hidden=reader.agents.hidden,
            not_events=reader.not_events,
            ended=reader.ended,
            cut_off=reader.cut_off,
            notes=reader.notes(),
        )

    def events(self) -> Iterator[Event]:
        """Every event again, lines that are none too."""
        with self.path.open("rb") as file:
            yield from iter_events(file)

    def tool_calls(self) -> Iterator[ToolCall]:
        """Every tool call at any depth, in the order of the calls."""
        return read_tool_calls(self.events())
