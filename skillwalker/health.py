"""Decides whether a trial may say *no*: the rule of three values, in one pure function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from html import unescape
from typing import Literal, Protocol

from attrs import frozen

from skillwalker.expectations.base import Health
from skillwalker.gateway.listing import Listing
from skillwalker.listing import SHOWN_CHARACTERS, is_cut
from skillwalker.outcomes import NO_ANSWER, Reason
from skillwalker.sandbox.base import Exit
from skillwalker.text import listed, safe
from skillwalker.transcript import Init, ResultEvent, Transcript


class Served(Protocol):
    """What the gateway knows of one trial."""

    @property
    def answers(self) -> int: ...
    @property
    def message_ids(self) -> Collection[str]: ...
    @property
    def tool_use_ids(self) -> Collection[str]: ...
    @property
    def miss(self) -> str | None:
        """What no script or cassette had an answer for; None where nothing was missed."""

    @property
    def over_budget(self) -> str | None:
        """Why the budget let no more turns start; None where it did not stop any."""

    @property
    def last_texts(self) -> Collection[str]:
        """What the model said last in the main conversation."""

    @property
    def listing(self) -> Listing | None:
        """What the last request of the main conversation listed."""

    @property
    def errors(self) -> Sequence[tuple[int, str, str]]:
        """(status, type, message) of the last error answers, oldest first."""


@frozen
class MustList:
    """A line without which a trial cannot tell whether a description works.

    Attributes:
        kind: `skills` or `agents`.
        description: What the model has to be shown; None where Claude Code lists none.
    """

    kind: Literal["skills", "agents"]
    id: str
    description: str | None


@frozen
class Stopped:
    """Why the runner ended a trial's process."""

    reason: Reason
    message: str


def assess(
    transcript: Transcript,
    served: Served,
    *,
    ended: Exit | None,
    stopped: Stopped | None,
    plugin_paths: Sequence[str],
    servers_matter: bool,
    known_as: Mapping[str, str] | None = None,
    stderr_tail: str = "",
    must_list: MustList | None = None,
    lingered: bool = False,
    redact: Callable[[str], str] = str,
) -> Health:
    """The first reason that holds, from the most to the least certain.

    Args:
        ended: How the process ended; None where that is not known.
        plugin_paths: Where the trial's plugins stood; each must have been loaded from there.
        known_as: What to call such a place in messages: the plugin's directory as its author knows it.
        must_list: The skill or agent that an activation test is about.
        lingered: Whether the runner killed it since it did not end after its result.
        redact: Does to a text of the model what was done to the stream.
        servers_matter: Whether an MCP server that does not connect counts as a plugin that did not load.
    """
    if foreign := _foreign(transcript, served):  # first: of any other trial what was seen counts
        return Health(Reason.CONTAMINATED, foreign)
    if stopped:
        return Health(stopped.reason, stopped.message)
    if ended and ended.out_of_memory:
        return Health(Reason.OUT_OF_MEMORY, "the memory limit killed a process of the trial")
    if served.over_budget:
        return Health(Reason.BUDGET, served.over_budget)
    if served.miss:
        return Health(Reason.CASSETTE_MISS, served.miss)
    if transcript.result is None:
        return _without_result(served, ended, stderr_tail)
    if transcript.result.is_error is not False or transcript.result.subtype != "success":
        return _error_result(transcript.result, served)
    if said := _not_said(transcript.result, served, redact):
        return Health(Reason.CONTAMINATED, said)
    if not transcript.ended:
        return Health(Reason.INCOMPLETE_STREAM, "the stream goes on after its last result and has no end")
    if ended and ended.killed and not lingered:
        return Health(Reason.CLAUDE_ERROR, f"Claude Code was killed after a result (exit code {ended.code})")
    if problem := _not_loaded(transcript.init, plugin_paths, servers_matter):
        return Health(Reason.PLUGIN_NOT_LOADED, _as_known(problem, known_as or {}))
    if transcript.not_events and (lost := set(served.tool_use_ids) - set(transcript.tool_use_ids)):
        return Health(
            Reason.INCOMPLETE_STREAM,
            f"{transcript.not_events} damaged line(s) in the stream, and {len(lost)} tool call(s) missing",
        )
    if not served.answers:
        return Health(Reason.CLAUDE_ERROR, "Claude Code ended without a single answer of the model")
    if must_list and (problem := _not_listed(must_list, served.listing)):
        return Health(Reason.NOT_LISTED, problem)
    if transcript.background_open:
        return Health(Reason.INCOMPLETE_STREAM, "an agent was started whose end never came")
    return Health()


