"""Which conversation of a caller a request belongs to: the main one, a sub-agent's, a forked skill's.

Claude Code marks the requests of sub-agents by headers (`x-claude-code-agent-id`, and for agents inside
agents `x-claude-code-parent-agent-id`), but not with the agent's type. That follows from the Agent or Skill
call that was served before: an agent's first message is the call's `prompt`, a fork's the skill's body.
All seen with Claude Code 2.1.332.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from attrs import define, field, frozen

AGENT_TOOLS = frozenset({"Agent", "Task"})
_DEFAULT_AGENT = "general-purpose"
_SKILL_DIRECTORY = re.compile(r"Base directory for this skill: \S*?([^/\s]+)/?(?:\n|$)")


@frozen
class Thread:
    """One conversation.

    Attributes:
        kind: `side` is a request of Claude Code for itself, without tools (such as reading a web page).
        key: The same in every run, unique among the caller's conversations.
        label: As it stands in gateway.jsonl: `main`, `agent:<id>`, `judge`, `side`.
        agent: Of an agent its type, of a forked skill its name, as the model called it; None where unknown.
        fork: Whether it is a forked skill.
    """

    kind: Literal["main", "agent", "judge", "side"]
    key: str
    label: str
    agent: str | None = None
    fork: bool = False


@frozen
class Place:
    """Where a request stands: see `Exchange`."""

    thread: Thread
    turn: int
    attempt: int


@define
class _Call:
    """An Agent or Skill call that was served and may have started a conversation."""

    id: str
    name: str
    prompt: str | None  # of a skill None
    thread: str  # key of the conversation that holds the call
    taken: bool = False


@define
class Conversations:
    """All conversations of one caller, in the order in which they were seen."""

    _purpose: Literal["trial", "judge"]
    _main: str | None = None
    _calls: list[_Call] = field(factory=list)
    _agents: dict[str, Thread] = field(factory=dict)
    _before: dict[str, int] = field(factory=dict)
    _questions: dict[tuple[str, int], int] = field(factory=dict)
    _asked: int = 0  # of a judge
    _attempts: Counter[tuple[str, int]] = field(factory=Counter)

    def place(self, request: Mapping[str, Any], headers: Mapping[str, str]) -> Place:
        """Tells where a request stands, and remembers it."""
        answers = sum(1 for message in messages_of(request) if message.get("role") == "assistant")
        if self._purpose == "judge":
            thread = Thread("judge", "judge", "judge")
            question = (_digest(first_texts(request)), answers)
            if question not in self._questions or _is_no_retry(headers):
                self._questions[question] = self._asked
                self._asked += 1
            turn = self._questions[question]
        else:
            thread = self._thread(request, headers)
            # A conversation that starts as a copy of another counts from there.
            copied = self._before.setdefault(thread.key, answers if thread.kind == "agent" else 0)
            turn = max(answers - copied, 0)
        self._attempts[thread.key, turn] += 1
        return Place(thread, turn, self._attempts[thread.key, turn])

    def served(self, thread: Thread, call: Mapping[str, Any]) -> None:
        """Remembers a tool_use block that may start a conversation; tell it before its end is sent."""
        given = call.get("input")
        given = given if isinstance(given, dict) else {}
        if call.get("name") in AGENT_TOOLS:
            kind, prompt = given.get("subagent_type", _DEFAULT_AGENT), str(given.get("prompt", ""))
            self._calls.append(_Call(str(call.get("id")), str(kind), prompt, thread.key))
        elif call.get("name") == "Skill":
            name = str(given.get("skill", "")).removeprefix("/")
            self._calls.append(_Call(str(call.get("id")), name, None, thread.key))

    def _thread(self, request: Mapping[str, Any], headers: Mapping[str, str]) -> Thread:
        texts = first_texts(request)
        digest = _digest(texts)
        identity = headers.get("x-claude-code-agent-id")
        if identity is None:
            if self._main is None:
                self._main = digest
            if digest == self._main:
                # A forked skill that was called by a slash command is all there is, and has no header.
                directory = _skill_directory(texts[:1])
                return Thread("main", "main", "main", directory, fork=directory is not None)
            if digest not in self._agents:  # older versions send no header
                call = self._call_for(texts, None)
                if call is None:
                    kind: Literal["main", "side"] = "main" if request.get("tools") else "side"
                    return Thread(kind, kind, kind)
            identity = digest
        if identity not in self._agents:
            self._agents[identity] = self._new_agent(request, headers, identity)
        return self._agents[identity]

    def _new_agent(self, request: Mapping[str, Any], headers: Mapping[str, str], identity: str) -> Thread:
        parent = self._agents.get(headers.get("x-claude-code-parent-agent-id", ""))
        texts = first_texts(request)
        call = self._call_for(texts, parent.key if parent else "main")
        if call is None:  # it may be a copy of its parent's conversation, with the prompt as its last message
            call = self._call_for(last_texts(request), parent.key if parent else "main")
        label = f"agent:{identity}"
        if call:
            call.taken = True
            return Thread("agent", call.id, label, call.name, fork=call.prompt is None)
        directory = _skill_directory(texts)
        return Thread("agent", f"agent:{_digest(texts)}", label, directory, fork=directory is not None)

    def _call_for(self, texts: list[str], parent: str | None) -> _Call | None:
        free = [call for call in self._calls if not call.taken]
        free.sort(key=lambda call: call.thread != parent)  # stable: the parent's own calls first
        stripped = {text.strip() for text in texts}
        agents = [(call, call.prompt.strip()) for call in free if call.prompt is not None]
        for call, prompt in agents:
            if prompt in stripped:
                return call
        if directory := _skill_directory(texts):
            skills = [call for call in free if call.prompt is None]
            named = [call for call in skills if call.name.rpartition(":")[2] == directory]
            return next(iter(named or skills[-1:]), None)  # no name fits an alias: the one called last
        return next(
            (call for call, prompt in agents if prompt and any(prompt in text for text in texts)), None
        )


def _is_no_retry(headers: Mapping[str, str]) -> bool:
    """Whether a client that counts its retries says that this is none: two judges may ask the same."""
    client = headers.get("x-stainless-lang"), headers.get("x-stainless-retry-count")
    return client == ("python", "0")


def messages_of(request: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The messages, leaving out what is none (anything can come over a connection)."""
    found = request.get("messages")
    for message in found if isinstance(found, list) else ():
        if isinstance(message, dict):
            yield message


def texts_of(content: Any) -> list[str]:
    """The texts of a message's or a tool result's content."""
    if isinstance(content, str):
        return [content]
    blocks = content if isinstance(content, list) else ()
    found = (block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text")
    return [text for text in found if isinstance(text, str)]


def first_texts(request: Mapping[str, Any]) -> list[str]:
    """The texts of the first message of the user, without what Claude Code itself puts before them."""
    return next(_user_texts(request), [])


def last_texts(request: Mapping[str, Any]) -> list[str]:
    """The same of the last message of the user."""
    return ([[], *_user_texts(request)])[-1]


def _user_texts(request: Mapping[str, Any]) -> Iterator[list[str]]:
    for message in messages_of(request):
        if message.get("role") == "user":
            texts = texts_of(message.get("content"))
            yield [text for text in texts if not text.lstrip().startswith("<system-reminder>")]


def _skill_directory(texts: list[str]) -> str | None:
    found = (_SKILL_DIRECTORY.match(text) for text in texts)
    return next((match[1] for match in found if match), None)


def _digest(texts: list[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
