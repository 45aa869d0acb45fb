"""file-exists, file-contains, file-matches and files-unchanged."""

from __future__ import annotations

import pytest

from skillwalker.expectations import Outcome, Reason
from skillwalker_expectations_contrib.paths import matches

BEFORE = {
    "kept.txt": "same",
    "edited.txt": "old",
    "gone.txt": "bye",
    "src/a.py": "print()",
    "src/deep/b.py": "b",
}
AFTER = {
    "kept.txt": "same",
    "edited.txt": "new",
    "made.csv": "a,b\n1,2\n",
    "src/a.py": "print()",
    "src/deep/b.py": "b",
    "[id].tsx": "x",
}


@pytest.mark.parametrize(
    ("pattern", "path", "meant"),
    [
        ("a.txt", "a.txt", True),
        ("./a.txt", "a.txt", True),
        ("*.txt", "a.txt", True),
        ("*.txt", "b/a.txt", False),
        ("*.txt", ".hidden.txt", True),
        ("**/*.txt", "a.txt", True),
        ("**/*.txt", "b/c/a.txt", True),
        ("b/**", "b/c/a.txt", True),
        ("b/**", "b", False),
        ("**", "b/c", True),
        ("b/**/a.txt", "b/a.txt", True),
        ("b/**/a.txt", "b/c/d/a.txt", True),
        ("b/**/a.txt", "c/a.txt", False),
        ("?.txt", "a.txt", True),
        ("?.txt", "ab.txt", False),
        ("[ab].txt", "b.txt", True),
        ("[id].tsx", "[id].tsx", True),
        ("A.txt", "a.txt", False),
    ],
)
def test_a_glob_means_files(pattern, path, meant) -> None:
    assert matches(pattern, path) is meant


def test_a_hostile_name_costs_no_time() -> None:
    assert not matches("**/" * 20 + "*a*a*a*a*a*a*b", "/".join(["a" * 200] * 200))


@pytest.mark.parametrize(
    ("value", "outcome", "message"),
    [
        ("made.csv", "passed", "made.csv: there"),
        ("kept.txt", "passed", "kept.txt: there"),
        ("**/*.py", "passed", "src/a.py, src/deep/b.py: there"),
        ("[id].tsx", "passed", "[id].tsx: there"),
        ("gone.txt", "failed", "gone.txt was deleted by the trial"),
        (
            "nowhere.txt",
            "failed",
            "there is no nowhere.txt; "
            "the trial created: [id].tsx, made.csv; changed: edited.txt; deleted: gone.txt",
        ),
        ({"path": "gone.txt", "expected": False}, "passed", "gone.txt was deleted by the trial"),
        ({"path": "*.csv", "expected": False}, "failed", "made.csv: there"),
        ({"path": "made.csv", "change": "created"}, "passed", "made.csv: created"),
        ({"path": "edited.txt", "change": "changed"}, "passed", "edited.txt: changed"),
        ({"path": "edited.txt", "change": "created"}, "failed", "no file is created: edited.txt is changed"),
        ({"path": "kept.txt", "change": "unchanged"}, "passed", "kept.txt: unchanged"),
        ({"path": "*", "change": "changed", "expected": False}, "failed", "edited.txt: changed"),
    ],
)
def test_a_file_is_there_however_it_came(judge, value, outcome, message) -> None:
    found = judge({"file-exists": value}, scaffold=BEFORE, files=AFTER)
    assert (found.outcome, found.message) == (outcome, message)


def test_a_trial_that_did_nothing_is_told_so(judge) -> None:
    assert judge({"file-exists": "a"}, files={}).message == (
        "there is no a; the trial created, changed and deleted nothing"
    )


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ({"path": "made.csv", "text": "1,2"}, "passed"),
        ({"path": "made.csv", "text": "A,B"}, "failed"),
        ({"path": "made.csv", "text": "A,B", "ignoreCase": True}, "passed"),
        ({"path": "*.txt", "text": "new"}, "passed"),
        ({"path": "*.txt", "text": "old", "expected": False}, "passed"),
        ({"path": "*.txt", "text": "new", "expected": False}, "failed"),
        ({"path": "none.txt", "text": "x"}, "failed"),
        ({"path": "none.txt", "text": "x", "expected": False}, "failed"),
    ],
)
def test_a_file_contains_a_text(judge, value, outcome) -> None:
    assert judge({"file-contains": value}, scaffold=BEFORE, files=AFTER).outcome == outcome


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ({"path": "made.csv", "pattern": r"^\d,\d$", "flags": "m"}, "passed"),
        ({"path": "made.csv", "pattern": r"^\d,\d$"}, "failed"),
        ({"path": "**/*.py", "pattern": "print"}, "passed"),
        ({"path": "**/*.py", "pattern": "exec", "expected": False}, "passed"),
        ({"path": "gone.txt", "pattern": "bye", "expected": False}, "failed"),
    ],
)
def test_a_file_matches_a_pattern(judge, value, outcome) -> None:
    assert judge({"file-matches": value}, scaffold=BEFORE, files=AFTER).outcome == outcome


