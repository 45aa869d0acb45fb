"""What a container, a plugin or the model does wrong: whole runs with the real Claude Code."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from roots import an_eval, bash, plugin, skill, text

from skillwalker import session
from skillwalker.claude_code import MAX_RETRIES
from skillwalker.outcomes import Outcome, Reason
from skillwalker.preparing import prepare
from skillwalker.reports.live import LiveProgress, PlainProgress
from skillwalker.request import RunRequest
from skillwalker.results import TrialResult
from skillwalker.sandbox.base import Limits
from skillwalker.worker import OUT_OF_PROCESSES

NOT_CALLED = {"skill-call": {"skill": "acme:tidy", "expected": False}}
SAYS_DONE = {"result-contains": "done"}


def trials(
    root: Path, image: str, limits: Limits | None = None, timeout_seconds: float = 900.0
) -> dict[str, TrialResult]:
    """Runs all that is in `root`; the one trial of each test by the test's name."""
    request = RunRequest(
        root=root,
        cwd=root,
        isolated=True,
        rehearse=True,
        image=image,
        jobs=4,
        limits=limits or Limits(),
        timeout_seconds=timeout_seconds,
    )
    found = session.run(prepare(request), PlainProgress(io.StringIO(), 1), print)
    return {test.name: test.trials[0] for test in found.tests}


def cases(root: Path, scripts: dict[str, Any], expect: list[Any], type: str = "skill-prompt") -> None:
    tests = [{"name": name, "type": type, "expect": expect} for name in scripts]
    an_eval(root, tests, script=scripts)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    plugin(tmp_path)
    return tmp_path


BIG = "for i in 1 2 3; do head -c 40M /dev/zero > {}/$i; done; sleep 600 & wait"


def test_what_a_trial_may_use_has_limits_and_each_is_told(root, sandbox_image):
    fill = {
        "work directory": bash(BIG.format(".")),
        "hidden from its user": bash(
            "mkdir d; for i in 1 2 3; do head -c 40M /dev/zero > d/$i; done; chmod 0 d; sleep 600 & wait"
        ),
        "many files": bash("python3 -c 'for i in range(60_000): open(str(i), \"x\")'; sleep 600 & wait"),
        "memory": bash("python3 -c 'x = bytearray(900 << 20)'"),
        "processes": bash(":(){ :|:& };: 2> /dev/null; sleep 2; echo survived"),
    }
    cases(root, {name: [one, text("done")] for name, one in fill.items()}, [SAYS_DONE, NOT_CALLED])

    limits = Limits(memory_mib=512, workspace_mib=64, workspace_files=50_000, pids=64)
    found = trials(root, sandbox_image, limits)

    assert {name: one.reason for name, one in found.items() if name != "processes"} == {
        "work directory": Reason.DISK_LIMIT,
        "hidden from its user": Reason.DISK_LIMIT,
        "many files": Reason.DISK_LIMIT,
        "memory": Reason.OUT_OF_MEMORY,
    }
    for name, one in found.items():
        if name != "processes":
            assert {each.verdict.outcome for each in one.judged} == {Outcome.UNMEASURED}, name
    full = OUT_OF_PROCESSES.format(64)
    assert [name for name, one in found.items() if full in one.notes] == ["processes"]


def test_what_of_a_plugin_does_not_start_is_told_by_claude_codes_own_words(root, sandbox_image):
    server = {"mcpServers": {"db": {"command": "no-such-program"}}}
    (root / "acme" / ".mcp.json").write_text(json.dumps(server))
    cases(root, {"server": [text("done")]}, [SAYS_DONE, NOT_CALLED])

    found = trials(root, sandbox_image)["server"]

    assert (found.outcome, found.reason) == (Outcome.UNMEASURED, Reason.PLUGIN_NOT_LOADED)
    assert "db (failed)" in found.message


