"""A server that plays the rehearsals of a root's evals: a model for runs that want a real one."""

from __future__ import annotations

import http.client
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from upstream_support import Answer, Asked, Server, says

from skillwalker.checks import CheckedTest, check
from skillwalker.gateway.rehearsal import RehearsalResponder
from skillwalker.gateway.responders import Caller
from skillwalker.gateway.server import Gateway, Link
from skillwalker.select import Selection


class RehearsedModel(Server):
    """Knows whose a request is by the prompt in it, and a sub-agent's by the session that it names."""

    def __init__(self, root: Path, **more: Any) -> None:
        super().__init__(**more)
        checked, _ = check(Selection(root, ()), root)
        self._tests = sorted(checked.tests, key=lambda one: -len(one.test.prompt))
        self._links: dict[tuple[str, str, str], Link] = {}
        self._sessions: dict[str, CheckedTest] = {}
        self._stack = ExitStack()
        self._gateway = self._stack.enter_context(Gateway(RehearsalResponder()))

    def takes(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            if asked.method != "POST":
                return says(200, {})
            link = self._link(asked.json)
        connection = http.client.HTTPConnection("gateway")
        connection.sock = link.connect()
        passed = {name: value for name, value in asked.headers.items() if name.startswith("x-claude-code")}
        connection.request("POST", asked.path, asked.body, passed)
        response = connection.getresponse()
        data = response.read()
        connection.close()
        return says(response.status, data, response.headers["content-type"])

    def _link(self, request: dict[str, Any]) -> Link:
        session = str(request.get("metadata", {}).get("user_id", ""))
        purpose = "judge" if "output_config" in request and not session else "trial"
        said = json.dumps(request["messages"], ensure_ascii=False)
        named = (
            one
            for one in self._tests
            if json.dumps(one.test.prompt.strip(), ensure_ascii=False)[1:-1] in said
        )
        test = self._sessions.get(session) or next(named, None)
        assert test, said[:2000]
        if session:
            self._sessions[session] = test
        key = (test.eval.name, test.test.name, purpose)
        if key not in self._links:
            caller = Caller(f"{key[0]}.{key[1]}", purpose, script=test.script)  # type: ignore[arg-type]
            self._links[key] = self._gateway.open(caller)
        return self._links[key]

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._stack.close()
