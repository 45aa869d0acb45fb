"""Annotations for GitHub Actions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

from hostile import hostile_run
from roots import write
from stored_runs import FAILED, PASSED, UNMEASURED, a_test, a_trial, stored, verdict

from skillwalker.outcomes import Reason
from skillwalker.reports.github import command, github
from skillwalker.reports.source import Source

COMMAND = re.compile(r"::(error|warning|notice)(?: ([^:\r\n]*))?::([^\r\n]*)\n")


def commands(source: Source, base: Path | None = None) -> list[tuple[str, dict[str, str], str]]:
    """As the runner reads them: each line is one, and nothing is left over."""
    text = "".join(github(source, base))
    assert COMMAND.sub("", text) == ""
    return [
        (name, dict(part.split("=", 1) for part in given.split(",")) if given else {}, message)
        for name, given, message in COMMAND.findall(text)
    ]


def test_failed_is_an_error_at_the_test_and_unmeasured_a_warning(tmp_path: Path) -> None:
    tests = [{"name": "good"}, {"name": "bad"}, {"name": "late"}]
    write(tmp_path / "evals/csv/tests.json", json.dumps({"plugins": [], "tests": tests}, indent=1))
    source = stored(
        tmp_path,
        a_test("good", a_trial("good", 1, verdict(PASSED))),
        a_test("bad", a_trial("bad", 1, verdict(FAILED, "called: none"))),
        a_test("late", a_trial("late", 1, verdict(UNMEASURED), reason=Reason.TIMEOUT)),
    )

    (error, bad, said), (warning, late, _), (notice, _, total) = commands(source, tmp_path)
    assert (error, warning, notice) == ("error", "warning", "notice")
    assert bad == {"file": "evals/csv/tests.json", "line": "7", "title": "csv%3A%3Abad failed"}
    assert late["line"] == "10"
    assert "called: none" in said
    assert total == "3 tests: 1 passed, 1 failed, 1 unmeasured"


def test_how_many_trials_passed_is_told_with_it(tmp_path: Path) -> None:
    trials = (a_trial("bad", n, verdict(PASSED if n == 1 else FAILED)) for n in (1, 2, 3))
    (_, _, said), _ = commands(stored(tmp_path, a_test("bad", *trials)))
    assert said.startswith("1 of 3 measured passed, 2 needed; flaky%0A")


def test_without_the_eval_there_is_no_place(tmp_path: Path) -> None:
    source = stored(tmp_path, a_test("bad", a_trial("bad", 1, verdict(FAILED))))
    assert set(commands(source)[0][1]) == {"title"}


def test_no_text_ends_a_command_or_begins_another() -> None:
    assert command("error", "50%\r\n::warning::x", {"title": "a:b,c%\n::"}) == (
        "::error title=a%3Ab%2Cc%25%0A%3A%3A::50%25%0D%0A::warning::x\n"
    )


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    found = commands(Source.of(hostile_run(tmp_path)))

    assert [name for name, _, _ in found] == ["error", "notice"]
    assert set(found[0][1]) == {"title"}
    assert "\x1b" not in unquote(found[0][2])


def test_more_than_github_shows_is_counted(tmp_path: Path) -> None:
    tests = [a_test(f"t{n}", a_trial(f"t{n}", 1, verdict(FAILED))) for n in range(14)]
    found = commands(stored(tmp_path, *tests))

    assert [name for name, _, _ in found] == ["error"] * 10 + ["notice"] * 2
    assert found[10][2] == "4 more tests failed: see the step summary"


def test_a_rehearsal_says_so_first_and_last(tmp_path: Path) -> None:
    found = commands(stored(tmp_path, a_test("a", a_trial("a", 1, verdict(PASSED))), source="rehearsal"))
    assert [found[0][2][:9], found[-1][2][:9]] == ["REHEARSED", "REHEARSED"]