def test_binary_files_are_searched_too(judge) -> None:
    files = {"a.bin": b"\xff\xfe\x00caf\xc3\xa9\x00"}
    assert judge({"file-contains": {"path": "a.bin", "text": "café"}}, files=files).outcome is Outcome.PASSED
    assert (
        judge({"file-matches": {"path": "a.bin", "pattern": "caf."}}, files=files).outcome is Outcome.PASSED
    )


def test_what_was_found_in_a_file_is_shown(judge) -> None:
    found = judge({"file-contains": {"path": "*", "text": "b"}}, files={"x": "a\x1bbc"})
    assert found.message == '"b" is in x: "a\\x1bbc"'
    found = judge({"file-contains": {"path": "*", "text": "z"}}, files={"x": "a"})
    assert found.message == '"z" is not in x; the trial created: x'


def test_the_end_of_a_large_file_is_not_taken_for_seen(judge, monkeypatch) -> None:
    monkeypatch.setattr("skillwalker_expectations_contrib.paths.READ_LIMIT", 10)
    for expected in (True, False):
        entry = {"file-contains": {"path": "*", "text": "z", "expected": expected}}
        assert judge(entry, files={"x": "a" * 20 + "z"}).outcome is Outcome.UNMEASURED
    assert (
        judge({"file-contains": {"path": "*", "text": "a"}}, files={"x": "a" * 20}).outcome is Outcome.PASSED
    )


@pytest.mark.parametrize(
    ("value", "outcome", "message"),
    [
        (True, "failed", "created: [id].tsx, made.csv; changed: edited.txt; deleted: gone.txt"),
        ("src/**", "passed", "unchanged: src/**"),
        (["src/**", "kept.txt"], "passed", "unchanged: src/**, kept.txt"),
        (["gone.txt"], "failed", "deleted: gone.txt"),
        (
            {"exclude": ["made.csv", "edited.txt", "gone.txt", "*.tsx"]},
            "passed",
            "unchanged: the work directory (but for made.csv, edited.txt, gone.txt, *.tsx)",
        ),
    ],
)
def test_files_are_unchanged(judge, value, outcome, message) -> None:
    found = judge({"files-unchanged": value}, scaffold=BEFORE, files=AFTER)
    assert (found.outcome, found.message) == (outcome, message)


def test_each_change_is_a_detail(judge) -> None:
    found = judge({"files-unchanged": True}, scaffold=BEFORE, files=AFTER)
    assert [(each.name, each.message) for each in found.details] == [
        ("[id].tsx", "created"),
        ("made.csv", "created"),
        ("edited.txt", "changed"),
        ("gone.txt", "deleted"),
    ]


@pytest.mark.parametrize(
    "entry",
    [
        {"file-exists": "a"},
        {"file-exists": {"path": "a", "expected": False}},
        {"file-contains": {"path": "a", "text": "x"}},
        {"file-matches": {"path": "a", "pattern": "x"}},
        {"files-unchanged": True},
    ],
)
def test_an_unhealthy_trial_has_no_final_files(judge, entry) -> None:
    found = judge(entry, files={"a": "x"}, reason=Reason.CLAUDE_ERROR)
    assert found.outcome is Outcome.UNMEASURED
    assert "the final work directory was not observed" in found.message


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"file-exists": "/etc/passwd"}, "file-exists: must be relative, not /etc/passwd"),
        ({"file-exists": "../x"}, "file-exists: must not lead upwards (..): ../x"),
        ({"file-exists": "src/"}, "file-exists: names a directory; write src/** for all files in it"),
        (
            {"file-exists": {"path": "a", "change": "deleted"}},
            'file-exists.change: expected one of "created"',
        ),
        ({"file-contains": {"path": "a", "text": ""}}, "file-contains.text: must not be empty"),
        ({"file-matches": {"path": "a", "pattern": "["}}, "file-matches.pattern: is no regular expression"),
        ({"files-unchanged": []}, "files-unchanged.paths: must name a file"),
        ({"files-unchanged": False}, "files-unchanged: expected true, a path, a list"),
        ({"files-unchanged": ["a", "/b"]}, "files-unchanged.paths: must be relative, not /b"),
    ],
)
def test_wrong_options_are_told_before_the_run(problems, entry, problem) -> None:
    assert [one[: len(problem)] for one in problems(entry)] == [problem]


def test_what_is_not_in_the_scaffold_cannot_be_unchanged(problems, tmp_path) -> None:
    scaffold = tmp_path / "scaffold"
    (scaffold / "src").mkdir(parents=True)
    (scaffold / "src" / "a.py").write_text("")
    assert problems({"files-unchanged": ["src/**", "**/*.py"]}, scaffold=scaffold) == []
    [problem] = problems({"files-unchanged": ["scr/**"]}, scaffold=scaffold)
    assert problem.startswith("files-unchanged: paths: no file of the scaffold is scr/**")


def test_a_name_that_only_looks_the_same_is_told(judge) -> None:
    found = judge({"file-exists": "caf\u00e9/*.txt"}, files={"cafe\u0301/a.txt": "x"})
    assert found.outcome is Outcome.FAILED
    assert found.message.startswith("cafe\u0301/a.txt only looks like caf\u00e9/*.txt: other code points")
