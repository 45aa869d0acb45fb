"""What differs between two runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from attrs import evolve
from stored_runs import EARLIER, FAILED, PASSED, RUN_ID, UNMEASURED, Left, a_test, a_trial, stored, verdict
from transcripts import answers, calls, result

from skillwalker.comparison.as_json import comparison_object
from skillwalker.comparison.compare import Comparison, Difference, compare
from skillwalker.comparison.console import comparison_report
from skillwalker.outcomes import Outcome, Reason
from skillwalker.reports.html import html
from skillwalker.reports.source import Source
from skillwalker.results import Target, TestResult
from skillwalker.store import RunDirectory


def trials(name: str, passed: int, of: int, **more: object) -> TestResult:
    outcomes = [PASSED] * passed + [FAILED] * (of - passed)
    return a_test(name, *(a_trial(name, n + 1, verdict(one), **more) for n, one in enumerate(outcomes)))


@pytest.fixture
def compared(tmp_path: Path):
    def make(old: list[TestResult], new: list[TestResult], **more: dict[str, object]) -> Comparison:
        return compare(
            stored(tmp_path / "before", *old, run_id=EARLIER, **more.get("before", {})),
            stored(tmp_path / "after", *new, **more.get("after", {})),
        )

    return make


def only(comparison: Comparison) -> Difference:
    (found,) = comparison.tests
    return found


def test_the_same_is_no_difference(compared) -> None:
    found = compared([trials("a", 1, 1)], [trials("a", 1, 1)])

    assert not only(found).differs
    assert found.changed == ()
    assert found.warnings == ()
    assert "no difference in 1 test" in comparison_report(found)


def test_rates_are_told_with_what_to_think_of_them(compared) -> None:
    found = only(compared([trials("a", 0, 6)], [trials("a", 6, 6)]))
    assert found.rate == "0 of 6 → 6 of 6, beyond noise (p = 0.0022)"


def test_one_trial_on_each_side_tells_nothing(compared) -> None:
    found = only(compared([trials("a", 0, 1)], [trials("a", 1, 1)]))

    assert found.outcomes == ("failed", "passed")
    assert "too few trials to tell from noise" in found.rate


def test_trials_that_stopped_early_are_no_sample(compared) -> None:
    options = {"allow_unmeasured": 0, "stop_early": True}
    found = only(compared([trials("a", 0, 6)], [trials("a", 6, 6)], after={"options": options}))

    assert found.noise is None
    assert found.no_noise
    assert "stopped early" in found.no_noise
    assert found.rate == "0 of 6 → 6 of 6"


def test_a_rate_over_nothing_is_none(compared) -> None:
    late = a_test("a", a_trial("a", 1, verdict(UNMEASURED)))
    found = only(compared([late], [trials("a", 1, 1)]))

    assert found.rate == "none measured → 1 of 1"
    assert found.noise is None
    assert found.no_noise == "a run has no measured trial of it"


def test_verdicts_calls_texts_files_and_figures(compared) -> None:
    before, after = trials("a", 0, 1, cost_usd=0.5), trials("a", 1, 1, turns=5)
    old = Left(
        [calls("x", "Bash", command="ls"), answers("x"), result("same\nold\n")],
        {"both.md": b"1", "gone.md": b"1"},
    )
    new = Left(
        [calls("x", "Skill", skill="acme:tidy"), answers("x"), result("same\nnew\n")],
        {"both.md": b"2", "made.md": b""},
    )
    found = only(
        compared(
            [before],
            [after],
            before={"left": {before.trials[0].id: old}},
            after={"left": {after.trials[0].id: new}},
        )
    )

    assert list(found.lines()) == [
        "skill-call (expectation 1): failed → passed",
        "calls of Bash: 1 → 0",
        "calls of Skill acme:tidy: 0 → 1",
        "file both.md: created → created, other content",
        "file gone.md: created → untouched",
        "file made.md: untouched → created",
        "turns: 2 → 5",
        "cost: 0.5000 USD → 0.2500 USD",
        "final text differs",
    ]
    assert [line.mark + line.text for line in found.text_diff] == [" same", "-old", "+new"]


def test_what_a_trial_that_broke_off_did_not_do_is_no_difference(compared) -> None:
    before = trials("a", 1, 2)
    late = a_trial("a", 2, verdict(UNMEASURED), reason=Reason.TIMEOUT, turns=1, cost_usd=0.01)
    after = a_test("a", trials("a", 1, 1).trials[0], late)
    left = Left([calls("x", "Bash", command="ls"), answers("x"), result("same\n")], {"both.md": b"1"})
    broke_off = Left([calls("x", "Read", file="x"), result("cut")], {"half.md": b"1"})
    found = only(
        compared(
            [before],
            [after],
            before={"left": dict.fromkeys([one.id for one in before.trials], left)},
            after={"left": {after.trials[0].id: left, late.id: broke_off}},
        )
    )

    assert list(found.lines()) == ["skill-call (expectation 1): 1 passed, 1 failed → 1 passed, 1 unmeasured"]


def test_what_judges_cost_is_compared_apart(compared) -> None:
    before, after = trials("a", 1, 1, judge_cost_usd=0.01), trials("a", 1, 1, judge_cost_usd=0.02)
    assert list(only(compared([before], [after])).lines()) == ["judges' cost: 0.0100 USD → 0.0200 USD"]


def test_what_is_not_known_is_no_difference(compared) -> None:
    before, after = trials("a", 1, 1, cost_usd=None, turns=None), trials("a", 1, 1)
    found = only(
        compared([before], [after], after={"left": {after.trials[0].id: Left([result("x")], {"a": b""})}})
    )

    assert found.changes == ()
    assert found.texts_differ is None


def test_texts_are_compared_trial_by_trial(compared) -> None:
    before, after = trials("a", 3, 3), trials("a", 3, 3)
    left = [
        {trial.id: Left([result(text)]) for trial, text in zip(test.trials, texts, strict=True)}
        for test, texts in ((before, "abc"), (after, "abd"))
    ]
    found = only(compared([before], [after], before={"left": left[0]}, after={"left": left[1]}))

    assert list(found.lines()) == ["final text differs in 1 of 3 pairs of trials"]


def test_tests_that_only_one_run_has_are_apart_and_no_difference(compared, tmp_path: Path) -> None:
    before = [trials("a", 1, 1), trials("b", 1, 1), *(trials(f"old {n}", 0, 1) for n in range(7))]
    found = compared(before, [trials("a", 1, 1), trials("b", 0, 1), trials("new", 1, 1)])
    shown = comparison_report(found)

    assert [(one.run, len(one.tests)) for one in found.apart] == [("earlier", 7), ("later", 1)]
    assert found.summary.endswith(
        "; of 2 tests in both runs 1 with another outcome, 0 more with other differences"
    )
    assert "no difference in 1 test\n" in shown
    assert "\n7 tests are only in the earlier run:\n    csv::old 0\n" in shown
    assert "\n    csv::old 4\n    and 2 more tests\n1 test is only in the later run:\n    csv::new\n" in shown
    assert "absent" not in shown
    told = {one["name"]: (one["only_in"], one["differs"]) for one in comparison_object(found)["tests"]}
    assert [told[name] for name in ("a", "b", "old 0", "new")] == [
        (None, False),
        (None, True),
        ("earlier", False),
        ("later", False),
    ]
    page = "".join(html(Source.of(tmp_path_run(tmp_path)), found))
    assert "<summary>7 tests are only in the earlier run</summary>" in page
    assert page.count('<span class="eval">csv::</span>old ') == 7
    assert "pill absent" not in page


def test_two_runs_may_share_no_test(compared) -> None:
    found = compared([trials("old", 1, 1)], [trials("new", 1, 1)])

    assert found.summary == "1 passed → 1 passed; no test is in both runs"
    assert "no difference in" not in comparison_report(found)


@pytest.mark.parametrize(
    ("old", "new", "given", "told"),
    [
        ({"a": 1}, {"a": 3}, (None, 3), [("trials", "1", "3")]),
        ({"a": 1, "b": 5}, {"a": 2, "b": 2}, (None, 2), [("trials", "1 to 5", "2")]),
        ({"a": 1, "b": 5}, {"b": 2}, (None, 2), [("trials", "5", "2")]),
        ({"a": 2}, {"a": 5}, (2, None), [("trials", "2", "5")]),
        ({"a": 3}, {"b": 1}, (None, 1), [("trials", "3", "1")]),
        ({"a": 3}, {"a": 3}, (None, 3), []),
        ({"a": 1}, {"a": 5}, (None, None), []),
    ],
)
def test_trials_that_no_option_gave_are_those_of_the_tests(
    compared, old: dict[str, int], new: dict[str, int], given: tuple[int | None, ...], told: list[object]
) -> None:
    options = [{"options": {"allow_unmeasured": 0, "trials": number}} for number in given]
    tests = [[trials(name, of, of) for name, of in side.items()] for side in (old, new)]
    found = compared(*tests, before=options[0], after=options[1])

    assert [(one.label, one.before, one.after) for one in found.changed] == told


def test_changed_inputs_and_versions_are_named(compared) -> None:
    found = compared(
        [trials("a", 1, 1)],
        [trials("a", 1, 1)],
        before={"inputs": {"a": {"prompt": "1", "plugins": {"acme": "1", "gone": "1"}}}},
        after={
            "inputs": {"a": {"prompt": "2", "plugins": {"acme": "2", "new": "1"}}},
            "claude_code_version": "2.2.0",
            "options": {"allow_unmeasured": 0, "timeout_seconds": 60.0, "jobs": 1, "isolated": True},
        },
    )

    assert list(only(found).lines()) == ["changed inputs: prompt, plugin acme, plugin gone, plugin new"]
    assert [(one.label, one.before, one.after) for one in found.changed] == [
        ("claude code version", "2.1.332", "2.2.0"),
        ("timeout seconds", "600.0", "60.0"),
    ]


def test_a_rehearsed_and_a_real_run_are_not_compared_silently(compared) -> None:
    found = compared([trials("a", 0, 6)], [trials("a", 6, 6)], before={"source": "rehearsal"})
    lines = comparison_report(found).splitlines()

    assert lines[0] == lines[-1] == found.warnings[0]
    assert lines[0].startswith("NOT COMPARABLE")
    assert only(found).noise is None
    assert "p =" not in "\n".join(lines)


def test_two_rehearsed_runs_say_so_and_know_no_noise(compared) -> None:
    rehearsed = {"source": "rehearsal"}
    found = compared([trials("a", 0, 6)], [trials("a", 6, 6)], before=rehearsed, after=rehearsed)
    lines = comparison_report(found).splitlines()

    assert lines[0].startswith("REHEARSED")
    assert lines[-1].startswith("REHEARSED")
    assert only(found).noise is None


def test_other_outcomes_come_first(compared) -> None:
    before = [trials("same", 1, 1), trials("turns", 1, 1), trials("broke", 1, 1)]
    after = [trials("same", 1, 1), trials("turns", 1, 1, turns=9), trials("broke", 0, 1)]
    found = compared(before, after)

    assert [one.name for one in found.tests] == ["broke", "turns", "same"]
    assert found.summary == (
        "3 passed → 2 passed, 1 failed; of 3 tests 1 with another outcome, 1 more with other differences"
    )


def test_the_comparison_as_json(compared) -> None:
    found = comparison_object(compared([trials("a", 0, 1)], [trials("a", 1, 1), trials("b", 1, 1)]))

    assert found["before"] == {"run_id": EARLIER, "outcome": "failed", "model_source": "api"}
    a, b = sorted(found["tests"], key=lambda one: one["name"])
    assert a["p_value"] == 1.0
    assert a["before"]["outcome"] == Outcome.FAILED
    assert b["before"] is None
    assert b["p_value"] is None


def test_hostile_texts_cannot_steer(compared) -> None:
    before = a_test("a\x1b", a_trial("a", 1, verdict(PASSED)))
    events = [calls("x", "Ba\x1bsh", command="x"), result("\x1b[2J\u202e\n::error::x")]
    found = compared([before], [before], after={"left": {before.trials[0].id: Left(events, {"\x1b": b""})}})

    assert not any(c in comparison_report(found) for c in "\x1b\u202e")


def test_no_line_of_a_model_is_a_command_to_a_runner_of_ci(compared) -> None:
    before, after = trials("a", 1, 1), trials("a", 1, 1)
    left = [
        {before.trials[0].id: Left([result(f"::error::same\n{text}\n  ::add-mask::x\n")])} for text in "ab"
    ]
    found = compared([before], [after], before={"left": left[0]}, after={"left": left[1]})
    shown = comparison_report(found).splitlines()

    assert "    |   ::error::same" in shown
    assert not [line for line in shown if line.lstrip().startswith("::")]


def about(name: str, outcome: Outcome, *, should: bool = True, arm: str = "main", of: int = 1) -> TestResult:
    """A test, or a control, of whether `acme:tidy` is called."""
    test = a_test(name, *(a_trial(name, n + 1, verdict(outcome), arm=arm) for n in range(of)))
    return evolve(test, type="skill-call", target=Target("skill", "acme:tidy", should, 0), arm=arm)


def named(outcome: Outcome) -> TestResult:
    return about("control: acme:tidy named, opus", outcome, arm="control")


def test_a_rate_beside_a_blind_one_is_not_comparable(compared, tmp_path: Path) -> None:
    found = compared(
        [named(FAILED), about("yes", FAILED, of=6)],
        [named(PASSED), about("yes", PASSED, of=6)],
    )
    one = only(found)

    assert (one.noise, one.no_noise) == (None, "not comparable: the measurement is blind in the earlier run")
    assert one.rate == "none measured → 6 of 6, not comparable: the measurement is blind in the earlier run"
    assert list(one.lines()) == [
        "earlier run: the measurement is blind: acme:tidy was not called by a prompt that names it; "
        "what its trials saw counts for nothing"
    ]
    for text in (comparison_report(found), "".join(html(Source.of(tmp_path_run(tmp_path)), found))):
        shown = re.sub("<[^>]*>", "", text)
        assert "failed → passed csv::control: acme:tidy named, opus" in " ".join(shown.split())
        assert "not comparable: the measurement is blind in the earlier run" in shown
        assert "1 control with another outcome" in shown
    told = comparison_object(found)
    assert told["controls"] == [
        {"eval": "csv", "name": "control: acme:tidy named, opus", "before": "failed", "after": "passed"}
    ]
    assert told["tests"][0]["before"]["blind"].startswith("the measurement is blind")
    assert told["tests"][0]["after"]["blind"] is None


def tmp_path_run(root: Path) -> RunDirectory:
    return RunDirectory(root / "after" / ".skillwalker" / "runs" / RUN_ID)


def test_blind_and_unmeasured_are_a_difference_though_both_are_unmeasured(compared) -> None:
    found = compared([named(FAILED), about("yes", FAILED)], [named(PASSED), about("yes", UNMEASURED)])
    assert only(found).same_outcome
    assert only(found).differs


def test_blind_in_both_runs_is_no_difference_and_no_rate(compared) -> None:
    found = compared([named(FAILED), about("yes", FAILED)], [named(FAILED), about("yes", PASSED)])
    assert not only(found).differs
    assert only(found).rate.endswith("not comparable: the measurement is blind in both runs")
    assert found.controls == ()


@pytest.mark.parametrize(("outcome", "told"), [(PASSED, 0), (FAILED, 1), (UNMEASURED, 1)])
def test_a_run_without_controls_is_said_to_have_none(compared, outcome: Outcome, told: int) -> None:
    found = compared([about("yes", PASSED)], [named(outcome), about("yes", PASSED)])
    assert found.controls_note == f"only the later run has controls; 1 control: 1 {outcome}"
    assert [(one.before, one.after) for one in found.controls] == [("absent", str(outcome))] * told
    assert found.controls_note in comparison_report(found)


def test_a_control_of_a_test_that_one_run_lacks(compared) -> None:
    other = evolve(named(FAILED), name="control: acme:other named, opus")
    found = compared([named(PASSED), about("yes", PASSED)], [other, about("yes", PASSED)])
    assert [(one.name, one.before, one.after) for one in found.controls] == [
        ("control: acme:other named, opus", "absent", "failed")
    ]
    assert found.controls_note is None


def test_a_file_of_every_trial_is_no_difference_however_many_trials(compared) -> None:
    before, after = trials("a", 1, 1), trials("a", 3, 3)
    left = [
        {trial.id: Left([result("x")], {"always.md": b"", **({"once.md": b""} if trial.index == 1 else {})})}
        for test in (before, after)
        for trial in test.trials
    ]
    found = compared([before], [after], before={"left": left[0]}, after={"left": left[1] | left[2] | left[3]})
    assert list(only(found).lines()) == ["file once.md: created → created in 1 of 3"]
