"""The lines of a transcript that matter."""

from __future__ import annotations

from pathlib import Path

from stored_runs import FAILED, PASSED, Left, a_test, a_trial, keep, verdict
from transcripts import answers, calls, result, says, write

from skillwalker.reports.console import run_report
from skillwalker.reports.moments import Moments, read_moments


def moments(tmp_path: Path, *events) -> list[tuple[str, str]]:
    path = write(tmp_path / "events.jsonl", *events)
    return [(one.label, one.text) for one in read_moments(path)]


def test_what_was_called_instead_and_what_was_said(tmp_path: Path) -> None:
    found = moments(
        tmp_path,
        calls("a", "Read", file_path="notes.md"),
        answers("a"),
        calls("b", "Bash", command="npm test"),
        answers("b", error=True),
        calls("c", "Agent", subagent_type="acme:auditor"),
        calls("d", "Grep", parent="c", pattern="x"),
        says("Done."),
        result("Done."),
    )

    assert found == [
        ("did", "Read notes.md; Bash npm test (error); Agent acme:auditor (no result)"),
        ("said", "Done."),
    ]


def test_the_end_of_a_long_text_on_one_line(tmp_path: Path) -> None:
    (_, (label, text)) = moments(tmp_path, result("start " + "word\n" * 200 + "the end"))

    assert label == "said last"
    assert text.startswith("…")
    assert text.endswith("word the end")
    assert "\n" not in text


def test_no_call_seen_and_no_text_is_no_text(tmp_path: Path) -> None:
    assert moments(tmp_path, says("hm")) == [("did", "no tool call was seen")]
    assert list(read_moments(tmp_path / "none")) == []


def test_many_calls_are_counted(tmp_path: Path) -> None:
    events = [calls(f"c{n}", "Bash", command=str(n)) for n in range(8)]
    ((_, text),) = moments(tmp_path, *events)

    assert text.endswith("; and 3 more")


def test_nothing_can_steer(tmp_path: Path) -> None:
    found = moments(
        tmp_path, calls("a", "Ba\x1bsh", command="\u202e\n::error::x"), result("\x1b[2J\n::error::y")
    )
    assert not any(c in text for _, text in found for c in "\x1b\u202e\n")


def test_the_console_shows_them_for_what_did_not_pass(tmp_path: Path) -> None:
    bad = [a_trial("bad", n, verdict(FAILED, "called: none")) for n in range(1, 6)]
    good = a_trial("good", 1, verdict(PASSED, "called"))
    events = [calls("a", "Read", file_path="notes.md"), answers("a"), result("Done.")]
    left = {trial.id: Left(events) for trial in (*bad, good)}
    directory = keep(tmp_path, a_test("bad", *bad), a_test("good", good), left=left)
    from skillwalker.records import load_run

    text = run_report(load_run(directory), moments=Moments(directory))

    assert text.count("did: Read notes.md") == 3  # of the first three trials
    assert "said: Done." in text
    assert text.index("called: none") < text.index("did: Read")