def _not_listed(must: MustList, listing: Listing | None) -> str:
    """Why the model was not shown all that the test is about; empty where it was."""
    if listing is None:
        return "no request listed anything"
    line = next((line for line in getattr(listing, must.kind) if line.id == must.id), None)
    if line is None or must.description is None:
        return f"{must.id} was not listed to the model"
    if not line.description:
        return f"{must.id} was listed without its description: the listing was over its budget"
    if is_cut(must.description):
        return f"the description of {must.id} was cut at {SHOWN_CHARACTERS} characters"
    if _words(line.description) != _words(must.description):
        return f"{must.id} was listed with another description: {safe(line.description, 100)}"
    return ""


def _words(text: str) -> list[str]:
    """Versions differ in line breaks and in how they show `<`."""
    return unescape(text).split()


def _foreign(transcript: Transcript, served: Served) -> str:
    """What the stream says of the model although the gateway never served it; empty where they agree."""
    calls = sorted({*transcript.tool_use_ids, *transcript.task_calls} - set(served.tool_use_ids))
    if calls:
        return f"{len(calls)} tool call(s) in the stream that the model did not make, such as {calls[0]}"
    messages = sorted(set(transcript.message_ids) - set(served.message_ids))
    if messages:
        return f"{len(messages)} message(s) in the stream that the model did not send, such as {messages[0]}"
    # A call that is not in the stream may have been theirs.
    if transcript.uncalled and transcript.tool_use_ids >= set(served.tool_use_ids):
        return f"at work in the stream without a call of the model: {listed(sorted(transcript.uncalled))}"
    return ""


def _not_said(result: ResultEvent, served: Served, redact: Callable[[str], str]) -> str:
    """Where the final text is none that the model said; a trial can write a result to its own stdout."""
    text = (result.text or "").strip()
    if not text or not served.answers or text in {redact(said).strip() for said in served.last_texts}:
        return ""
    return f"the final text is not what the model said last: {safe(text, 100)}"


def _without_result(served: Served, ended: Exit | None, stderr_tail: str) -> Health:
    code = ended.code if ended else None
    last = stderr_tail.strip().rsplit("\n", 1)[-1]
    said = f"; stderr ends with: {last}" if last else ""
    if served.errors and not served.answers:
        return _api_error(*served.errors[-1])
    if code:
        return Health(Reason.CLAUDE_ERROR, f"Claude Code ended with exit code {code} and no result{said}")
    return Health(Reason.INCOMPLETE_STREAM, f"the stream ended without a result (exit code {code}){said}")


def _error_result(result: ResultEvent, served: Served) -> Health:
    status = result.api_error_status
    words = result.text or "; ".join(result.errors or ()) or result.subtype or "no message"
    if status is not None:
        # Claude Code adds advice of its own to what the gateway said, and leaves out the cause of a 404.
        said = served.errors[-1] if served.errors else None
        return _api_error(*said) if said and said[0] == status else _api_error(status, "", words)
    if result.terminal_reason == "api_error":
        return _api_error(*served.errors[-1]) if served.errors else Health(Reason.API_ERROR, words)
    return Health(Reason.CLAUDE_ERROR, f"Claude Code's result is an error ({result.subtype}): {words}")


def _api_error(status: int, kind: str, message: str) -> Health:
    if message.startswith(NO_ANSWER):  # status and type are the gateway's own
        return Health(Reason.API_ERROR, message)
    reason = Reason.RATE_LIMITED if status == 429 else Reason.API_ERROR
    code = f"HTTP {status}" if status >= 400 else ""  # else an answer that began well
    return Health(reason, ": ".join(filter(None, (" ".join(filter(None, (code, kind))), message))))


def _as_known(message: str, known_as: Mapping[str, str]) -> str:
    for place, name in known_as.items():
        message = message.replace(place, name)
    return message


def _not_loaded(init: Init | None, plugin_paths: Sequence[str], servers_matter: bool) -> str:
    """What Claude Code's own init event says is missing; empty where all was loaded."""
    if init is None or init.plugins is None:
        return "Claude Code never said which plugins it loaded"
    errors = "; ".join(map(str, init.plugin_errors))
    loaded = {plugin.path for plugin in init.plugins}
    if missing := [path for path in plugin_paths if path not in loaded]:
        names = ", ".join(path.rsplit("/", 1)[-1] for path in missing)
        return f"not loaded: {names} ({errors or 'Claude Code gives no cause'})"
    if errors:
        return errors
    if servers_matter and (servers := init.mcp_servers):
        failed = [f"{name} ({status})" for name, status in servers.items() if status != "connected"]
        if failed:
            return "MCP servers that did not connect: " + ", ".join(sorted(failed))
    return ""
