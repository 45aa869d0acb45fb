"""What the tests of the gateway share: small requests, and a client over the sockets that it hands out."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from waiting import PATIENCE

from skillwalker.gateway.messages import Event
from skillwalker.gateway.rehearsal import RehearsalResponder
from skillwalker.gateway.replies import TestScript
from skillwalker.gateway.script import load_scripts
from skillwalker.gateway.server import Caller, Gateway, Link

TOOLS = [{"name": name, "description": "", "input_schema": {"type": "object"}} for name in ("Agent", "Skill")]

LISTING = """# Environment
You have been invoked in the following environment:
 - Platform: linux

Available agent types for the Agent tool:
- claude: Catch-all for any task. (Tools: *)
- garden:pruner: Prunes fruit trees and hedges, and says when to stop. (Tools: Read, Bash)
- Plan: Software architect agent for designing implementation plans. (Tools: All tools except Agent)

When you launch multiple agents for independent work, send them in a single message.

The following skills are available for use with the Skill tool:

- garden:compost: Plans a compost heap: layers, moisture and turning of the heap.
- garden:wtr (garden:water): Works out how much water seedlings need in a dry week.
- garden:bare
- plugin-authoring: Use this skill to plan, create or edit a plugin.

The user's name is Ada."""


def user(*texts: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def assistant(text: str = "ok") -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def request(*messages: dict[str, Any], tools: Sequence[Any] = TOOLS, **more: Any) -> dict[str, Any]:
    return {"model": "claude-sonnet-5-5", "messages": list(messages), "tools": list(tools), **more}


def main_request(prompt: str, *later: dict[str, Any], listing: str = LISTING, **more: Any) -> dict[str, Any]:
    """As Claude Code asks: a reminder and the prompt, a system message with the listings, what came later."""
    reminder = "<system-reminder>\nThe following is said in every session.\n</system-reminder>\n"
    return request(user(reminder, prompt), {"role": "system", "content": listing}, *later, **more)


def script(value: Any, folder: Path, name: str = "Greets") -> TestScript:
    """The script of one test, read from a file as always."""
    file = folder / "rehearsal.json"
    file.write_text(json.dumps({"tests": {name: value}}), "utf-8")
    return load_scripts(file, folder, (name,))[name]


@contextmanager
def opened(script: TestScript | None = None, log: Path | None = None, **caller: Any) -> Iterator[Link]:
    """A link to a rehearsal."""
    who = {"trial_id": "garden.greets.01234567.main.1", "purpose": "trial", **caller}
    with Gateway(RehearsalResponder()) as gateway, gateway.open(Caller(script=script, **who), log) as link:
        yield link


@contextmanager
def connected(link: Link, timeout: float = PATIENCE) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection("gateway", timeout=timeout)
    connection.sock = link.connect()
    connection.sock.settimeout(timeout)
    try:
        yield connection
    finally:
        connection.close()


def post(
    link: Link, body: Any, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], dict[str, Any]]:
    """One request without streaming, on a connection of its own."""
    with connected(link) as connection:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        with suppress(BrokenPipeError):  # refused before all of it was read: the answer is there already
            connection.request("POST", "/v1/messages?beta=true", data, headers or {})
        response = connection.getresponse()
        return response.status, dict(response.headers), json.loads(response.read())


def events_of(data: bytes) -> list[Event]:
    """The events of a stream."""
    found = []
    for block in data.decode("ascii").strip("\n").split("\n\n"):
        name, _, payload = block.partition("\n")
        event = json.loads(payload.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        found.append(event)
    return found
