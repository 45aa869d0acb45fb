"""Broken stored runs, in every report and in a comparison: told as far as they are whole, or refused."""

from __future__ import annotations

import json
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from fuzzing import HOSTILE, assert_harmless, assert_told, broken, fuzzed, json_files, mutated, run_cli
from hypothesis import given
from hypothesis import strategies as st
from stored_runs import EARLIER, FAILED, PASSED, Left, a_test, a_trial, keep, verdict
from transcripts import answers, as_line, calls, init, result, says

from skillwalker.expectations.base import Detail
from skillwalker.outcomes import Reason
from skillwalker.store import RunDirectory

TRIAL = a_trial(
    "bad",
    1,
    verdict(FAILED, "0 of 1", "llm-judge", (Detail("c1", FAILED, "no"),)),
    reason=Reason.TIMEOUT,
    notes=("said twice",),
)
EVENTS: list[Any] = [
    init(),
    says("I tidy"),
    calls("a", "Agent", subagent_type="acme:auditor"),
    says("inside", parent="a"),
    answers("a", "fine"),
    result("Done."),
]


def stored(root: Path) -> RunDirectory:
    good = a_test("good", a_trial("good", 1, verdict(PASSED, "called")))
    left = {TRIAL.id: Left(EVENTS, {"made.md": b"# made\n"}, b"trouble")}
    keep(root, good, a_test("bad", TRIAL), left=left, run_id=EARLIER)
    return keep(root, good, a_test("bad", TRIAL), left=left)


REPORTS = st.sampled_from(("html", "junit", "markdown", "github", "json"))
COMMANDS = st.one_of(
    REPORTS.map(lambda kind: ("report", "--report", f"{kind}=-")),
    st.sampled_from((("compare",), ("compare", "--format", "json"), ("compare", "last", "last~1"))),
)
EITHER = (0, 4)


def told(file: str, data: bytes, command: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = stored(Path(name).resolve())
        (directory.path / file).write_bytes(data)
        found = run_cli("--root", name, *command)
        assert_told(found, *EITHER)
        if found.code != 0:
            return
        if command[-1] == "html=-":
            HTMLParser().feed(found.out)
        elif command[-1] == "junit=-":
            ElementTree.fromstring(found.out)
        elif command[-1] in ("json=-", "json"):
            json.loads(found.out)
        elif command[-1] == "github=-":
            assert all(line.startswith("::") for line in found.out.splitlines())


@fuzzed(60)
@given(st.data(), COMMANDS)
def test_a_broken_run_json_is_told(data: st.DataObject, command: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory() as name:
        manifest = stored(Path(name)).manifest()
    told("run.json", data.draw(json_files(manifest)), command)


def _lines(events: Any) -> bytes:
    return b"".join(
        json.dumps(one).encode() + b"\n" for one in (events if isinstance(events, list) else [events])
    )


@fuzzed(40)
@given(mutated(EVENTS).map(_lines) | broken(b"".join(map(as_line, EVENTS))), COMMANDS)
def test_a_broken_stream_is_told(data: bytes, command: tuple[str, ...]) -> None:
    told(f"trials/{TRIAL.id}/events.jsonl", data, command)


@fuzzed(30)
@given(broken(b"# made\n" * 400), COMMANDS)
def test_a_broken_work_directory_is_told(data: bytes, command: tuple[str, ...]) -> None:
    told(f"trials/{TRIAL.id}/workspace.tar", data, command)


@fuzzed(60)
@given(HOSTILE.filter(lambda text: text.strip() and not text.lstrip().startswith("::")), REPORTS)
def test_hostile_names_are_told(text: str, kind: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        bad = a_trial(
            "bad", 1, verdict(FAILED, text, text or "x", (Detail(text, FAILED, text),)), notes=(text,)
        )
        keep(
            root, a_test(text, bad, eval_name=text), left={bad.id: Left([_lines([says(text), result(text)])])}
        )
        found = run_cli("--root", name, "report", "--report", f"{kind}=-")
        assert_told(found, 0)
        assert_harmless(found.out, lines=True)
