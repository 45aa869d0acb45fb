"""Reads and checks `rehearsal.json`, which stands beside a `tests.json`: all problems at once.

    {"tests": {TEST: [REPLY, ...]                          the main conversation
               TEST: {"main": [REPLY, ...],
                      "agents": {AGENT or forked SKILL: [REPLY, ...]},
                      "judge": [{"passed": [true, false]}, ...],
                      "faults": [FAULT, ...],
                      "trials": {"2": [REPLY, ...] or {"main", "agents", "judge", "faults"}}}}}

A part that is left out is answered by the rule (`gateway.rule`). `trials` replaces parts for one trial. A
reply answers one turn; its keys:

    content         a text, or a list of blocks: text, thinking, tool_use
    usage           input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens
    stop_reason, model
    passed          of a judge, instead of content: whether each criterion passed, in the rubric's order
    error           {"status", "type", "message", "headers", "retry_after"} instead of content
    fault           "drop" breaks the connection off, "hang" leaves it open without an end
    after_events    the fault, or the error, comes after so many events of `content` (the first are
                    message_start and content_block_start) instead of before the first byte
    times           the reply is for the first so many requests of its turn; the next reply in the list
                    answers the same turn after that
    delay_seconds   before the first byte

A fault meets a request before anything answers it, in a rehearsal, a replay or a real run alike; its keys:

    turn            which turn of the conversation, from 1
    agent           whose: an agent or forked skill, as in `agents`; left out: the main conversation
    times           how many requests of that turn it meets, 1 unless given; then comes the next fault of the
                    same turn, and after the last one the answer
    error, fault    as above; after_events then counts events of the answer that comes, and the fault comes
                    before the last one at the latest
    delay_seconds   before the error, the fault or the answer
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, frozen

from skillwalker.errors import ConfigurationError, Problem
from skillwalker.gateway.checking import kind_of
from skillwalker.gateway.replies import Reply, TestScript, Turn
from skillwalker.gateway.script_parts import LONGEST_DELAY_SECONDS, PartsChecker, of_no_test
from skillwalker.jsonfile import child, load, locate
from skillwalker.text import did_you_mean, listed

__all__ = ["Scripts", "TestScript", "load_scripts", "read_scripts"]

_STOP_REASONS = (
    "end_turn",
    "max_tokens",
    "model_context_window_exceeded",
    "pause_turn",
    "refusal",
    "stop_sequence",
    "tool_use",
)
_USAGE = ("cache_creation_input_tokens", "cache_read_input_tokens", "input_tokens", "output_tokens")
_REPLY = (
    "after_events",
    "content",
    "delay_seconds",
    "error",
    "fault",
    "model",
    "stop_reason",
    "times",
    "usage",
)
_PARTS = ("agents", "faults", "judge", "main")
_BLOCKS: Mapping[str, Mapping[str, type]] = {
    "text": {"text": str},
    "thinking": {"thinking": str},
    "tool_use": {"name": str, "input": dict},
}
_OPTIONAL: Mapping[str, Mapping[str, type]] = {"thinking": {"signature": str}, "tool_use": {"id": str}}
_JUDGE_FORM = 'write "judge": [{"passed": [true, false]}], one entry for each llm-judge'
_MAIN_FORM = 'write [{"content": "the answer"}], one entry for each turn'
_TRIAL = re.compile(r"[1-9][0-9]{0,5}")


@frozen
class Scripts:
    """A `rehearsal.json`.

    Attributes:
        by_test: The scripts by the names of their tests.
        unused: Entries that are no test's, which can do no harm, and what to do with them.
    """

    by_test: Mapping[str, TestScript] = field(factory=dict)
    unused: tuple[Problem, ...] = ()


def load_scripts(
    file: Path, root: Path, tests: Collection[str], parts: Collection[str] | None = None
) -> Mapping[str, TestScript]:
    """The scripts of `file` by test; see `read_scripts`."""
    return read_scripts(file, root, tests, parts).by_test


def read_scripts(
    file: Path, root: Path, tests: Collection[str], parts: Collection[str] | None = None
) -> Scripts:
    """The scripts of `file`.

    Args:
        tests: The names that `tests.json` beside it knows.
        parts: What agents and skills its plugins have, by `plugin:name`; None where that is not known.

    Raises:
        ConfigurationError: all that is wrong with the file.
    """
    shown = os.path.relpath(file, root) if file.is_relative_to(root) else str(file)
    try:
        document = load(file)
    except ConfigurationError as error:
        raise ConfigurationError([evolve(problem, file=shown) for problem in error.problems]) from None
    reader = _Reader(file=shown, evaluation=file.parent.name, parts=parts)
    scripts = reader.scripts(document.value, tests)
    if problems := [*document.problems, *reader.problems]:
        raise ConfigurationError(_placed(problems, shown, document.text))
    return Scripts(scripts, tuple(_placed(reader.unused, shown, document.text)))


def _placed(problems: Iterable[Problem], file: str, text: str) -> list[Problem]:
    """With file and line, in the order of their lines."""
    lines = [(problem.line or locate(text, problem.path or "") or 1, problem) for problem in problems]
    lines.sort(key=lambda placed: placed[0])
    return [evolve(problem, file=file, line=line) for line, problem in lines]


@define
class _Reader(PartsChecker):
    """Takes the value apart; a part with a problem is left out, the others are still checked."""

    file: str = ""
    evaluation: str = ""
    unused: list[Problem] = field(factory=list)

    def scripts(self, value: Any, tests: Collection[str]) -> dict[str, TestScript]:
        top = self.object(value, "", ("$schema", "tests"), required=("tests",))
        entries = self.some(top, "", "tests", "name a test, or remove the file")
        silent = set(tests).difference(name for name, _ in entries)
        found: dict[str, TestScript] = {}
        strange: list[str] = []
        for name, script in entries:
            path = child("tests", name)
            if name in tests:
                found[name] = self.script(script, path, (*_PARTS, "trials"))
            else:
                strange.append(name)
        if strange:  # one note for all of them
            said = of_no_test(strange, sorted(silent), self.evaluation)
            self.unused.append(Problem(said, path=child("tests", strange[0])))
        return found

    def script(self, value: Any, path: str, known: Collection[str]) -> TestScript:
        if isinstance(value, list):
            return TestScript(self.file, self.turns(value, path))
        parts = self.object(value, path, known, instead="a list of replies, or an object")
        if parts == {} == value:
            self.fail(path, f"is empty: give one of {listed(known)}, or leave it out for the built-in rule")
        if parts.get("faults") == [] and "trials" in known:  # for one trial it is a way to say: none
            self.fail(child(path, "faults"), "is empty: give a fault, or leave it out")
        agents = self.some(parts, path, "agents", "name an agent, or leave it out")
        for name, _ in agents:
            self.agent_name(name, child(path, "agents", name))
        trials: dict[int, TestScript] = {}
        for number, script in self.some(parts, path, "trials", "give a trial's number, or leave it out"):
            where = child(path, "trials", number)
            if not _TRIAL.fullmatch(number):
                self.fail(where, f"expected the number of a trial, from 1, got {kind_of(number)}")
            else:
                trials[int(number)] = self.script(script, where, _PARTS)
        return TestScript(
            self.file,
            self.turns(parts["main"], child(path, "main")) if "main" in parts else None,
            {name: self.turns(turns, child(path, "agents", name)) for name, turns in agents},
            self.turns(parts["judge"], child(path, "judge"), judge=True) if "judge" in parts else None,
            trials,
            self.faults(parts["faults"], child(path, "faults")) if "faults" in parts else None,
        )

    def some(self, given: Mapping[str, Any], path: str, key: str, advice: str) -> list[tuple[str, Any]]:
        """The members of a member, which has to have some if it is there."""
        if given.get(key) == {}:
            self.fail(child(path, key), f"is empty: {advice}")
        return self.members(given.get(key, {}), child(path, key))

    def turns(self, value: Any, path: str, *, judge: bool = False) -> tuple[Turn, ...]:
        form = _JUDGE_FORM if judge else _MAIN_FORM
        if not isinstance(value, list):
            self.fail(path, f"expected a list of replies, got {kind_of(value)}; {form}")
            return ()
        if value and not any(isinstance(entry, dict) for entry in value):
            self.fail(path, f"expected a list of replies, got a list with {kind_of(value[0])}; {form}")
            return ()
        if not value:
            self.fail(path, "is empty: give a reply, or leave it out for the built-in rule")
        turns: list[Turn] = []
        begun: Turn = ()
        for index, entry in enumerate(value):
            begun += (self.reply(entry, child(path, index), judge=judge),)
            if begun[-1].times is None:
                turns.append(begun)
                begun = ()
        if begun:
            where = child(begun[-1].path, "times")
            self.fail(where, "nothing follows: add the reply that comes after so many, or leave out times")
        return tuple(turns)

    def reply(self, value: Any, path: str, *, judge: bool) -> Reply:
        given = self.object(value, path, (*_REPLY, "passed") if judge else _REPLY)
        fault = self.one_of(given, path, "fault", ("drop", "hang"))
        late = self.whole(given, path, "after_events", 1) or 0
        if isinstance(value, dict):
            self._check_answer(given, path, judge=judge)
        return Reply(
            path,
            content=self.content(given["content"], child(path, "content")) if "content" in given else None,
            usage=self.usage(given, path),
            stop_reason=self.one_of(given, path, "stop_reason", _STOP_REASONS),
            model=self.text(given, path, "model"),
            passed=self.passed(given, path),
            error=self.error(given["error"], child(path, "error")) if "error" in given else None,
            fault=fault,  # type: ignore[arg-type]
            after_events=late,
            times=self.whole(given, path, "times", 1),
            delay_seconds=self.number(given, path, "delay_seconds", LONGEST_DELAY_SECONDS) or 0.0,
        )

    def _check_answer(self, given: Mapping[str, Any], path: str, *, judge: bool) -> None:
        """Exactly one way to answer, and nothing that it does not use."""
        breaks = [key for key in ("error", "fault") if key in given]
        says = [key for key in ("content", "passed") if key in given]
        if len(breaks) == 2 or len(says) == 2:
            both = breaks if len(breaks) == 2 else says
            self.fail(path, f"has both {both[0]} and {both[1]}: leave one out")
        elif breaks and "after_events" in given and not says:
            self.fail(path, "after_events needs content: the events that come before")
        elif breaks and says and "after_events" not in given:
            what = f"{says[0]} would never be sent: leave it out, or say after_events"
            self.fail(path, what)
        elif not breaks and "after_events" in given:
            self.fail(path, "after_events needs fault or error: what comes after them")
        elif not breaks and not says:
            ways = "content, passed, error or fault" if judge else "content, error or fault"
            self.fail(path, f"answers nothing: give {ways}")
        for key in ("usage", "stop_reason", "model"):
            if key in given and not says:
                self.fail(child(path, key), f"{key} needs content")

    def content(self, value: Any, path: str) -> tuple[Mapping[str, Any], ...]:
        if isinstance(value, str):
            return ({"type": "text", "text": value},)
        if not isinstance(value, list):
            self.fail(path, f"expected a text or a list of blocks, got {kind_of(value)}")
            return ()
        return tuple(self.block(block, child(path, index)) for index, block in enumerate(value))

    def block(self, value: Any, path: str) -> Mapping[str, Any]:
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in _BLOCKS:
            self.object(
                value, path, ("type", *(value if isinstance(value, dict) else ())), required=("type",)
            )
            if isinstance(value, dict) and "type" in value:
                hint = did_you_mean(str(kind), _BLOCKS)
                self.fail(
                    child(path, "type"), f"expected one of {listed(_BLOCKS)}, got {kind_of(kind)}{hint}"
                )
            return {}
        needed, optional = _BLOCKS[kind], _OPTIONAL.get(kind, {})
        block = self.object(value, path, ("type", *needed, *optional), required=needed)
        for key, cls in {**needed, **optional}.items():
            if key in block and not isinstance(block[key], cls):
                expected = "an object" if cls is dict else "a text"
                self.fail(child(path, key), f"expected {expected}, got {kind_of(block[key])}")
        return block

    def passed(self, given: Mapping[str, Any], path: str) -> tuple[bool, ...] | None:
        if "passed" not in given:
            return None
        value, where = given["passed"], child(path, "passed")
        if not isinstance(value, list) or not value:
            self.fail(where, "expected a list of true and false, one for each criterion")
            return ()
        for index, answer in enumerate(value):
            if not isinstance(answer, bool):
                self.fail(child(where, index), f"expected true or false, got {kind_of(answer)}")
        return tuple(value)

    def usage(self, given: Mapping[str, Any], path: str) -> Mapping[str, int]:
        if "usage" not in given:
            return {}
        where = child(path, "usage")
        usage = self.object(given["usage"], where, _USAGE)
        counted = {key: self.whole(usage, where, key, 0) for key in _USAGE if key in usage}
        return {key: count for key, count in counted.items() if count is not None}
