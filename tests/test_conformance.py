"""The conformance test that packages run: types that keep every promise pass, each broken one is noticed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from skillwalker.expectations.registry import Registry, UnknownTypeError
from skillwalker.names import Names
from skillwalker.testing import RULES, conformance

PACKAGES = Path(__file__).parent / "packages"
NAMES = Names(skills={"acme:tidy": "acme:tidy"}, agents={"acme:auditor": "acme:auditor"})

test_result_contains = conformance(
    "result-contains", good=["Report", {"text": "Report"}], bad=["", {"text": ""}, {}]
)
test_result_does_not_contain = conformance(
    "result-does-not-contain", good=["ERROR", {"text": "ERROR"}], bad=["", {"text": ""}, {}]
)
test_skill_call = conformance(
    "skill-call",
    good=[True, False, {"skill": "acme:tidy", "expected": True}, {"skill": "acme:tidy", "expected": False}],
    bad=[
        {"skill": "tidy", "expected": True},
        {"skill": "acme:tidy"},
        {"skill": "acme:other", "expected": True},
    ],
    skill_file="acme:tidy",
    names=NAMES,
)
test_agent_call = conformance(
    "agent-call",
    good=[
        True,
        False,
        {"agent": "acme:auditor", "expected": True},
        {"agent": "acme:auditor", "expected": False},
    ],
    bad=[{"agent": "auditor", "expected": True}, {"expected": True}],
    agent_file="acme:auditor",
    names=NAMES,
)
test_llm_judge = conformance(
    "llm-judge",
    good=[{"rubricFile": "r.md"}, {"rubricFile": "r.md", "model": "haiku", "threshold": 0.5}],
    bad=[
        {"rubricFile": "absent.md"},
        {"rubricFile": "r.md", "threshold": 2},
        {"rubricFile": "r.md", "model": "x"},
    ],
    rubrics={"r.md": "- It names the file.\n- It names the line.\n"},
)


@pytest.fixture
def careless(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(PACKAGES / "careless"))
    monkeypatch.delenv("CARELESS", raising=False)
    yield
    sys.modules.pop("careless_checks", None)


def broken_rules(
    directory: Path, type: str, good: list[Any], bad: Sequence[Any] = (), *, only: str = ""
) -> dict[str, str]:
    """The rules that a type breaks, with what the test says of it."""
    test = conformance(type, good=good, bad=bad)
    found = {}
    for rule in RULES:
        try:
            if only in ("", rule.__name__):
                test(rule, directory / rule.__name__)
        except AssertionError as error:
            found[rule.__name__] = str(error)
    return found


@pytest.mark.parametrize(
    ("type", "rule", "said"),
    [
        ("no-docstring", "is_described", "no docstring"),
        ("long-docstring", "is_described", "too long"),
        ("broken-example", "is_described", "cannot be read"),
        ("others-example", "is_described", "about result-contains instead of others-example"),
        ("refused-example", "is_described", "expected text, or an object with the option text, got 5"),
        ("drops-options", "refuses_garbage", "an option that does not exist is taken"),
        ("coerces", "refuses_garbage", "a value of the wrong kind, null is taken"),
        ("does-not-pickle", "pickles", "DoesNotPickle does not pickle"),
        ("remembers-calls", "check_is_pure", "where it said"),
        ("writes", "check_is_pure", "writes "),
        ("starts", "check_is_pure", "starts a program"),
        ("prints", "check_is_pure", "prints to standard output"),
        ("sets-environment", "check_is_pure", "changes the environment"),
        ("changes-trial", "check_is_pure", "changes the trial"),
        ("hasty-no", "says_no_only_of_what_it_saw", "nothing was seen of the trial (timeout)"),
        ("says-no-of-nothing", "says_no_only_of_what_it_saw", "nothing was seen of the trial (timeout)"),
        ("believes-forgeries", "says_no_only_of_what_it_saw", "in a contaminated trial nothing counts"),
        ("quotes-raw", "messages_are_short_and_safe", "could steer a terminal"),
        ("says-nothing", "messages_are_short_and_safe", "needs a message"),
        ("trusts-input", "survives_damage", "`check` raised KeyError"),
        ("returns-bool", "survives_damage", "returned bool instead of a Verdict"),
    ],
)
def test_a_broken_promise_is_noticed(careless: None, tmp_path: Path, type: str, rule: str, said: str) -> None:
    good = ["Bash"] if type == "believes-forgeries" else ["Bash", {"text": "Bash"}]
    found = broken_rules(tmp_path, type, good, only=rule)
    assert said in found.get(rule, "")


def test_a_yes_that_came_too_early_is_noticed(careless: None, tmp_path: Path) -> None:
    found = broken_rules(tmp_path, "hasty-yes", [5])
    said = found.pop("says_no_only_of_what_it_saw")
    assert "passed" in said
    assert "failed" in said
    assert found == {}


def test_a_hook_that_breaks_is_noticed(careless: None, tmp_path: Path) -> None:
    found = broken_rules(tmp_path, "breaks-on-odd-values", [{"text": "x"}])
    assert "`expand` failed: TypeError" in found["refuses_garbage"]


def test_a_changed_value_is_noticed(careless: None, tmp_path: Path) -> None:
    found = broken_rules(tmp_path, "changes-its-value", [{"text": "x", "old": False}])
    assert "changed it to" in found["takes_good_values"]


def test_good_values_that_are_refused_and_bad_ones_that_are_taken_are_noticed(tmp_path: Path) -> None:
    found = broken_rules(tmp_path, "result-contains", [""], ["taken"])
    assert 'the good value "" is refused: result-contains: must not be empty' in found["takes_good_values"]
    assert found["refuses_bad_values"] == 'the bad value is taken: "taken"'
    assert "name at least one" in broken_rules(tmp_path / "none", "result-contains", [])["takes_good_values"]


def test_a_type_that_is_not_installed_says_so(tmp_path: Path) -> None:
    with pytest.raises(
        UnknownTypeError, match="no installed package has the expectation type nobody-has-this"
    ):
        conformance("nobody-has-this", good=[1])(RULES[0], tmp_path)


def test_every_built_in_type_is_held_to_the_promises() -> None:
    own = {
        name
        for name, candidates in Registry.scan().candidates.items()
        if any(candidate.distribution == "skillwalker" for candidate in candidates)
    }
    assert {f"test_{name.replace('-', '_')}" for name in own} <= globals().keys()