def test_hooks_that_cannot_be_read_are_a_plugin_that_did_not_load(root, sandbox_image):
    (root / "acme" / "hooks").mkdir()
    (root / "acme" / "hooks" / "hooks.json").write_text('{"hooks": ')
    cases(root, {"hooks": [text("done")]}, [NOT_CALLED])

    found = trials(root, sandbox_image)["hooks"]

    assert (found.outcome, found.reason) == (Outcome.UNMEASURED, Reason.PLUGIN_NOT_LOADED)
    assert "Hook load failed" in found.message


def test_a_hook_that_fails_does_not_stop_the_work(root, sandbox_image):
    (root / "acme" / "hooks").mkdir()
    hook = {"SessionStart": [{"hooks": [{"type": "command", "command": "echo broken >&2; exit 2"}]}]}
    (root / "acme" / "hooks" / "hooks.json").write_text(json.dumps({"hooks": hook}))
    cases(root, {"hook": [text("done")]}, [SAYS_DONE])

    found = trials(root, sandbox_image)["hook"]

    assert (found.outcome, found.reason) == (Outcome.PASSED, None)
    assert any("hook" in note and "SessionStart" in note for note in found.notes)


def test_a_model_that_hangs_is_a_trial_without_an_end(root, sandbox_image):
    scripts = {
        "before": [{"fault": "hang"}],
        "in the middle": [{"content": "done", "fault": "hang", "after_events": 3}],
    }
    cases(root, scripts, [SAYS_DONE, NOT_CALLED])

    found = trials(root, sandbox_image, timeout_seconds=6)

    assert {one.reason for one in found.values()} == {Reason.TIMEOUT}
    assert {each.verdict.outcome for one in found.values() for each in one.judged} == {Outcome.UNMEASURED}


def test_a_description_that_the_model_is_not_shown_in_full_measures_no_activation(root, sandbox_image):
    skill(root / "acme", "long", "Sorts the columns of a file. " * 80)
    called = {"skill-call": {"skill": "acme:long", "expected": True}}
    test = {"name": "long", "type": "skill-call", "skillFile": "acme:long", "expect": [called]}
    other = {
        "name": "short",
        "type": "skill-call",
        "skillFile": "acme:tidy",
        "expect": [{"skill-call": False}],
    }
    an_eval(root, [test, other], script={"long": [text("done")], "short": [text("done")]})

    found = trials(root, sandbox_image)

    assert (found["long"].outcome, found["long"].reason) == (Outcome.UNMEASURED, Reason.NOT_LISTED)
    assert "was cut at" in found["long"].message
    assert (found["short"].outcome, found["short"].reason) == (Outcome.PASSED, None)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Attentive(LiveProgress):
    """Shows everything, also what is over before the display would be drawn again."""

    def doing(self, trial_id: str, text: str) -> None:
        super().doing(trial_id, text)
        assert self._live
        self._live.refresh()


def test_requests_are_repeated_a_few_times_and_whoever_watches_sees_it(root, sandbox_image, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    busy = {"error": {"status": 529, "type": "overloaded_error"}}
    cases(root, {"recovers": [{**busy, "times": 2}, text("done")], "does not": [busy]}, [SAYS_DONE])
    request = RunRequest(root=root, cwd=root, isolated=True, rehearse=True, image=sandbox_image, jobs=2)
    terminal = Terminal()

    with Attentive(terminal, 2) as progress:
        found = session.run(prepare(request), progress, print)

    recovers, busy_on = (test.trials[0] for test in found.tests)
    assert (recovers.outcome, recovers.reason) == (Outcome.PASSED, None)
    assert (busy_on.outcome, busy_on.reason) == (Outcome.UNMEASURED, Reason.API_ERROR)
    (log,) = root.glob(".skillwalker/runs/*/trials/csv.does-not.*/gateway.jsonl")
    asked = [line for line in log.read_text().splitlines() if json.loads(line).get("status") == 529]
    assert len(asked) == 1 + MAX_RETRIES
    for attempt in range(1, MAX_RETRIES + 1):
        assert f"retry {attempt} of {MAX_RETRIES} (529)" in terminal.getvalue()
    assert any(f"repeated requests to the API {MAX_RETRIES} times" in note for note in busy_on.notes)
