"""Which agents a stream shows at work, at any depth, and how they ended."""

from __future__ import annotations

from attrs import define, field, frozen

from skillwalker.events import Event, as_dict, as_list, as_str
from skillwalker.names import Names
from skillwalker.tool_calls import ToolCall, ToolResult, any_known, text_of

AGENT_TOOLS = frozenset({"Agent", "Task"})  # the tool's name today, and the one it had and still answers to
_ERROR_LIMIT = 500  # characters
_MOST_ERRORS = 5


@frozen
class AgentUse:
    """What was seen of one agent.

    Attributes:
        name: Its id `plugin:agent`, or the name that was used where that is none of the plugins'.
        calls: Attempts, refused ones too.
        started: True where it began to work at least once; False where every attempt was refused (no such
            agent, wrong input); None where that was not seen.
        completed: True where it ended well at least once; False where it never did; None where no end was
            seen.
        errors: Why it was refused or failed, at most five.
        first_position: The first attempt was the n-th tool call of the stream; 0 where no call is in it.
    """

    name: str
    calls: int
    started: bool | None
    completed: bool | None
    errors: tuple[str, ...] = ()
    first_position: int = 0


@define
class _Run:
    name: str | None
    position: int = 0
    is_agent: bool = True  # False: it may be one
    started: bool | None = None
    completed: bool | None = None
    ended: bool = False
    error: str | None = None
    api_error: str | None = None  # what its last message was, where that was no model's
    tells_failure: bool = False  # this version reports an agent that an API error ended as failed

    def refused(self, error: str) -> None:
        self.started, self.completed, self.ended = bool(self.started), False, True
        self.error = self.error or error[:_ERROR_LIMIT]

    def finish(self, status: str, error: str | None) -> None:
        self.completed, self.ended = status == "completed", True
        if not self.completed:
            self.error = self.error or (error or f"it ended as {status}")[:_ERROR_LIMIT]


@define
class AgentTracker:
    """Collects the agents of one stream."""

    names: Names
    maybe: dict[str, None] = field(
        factory=dict, init=False
    )  # unknown tools that were passed a `subagent_type`
    _runs: dict[str, _Run] = field(factory=dict, init=False)  # by id of the call, or of the task
    _tasks: dict[str, str] = field(factory=dict, init=False)  # task id -> key of its run

    def called(self, call: ToolCall) -> None:
        """A call of whichever tool."""
        kind, is_agent = as_str(call.input.get("subagent_type")), call.name in AGENT_TOOLS
        if is_agent or kind is not None:
            self._runs[call.id] = _Run(kind, call.position, is_agent)
        if not is_agent and kind is not None:
            self.maybe[call.name] = None

    def began(self, call: str) -> None:
        """Something happened inside the sub-agent of a call."""
        if call in self._runs:
            self._runs[call].started = True

    def said(self, event: Event) -> None:
        """A message of a sub-agent."""
        run = self._runs.get(event.parent or "")
        if run is None:
            return
        message = as_dict(event.data.get("message"))
        failed = message.get("model") == "<synthetic>" and bool(event.data.get("error"))
        run.api_error = text_of(message.get("content"), _ERROR_LIMIT) if failed else None

    def answered(self, result: ToolResult) -> None:
        """A result of whichever tool."""
        run = self._runs.get(result.id)
        if run is None:
            return
        extra = as_dict(result.extra)
        run.name = run.name or as_str(extra.get("agentType"))
        if result.is_error:
            run.refused(result.extra if isinstance(result.extra, str) else result.text)
        elif run.is_agent or run.started or "agentType" in extra:
            run.started = True
            in_background = result.text.startswith("Async agent launched")
            if extra.get("status", "completed") == "completed" and not in_background:
                self._finished(
                    run, [text_of([block]) for block in as_list(extra.get("content"))] or [result.text]
                )

    def _finished(self, run: _Run, texts: list[str]) -> None:
        broken = next((text for text in texts if text.startswith("API Error:")), None)
        if broken is not None and not run.tells_failure:
            run.finish("failed", broken)
        elif not run.ended:
            run.finish("completed", None)

    def task_started(self, event: Event) -> None:
        """A task that is no skill's fork; only tasks of agents count."""
        data = event.data
        kind, task = as_str(data.get("subagent_type")), as_str(data.get("task_id")) or ""
        key = self._tasks.get(task) or as_str(data.get("tool_use_id")) or f"task {task}"
        if kind is None and key not in self._runs:
            return
        run = self._runs.setdefault(key, _Run(kind))
        run.name, run.started = kind or run.name, True
        run.completed, run.ended = None, False  # a second start of the same task continues it
        run.tells_failure = "spawn_depth" in data
        self._tasks[task] = key

    def task_changed(self, task: str, status: str | None, error: str | None) -> None:
        """A change of whichever task; its notification is the end."""
        run = self._runs.get(self._tasks.get(task, ""))
        if run is not None and status in ("completed", "failed", "killed"):
            ended = run.ended
            run.finish(status, error)
            run.ended = ended

    def task_ended(self, task: str, call: str | None, status: str, summary: str) -> None:
        """The notification that whichever task has ended."""
        run = self._runs.get(self._tasks.get(task) or call or "")
        if run is not None:
            run.finish(status, summary if status == "failed" else None)

    @property
    def open(self) -> bool:
        """Whether an agent began whose end was not seen."""
        return any(run.started and not run.ended for run in self._runs.values())

    @property
    def nameless(self) -> int:
        """How many calls named no agent."""
        return sum(run.name is None for run in self._runs.values())

    @property
    def hidden(self) -> bool:
        """Whether an unknown tool may have started an agent: nothing shows that it did or did not."""
        return any(not run.is_agent and not run.ended and not run.started for run in self._runs.values())

    def uses(self) -> tuple[AgentUse, ...]:
        """Every agent that was seen, in the order of the first attempts."""
        by_name: dict[str, list[_Run]] = {}
        for run in self._runs.values():
            if run.completed and run.api_error and not run.tells_failure:
                run.finish("failed", run.api_error)
            if run.name is not None and (run.is_agent or run.started):
                error = (run.error or "") if run.started is False else ""
                by_name.setdefault(self.names.meant_agent(run.name, error), []).append(run)
        return tuple(
            AgentUse(
                name=name,
                calls=len(runs),
                started=any_known(run.started for run in runs),
                completed=any_known(run.completed for run in runs),
                errors=tuple(dict.fromkeys(run.error for run in runs if run.error))[:_MOST_ERRORS],
                first_position=runs[0].position,
            )
            for name, runs in by_name.items()
        )
