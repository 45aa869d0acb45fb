"""Finding, loading and binding expectation types."""

from __future__ import annotations

import pickle
import re
import sys
import time
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from skillwalker.evals import Eval, ExpectationSpec, Test, TestType
from skillwalker.expectations.discovery import GROUP, scan
from skillwalker.expectations.known import PACKAGE_OF
from skillwalker.expectations.registry import (
    Bound,
    BrokenTypeError,
    DuplicateTypeError,
    Registry,
    UnknownTypeError,
)

PACKAGES = Path(__file__).parent / "packages"
CONTRIB = Path(__file__).parents[1] / "expectations_contrib"
TEST = Test("t", TestType.SKILL_PROMPT, Path("p.md"), "p", (), "tests[0]")
KNOWN = "there are: turns, notBelow"
EVAL = Eval("e", Path("/root"), Path("/root/evals/e"), (), (TEST,))


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes directories of `packages` the only places where types are looked for, and importable."""

    def install(*names: str) -> Registry:
        paths = [str(PACKAGES / name) for name in names]
        for path in paths:
            monkeypatch.syspath_prepend(path)
        return Registry.scan(paths)

    before = set(sys.modules)
    yield install
    for name in set(sys.modules) - before:
        if name.startswith(("acme", "broken", "rival")):
            del sys.modules[name]


def bind(registry: Registry, type: str, value: Any) -> Bound:
    return registry.bind(ExpectationSpec(type, value, f"tests[0].expect[0].{type}"), EVAL, TEST)


def problems(bound: Bound) -> list[str]:
    assert bound.expectation is None
    assert bound.broken is None
    return [str(problem) for problem in bound.problems]


def test_finding_imports_nothing(installed: Any) -> None:
    registry = installed("good", "broken")
    assert {"max-turns", "mentions", "raises", "exits"} <= set(registry.names())
    assert not {"acme_checks", "broken_checks", "broken_raises"} & set(sys.modules)


def test_a_candidate_says_where_it_comes_from_in_the_words_of_its_own_metadata(installed: Any) -> None:
    (candidate,) = installed("good").candidates["max-turns"]
    assert candidate.origin == "acme-checks 1.2"
    assert candidate.reference == "acme_checks:MaxTurns"
    assert candidate.file.endswith("Acme_Checks-1.2.dist-info/entry_points.txt")


def test_a_damaged_file_is_named_and_hides_only_itself(installed: Any) -> None:
    registry = installed("damaged", "good")
    assert "sound" in registry.names()
    assert "max-turns" in registry.names()
    named = sorted(
        re.search(r"/([a-z]+)-1\.0\.dist-info/entry_points\.txt: ", text)[1] for text in registry.problems
    )  # type: ignore[index]
    assert named == ["headless", "latin", "twice"]
    assert all("\n" not in text for text in registry.problems)


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    info = tmp_path / "odd-1.0.dist-info"
    (info / "entry_points.txt").mkdir(parents=True)
    assert "odd" in scan([str(tmp_path)]).damaged[0]


def test_a_distribution_that_is_found_twice_counts_once(installed: Any) -> None:
    for order in (("stale", "good"), ("good", "stale")):
        registry = installed(*order)
        assert [c.version for c in registry.candidates["max-turns"]] == ["1.2"]
        assert "old-name" not in registry.names()


def test_a_distribution_that_has_no_types_any_more_hides_its_older_ones(
    tmp_path: Path,
) -> None:
    (tmp_path / "acme_checks-2.0.dist-info").mkdir()
    assert Registry.scan([str(PACKAGES / "stale"), str(tmp_path)]).names() == ()


def test_what_an_interrupted_pip_left_is_no_distribution(tmp_path: Path) -> None:
    left = tmp_path / "~cme_checks-1.1.dist-info"
    left.mkdir()
    (left / "entry_points.txt").write_text(f"[{GROUP}]\nmax-turns = acme_checks:MaxTurns\n")
    assert scan([str(tmp_path)]).candidates == ()


def test_an_egg_info_alone_is_found(installed: Any) -> None:
    (candidate,) = installed("stale").candidates["old-name"]
    assert candidate.origin == "Acme.Checks 0.9"


def test_types_in_a_zip_archive_are_found(tmp_path: Path) -> None:
    archive = tmp_path / "packed.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("packed-3.0.dist-info/entry_points.txt", f"[{GROUP}]\npacked = packed:Type\n")
    (candidate,) = scan([str(archive)]).candidates
    assert (candidate.name, candidate.origin) == ("packed", "packed 3.0")


def test_path_entries_that_are_no_directories_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "no.egg").write_text("")
    assert scan([str(tmp_path / "file"), str(tmp_path / "no.egg"), str(tmp_path / "absent")]).candidates == ()


def test_two_distributions_with_one_type_are_both_named(installed: Any) -> None:
    registry = installed("good", "duplicate")
    with pytest.raises(DuplicateTypeError) as caught:
        registry.load("max-turns")
    assert "acme-checks 1.2 and rival-checks 9.0" in str(caught.value)
    assert "keep one: `pip uninstall acme-checks` or `pip uninstall rival-checks`" in str(caught.value)
    assert caught.value.exit_code == 4
    assert problems(bind(registry, "max-turns", {"turns": 1}))[0].startswith("tests[0].expect[0].max-turns: ")
    assert bind(registry, "mentions", "x").expectation is not None


def test_a_type_that_nobody_installed_names_what_is_there(installed: Any) -> None:
    registry = installed("good")
    with pytest.raises(
        UnknownTypeError,
        match=r"max-turn .*did you mean max-turns.*faulty-hooks, max-turns, mentions, says-often",
    ):
        registry.load("max-turn")
    assert problems(bind(registry, "nope", 1)) == [
        "tests[0].expect[0].nope: no installed package has the expectation type nope; "
        "install the one that has it, or write one of these: faulty-hooks, max-turns, mentions, says-often"
    ]


def test_a_type_of_a_package_that_is_known_names_it(installed: Any) -> None:
    registry = installed("good")
    package = "skillwalker-expectations-contrib"
    [told] = problems(bind(registry, "result-matches", "x"))
    assert f"type result-matches; {package} has it: `pip install {package}`, or write one of " in told
    [told] = problems(bind(registry, "result-match", "x"))
    assert "did you mean result-matches?" in told


def test_the_types_of_the_package_are_those_that_it_declares() -> None:
    project = tomllib.loads((CONTRIB / "pyproject.toml").read_text("utf-8"))["project"]
    declared = project["entry-points"]["skillwalker.expectations"]
    assert dict.fromkeys(declared, project["name"]) == PACKAGE_OF


def test_a_missing_type_tells_of_damaged_files_that_may_have_it(installed: Any) -> None:
    (problem,) = problems(bind(installed("damaged"), "max-lines", 1))
    assert "headless-1.0.dist-info/entry_points.txt" in problem


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("raises", "RuntimeError: no database here"),
        ("exits", "SystemExit: wrong platform"),
        (
            "nowhere",
            "ModuleNotFoundError: No module named 'broken_nowhere'; install broken-checks again; if that does"
            " not help, tell its author",
        ),
        (
            "needs-more",
            "No module named 'broken_absent'; install broken-checks again, so that what it needs"
            " (broken_absent) comes with it",
        ),
        (
            "needs-newer",
            "cannot import name 'Panel' from 'skillwalker.expectations'",
        ),
        ("needs-newer", "; it needs another version of skillwalker: upgrade skillwalker and broken-checks"),
        ("no-attribute", "AttributeError: module 'broken_checks' has no attribute 'Absent'"),
        ("function", "is no class but <function function"),
        ("plain-class", "it must be an attrs class or a dataclass"),
        ("no-check", "it has no method `check`; upgrade or uninstall broken-checks, or tell its author"),
        (
            "newer",
            "is made for version 2 of the interface, this is version 1; upgrade skillwalker, or install an"
            " older broken-checks",
        ),
        ("older", "is made for version 0 of the interface, this is version 1; upgrade broken-checks"),
        ("no-such-shorthand", 'ValueError: its shorthand "txt" is none of its options: text'),
        ("object-shorthand", 'ValueError: its shorthand "where" may be an object, as the long form is'),
        ("unclear", "NameError: name 'NotImported' is not defined"),
        ("unreadable", "Couldn't parse entry point spec: 'broken checks, somewhere'"),
        ("percent", "Couldn't parse entry point spec: '100%'"),
    ],
)
def test_a_type_that_cannot_load_concerns_only_who_names_it(installed: Any, name: str, cause: str) -> None:
    registry = installed("broken", "good")
    with pytest.raises(BrokenTypeError) as caught:
        registry.load(name)
    assert f"the expectation type {name} of broken-checks 0.3 cannot be used" in str(caught.value)
    assert cause in str(caught.value)
    bound = bind(registry, name, {})
    assert bound.broken == str(caught.value)
    assert bound.problems == ()
    assert bind(registry, "max-turns", {"turns": 3}).expectation is not None


def test_what_a_package_prints_at_import_stays_off_standard_output(
    installed: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    installed("broken").load("prints")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "prints while it is imported" in captured.err


def test_what_a_package_prints_in_its_hooks_stays_off_standard_output(
    installed: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bind(installed("good"), "says-often", {"text": "x"}).expectation is not None
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "looking for x\n")


def test_the_program_itself_is_not_to_be_uninstalled_for_a_doubled_type(installed: Any) -> None:
    own = Registry.scan().candidates["result-contains"]
    rival = installed("duplicate").candidates["result-contains"]
    (problem,) = problems(bind(Registry({"result-contains": (*own, *rival)}), "result-contains", "x"))
    assert problem.endswith(
        " both have the expectation type result-contains; keep one: `pip uninstall rival-checks`"
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("x", []),
        (["x", "y"], []),
        ({"text": "x", "times": 2}, []),
        (5, ["{0}: expected text or a list of text, or an object with EITHER, got 5"]),
        ([1], ["{0}: expected text or a list of text, or an object with EITHER, got [1]"]),
        ("", ["{0}: its length must be at least 1, not 0"]),
        ({"text": 5}, ["{0}.text: expected text or a list of text, got 5"]),
        ({"times": 5}, ["{0}: missing option text"]),
    ],
)
def test_a_value_that_is_no_object_stands_for_the_option_of_the_short_form(
    installed: Any, value: Any, expected: list[str]
) -> None:
    bound = bind(installed("good"), "says-often", value)
    place = "tests[0].expect[0].says-often"
    wanted = [text.format(place).replace("EITHER", "the options text, times") for text in expected]
    assert [str(problem) for problem in bound.problems] == wanted
    if not expected:
        text = value["text"] if isinstance(value, dict) else value
        assert bound.expectation.text == text  # type: ignore[union-attr]


def test_an_interrupt_during_an_import_is_no_broken_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stopped_checks.py").write_text("raise KeyboardInterrupt")
    info = tmp_path / "stopped-1.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text(f"[{GROUP}]\nstopped = stopped_checks:A\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        Registry.scan([str(tmp_path)]).load("stopped")


def test_options_become_fields_and_the_result_pickles(installed: Any) -> None:
    bound = bind(installed("good"), "max-turns", {"turns": 3, "notBelow": 1})
    assert bound.expectation.turns == 3  # type: ignore[union-attr]
    assert bound.expectation.not_below == 1  # type: ignore[union-attr]
    assert bound.origin == "acme-checks 1.2"
    assert pickle.loads(pickle.dumps(bound)) == bound


@pytest.mark.parametrize(
    ("type", "value", "expected"),
    [
        ("max-turns", {"turns": "3"}, ['.turns: expected a whole number, got "3"']),
        ("max-turns", {"turns": True}, [".turns: expected a whole number, got true"]),
        ("max-turns", {"turns": 3.0}, [".turns: expected a whole number, got 3.0"]),
        ("max-turns", {"turns": 0}, [".turns: must be at least 1, not 0"]),
        ("max-turns", {}, [": missing option turns"]),
        ("max-turns", 3, [": expected an object with the options turns, notBelow, got 3"]),
        (
            "max-turns",
            {"turnz": 3, "notBelow": None},
            [
                ": missing option turns",
                ".notBelow: expected a whole number, got null",
                f': unknown option "turnz" (did you mean turns?); {KNOWN}',
            ],
        ),
        (
            "max-turns",
            {"turns": 1, "not_below": 1},
            [f': unknown option "not_below" (did you mean notBelow?); {KNOWN}'],
        ),
        ("mentions", {"words": "xy"}, ['.words: expected a list, got "xy"']),
        (
            "mentions",
            {"words": ["x", 1, "y", None]},
            [
                ".words[1]: expected text, got 1",
                ".words[3]: expected text, got null",
            ],
        ),
        ("mentions", {"words": [], "share": "1"}, ['.share: expected a number, got "1"']),
        ("mentions", {"words": [], "share": True}, [".share: expected a number, got true"]),
        (
            "mentions",
            {"words": [], "mode": "al"},
            ['.mode: expected one of "all", "any", got "al" (did you mean all?)'],
        ),
        (
            "mentions",
            {"words": [], "places": [{"line": 1}, {"lime": 1}]},
            [
                ".places[1]: missing option line",
                '.places[1]: unknown option "lime" (did you mean line?); there are: line, column',
            ],
        ),
        (
            "mentions",
            {"words": [], "places": [3]},
            [".places[0]: expected an object with the options line, column, got 3"],
        ),
        ("mentions", {"words": [], "weights": {"a": "b"}}, ['.weights.a: expected a number, got "b"']),
        ("mentions", {"words": [], "weights": []}, [".weights: expected an object, got []"]),
        (
            "mentions",
            {"words": [], "label": []},
            [".label: expected text or a whole number or null, got []"],
        ),
        (
            "mentions",
            {"words": [], "label": True},
            [".label: expected text or a whole number or null, got true"],
        ),
        ("mentions", "nothing", [": nothing cannot be mentioned"]),
        ("mentions", "missing.txt", [": missing.txt does not exist"]),
    ],
)
def test_options_are_refused_with_their_place(
    installed: Any, type: str, value: Any, expected: list[str]
) -> None:
    bound = bind(installed("good"), type, value)
    assert problems(bound) == [f"tests[0].expect[0].{type}{text}" for text in expected]


@pytest.mark.parametrize(
    "value",
    [
        {"words": ["x"], "share": 1},
        {"words": [], "mode": "any", "label": "a"},
        {"words": [], "label": 5, "weights": {"a": 1}},
        {"words": [], "label": None, "weights": None, "places": [{"line": 1, "column": 2}]},
        "a shorthand",
    ],
)
def test_options_of_the_right_types_are_taken(installed: Any, value: Any) -> None:
    assert bind(installed("good"), "mentions", value).expectation is not None


def test_a_whole_number_for_a_number_becomes_one(installed: Any) -> None:
    share = bind(installed("good"), "mentions", {"words": [], "share": 1}).expectation.share  # type: ignore[union-attr]
    assert (share, type(share)) == (1.0, float)


@pytest.mark.parametrize(
    ("value", "cause"), [(5, "`expand` failed: AttributeError"), ("x", "`requires` failed: SystemExit: X")]
)
def test_hooks_that_break_make_the_type_broken(installed: Any, value: Any, cause: str) -> None:
    bound = bind(installed("good"), "faulty-hooks", value)
    assert bound.broken is not None
    assert "acme-checks 1.2" in bound.broken
    assert cause in bound.broken


def test_messages_are_safe_to_print(installed: Any) -> None:
    registry = installed("good")
    bad = "\x1b[2J\u202e\n"
    for bound in (
        bind(registry, bad, 1),
        bind(registry, "max-turns", {bad: 1}),
        bind(registry, "max-turns", {"turns": bad}),
    ):
        for problem in bound.problems:
            assert problem.message.isprintable()


def test_the_built_in_types_are_entries_like_all_others() -> None:
    project = tomllib.loads((PACKAGES.parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    registry = Registry.scan()
    own = {
        candidate.name: candidate.reference
        for candidates in registry.candidates.values()
        for candidate in candidates
        if candidate.distribution == "skillwalker"
    }
    assert own == project["entry-points"][GROUP]
    assert len(own) == 5
    for name in own:
        registry.load(name)


def test_binding_many_expectations_is_fast(installed: Any) -> None:
    registry = installed("good")
    registry.load("max-turns")
    start = time.perf_counter()
    for number in range(20_000):
        assert bind(registry, "max-turns", {"turns": number + 1}).expectation is not None
    assert time.perf_counter() - start < 100  # it takes half a second; a busy machine is no failure


BROKEN_LATE = """
from typing import ClassVar
from attrs import frozen


