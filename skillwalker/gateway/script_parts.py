"""Parts of `rehearsal.json`: faults, and what they share with replies."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from typing import Any

from attrs import define

from skillwalker.gateway.checking import Checker, kind_of
from skillwalker.gateway.messages import ERROR_TYPES, ApiError
from skillwalker.gateway.replies import Fault
from skillwalker.jsonfile import child
from skillwalker.text import did_you_mean, has_controls, listed, near, safe

LONGEST_DELAY_SECONDS = 86_400.0

_FAULT = ("after_events", "agent", "delay_seconds", "error", "fault", "times", "turn")
_OWN_HEADERS = ("connection", "content-length", "content-type", "transfer-encoding")
_FAULTS_FORM = 'write "faults": [{"turn": 2, "error": {"status": 529}}], one entry for each fault'


def of_no_test(names: Sequence[str], silent: Collection[str], evaluation: str) -> str:
    """What is to be said of entries; `silent` are the tests that have none."""
    meant = near(names[0], silent, limit=1) if len(names) == 1 else []
    if len(names) == 1:
        hint = f' (did you mean "{safe(meant[0])}"?)' if meant else ""
        todo = "rename the entry if its test was renamed or its query edited, else remove it"
        said = f'no test is named "{safe(names[0])}"{hint}: {todo}'
    else:
        quoted = listed([f'"{one}"' for one in names], 5)
        said = (
            f"{len(names)} entries are named like no test: {quoted}. Rename those whose test was renamed or "
            "query edited, and remove the others"
        )
    rest = ""
    if without := meant or tuple(silent):
        quoted = listed([f'"{one}"' for one in without], 5)
        rest = f". A rehearsal answers tests without an entry by the simple rule: {quoted}"
    command = f"skillwalker init --rehearsal {shlex.quote(safe(evaluation))}"
    return f"{said}{rest}. `{command}` does it for entries as `init` drafts them"


@define
class PartsChecker(Checker):
    """A part with a problem comes back empty, the others are still checked.

    Attributes:
        parts: What agents and skills the plugins have, by `plugin:name`; None where that is not known.
    """

    parts: Collection[str] | None = None

    def faults(self, value: Any, path: str) -> tuple[Fault, ...]:
        if not isinstance(value, list):
            self.fail(path, f"expected a list of faults, got {kind_of(value)}; {_FAULTS_FORM}")
            return ()
        return tuple(self.fault(entry, child(path, index)) for index, entry in enumerate(value))

    def fault(self, value: Any, path: str) -> Fault:
        given = self.object(value, path, _FAULT, required=("turn",))
        if isinstance(value, dict):
            self._check_fault(given, path)
        agent = self.text(given, path, "agent")
        if agent is not None:
            self.agent_name(agent, child(path, "agent"))
        kind = self.one_of(given, path, "fault", ("drop", "hang"))
        return Fault(
            path,
            turn=self.whole(given, path, "turn", 1) or 1,
            agent=agent,
            times=self.whole(given, path, "times", 1) or 1,
            error=self.error(given["error"], child(path, "error"), "injected") if "error" in given else None,
            fault=kind,  # type: ignore[arg-type]
            after_events=self.whole(given, path, "after_events", 1) or 0,
            delay_seconds=self.number(given, path, "delay_seconds", LONGEST_DELAY_SECONDS) or 0.0,
        )

    def _check_fault(self, given: Any, path: str) -> None:
        breaks = [key for key in ("error", "fault") if key in given]
        if len(breaks) == 2:
            self.fail(path, "has both error and fault: leave one out")
        elif not breaks and "after_events" in given:
            self.fail(path, "after_events needs fault or error: what comes after them")
        elif not breaks and "delay_seconds" not in given:
            self.fail(path, "does nothing: give error, fault or delay_seconds")

    def agent_name(self, name: str, path: str) -> None:
        """Without a colon it is none of a plugin's: Claude Code's own agents and a project's have no more."""
        plugin, colon, tail = name.partition(":")
        if not name or name != name.strip() or has_controls(name) or name.startswith("/"):
            self.fail(path, f"is no name of an agent or a skill: {kind_of(name)}")
        elif colon and not (plugin and tail):
            self.fail(path, f"expected plugin:agent or plugin:skill, got {kind_of(name)}")
        elif self.parts is not None and name not in self.parts:
            full = sorted(part for part in self.parts if part.partition(":")[2] == name)
            if full:
                self.fail(path, f"expected plugin:agent or plugin:skill; write {' or '.join(full)}")
            elif colon:
                known = f"; the plugins have {listed(sorted(self.parts))}" if self.parts else ""
                hint = did_you_mean(name, self.parts) or known
                self.fail(path, f"no such agent or skill: {safe(name)}{hint}")

    def error(self, value: Any, path: str, kind: str = "rehearsed") -> ApiError:
        given = self.object(
            value, path, ("headers", "message", "retry_after", "status", "type"), required=("status",)
        )
        status = self.whole(given, path, "status", 400, 599) or 500
        headers: dict[str, str] = {}
        for name, text in self.members(given.get("headers", {}), child(path, "headers")):
            where = child(path, "headers", name)
            if not isinstance(text, str):
                self.fail(where, f"expected a text, got {kind_of(text)}")
            elif name.lower() in _OWN_HEADERS:
                self.fail(where, f"{name} is the gateway's own")
            elif not (name and name.isascii() and name.replace("-", "").replace("_", "").isalnum()):
                self.fail(where, f"is no name of a header: {kind_of(name)}")
            elif not text.isascii() or not text.isprintable():
                self.fail(where, "a header's value is one line of ASCII text")
            else:
                headers[name.lower()] = text.strip()
        if wait := self.number(given, path, "retry_after", LONGEST_DELAY_SECONDS):
            headers["retry-after"] = f"{wait:g}"
        type_ = self.text(given, path, "type") or ERROR_TYPES.get(status, "api_error")
        message = self.text(given, path, "message") or f"{kind} error {status}"
        return ApiError(status, type_, message, headers)
