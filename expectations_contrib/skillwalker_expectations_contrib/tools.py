"""Types about the tools that a trial called, at any depth.

A call that was seen is a fact in any trial, but for one whose stream holds what the model did not say. That
there was none, or that there were no more, is a fact only in a healthy one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, ClassVar, NamedTuple

from attrs import field, frozen, validators

from skillwalker.expectations import (
    NotObservedError,
    Outcome,
    Trial,
    Verdict,
    listed,
    safe,
    shown,
)
from skillwalker_expectations_contrib.options import each
from skillwalker_expectations_contrib.patterns import is_flags, pattern_fault, search

_KNOWN = (
    *("Agent", "AskUserQuestion", "Bash", "BashOutput", "Edit", "ExitPlanMode", "Glob", "Grep", "KillShell"),
    *("NotebookEdit", "Read", "Skill", "SlashCommand", "Task", "TodoWrite", "WebFetch", "WebSearch", "Write"),
)
"""Claude Code's own tools; there are others, so only a wrong capital is taken for a mistake."""
_AGENT = frozenset({"Agent", "Task"})
"""One tool: the first name is the one of today."""
_SHOWN = 5

Patterns = Mapping[str, str] | str


class _Call(NamedTuple):
    """A call as far as it matters here."""

    name: str
    position: int
    input: Mapping[str, Any]


def _names(_: Any, attribute: Any, value: Any) -> None:
    if value is None:
        return
    if not value:
        raise ValueError(f"'{attribute.name}' must name a tool")
    for name in each(value):
        if not name.strip():
            raise ValueError(f"'{attribute.name}' must name a tool")
        right = next((known for known in _KNOWN if known.casefold() == name.casefold()), name)
        if right != name:
            raise ValueError(f"'{attribute.name}' has {safe(name, 60)}, but the tool's name is {right}")


def _patterns(instance: Any, attribute: Any, value: Patterns | None) -> None:
    if value == {}:
        raise ValueError(
            f"'{attribute.name}' must name a part of the input; leave it out if any input will do"
        )
    for name, pattern in _by_name(value).items():
        if fault := pattern_fault(pattern, instance.flags):
            raise ValueError(f"'{attribute.name}' {f'{safe(name, 60)}: ' if name else ''}{fault}")


def _by_name(patterns: Patterns | None) -> Mapping[str, str]:
    """Without a name: about the whole input."""
    if patterns is None:
        return {}
    return {"": patterns} if isinstance(patterns, str) else patterns


def _is_tool(pattern: str, name: str) -> bool:
    return fnmatchcase(name, pattern) or (pattern in _AGENT and name in _AGENT)


def _fits(call: _Call, tools: Iterable[str], patterns: Patterns | None, flags: str) -> bool:
    if not any(_is_tool(tool, call.name) for tool in tools):
        return False
    return all(
        (text := _text(call.input, name)) is not None and search(pattern, text, flags) is not None
        for name, pattern in _by_name(patterns).items()
    )


def _text(input: Mapping[str, Any], name: str) -> str | None:
    """What a pattern is held against: a text as it is, anything else, and the whole input, as JSON."""
    if name and name not in input:
        return None
    value: Any = input[name] if name else input
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _calls(trial: Trial) -> tuple[_Call, ...]:
    return tuple(_Call(call.name, call.position, call.input) for call in trial.transcript.tool_calls())


def _require_all_seen(trial: Trial, what: str, tools: Iterable[str], calls: Iterable[_Call]) -> None:
    """Raises NotObservedError where there may have been calls that are not in the stream.

    Of an agent within an agent some versions of Claude Code tell no more than its tools' names.
    """
    trial.require_healthy(what)
    named = {name for name in _told(trial) if any(_is_tool(tool, name) for tool in tools)}
    if hidden := named - {call.name for call in calls}:
        raise NotObservedError(f"{what} (an agent used {listed(sorted(hidden))} out of sight)", None)


def _told(trial: Trial) -> Iterator[str]:
    """Names of tools that an agent's progress or report speaks of."""
    for event in trial.transcript.events():
        data = event.data
        if isinstance(name := data.get("last_tool_name"), str):
            yield name
        report = data.get("tool_use_result")
        used = report.get("toolsUsed") if isinstance(report, dict) else None
        yield from (name for name in used or () if isinstance(name, str)) if isinstance(used, list) else ()


def _summary(calls: Collection[_Call]) -> str:
    """`called: Read (3), Bash (1)`."""
    numbers: dict[str, int] = {}
    for call in calls:
        numbers[call.name] = numbers.get(call.name, 0) + 1
    return f"called: {listed([f'{name} ({number})' for name, number in numbers.items()], _SHOWN) or 'none'}"


def _one(call: _Call) -> str:
    return f"call {call.position}, {safe(call.name, 60)} {shown(dict(call.input), 160)}"


