"""docs/judging.md tells what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from skillwalker.expectations import cutting, evidence
from skillwalker.expectations.grades import Grade, Quotable, decide
from skillwalker.expectations.judge import MOST_VOTES, LlmJudge
from skillwalker.expectations.rubric import parse_rubric
from skillwalker.records import trial_object
from skillwalker.spend_records import JUDGE
from skillwalker.testing import FakeJudge, TranscriptBuilder, trial

PAGE = (Path(__file__).parents[1] / "docs" / "judging.md").read_text("utf-8")
BLOCKS = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)


def test_the_limits_are_the_codes() -> None:
    rows = re.findall(r"^\| (.+) \| ([\d,]+ [^|]+) \|$", PAGE, re.MULTILINE)
    assert rows == [
        ("the prompt; the final answer", f"{evidence.TEXT_LIMIT:,} each"),
        ("the files that criteria are about", f"{evidence.NAMED_LIMIT:,} together"),
        ("files at the start", f"{evidence.START_LIMIT:,} together, one file {evidence.FILE_LIMIT:,}"),
        (
            "other files that were created or changed",
            f"{evidence.FILES_LIMIT:,} together, one file {evidence.FILE_LIMIT:,}",
        ),
        ("tool calls", f"{evidence.CALLS_LIMIT:,} together, input and result {evidence.CALL_LIMIT:,} each"),
    ]
    assert f"one for {cutting.BYTES_PER_TOKEN:g} bytes" in PAGE
    assert f"any odd number up to {MOST_VOTES}" in PAGE


def test_the_rubric_on_the_page_is_read_as_it_says() -> None:
    assert [(one.text, one.file) for one in parse_rubric(BLOCKS[0])] == [
        ("The answer says what was changed.", None),
        ("It has a title.", "report.md"),
        ("Every figure has its source.", "report.md"),
        ("Each order is there once.", "data/clean.csv"),
    ]


def test_the_messages_on_the_page_are_the_codes(tmp_path: Path) -> None:
    judge = FakeJudge([[True, True, False], [True, False, False], [True, True, False]])
    rubrics = {"r.md": "- a\n- b\n- c\n"}
    on = trial(tmp_path, TranscriptBuilder().init().result("x"), rubrics=rubrics, judge=judge)
    assert LlmJudge("r.md", votes=3, threshold=0.5).check(on).message.startswith(BLOCKS[1].strip())
    unfounded = decide([Grade(True, "", "y")], Quotable.of("x")).message
    assert unfounded.partition(":")[0] in PAGE


def test_what_judging_costs_has_the_keys_of_the_page() -> None:
    from stored_runs import a_trial

    from skillwalker.gateway.spending import Spend
    from skillwalker.tokens import Tokens

    spent = (Spend(JUDGE, "claude-opus-5-5", "claude-opus-5-5", 1, 0, Tokens(), None),)
    found = trial_object(a_trial("x", 1, spent=spent))["judge"]
    assert found is not None
    assert re.findall(r'"(\w+)": ', BLOCKS[2])[1:] == list(found)
