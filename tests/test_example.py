"""The example: it shows everything that an eval can say, and its script does what its skill says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from skillwalker.evals import Eval, TestType
from skillwalker.gateway.script import load_scripts
from skillwalker.loading import find_evals, load_eval

PROJECT = Path(__file__).parents[1]
ROOT = PROJECT / "examples" / "csv-toolbox"
DOCS = PROJECT / "docs" / "writing-evals.md"
FENCES = re.findall(r"^```(\w*)\n(.*?)^```$", DOCS.read_text("utf-8"), re.MULTILINE | re.DOTALL)
TIDY = ROOT / "tables" / "skills" / "tidy-csv" / "scripts" / "tidy.py"


@pytest.fixture(scope="module")
def evals() -> list[Eval]:
    loaded = [load_eval(directory, ROOT) for directory in find_evals(ROOT).evals]
    assert [problem for one in loaded for problem in one.placed()] == []
    return [one.eval for one in loaded if one.eval]


def test_the_example_shows_every_type_of_test_and_expectation_in_every_form(evals: list[Eval]) -> None:
    tests = [test for one in evals for test in one.tests]
    forms = Counter((spec.type, type(spec.value)) for test in tests for spec in test.expect)

    assert {test.type for test in tests} == set(TestType)
    assert set(forms) == {
        ("result-contains", str),
        ("result-does-not-contain", str),
        ("skill-call", bool),
        ("skill-call", dict),
        ("agent-call", bool),
        ("agent-call", dict),
        ("llm-judge", dict),
    }


def test_positives_ask_the_strongest_model_and_near_misses_weaker_ones(evals: list[Eval]) -> None:
    calls = [
        (spec.value, test.model)
        for one in evals
        for test in one.tests
        for spec in test.expect
        if isinstance(spec.value, bool)
    ]

    assert set(calls) == {(True, "opus"), (False, "sonnet"), (False, "haiku")}


def test_some_tests_have_a_script_and_some_leave_it_to_the_rule(evals: list[Eval]) -> None:
    for one in evals:
        names = [test.name for test in one.tests]
        scripts = load_scripts(one.directory / "rehearsal.json", ROOT, names)
        assert 0 < len(scripts) < len(names)


def snippets(value: Any) -> list[Any]:
    """The value and all that it holds."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(found for one in inner for found in snippets(one))]


@pytest.mark.parametrize("fence", [text for kind, text in FENCES if kind == "json"])
def test_what_the_documentation_quotes_stands_in_the_example(fence: str) -> None:
    shown = json.loads(fence if fence.startswith("{") else f"{{{fence}}}")
    files = [*ROOT.glob("evals/*/tests.json"), *ROOT.glob("evals/*/rehearsal.json")]
    parts = [part for file in files for part in snippets(json.loads(file.read_text("utf-8")))]

    tests = shown.get("tests", shown)
    for part in tests.values() if isinstance(tests, dict) else tests:
        assert part in parts


@pytest.mark.parametrize("fence", [text for kind, text in FENCES if kind in ("", "markdown")])
def test_quoted_prompts_and_criteria_stand_in_the_example(fence: str) -> None:
    if fence.startswith("csv-toolbox/"):
        return
    files = [*ROOT.glob("evals/*/prompts/*.md"), *ROOT.glob("evals/*/rubrics/*.md")]
    texts = [file.read_text("utf-8") for file in files]

    for part in [fence] if not fence.startswith("- ") else fence.splitlines():
        assert any(part in text for text in texts), part


def tidy(tmp_path: Path, data: bytes) -> tuple[str, str]:
    """What the skill's script writes and what it says."""
    source, target = tmp_path / "source.csv", tmp_path / "target.csv"
    source.write_bytes(data)
    done = subprocess.run([sys.executable, TIDY, source, target], capture_output=True, text=True, check=True)
    assert source.read_bytes() == data
    return target.read_bytes().decode(), done.stdout


def test_tidying_the_scaffold_gives_what_the_rehearsed_answer_claims(tmp_path: Path) -> None:
    data = (ROOT / "evals/tidy-csv/scaffolds/shop-export/orders.csv").read_bytes()

    table, said = tidy(tmp_path, data)

    assert table.splitlines()[:2] == [
        "order_id,customer,city,order_date,amount_eur",
        "1001,Abel & Söhne,Köln,03/04/2026,129.90",
    ]
    assert said.splitlines() == [
        "rows: 5",
        "encoding: cp1252 -> utf-8",
        "delimiter: ';' -> ','",
        "header: order_id, customer, city, order_date, amount_eur",
        "blank rows dropped: 2",
        "duplicate rows dropped: 1",
    ]


def test_tidying_points_at_rows_of_another_width_and_keeps_them(tmp_path: Path) -> None:
    table, said = tidy(tmp_path, b"a,b\n1,2\n1,2,3\n")

    assert table == "a,b\n1,2\n1,2,3\n"
    assert "look at: line 3" in said


def test_tidying_keeps_a_line_break_inside_a_field(tmp_path: Path) -> None:
    table, _ = tidy(tmp_path, b'\xef\xbb\xbfa\tb\r\n"x\r\ny"\t"1,5"\r\n')

    assert table == 'a,b\n"x\r\ny","1,5"\n'
