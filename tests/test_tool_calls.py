"""Tool calls and their results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from transcripts import (
    Reader,
    answers,
    calls,
    init,
    result,
)

from skillwalker.tool_calls import ToolCall, call_notes, missing_programs


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


class TestToolCalls:
    def test_calls_come_in_their_order_with_their_results(self, read: Reader) -> None:
        transcript = read(
            init(),
            calls("t1", "Bash", command="sleep 1"),
            calls("t2", "Read", file_path="a.txt"),
            answers("t2", "x" * 5000),
            answers("t1", "Exit code 7", "Error: Exit code 7"),
            calls("t3", "Write", "a1", file_path="b.txt"),
            result(),
        )
        first, second, third = transcript.tool_calls()
        assert (first.name, first.input, first.position) == ("Bash", {"command": "sleep 1"}, 1)
        assert (first.is_error, first.result) == (True, "Exit code 7")
        assert (second.is_error, len(second.result or "")) == (False, 4000)
        assert (third.parent, third.is_error, third.result) == ("a1", None, None)
        assert transcript.tool_use_ids == {"t1", "t2", "t3"}

    def test_results_of_many_kinds_become_text(self, read: Reader) -> None:
        content = [{"type": "text", "text": "see"}, {"type": "image", "source": {}}, "odd", {"type": "text"}]
        odd = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1"}]}}
        mixed = json.loads(json.dumps(odd))
        mixed["message"]["content"][0]["content"] = content
        [call] = read(init(), calls("t1", "Read"), mixed).tool_calls()
        assert call.result == "see\n[image]\n\n"
        [call] = read(init(), calls("t1", "Read"), odd).tool_calls()
        assert (call.is_error, call.result) == (False, "")


def test_failed_calls_are_noted_with_their_place_and_what_has_no_result_is_no_failure() -> None:
    calls = [
        ToolCall(str(n), "Bash", {}, None, n, is_error=is_error)
        for n, is_error in enumerate((False, True, None, True), start=1)
    ]

    assert call_notes(calls) == ("2 of 4 tool calls failed (call 2, Bash; call 4, Bash)",)
    assert call_notes(calls[1:2]) == ("1 of 1 tool call failed (call 2, Bash)",)
    assert call_notes(calls[:1]) == ()


@pytest.mark.parametrize(
    ("result", "missing"),
    [
        ("Exit code 127\n/bin/bash: line 1: pandoc: command not found", ["pandoc"]),
        (
            "Exit code 127\n/bin/bash: line 1: a: command not found\n/bin/bash: line 2: b: command not found",
            ["a", "b"],
        ),
        ("Exit code 127\n./run.sh: line 3: gs: command not found", ["gs"]),
        ("Exit code 127\n./run.sh: 3: gs: not found", ["gs"]),
        ("Exit code 127\n/bin/bash: eval: line 1: gs: command not found", ["gs"]),
        ("Exit code 127\n/usr/bin/env: \u2018ruby\u2019: No such file or directory", ["ruby"]),
        ("Exit code 127\nenv: 'ruby': No such file or directory", ["ruby"]),
        ("Exit code 127\nsh: 1: ./gone.sh: not found", []),
        ("Exit code 127", []),
        ("Exit code 1\n/bin/bash: line 1: pandoc: command not found\nfailed", ["pandoc"]),
        ("Exit code 1\n./run.sh: line 3: gs: command not found", []),
        ("Exit code 1\nit said /bin/bash: line 1: pandoc: command not found", []),
    ],
)
def test_programs_that_a_shell_did_not_find(result: str, missing: list[str]) -> None:
    call = ToolCall("1", "Bash", {}, None, 1, is_error=True, result=result)
    assert [*missing_programs(call)] == missing


def test_a_missing_program_is_noted_also_where_the_call_went_well() -> None:
    text = "".join(f"/bin/bash: line 1: {name}: command not found\n" for name in ("pandoc", "\x1b[2J"))
    bash, other = (ToolCall("1", name, {}, None, 1, is_error=False, result=text) for name in ("Bash", "Read"))
    note = r"programs that were called and are not there: pandoc, \x1b[2J"
    assert call_notes([bash, bash]) == (note,)
    assert call_notes([other]) == ()
