"""SELECT, `-k` and former failures pick tests, or say why they pick none."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve
from roots import an_eval

from skillwalker.errors import ConfigurationError, NothingSelectedError
from skillwalker.evals import Eval, Test, TestType
from skillwalker.loading import find_evals
from skillwalker.select import Selection

NAMES = {
    "code-review": ("Prompt: simple file", "Prompt: no op", "a[1] *", "a1 x"),
    "csv": ("loads: table", "no op"),
    "csv-tools": ("loads::deep", "Prompt: no op"),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / "evals" / name / "prompts").mkdir(parents=True)
        (tmp_path / "evals" / name / "tests.json").write_text("{}")
    (tmp_path / "csv-tools").mkdir()  # a plugin with an eval's name
    (tmp_path / "plugin").mkdir()
    return tmp_path


def evals(root: Path, names: dict[str, tuple[str, ...]] = NAMES) -> list[Eval]:
    return [
        Eval(
            name,
            root,
            root / "evals" / name,
            ("acme",),
            tuple(
                Test(test, TestType.SKILL_PROMPT, root / "p.md", "Hello", (), f"tests[{index}]")
                for index, test in enumerate(tests)
            ),
        )
        for name, tests in names.items()
    ]


def chosen(root: Path, *select: str, cwd: Path | None = None, keyword: str | None = None) -> list[str]:
    selection = Selection(cwd or root, select, keyword)
    loaded = evals(root)
    wanted = selection.directories([each.directory for each in loaded])
    pairs = selection.tests([each for each in loaded if each.directory in wanted])
    return [f"{each.name}::{test.name}" for each, test in pairs]


def everything(*names: str) -> list[str]:
    return [f"{name}::{test}" for name in names for test in NAMES[name]]


def test_nothing_written_means_all(root: Path) -> None:
    assert chosen(root) == everything(*NAMES)


@pytest.mark.parametrize(
    ("select", "names"),
    [
        (["csv"], ["csv"]),
        (["csv*"], ["csv", "csv-tools"]),
        (["c[os]*w"], ["code-review"]),
        (["*"], list(NAMES)),
        (["csv-tools", "csv", "csv*"], ["csv", "csv-tools"]),
        (["evals/csv"], ["csv"]),
        (["evals/csv/"], ["csv"]),
        (["./evals/csv/tests.json"], ["csv"]),
        (["evals/csv/prompts"], ["csv"]),
        (["evals/csv/../csv-tools"], ["csv-tools"]),
        (["evals"], list(NAMES)),
        (["."], list(NAMES)),
    ],
)
def test_evals_are_selected_by_name_glob_and_path(root: Path, select: list[str], names: list[str]) -> None:
    assert chosen(root, *select) == everything(*names)


@pytest.mark.parametrize(
    ("select", "tests"),
    [
        ("csv::no op", ["csv::no op"]),
        ("csv::*", everything("csv")),
        ("code-review::Prompt:*", ["code-review::Prompt: simple file", "code-review::Prompt: no op"]),
        ("*::Prompt: no op", ["code-review::Prompt: no op", "csv-tools::Prompt: no op"]),
        ("csv*::*no op", ["csv::no op", "csv-tools::Prompt: no op"]),
        ("code-review::a[1] *", ["code-review::a[1] *"]),
        ("code-review::a[1]*", ["code-review::a1 x"]),
        ("code-review::a[[]1] [*]", ["code-review::a[1] *"]),
        ("csv-tools::loads::deep", ["csv-tools::loads::deep"]),
        ("evals/csv::no op", ["csv::no op"]),
        ("evals/csv/tests.json::loads*", ["csv::loads: table"]),
    ],
)
def test_tests_are_selected_by_name_and_an_exact_name_beats_a_glob(
    root: Path, select: str, tests: list[str]
) -> None:
    assert chosen(root, select) == tests


def test_the_name_of_an_eval_beats_a_path(root: Path) -> None:
    assert chosen(root, "csv-tools") == everything("csv-tools")


def test_paths_are_those_of_the_current_directory(root: Path) -> None:
    assert chosen(root, ".", cwd=root / "evals/csv/prompts") == everything("csv")
    assert chosen(root, "../csv-tools", cwd=root / "evals/csv") == everything("csv-tools")
    assert chosen(root, str(root / "evals/csv"), cwd=Path("/")) == everything("csv")


def test_paths_may_lead_through_links(root: Path) -> None:
    (root / "alias").symlink_to("evals/csv")
    assert chosen(root, "alias/prompts") == everything("csv")


def test_case_counts_in_names_but_not_in_keywords(root: Path) -> None:
    with pytest.raises(NothingSelectedError):
        chosen(root, "CSV")
    with pytest.raises(NothingSelectedError):
        chosen(root, "csv::NO OP")
    assert chosen(root, "csv", keyword="NO") == ["csv::no op"]


def test_an_eval_may_have_a_separator_in_its_name(root: Path) -> None:
    loaded = evals(root, {"a": ("b::c",), "a::b": ("c", "d")})

    def select(word: str) -> list[str]:
        return [f"{each.name}|{test.name}" for each, test in Selection(root, (word,)).tests(loaded)]

    assert select("a::b") == ["a::b|c", "a::b|d"]
    assert select("a::b::d") == ["a::b|d"]
    assert select("a::b::c") == ["a|b::c"]


def test_keywords_pick_among_the_selected(root: Path) -> None:
    assert chosen(root, "csv*", keyword="no and not prompt") == ["csv::no op"]
    assert chosen(root, keyword="'no op' and prompt") == [
        "code-review::Prompt: no op",
        "csv-tools::Prompt: no op",
    ]
    assert chosen(root, "csv", keyword="") == everything("csv")


def test_only_the_evals_that_can_be_meant_are_loaded(root: Path) -> None:
    found = [root / "evals" / name for name in NAMES]
    assert Selection(root, ("csv::no such test",)).directories(found) == (root / "evals/csv",)
    assert Selection(root, keyword="x").directories(found) == tuple(found)


ALL = "there are: code-review, csv, csv-tools"


@pytest.mark.parametrize(
    ("select", "message"),
    [
        (("code-reveiw",), "code-reveiw matches no eval; near: code-review"),
        (("code-reveiw::a1 x",), "code-reveiw::a1 x matches no eval; near: code-review"),
        (("xyzzy",), f"xyzzy matches no eval; {ALL}"),
        (("csv", "xyzzy", "q\x1b"), f"xyzzy matches no eval; {ALL}\nq\\x1b matches no eval; {ALL}"),
        (("plugin",), f"plugin matches no eval; {ALL}"),
        (("evals/gone",), f"evals/gone matches no eval; {ALL}"),
        (("nul\0",), f"nul\\x00 matches no eval; {ALL}"),
        (("",), f'"" matches no eval; {ALL}'),
        (("csv::no-op",), "csv::no-op matches no test; near: csv::no op"),
        (("csv::xyzzyx",), "csv::xyzzyx matches no test; there are: csv::loads: table, csv::no op"),
        (
            ("*::xyzzy", "csv*"),
            "*::xyzzy matches no test; there are: code-review::Prompt: no op,"
            " code-review::Prompt: simple file, code-review::a1 x, code-review::a[1] *,"
            " csv-tools::Prompt: no op and 3 more",
        ),
    ],
    ids=range(11),
)
def test_a_selection_that_matches_nothing_names_what_comes_near(
    root: Path, select: tuple[str, ...], message: str
) -> None:
    with pytest.raises(NothingSelectedError) as caught:
        chosen(root, *select)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        (
            "Call: release notes",
            "a test needs its eval: more::Call: release notes, notes::Call: release notes",
        ),
        (
            "Call: relaese notes",
            "a test needs its eval: more::Call: release notes, notes::Call: release notes",
        ),
        ("note", "near: notes"),
        ("Prompt", "there are: more, notes"),
    ],
)
def test_a_test_without_its_eval_is_offered_with_it(word: str, hint: str, tmp_path: Path) -> None:
    for name in ("more", "notes"):
        an_eval(
            tmp_path, [{"name": "Call: release notes", "expect": []}, {"name": "", "expect": []}], name=name
        )
    with pytest.raises(NothingSelectedError) as caught:
        Selection(tmp_path, (word,)).directories(find_evals(tmp_path).evals)
    assert str(caught.value) == f"{word} matches no eval; {hint}"


def test_keywords_that_match_nothing_name_near_words(root: Path) -> None:
    with pytest.raises(NothingSelectedError) as caught:
        chosen(root, "csv", keyword="tabel or promt")
    assert str(caught.value) == "-k tabel or promt matches no name and no tag of 2 tests; near: table"
    with pytest.raises(NothingSelectedError) as caught:
        chosen(root, "csv::no op", keyword="not no")
    assert str(caught.value) == "-k not no matches no name and no tag of 1 test; there are: no op"


@pytest.mark.parametrize(
    ("keyword", "near"),
    [
        ("'Near mis: tidy'", "near: Near miss: tidy the desk"),
        ("'near misss'", "near: Near miss: tidy the desk"),
        ("misss", "near: miss"),
        ("'quite other'", "there are: Near miss: tidy the desk, Call: tidy this file"),
    ],
)
def test_a_phrase_that_matches_nothing_names_the_tests_that_come_near(
    root: Path, keyword: str, near: str
) -> None:
    known = evals(root, {"x": ("Near miss: tidy the desk", "Call: tidy this file")})
    with pytest.raises(NothingSelectedError) as caught:
        Selection(root, keyword=keyword).tests(known)
    assert str(caught.value) == f"-k {keyword} matches no name and no tag of 2 tests; {near}"


def test_a_wrong_expression_is_told_before_anything_is_loaded(root: Path) -> None:
    with pytest.raises(ConfigurationError, match="-k a b: expected 'and' or 'or', found 'b'"):
        Selection(root, keyword="a b").directories([root / "evals/csv"])


def test_without_evals_nothing_is_selected(root: Path) -> None:
    with pytest.raises(NothingSelectedError, match="there is no eval here"):
        Selection(root).directories([])
    with pytest.raises(NothingSelectedError, match="there is no test here"):
        Selection(root).tests([])


def test_former_failures_limit_the_selection(root: Path) -> None:
    failed = frozenset({("csv", "no op"), ("code-review", "a1 x"), ("gone", "gone")})
    selection = Selection(root, failed=failed)
    assert [test.name for _, test in selection.tests(evals(root))] == ["a1 x", "no op"]
    assert [test.name for _, test in evolve(selection, select=("csv",)).tests(evals(root))] == ["no op"]
    with pytest.raises(NothingSelectedError, match=r"^none of 2 tests is among the 3 that failed$"):
        evolve(selection, select=("csv-tools",)).tests(evals(root))
    with pytest.raises(NothingSelectedError, match=r"^none of 8 tests is among the 0 that failed$"):
        Selection(root, failed=frozenset()).tests(evals(root))
