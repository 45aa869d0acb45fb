"""Transcripts as nested steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from transcripts import answers, calls, init, message, replays, result, says, write

from skillwalker.reports.excerpt import Budget
from skillwalker.reports.story import Story, read_story


@pytest.fixture
def story(tmp_path: Path):
    def read(*events, room: int = 100_000) -> Story:
        return read_story(write(tmp_path / "events.jsonl", *events), Budget(room))

    return read


def test_a_call_has_its_input_and_what_came_back(story) -> None:
    found = story(
        init(), replays("Do it"), says("I will"), calls("a", "Bash", command="ls"), answers("a", "x.csv")
    )

    assert [step.kind for step in found.steps] == ["start", "given", "model", "call"]
    call = found.steps[-1]
    assert call.title == "Bash ls"
    assert call.text.text == "command: ls"
    assert call.result is not None
    assert call.result.text == "x.csv"
    assert call.failed is False


def test_what_was_not_seen_is_not_made_up(story) -> None:
    (call,) = story(calls("a", "Bash", command="ls")).steps

    assert call.result is None
    assert call.failed is None


def test_a_sub_agent_lies_in_its_call(story) -> None:
    found = story(
        calls("a", "Agent", subagent_type="acme:auditor", prompt="Look"),
        calls("b", "Read", parent="a", file_path="x.csv"),
        answers("b", "1,2", parent="a"),
        says("Fine", parent="a"),
        answers("a", "All fine"),
        says("Done"),
    )

    agent, last = found.steps
    assert agent.title == "Agent acme:auditor"
    assert [step.title or step.text.text for step in agent.steps] == ["Read x.csv", "Fine"]
    assert last.text.text == "Done"


def test_nesting_has_an_end(story) -> None:
    deep = [calls(f"c{n}", "Agent", parent=f"c{n - 1}" if n else None) for n in range(50)]
    found = story(*deep)

    def depth(steps) -> int:
        return 1 + max((depth(step.steps) for step in steps), default=-1)

    def number(steps) -> int:
        return len(steps) + sum(number(step.steps) for step in steps)

    assert depth(found.steps) <= 7
    assert number(found.steps) == 50


def test_the_final_text_is_not_told_twice(story) -> None:
    found = story(says("Done."), result("Done."))
    assert found.steps[-1].text.text == ""

    found = story(says("Almost"), result("Done."))
    assert found.steps[-1].text.text == "Done."


def test_texts_are_cut_with_a_count_and_the_end_is_always_there(story) -> None:
    found = story(says("x" * 10_000), says("y" * 50), result("final"), room=5_000)

    assert found.steps[0].text.text == "x" * 5_000
    assert found.steps[0].text.left_out == 5_000
    assert found.steps[1].text.text == ""
    assert found.steps[1].text.left_out == 50
    assert found.steps[2].text.text == "final"


def test_steps_are_counted_beyond_their_limit(story) -> None:
    found = story(*(says(str(n)) for n in range(500)), result("the end"))

    assert len(found.steps) == 401
    assert found.left_out == 100
    assert found.steps[-1].text.text == "the end"


def test_harmful_characters_are_visible_everywhere(story) -> None:
    found = story(
        says("a\x1b[1m\u202e"), calls("a\x1b", "Ba\x1bsh", command="\x07"), result(subtype="\u202e")
    )
    shown = "".join(f"{step.title}{step.text.text}" for step in found.steps)

    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert r"\x1b[1m\u202e" in shown


def test_lines_that_are_no_events_are_told(story) -> None:
    (stray,) = story(b"segmentation fault\n").steps

    assert (stray.kind, stray.title, stray.text.text) == ("stray", "not JSON", "segmentation fault")


def test_thinking_is_a_step(story) -> None:
    (step,) = story(message({"type": "thinking", "thinking": "hm"})).steps
    assert (step.kind, step.text.text) == ("thinking", "hm")


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    assert read_story(tmp_path / "none", Budget(10)).problem == "cannot be read: No such file or directory"