class Stop(BaseException):
    pass


class Meta(type):
    def __repr__(cls):
        raise RuntimeError("no repr")

    def __getattr__(cls, name):
        raise RuntimeError(f"no {name}")


class Odd(metaclass=Meta):
    pass


class Checks:
    def check(self, trial): ...


@frozen
class Expands(Checks):
    @classmethod
    def expand(cls, value, test):
        raise Stop("late")


@frozen
class Requires(Checks):
    def requires(self, eval, test):
        raise Stop("late")


@frozen
class Judges(Checks):
    @property
    def uses_judge(self):
        raise RuntimeError("late")


@frozen
class Calls(Checks):
    expects_call: ClassVar = ("a",)


@frozen
class Endless(Checks):
    def requires(self, eval, test):
        while True:
            yield "more"

"""


@pytest.fixture
def late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "acme_late.py").write_text(BROKEN_LATE)
    (tmp_path / "acme_skips.py").write_text(
        "import pytest\npytest.skip('elsewhere', allow_module_level=True)"
    )
    info = tmp_path / "late-1.dist-info"
    info.mkdir()
    names = ("Odd", "Expands", "Requires", "Judges", "Calls", "Endless")
    entries = [f"{name.lower()} = acme_late:{name}" for name in names]
    (info / "entry_points.txt").write_text("\n".join((f"[{GROUP}]", *entries, "skips = acme_skips:A")))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Registry.scan([str(tmp_path)])
    for name in ("acme_late", "acme_skips"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("skips", "acme_skips:A cannot be imported: Skipped: elsewhere"),
        ("odd", "acme_late:Odd cannot be looked at: RuntimeError: no interface_version"),
        ("expands", "`expand` failed: Stop: late"),
        ("requires", "`requires` failed: Stop: late"),
        ("judges", "`uses_judge` failed: RuntimeError: late"),
        ("calls", "`expects_call` is ('a',), no text and bool"),
    ],
)
def test_whatever_a_package_raises_its_type_is_broken_and_nothing_else(
    late: Registry, name: str, cause: str
) -> None:
    bound = bind(late, name, {})
    assert bound.broken is not None
    assert f"the expectation type {name} of late 1 cannot be used: {cause}" in bound.broken


def test_what_is_missing_is_told_though_a_type_would_never_end(late: Registry) -> None:
    assert set(problems(bind(late, "endless", {}))) == {"tests[0].expect[0].endless: more"}
