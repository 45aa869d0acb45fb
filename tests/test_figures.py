"""What trials say together, in every report."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import cmarkgfm
from attrs import evolve
from stored_runs import FAILED, PASSED, UNMEASURED, a_test, a_trial, keep, verdict

from skillwalker.gateway.spending import Spend
from skillwalker.records import load_run
from skillwalker.reports.console import run_report
from skillwalker.reports.figures import judges_cost, passed_of, test_figures
from skillwalker.reports.html import html
from skillwalker.reports.junit import junit
from skillwalker.reports.markdown import markdown
from skillwalker.reports.source import Source
from skillwalker.results import Outcome, Target, TestResult, TrialResult
from skillwalker.tokens import Tokens

HOSTILE = "acme:<script>alert(1)</script>\x1b[2J"


def activation(
    name: str, *outcomes: Outcome, should: bool, id_: str = "acme:tidy", arm: str = "main"
) -> TestResult:
    trials = [
        evolve(
            a_trial(name, index, verdict(one), turns=index, healthy=one is not UNMEASURED),
            id=f"csv.{name}.{arm}.{index}",
            arm=arm,
        )
        for index, one in enumerate(outcomes, 1)
    ]
    test = a_test(name, *trials)
    return evolve(test, type="skill-call", target=Target("skill", id_, should, 0), arm=arm)


TESTS = (
    activation("yes", PASSED, PASSED, FAILED, should=True),
    activation("no", PASSED, PASSED, UNMEASURED, should=False),
)


def reports(root: Path, *tests: TestResult, source: str = "api") -> dict[str, str]:
    kept = Source.of(keep(root, *tests, source=source))
    return {
        "console": run_report(load_run(kept.directory)),
        "markdown": "".join(markdown(kept)),
        "html": "".join(html(kept)),
        "junit": "".join(junit(kept)),
    }


def test_the_table_in_words(tmp_path: Path) -> None:
    lines = reports(tmp_path, *TESTS)["console"].splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("acme:tidy (skill, opus)"))
    assert [" ".join(line.split()) for line in lines[at : at + 4]] == [
        "acme:tidy (skill, opus) called not called",
        "should be called 2 1 recall 67% (21% to 94%), 2 of 3",
        "should not be called 0 2 precision 100% (34% to 100%), 2 of 2",
        "not measured: 1 trial",
    ]


def test_every_report_for_people_has_the_table_and_what_is_flaky(tmp_path: Path) -> None:
    for name, text in reports(tmp_path, *TESTS).items():
        if name != "junit":
            assert "67% (21% to 94%), 2 of 3" in text, name
            assert "2 of 3 measured passed, 2 needed; flaky" in text, name


def test_a_rehearsed_run_shows_no_rate_anywhere(tmp_path: Path) -> None:
    for text in reports(tmp_path, *TESTS, source="rehearsal").values():
        assert "recall" not in text
        assert "pass rate" not in text


def test_one_trial_says_nothing_together(tmp_path: Path) -> None:
    alone = activation("alone", PASSED, should=True)
    assert test_figures(alone) == {}
    assert "recall" not in reports(tmp_path, alone)["console"]


def test_rates_and_spreads_of_a_test() -> None:
    assert test_figures(TESTS[0]) == {
        "pass rate": "67% (21% to 94%)",
        "pass@3": "100%",
        "pass^3": "0%",
        "turns": "2.0 ± 1.0",
        "time": "1.5 ± 0.0 s",
        "cost per trial": "0.2500 ± 0.0000 USD",
        "judges' cost per trial": None,
    }


def test_what_was_not_needed_is_not_called_unmeasured() -> None:
    early = evolve(activation("t", PASSED, PASSED, should=True), planned=3, stop_early=True)
    assert passed_of(early) == "2 of 2 measured passed, 1 spared, 2 needed"


def test_controls_and_what_is_blind_in_every_report(tmp_path: Path) -> None:
    named = activation("control", FAILED, should=True, arm="control")
    found = reports(tmp_path, named, *TESTS)
    for name, text in found.items():
        assert "the measurement is blind: acme:tidy was not called by a prompt that names it" in text, name
        if name != "junit":
            assert "1 control: 1 failed" in text, name
    assert 'tests="2" failures="0" errors="2"' in found["junit"]


def test_ids_of_others_stay_text(tmp_path: Path) -> None:
    named = activation("control", FAILED, should=True, arm="control", id_=HOSTILE)
    tests = (named, activation("yes", PASSED, PASSED, should=True, id_=HOSTILE), *TESTS)
    found = reports(tmp_path, *tests)

    class Scripts(HTMLParser):
        number = 0

        def handle_starttag(self, tag: str, attrs: object) -> None:
            self.number += tag == "script"

    scripts = Scripts()
    scripts.feed(found["html"])
    assert scripts.number == 1  # the page's own
    assert "<script" not in str(cmarkgfm.github_flavored_markdown_to_html(found["markdown"]))
    assert "\x1b" not in "".join(found.values())


def judged_trial(name: str, index: int, cost: float | None, *, asked: bool = True) -> TrialResult:
    spent = (Spend("judge", "opus", "claude-opus-5-5", 1, 0, Tokens(900, 40), cost),) if asked else ()
    return a_trial(name, index, verdict(PASSED), cost_usd=0.5, judge_cost_usd=cost, spent=spent)


def test_judges_cost_stands_apart_in_every_report_that_tells_costs(tmp_path: Path) -> None:
    trials = (judged_trial("judged", 1, 0.01), judged_trial("judged", 2, 0.03))
    found = reports(tmp_path, evolve(a_test("judged", *trials), need=3))  # a test that failed is told in full

    assert "1.0000 USD and 0.0400 USD for judges" in found["console"]
    assert "<b>1.0000 USD</b> cost" in found["html"]
    assert "<b>0.0400 USD</b> judges' cost" in found["html"]
    for name, start, end in (("html", "</dt><dd>", "</dd>"), ("markdown", " `", "`")):
        text = found[name].replace("&#39;", "'")
        for of_run_or_trial in ("0.0400 USD", "0.0100 USD", "0.0300 USD"):
            told = (f"judges' cost{mark}{start}{of_run_or_trial}{end}" for mark in ("", ":"))
            assert any(one in text for one in told), (name, of_run_or_trial)
        assert "0.0200 ± 0.0141 USD" in text
    assert 'name="judges\' cost" value="0.0400 USD"' in found["junit"]


def test_what_judges_cost_is_absent_where_one_is_unknown_and_where_none_was_asked(tmp_path: Path) -> None:
    unknown = a_test("unknown", judged_trial("unknown", 1, 0.01), judged_trial("unknown", 2, None))
    unasked = a_test("unasked", *(judged_trial("unasked", n, 0, asked=False) for n in (1, 2)))
    assert judges_cost(unknown.trials) is None
    for text in reports(tmp_path / "unasked", unasked).values():
        assert "judges" not in text
    told = reports(tmp_path / "unknown", unknown)
    assert "for judges" not in told["console"]
    assert "judges' cost" not in told["junit"]
    free = a_test("free", judged_trial("free", 1, 0.0))
    assert "0.0000 USD for judges" in reports(tmp_path / "free", free)["console"]


def test_judges_cost_is_told_where_the_trials_cost_is_not_known(tmp_path: Path) -> None:
    trial = evolve(judged_trial("odd", 1, 0.02), cost_usd=None)
    assert reports(tmp_path, a_test("odd", trial))["console"].endswith("in 5.1 s, 0.0200 USD for judges")


def test_nothing_measured_is_no_count_of_nothing() -> None:
    test = evolve(activation("t", FAILED, should=True), blind="the measurement is blind", planned=3, need=2)
    assert passed_of(test) == "none measured, 3 unmeasured, 2 needed"


def test_a_control_that_failed_stands_first_in_the_page_and_what_is_blind_says_so(tmp_path: Path) -> None:
    found = reports(
        tmp_path,
        activation("yes", PASSED, PASSED, should=True),
        activation("control: acme:tidy named", FAILED, should=True, arm="control"),
        activation("control: acme:tidy unrelated", PASSED, should=False, arm="control"),
    )["html"]
    names = re.findall('data-name="([^"]*)"', found)
    assert names == ["csv::control: acme:tidy named", "csv::yes", "csv::control: acme:tidy unrelated"]
    assert "was not called by a prompt that names it; what its trials saw counts for nothing" in found
