"""One pass over the events of a stream, which hands each to those who keep what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from attrs import define, field

from skillwalker.agent_uses import AgentTracker
from skillwalker.events import Event, as_dict, as_int, as_str
from skillwalker.names import Names
from skillwalker.skill_uses import SkillTracker
from skillwalker.stream_facts import Answer, Init, ResultEvent, Usage, cost_usd, model_usage, own_usage
from skillwalker.text import safe
from skillwalker.tool_calls import ToolCallReader, blocks, text_of

_SYNTHETIC = "<synthetic>"  # the model of messages that Claude Code wrote itself
_IGNORED = frozenset(
    {
        "stream_event",
        "tool_progress",
        "command_lifecycle",
        "conversation_reset",
        "system/background_tasks_changed",
        "system/hook_started",
        "system/hook_response",
        "system/status",
        "system/thinking_tokens",
        "system/informational",
        "system/model_fallback",
        "system/model_refusal_no_fallback",
        "system/ui_invalidate",
    }
)
_MOST_KINDS = 20  # of unknown events that are told apart


@define
class StreamReader:
    """What a stream has said so far; `finish` it before asking."""

    names: Names
    prompt: str | None = None
    skills: SkillTracker = field(init=False)
    agents: AgentTracker = field(init=False)
    tools: ToolCallReader = field(factory=ToolCallReader, init=False)
    init: Init | None = field(default=None, init=False)
    result: ResultEvent | None = field(default=None, init=False)
    results: int = field(default=0, init=False)
    usage: Usage | None = field(default=None, init=False)
    usage_by_model: dict[str, Usage] | None = field(default=None, init=False)
    cost_usd: float | None = field(default=None, init=False)
    models: dict[str, None] = field(factory=dict, init=False)
    message_ids: set[str] = field(factory=set, init=False)
    task_calls: set[str] = field(factory=set, init=False)
    retries: int = field(default=0, init=False)
    api_error: str | None = field(default=None, init=False)
    not_events: int = field(default=0, init=False)
    cut_off: bool = field(default=False, init=False)
    ended: bool = field(default=False, init=False)
    _answer: Answer = field(factory=Answer, init=False)
    _answers_in_main: int = field(default=0, init=False)
    _prompt_came_back: bool = field(default=False, init=False)
    _first_stray: str | None = field(default=None, init=False)
    _last_retry: str = field(default="", init=False)
    _denied: Counter[str] = field(factory=Counter, init=False)
    _limits: dict[str, None] = field(factory=dict, init=False)
    _unknown: Counter[str] = field(factory=Counter, init=False)
    _hooks: dict[str, None] = field(factory=dict, init=False)
    _tasks: set[str | None] = field(factory=set, init=False)
    _uncalled_tasks: dict[str, None] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self.skills, self.agents = SkillTracker(self.names), AgentTracker(self.names)

    def feed(self, event: Event) -> None:
        """Takes the next event."""
        match event.kind:
            case "assistant":
                self._assistant(event)
            case "user":
                self._user(event)
            case "result":
                self._result(event)
            case "system/init":
                self.init = self.init or Init.of(event.data)
                self.skills.listed(self.init.skills or ())
                self._answer.restart()
            case "system/task_started":
                self._task_called(event.data)
                if not self.skills.task_started(event):
                    self.agents.task_started(event)
            case "system/task_progress" | "system/task_updated" | "system/task_notification":
                self._task(event)
            case "system/api_retry":
                self.retries += 1
                reason = (event.data.get("error_status"), event.data.get("error"))
                self._last_retry = " ".join(str(part) for part in reason if part is not None)
            case "system/hook_response" if event.data.get("outcome") == "error":
                self._hook_failed(event.data)
            case "system/permission_denied":
                self._denied[as_str(event.data.get("tool_name")) or "a tool"] += 1
            case "rate_limit_event":
                limit = as_dict(event.data.get("rate_limit_info"))
                if (status := limit.get("status")) != "allowed":
                    self._limits[f"{limit.get('rateLimitType')}: {status}"] = None
            case "":
                self._stray(event)
            case kind if kind not in _IGNORED:
                self._unknown[
                    kind if kind in self._unknown or len(self._unknown) < _MOST_KINDS else "others"
                ] += 1

    def _hook_failed(self, data: Mapping[str, Any]) -> None:
        if len(self._hooks) >= _MOST_KINDS:
            return
        name = safe(as_str(data.get("hook_name")) or as_str(data.get("hook_event")) or "?", 80)
        said = safe(as_str(data.get("stderr")) or as_str(data.get("output")) or "it says nothing", 120)
        self._hooks[f"the hook {name} failed (exit code {as_int(data.get('exit_code'))}): {said}"] = None

    def _assistant(self, event: Event) -> None:
        message = as_dict(event.data.get("message"))
        model, identity, parent = as_str(message.get("model")), as_str(message.get("id")), event.parent
        self.ended = self.ended and parent is not None
        if parent is not None:
            self.agents.began(parent)
            self.agents.said(event)
        elif model == _SYNTHETIC:
            self.api_error = as_str(event.data.get("error")) or self.api_error
        else:
            self.api_error = None
            self._answer.said(event)
        if model != _SYNTHETIC:
            if model is not None:
                self.models[model] = None
            if identity is not None and identity not in self.message_ids:
                self.message_ids.add(identity)
                self._answers_in_main += parent is None
        for call in self.tools.calls(event):
            if call.name == "Skill":
                self.skills.called(call)
            else:
                self.agents.called(call)

    def _user(self, event: Event) -> None:
        data, parent = event.data, event.parent
        self.ended = self.ended and parent is not None
        if parent is not None:
            self.agents.began(parent)
        for result in self.tools.results(event):
            self.skills.answered(result)
            self.agents.answered(result)
            if parent is None:
                self._answer.restart()
        if data.get("isReplay"):
            text = text_of(as_dict(data.get("message")).get("content"))
            self._prompt_came_back |= text == self.prompt
            self.skills.replayed(text, self.prompt)
            return
        synthetic = data.get("isSynthetic") is True
        for block in blocks(event):
            if block.get("type") == "text" and (said := as_str(block.get("text"))) is not None:
                self.skills.body(said, parent, synthetic=synthetic)
                if synthetic and parent is None:
                    self._answer.added(said)

    def _task_called(self, data: Mapping[str, Any]) -> None:
        """By which call a sub-agent or a fork was started."""
        call, kind, task = (as_str(data.get(key)) for key in ("tool_use_id", "subagent_type", "task_id"))
        if kind is not None and call is not None:
            self.task_calls.add(call)
        elif kind is not None and task not in self._tasks:
            self._uncalled_tasks[kind] = None
        self._tasks.add(task)

    def _task(self, event: Event) -> None:
        data = event.data
        task, call = as_str(data.get("task_id")) or "", as_str(data.get("tool_use_id"))
        if event.kind == "system/task_progress":
            if data.get("last_tool_name") == "Skill" and call is not None:
                self.skills.hint(call)
        elif event.kind == "system/task_updated":
            patch = as_dict(data.get("patch"))
            self.agents.task_changed(task, as_str(patch.get("status")), as_str(patch.get("error")))
        else:
            status, summary = as_str(data.get("status")) or "unknown", as_str(data.get("summary")) or ""
            self.skills.task_ended(task or call or "", status, summary)
            self.agents.task_ended(task, call, status, summary)

    def _result(self, event: Event) -> None:
        self.results += 1
        self.ended = True
        self.result = ResultEvent.of(event.data)
        models = model_usage(event.data)
        self.usage_by_model = models
        self.cost_usd = cost_usd(event.data)
        if models:
            self.usage = Usage.total(models.values())
        elif models is not None:  # no model was asked, or none told what its refusals took
            self.usage = Usage(0, 0, 0, 0) if self.turns == 0 else None
        else:  # each result tells its own part only, and which parts overlap is not known
            self.usage = own_usage(event.data) if self.results == 1 else None

    def _stray(self, event: Event) -> None:
        self.not_events += 1
        self.cut_off = event.problem is not None and event.problem.endswith("end of line")
        if self._first_stray is None:
            self._first_stray = f"{event.problem}: {event.line}"

    def finish(self) -> None:
        """Takes the end of the stream."""
        for model in self.usage_by_model or ():
            self.models[model] = None
        if self.prompt is not None and not self._prompt_came_back:
            asked = None if self.usage_by_model is None else bool(self.usage_by_model)
            self.skills.not_replayed(self.prompt, asked=asked)

    @property
    def uncalled(self) -> frozenset[str]:
        """Skills and agents that were at work though neither a call nor the prompt started them."""
        if self.prompt is None or self.prompt.startswith("/"):  # a slash command needs no call
            return frozenset()
        return frozenset((*self.skills.uncalled, *self._uncalled_tasks))

    @property
    def final_text(self) -> str | None:
        return None if self.result is None else self._answer.final(self.result)

    @property
    def turns(self) -> int | None:
        """An answer without content leaves no event, so no answer seen is not yet none given."""
        if self._answers_in_main:
            return self._answers_in_main
        none_given = self.results == 1 and self.result is not None and self.result.num_turns == 0
        return 0 if none_given else None

    def notes(self) -> tuple[str, ...]:
        """What a reader of the results should know."""
        notes = []
        if self.not_events:
            lines = (
                "1 line that is no event"
                if self.not_events == 1
                else f"{self.not_events} lines that are no events"
            )
            notes.append(f"{lines} (the first: {self._first_stray})")
        if self.cut_off:
            notes.append("the last line is cut off")
        if self._unknown:
            kinds = ", ".join(f"{kind} ({count})" for kind, count in self._unknown.items())
            notes.append(f"unknown events: {kinds}")
        if self.retries:
            notes.append(
                f"Claude Code repeated requests to the API {self.retries} times (last: {self._last_retry})"
            )
        notes += self._hooks
        notes += [f"rate limit {limit}" for limit in self._limits]
        if self._denied:
            notes.append("denied for want of permission: " + ", ".join(self._denied))
        for tool in self.agents.maybe:
            notes.append(f"the unknown tool {tool} was passed a `subagent_type`: maybe an agent")
        if self.skills.nameless or self.agents.nameless:
            notes.append("a call of the Skill or Agent tool named none")
        if self.skills.call_hidden:
            notes.append("a sub-agent used the Skill tool, and the stream does not show for what")
        if self.skills.command_hidden:
            notes.append("the prompt begins as a slash command, and the stream does not show whether it ran")
        if self.agents.open or self.skills.open_forks:
            notes.append("a sub-agent began whose end was not seen")
        return tuple(notes)
