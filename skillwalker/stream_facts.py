"""What a stream says of its session as a whole: the start, the results, the tokens and the answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import define, field, frozen

from skillwalker.events import Event, as_bool, as_dict, as_float, as_int, as_list, as_str
from skillwalker.tool_calls import blocks

# How Claude Code asks the model to go on where an answer was cut. Its result then holds the last part only.
_CONTINUED = ("Output token limit hit", "Your response above was cut off mid-stream")


@frozen
class LoadedPlugin:
    """A plugin that Claude Code says it loaded; its own ones have the path `builtin`."""

    name: str
    path: str | None = None
    source: str | None = None
    version: str | None = None


@frozen
class PluginError:
    """What Claude Code could not load of a plugin."""

    message: str
    plugin: str | None = None
    type: str | None = None
    path: str | None = None

    def __str__(self) -> str:
        return ": ".join(part for part in (self.plugin, self.message) if part)


@frozen
class Init:
    """The session's start. A part that the event did not have is None.

    Attributes:
        skills: As Claude Code lists them: without those that users may not call or that have no description.
        mcp_servers: Name to status, such as `connected`, `failed` or `pending`.
        plugin_errors: Empty where none was reported.
    """

    version: str | None = None
    model: str | None = None
    plugins: tuple[LoadedPlugin, ...] | None = None
    plugin_errors: tuple[PluginError, ...] = ()
    skills: tuple[str, ...] | None = None
    agents: tuple[str, ...] | None = None
    mcp_servers: Mapping[str, str] | None = None
    tools: tuple[str, ...] | None = None

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Init:
        servers = _named(data.get("mcp_servers"))
        plugins = _named(data.get("plugins"))
        return cls(
            version=as_str(data.get("claude_code_version")),
            model=as_str(data.get("model")),
            plugins=None if plugins is None else tuple(_plugin(plugin) for plugin in plugins),
            plugin_errors=tuple(map(_plugin_error, as_list(data.get("plugin_errors")))),
            skills=_strings(data.get("skills")),
            agents=_strings(data.get("agents")),
            mcp_servers=None
            if servers is None
            else {server["name"]: as_str(server.get("status")) or "unknown" for server in servers},
            tools=_strings(data.get("tools")),
        )


def _named(value: object) -> list[Mapping[str, Any]] | None:
    """The objects of an array that have a name; None where there is no array."""
    if not isinstance(value, list):
        return None
    return [item for item in map(as_dict, value) if isinstance(item.get("name"), str)]


def _plugin(data: Mapping[str, Any]) -> LoadedPlugin:
    return LoadedPlugin(data["name"], *(as_str(data.get(key)) for key in ("path", "source", "version")))


def _plugin_error(value: object) -> PluginError:
    data = as_dict(value)
    message = as_str(data.get("message")) or as_str(data.get("error")) or str(value)
    return PluginError(message, *(as_str(data.get(key)) for key in ("plugin", "type", "path")))


def _strings(value: object) -> tuple[str, ...] | None:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else None


@frozen
class ResultEvent:
    """The end of a session, or of one of its parts. `subtype` is `success` even around an API error.

    Attributes:
        terminal_reason: Why it ended, such as `completed`, `api_error`, `max_turns`, `aborted_tools`.
        api_error_status: HTTP status of the API's last error.
        text: The answer; None where the event has none.
        num_turns: Claude Code's own count, which is not one of model answers.
        duration_ms: Milliseconds.
    """

    is_error: bool | None = None
    subtype: str | None = None
    terminal_reason: str | None = None
    api_error_status: int | None = None
    text: str | None = None
    errors: tuple[str, ...] = ()
    num_turns: int | None = None
    duration_ms: int | None = None
    permission_denials: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> ResultEvent:
        return cls(
            is_error=as_bool(data.get("is_error")),
            subtype=as_str(data.get("subtype")),
            terminal_reason=as_str(data.get("terminal_reason")),
            api_error_status=as_int(data.get("api_error_status")),
            text=as_str(data.get("result")),
            errors=_strings(data.get("errors")) or (),
            num_turns=as_int(data.get("num_turns")),
            duration_ms=as_int(data.get("duration_ms")),
            permission_denials=tuple(
                denial for denial in as_list(data.get("permission_denials")) if isinstance(denial, dict)
            ),
        )


@frozen
class Usage:
    """Tokens; None where one was not told."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None

    @classmethod
    def total(cls, parts: Iterable[Usage]) -> Usage:
        """The sums; None where one of the parts does not know."""
        parts = tuple(parts)

        def added(name: str) -> int | None:
            known = [value for part in parts if (value := getattr(part, name)) is not None]
            return sum(known) if known and len(known) == len(parts) else None

        return cls(*map(added, _MODEL_USAGE))


_MODEL_USAGE = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_input_tokens": "cacheReadInputTokens",
    "cache_creation_input_tokens": "cacheCreationInputTokens",
}


def model_usage(data: Mapping[str, Any]) -> dict[str, Usage] | None:
    """Tokens per model in a result event: of the process so far, sub-agents included. None where not told."""
    if not isinstance(models := data.get("modelUsage"), dict):
        return None
    return {
        model: Usage(*(as_int(as_dict(told).get(key)) for key in _MODEL_USAGE.values()))
        for model, told in models.items()
    }


def own_usage(data: Mapping[str, Any]) -> Usage | None:
    """Tokens of the main conversation up to a result event. None where not told."""
    if not isinstance(told := data.get("usage"), dict):
        return None
    return Usage(*(as_int(told.get(name)) for name in _MODEL_USAGE))


def cost_usd(data: Mapping[str, Any]) -> float | None:
    """Cost in a result event: of the process so far, by Claude Code's own price list. None where not told."""
    return as_float(data.get("total_cost_usd"))


@define
class Answer:
    """The text of the main conversation since the last tool result, for answers that came in parts."""

    _parts: list[str] = field(factory=list, init=False)
    _continued: bool = field(default=False, init=False)

    def said(self, event: Event) -> None:
        """An assistant event of the main conversation."""
        texts = (block.get("text") for block in blocks(event) if block.get("type") == "text")
        self._parts += [text for text in texts if isinstance(text, str)]

    def added(self, text: str) -> None:
        """What Claude Code itself put into the main conversation."""
        self._continued |= text.startswith(_CONTINUED)

    def restart(self) -> None:
        """A tool result, or a new part of the session."""
        self._parts.clear()
        self._continued = False

    def final(self, result: ResultEvent) -> str | None:
        """The text of the last result, whole."""
        joins = self._continued and not result.is_error and self._parts and self._parts[-1] == result.text
        return "".join(self._parts) if joins else result.text
