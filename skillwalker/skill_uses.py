"""Which skills a stream shows in use: by tool call, slash command or fork, at any depth."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import define, field, frozen

from skillwalker.events import Event, as_dict, as_str
from skillwalker.names import Names
from skillwalker.tool_calls import ToolCall, ToolResult, any_known

_DIRECTORY = re.compile(r"Base directory for this skill: ([^\n]+)")
_COMMAND = re.compile(r"<command-name>\s*/?([^<]*?)\s*</command-name>")
_FORKED_COMMAND = (
    "forked-command-"  # + the skill's id: the parent of what a skill forked by slash command does
)
_ERROR_LIMIT = 500  # characters
_MOST_ERRORS = 5


@frozen
class SkillUse:
    """What was seen of one skill.

    Attributes:
        name: Its id `plugin:directory`, or the name that was used where that is none of the plugins'.
        calls: Attempts, refused ones too.
        loaded: True where its text reached the model at least once; False where every attempt was refused;
            None where that was not seen, or where the fork that ran it broke.
        via: How it was called: `tool`, `slash`, `sub-agent`, `fork`.
        errors: Why attempts were refused or broke, at most five.
        first_position: The first attempt was the n-th tool call of the stream; 0 for a slash command.
        candidates: The ids that `name` may stand for where it is the name of more than one skill.
    """

    name: str
    calls: int
    loaded: bool | None
    via: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    first_position: int = 0
    candidates: tuple[str, ...] = ()


@define
class _Attempt:
    raw: str
    thread: str | None
    via: set[str]
    position: int = 0
    loaded: bool | None = None
    error: str | None = None
    skill: str | None = None  # the id by the skill's directory, the one name in a stream that has one owner

    def broke(self, error: str) -> None:
        self.loaded, self.error = None, error[:_ERROR_LIMIT]


@define
class SkillTracker:
    """Collects the attempts of one stream.

    Attributes:
        others: Bare names that skills beside the plugins' have as well, such as those of Claude Code itself:
            it takes such a name for theirs.
    """

    names: Names
    others: frozenset[str] = field(default=frozenset(), init=False)
    nameless: int = field(default=0, init=False)  # calls of the Skill tool that named no skill
    command_hidden: bool = field(
        default=False, init=False
    )  # the prompt may have been a skill's slash command
    # What reached the main conversation without a call.
    uncalled: dict[str, None] = field(factory=dict, init=False)
    _attempts: dict[str, _Attempt] = field(factory=dict, init=False)  # by id of the call, or by how it came
    _forks: dict[str, str] = field(factory=dict, init=False)  # task id -> key of the attempt that it runs
    _threads: set[str | None] = field(factory=set, init=False)  # where the Skill tool was seen
    _hinted: set[str] = field(factory=set, init=False)  # where progress named the Skill tool

    def listed(self, skills: Sequence[str]) -> None:
        """All that Claude Code has, as it begins."""
        ours = {self.names.skill(name) for name in skills if ":" in name}
        self.others |= {name for name in skills if ":" not in name and self.names.skills.get(name) in ours}

    def called(self, call: ToolCall) -> None:
        """A call of the Skill tool."""
        self._threads.add(call.parent)
        raw = as_str(call.input.get("skill")) or as_str(call.input.get("command"))
        if raw is None:
            self.nameless += 1
        else:
            via = "tool" if call.parent is None else "sub-agent"
            self._attempts[call.id] = _Attempt(raw, call.parent, {via}, call.position)

    def answered(self, result: ToolResult) -> None:
        """A result of whichever tool."""
        attempt = self._attempts.get(result.id)
        if attempt is None:
            return
        extra = as_dict(result.extra)
        if extra.get("status") == "forked":
            attempt.via.add("fork")
            answer = as_str(extra.get("result")) or ""
            if answer.startswith("API Error:"):  # told as a success all the same
                attempt.broke(answer)
        if result.is_error or isinstance(result.extra, str) or extra.get("success") is False:
            attempt.broke(result.extra if isinstance(result.extra, str) else result.text)
            attempt.loaded = False
        elif attempt.error is None:
            # Where nothing lies beside the result (several came together, other versions) its text is all.
            told = result.text.startswith("Launching skill") or "(forked execution)" in result.text
            attempt.loaded = True if extra.get("success") is True or (told and not extra) else None

    def body(self, text: str, thread: str | None, *, synthetic: bool) -> None:
        """A text that may be a skill's, which begins with its directory.

        Args:
            synthetic: Claude Code added it to a conversation; otherwise it began one, as a fork's prompt.
        """
        skill = self._skill_of(text)
        if skill is None:
            return
        if synthetic:
            self._of_body(skill, thread).skill = skill
        elif thread in self._attempts:
            self._attempts[thread].skill = skill
        elif thread is not None and thread.startswith(_FORKED_COMMAND):
            name = thread.removeprefix(_FORKED_COMMAND)
            self._attempts.setdefault(thread, _Attempt(name, None, {"slash", "fork"})).skill = skill

    def _skill_of(self, text: str) -> str | None:
        match = _DIRECTORY.match(text)
        return self.names.skill_in(match[1].strip()) if match else None

    def _of_body(self, skill: str, thread: str | None) -> _Attempt:
        waiting = [
            attempt
            for attempt in self._attempts.values()
            if attempt.thread == thread and attempt.loaded is not False and attempt.skill is None
        ]
        named = [attempt for attempt in waiting if self._named(attempt.raw) == skill]
        strangers = [
            attempt
            for attempt in waiting
            if (name := attempt.raw.removeprefix("/")) not in self.names.skills or name in self.others
        ]
        if named or strangers:
            return (named or strangers)[0]
        # Its call is not in the stream, but there it is.
        if thread is None and all(skill != self._name(attempt) for attempt in self._attempts.values()):
            self.uncalled[skill] = None
        via = "tool" if thread is None else "sub-agent"
        return self._attempts.setdefault(f"{thread}:{skill}", _Attempt(skill, thread, {via}, loaded=True))

    def replayed(self, text: str, prompt: str | None) -> None:
        """The prompt as Claude Code understood it.

        Only a prompt that begins with a slash can become a command, so one that holds the markup of a command
        itself is never taken for one.
        """
        match = _COMMAND.search(text) if text.startswith("<command-message>") else None
        if match and (prompt is None or prompt.startswith("/")):
            self._attempts[f"/{match[1]}"] = _Attempt(match[1], None, {"slash"}, loaded=True)

    def not_replayed(self, prompt: str, *, asked: bool | None) -> None:
        """The prompt did not come back, so nothing says whether a slash command in it ran.

        Args:
            asked: Whether the model was asked anything; where it was not, no skill reached it.
        """
        name = prompt[1:].split(maxsplit=1)[0] if prompt[:1] == "/" and prompt[1:2].strip() else ""
        if name not in self.names.skills or any(
            "slash" in attempt.via for attempt in self._attempts.values()
        ):
            return
        if asked is False:
            error = "Claude Code answered the command itself"
            self._attempts[f"/{name}"] = _Attempt(name, None, {"slash"}, loaded=False, error=error)
        else:
            self.command_hidden = True

    def task_started(self, event: Event) -> bool:
        """Whether the task is the fork of a skill, not an agent."""
        data = event.data
        key, description = as_str(data.get("tool_use_id")), as_str(data.get("description")) or ""
        if key not in self._attempts:
            if not (description[:1] == "/" and (data.get("ambient") or data.get("skip_transcript"))):
                return False
            name = description[1:].partition(" ")[0]
            # Without a call it was the prompt; with one that is not in the stream, an agent's, out of sight.
            via = "slash" if key is None else "sub-agent"
            key = key or _FORKED_COMMAND + name
            self._attempts[key] = _Attempt(name, None, {via})
        attempt = self._attempts[key]
        attempt.via.add("fork")
        attempt.skill = self._skill_of(as_str(data.get("prompt")) or "") or attempt.skill
        self._forks[as_str(data.get("task_id")) or key] = key
        return True

    def task_ended(self, task: str, status: str, summary: str) -> None:
        """The end of whichever task."""
        attempt = self._attempts.get(self._forks.pop(task, ""))
        if attempt is None:
            return
        if status != "completed":
            attempt.broke(f"its fork ended as {status}: {summary}")
        elif attempt.error is None:
            attempt.loaded = True

    def hint(self, thread: str) -> None:
        """The progress of what runs in `thread` named the Skill tool."""
        self._hinted.add(thread)

    @property
    def call_hidden(self) -> bool:
        """Whether a sub-agent used the Skill tool and the stream does not show for what."""
        return bool(self._hinted - self._threads)

    @property
    def open_forks(self) -> bool:
        """Whether a fork began whose end was not seen."""
        return bool(self._forks)

    def uses(self) -> tuple[SkillUse, ...]:
        """Every skill that was seen, in the order of the first attempts."""
        by_name: dict[str, list[_Attempt]] = {}
        for attempt in self._attempts.values():
            by_name.setdefault(self._name(attempt), []).append(attempt)
        return tuple(self._use(name, attempts) for name, attempts in by_name.items())

    def _name(self, attempt: _Attempt) -> str:
        if attempt.skill is None and attempt.loaded is False:
            return self.names.meant_skill(attempt.raw, attempt.error or "")
        return attempt.skill or self._named(attempt.raw)

    def _named(self, raw: str) -> str:
        name = raw.removeprefix("/")
        return name if name in self.others else self.names.skill(name)

    def _use(self, name: str, attempts: list[_Attempt]) -> SkillUse:
        return SkillUse(
            name=name,
            calls=len(attempts),
            loaded=any_known(attempt.loaded for attempt in attempts),
            via=tuple(sorted({way for attempt in attempts for way in attempt.via})),
            errors=tuple(dict.fromkeys(a.error for a in attempts if a.error))[:_MOST_ERRORS],
            first_position=attempts[0].position,
            candidates=self.names.ambiguous.get(name, ()),
        )