@frozen
class ToolCall:
    """A tool was called, with an input and as often as given, in the order given.

    Calls of sub-agents count too, and so do those that failed. `Agent` and `Task` are the same tool.

    Attributes:
        tool: The tool's name, such as `Bash` or `mcp__github__*`; several in a list are alternatives.
        input: A regular expression for the whole input as JSON, or an object with one for each part of the
            input that matters, such as `{"command": "^git (status|diff)"}`.
        flags: Of these patterns: `i` (capitals do not count), `m`, `s`, `x`.
        min: How many such calls there must be.
        max: How many there may be.
        count: How many there must be exactly, instead of `min` and `max`.
        after: A tool that must have been called before the first such call.
        before: A tool that must be called, and not before the first such call.

    Examples:
        {"tool-call": "WebSearch"}
        {"tool-call": {"tool": "Bash", "input": {"command": "^pytest"}, "after": "Edit"}}
    """

    shorthand: ClassVar[str] = "tool"

    tool: str | tuple[str, ...] = field(validator=_names)
    input: Patterns | None = field(default=None, validator=_patterns)
    flags: str = field(default="", validator=is_flags)
    min: int | None = field(default=None, validator=validators.optional(validators.ge(1)))
    max: int | None = field(default=None, validator=validators.optional(validators.ge(1)))
    count: int | None = field(default=None, validator=validators.optional(validators.ge(1)))
    after: str | None = field(default=None, validator=_names)
    before: str | None = field(default=None, validator=_names)

    def __attrs_post_init__(self) -> None:
        if self.count is not None and (self.min is not None or self.max is not None):
            raise ValueError("count says it exactly; leave out min and max")
        if self.max is not None and self._least > self.max:
            raise ValueError(f"min is {self._least} and max {self.max}, which no number of calls is")

    def check(self, trial: Trial) -> Verdict:
        trial.require_own(f"whether {self._wanted} was called")
        calls = _calls(trial)
        tools = each(self.tool)
        fitting = [call for call in calls if _fits(call, tools, self.input, self.flags)]
        number, most = len(fitting), self._most
        seen = f"{self._wanted}: {number} {'call' if number == 1 else 'calls'}"
        if most is not None and number > most:
            return Verdict(Outcome.FAILED, f"{seen}, expected {self._often}; the last is {_one(fitting[-1])}")
        disorder = self._disorder(calls, fitting[0]) if fitting else None
        if number < self._least or disorder or most is not None:
            others = [tool for tool in (self.after, self.before) if tool is not None]
            _require_all_seen(trial, f"how often {self._wanted} was called", (*tools, *others), calls)
        if number < self._least:
            return Verdict(Outcome.FAILED, f"{seen}, expected {self._often}; {self._instead(calls)}")
        if disorder:
            return Verdict(Outcome.FAILED, f"{seen}, but {disorder}")
        return Verdict(Outcome.PASSED, f"{seen}; the first is {_one(fitting[0])}")

    @property
    def _least(self) -> int:
        return self.count or self.min or 1

    @property
    def _most(self) -> int | None:
        return self.count or self.max

    @property
    def _often(self) -> str:
        if self.count is not None:
            return f"exactly {self.count}"
        return f"{self._least} or more" if self.max is None else f"{self._least} to {self.max}"

    @property
    def _wanted(self) -> str:
        return _described(self.tool, self.input)

    def _instead(self, calls: Collection[_Call]) -> str:
        near = [call for call in calls if any(_is_tool(tool, call.name) for tool in each(self.tool))]
        if near and self.input is not None:
            return f"with other input: {'; '.join(map(_one, near[:2]))}"
        return _summary(calls)

    def _disorder(self, calls: Iterable[_Call], first: _Call) -> str | None:
        """In what the order is not as expected, as far as calls were seen."""
        for tool, follows in ((self.after, False), (self.before, True)):
            if tool is None:
                continue
            other = next((call for call in calls if call is not first and _is_tool(tool, call.name)), None)
            if other is None:
                return f"{safe(tool, 60)} was never called"
            if (other.position > first.position) is not follows:
                when = "before" if follows else "only after"
                places = f"calls {other.position} and {first.position}"
                return f"{safe(tool, 60)} was called {when} the first ({places})"
        return None


@frozen
class ToolNotUsed:
    """No tool of those named was called, neither by the main conversation nor by a sub-agent.

    A call that was refused or failed counts: the model did try. `Agent` and `Task` are the same tool.

    Attributes:
        tool: One name or a list of names; `*` stands for any characters.
        input: Counts only calls with such an input: a regular expression for all of it as JSON, or an object
            with one for each part that matters, such as `{"command": "rm -rf"}`.
        flags: Of these patterns: `i` (capitals do not count), `m`, `s`, `x`.

    Examples:
        {"tool-not-used": ["WebFetch", "mcp__*"]}
        {"tool-not-used": {"tool": "Bash", "input": {"command": "git push"}}}
    """

    shorthand: ClassVar[str] = "tool"

    tool: str | tuple[str, ...] = field(validator=_names)
    input: Patterns | None = field(default=None, validator=_patterns)
    flags: str = field(default="", validator=is_flags)

    def check(self, trial: Trial) -> Verdict:
        wanted, tools = _described(self.tool, self.input), each(self.tool)
        trial.require_own(f"whether {wanted} was called")
        calls = _calls(trial)
        fitting = [call for call in calls if _fits(call, tools, self.input, self.flags)]
        if fitting:
            more = f" and {len(fitting) - 1} more" if len(fitting) > 1 else ""
            return Verdict(Outcome.FAILED, f"{wanted} was called: {_one(fitting[0])}{more}")
        _require_all_seen(trial, f"whether {wanted} was called", tools, calls)
        return Verdict(Outcome.PASSED, f"{wanted} was not called; {_summary(calls)}")


def _described(tool: str | Collection[str], input: Patterns | None) -> str:
    name = " or ".join(safe(one, 60) for one in each(tool))
    given = [
        f"{safe(part, 40)} " * bool(part) + f"/{safe(text, 60)}/" for part, text in _by_name(input).items()
    ]
    return f"{name} with {', '.join(given)}" if given else name
