"""A run as JUnit XML: an eval is a test suite, a test is a test case.

Valid against the schema of Jenkins' xUnit plugin (junit-10), by which pytest's files are valid too. A failed
test is a failure, an unmeasured one an error, one that did not run is skipped, with its author's reason if it
has one; an unknown time is absent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from skillwalker.outcomes import Outcome
from skillwalker.reports.console import never_ran, test_lines
from skillwalker.reports.facts import passed_of, run_facts
from skillwalker.reports.judged_again import banner_of, judged_again
from skillwalker.reports.moments import Moments
from skillwalker.reports.source import Source, started
from skillwalker.results import Skipped, TestResult
from skillwalker.text import safe

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(source: Source) -> Iterator[str]:
    """The document, piece by piece."""
    run = source.run
    note = banner_of(source)
    about = f"<!-- {note} -->\n" if note else ""
    counted = _counted(source, list(run.tests), run.skipped)
    root = Element("testsuites", counted | {"name": f"skillwalker {run.run_id}"})
    if run.duration_ms is not None:
        root.set("time", f"{run.duration_ms / 1000:.3f}")
    evals = [*(test.eval for test in run.tests), *(one.eval for one in run.skipped)]
    for name in dict.fromkeys(evals):
        skipped = [one for one in run.skipped if one.eval == name]
        root.append(_suite(source, name, [test for test in run.tests if test.eval == name], skipped))
    indent(root)
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n{about}'
    yield tostring(root, encoding="unicode")
    yield f"\n{about}"


def legal(text: str) -> str:
    """`text` with control characters made visible, and without what XML cannot hold in any form."""
    return _ILLEGAL.sub("", safe(text, lines=True))


def _suite(source: Source, name: str, tests: list[TestResult], skipped: Sequence[Skipped]) -> Element:
    without = len(skipped) + sum(never_ran(source.run, test) for test in tests)
    counted = _counted(source, tests, skipped)
    suite = Element("testsuite", {"name": legal(name), **counted, "skipped": str(without)})
    if time := _time(tests):
        suite.set("time", time)
    if when := started(source.run):
        suite.set("timestamp", when.removesuffix("Z"))
    properties = SubElement(suite, "properties")
    for fact in run_facts(source):
        SubElement(properties, "property", {"name": fact.label, "value": legal(fact.value)})
    for test in tests:
        suite.append(_case(source, test))
    for one in skipped:
        case = SubElement(suite, "testcase", {"name": legal(one.name), "classname": legal(one.eval)})
        SubElement(case, "skipped", {"message": legal(one.reason)})
    if source.again:
        SubElement(suite, "system-out").text = legal("\n".join(judged_again(source.again)))
    return suite


def _case(source: Source, test: TestResult) -> Element:
    case = Element("testcase", {"name": legal(test.name), "classname": legal(test.eval)})
    if time := _time([test]):
        case.set("time", time)
    together = [passed_of(test)] if test.planned > 1 else []
    if test.outcome is Outcome.PASSED:
        if together:  # how many trials passed, and whether they agree
            SubElement(case, "system-out").text = together[0]
        return case
    if never_ran(source.run, test):
        SubElement(case, "skipped", {"message": "not run: the run was interrupted"})
        return case
    _, *lines = test_lines(source.run, test, moments=Moments(source.directory))
    kind = "failure" if test.outcome is Outcome.FAILED else "error"
    reasons = [str(trial.reason) for trial in test.trials if trial.reason]
    type_ = "failed" if test.outcome is Outcome.FAILED else reasons[0] if reasons else "unmeasured"
    lines = [legal(line.strip()) for line in lines]
    told = SubElement(case, kind, {"type": type_, "message": lines[0] if lines else type_})
    told.text = "\n".join([*together, *lines])
    return case


def _counted(source: Source, tests: list[TestResult], skipped: Sequence[Skipped]) -> dict[str, str]:
    errors = sum(test.outcome is Outcome.UNMEASURED and not never_ran(source.run, test) for test in tests)
    failures = sum(test.outcome is Outcome.FAILED for test in tests)
    return {"tests": str(len(tests) + len(skipped)), "failures": str(failures), "errors": str(errors)}


def _time(tests: list[TestResult]) -> str | None:
    """Seconds of all trials together; None where one of them is not known."""
    times = [trial.duration_ms for test in tests for trial in test.trials]
    known = [time for time in times if time is not None]
    return f"{sum(known) / 1000:.3f}" if known and len(known) == len(times) else None
