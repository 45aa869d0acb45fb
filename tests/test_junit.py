"""JUnit XML: its structure, held to the schema's rules, and what stands in it."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from hostile import hostile_run
from stored_runs import FAILED, PASSED, UNMEASURED, a_test, a_trial, stored, verdict

from skillwalker.outcomes import Outcome, Reason
from skillwalker.reports.junit import junit
from skillwalker.reports.source import Source
from skillwalker.results import TestResult

# Jenkins' xUnit plugin, junit-10: what may stand in what, and which attributes each has; a star: required.
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase"},
    "properties": {"property"},
    "testcase": {"skipped", "error", "failure", "system-out"},
}
ATTRIBUTES = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"name*", "tests*", "failures*", "errors*", "time", "skipped", "timestamp", "hostname"},
    "property": {"name*", "value*"},
    "testcase": {"name*", "classname", "time"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
}


def parsed(source: Source) -> ElementTree.Element:
    text = "".join(junit(source))
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    for element in root.iter():
        allowed = ATTRIBUTES.get(element.tag, set())
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
        assert set(element.attrib) <= {name.rstrip("*") for name in allowed}
        assert {name.rstrip("*") for name in allowed if name.endswith("*")} <= set(element.attrib)
        for name in ("tests", "failures", "errors", "skipped"):
            assert re.fullmatch(r"\d+", element.get(name, "0"))
        if "time" in element.attrib:
            assert re.fullmatch(r"\d+\.\d{3}", element.attrib["time"])
    for suite in root:
        cases = suite.findall("testcase")
        assert int(suite.get("tests", "")) == len(cases)
        for kind, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert int(suite.get(attribute, "")) == sum(case.find(kind) is not None for case in cases)
        assert all(len(case) <= 1 for case in cases)
    return root


def test_failed_is_a_failure_and_unmeasured_an_error(tmp_path: Path) -> None:
    root = parsed(
        stored(
            tmp_path,
            a_test("good", a_trial("good", 1, verdict(PASSED))),
            a_test("bad", a_trial("bad", 1, verdict(FAILED, "called: none"))),
            a_test("late", a_trial("late", 1, verdict(UNMEASURED, "not seen"), reason=Reason.TIMEOUT)),
        )
    )

    assert {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")} == {
        "good": [],
        "bad": ["failure"],
        "late": ["error"],
    }
    failure, error = root.find(".//failure"), root.find(".//error")
    assert failure is not None
    assert failure.get("message") == "skill-call: called: none"
    assert error is not None
    assert error.get("type") == "timeout"
    assert "-> raise --timeout" in (error.text or "")


def test_trials_that_disagree_are_told_of_passed_tests_too(tmp_path: Path) -> None:
    def trials(name: str, *outcomes: Outcome) -> TestResult:
        return a_test(name, *(a_trial(name, n + 1, verdict(one)) for n, one in enumerate(outcomes)))

    root = parsed(stored(tmp_path, trials("a", PASSED, FAILED, PASSED), trials("b", FAILED, PASSED, FAILED)))
    assert root.findtext(".//system-out") == "2 of 3 measured passed, 2 needed; flaky"
    assert (root.findtext(".//failure") or "").startswith("1 of 3 measured passed, 2 needed; flaky\n")


def test_an_eval_is_a_suite(tmp_path: Path) -> None:
    one = a_test("a", a_trial("a", 1, verdict(PASSED)))
    other = a_test("a", a_trial("other", 1, verdict(PASSED)), eval_name="json")
    root = parsed(stored(tmp_path, one, other))

    assert [suite.get("name") for suite in root] == ["csv", "json"]
    assert root[0].get("timestamp") == "2026-11-30T10:15:00"


def test_what_did_not_run_is_skipped_and_not_passed(tmp_path: Path) -> None:
    root = parsed(stored(tmp_path, a_test("never", planned=1), interrupted=True))
    assert root.find(".//testcase/skipped") is not None

    root = parsed(
        stored(tmp_path, a_test("killed", planned=1), interrupted=None, run_id="20261130T101501Z-3f9a1c")
    )
    assert root.find(".//testcase/error") is not None


def test_a_time_that_nobody_knows_is_absent(tmp_path: Path) -> None:
    trials = [a_trial("a", 1, verdict(PASSED)), a_trial("a", 2, verdict(PASSED), duration_ms=None)]
    root = parsed(stored(tmp_path, a_test("a", *trials), duration_ms=None))
    case = root.find(".//testcase")

    assert case is not None
    assert "time" not in case.attrib
    assert "time" not in root.attrib


def test_a_rehearsal_says_so_first_and_last(tmp_path: Path) -> None:
    text = "".join(junit(stored(tmp_path, a_test("a", a_trial("a", 1, verdict(PASSED))), source="rehearsal")))
    lines = text.splitlines()

    assert "REHEARSED" in lines[1]  # the first may only say that it is XML
    assert "REHEARSED" in lines[-1]


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    source = Source.of(hostile_run(tmp_path))
    root = parsed(source)
    text = "".join(junit(source))

    assert len(list(root.iter("testcase"))) == 2
    assert not re.search("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
    failure = root.find(".//failure")
    assert failure is not None
    assert r"\x1b[31m" in (failure.text or "")
    assert "<script>" in (failure.text or "")
