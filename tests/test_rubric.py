"""Which lines of a rubric are criteria."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import pytest

from skillwalker.expectations.rubric import Rubric, parse_rubric, read_rubric


def texts(rubric: str) -> list[str]:
    return [criterion.text for criterion in parse_rubric(rubric)]


@pytest.mark.parametrize(
    "line",
    ["- Is short.", "* Is short.", "+ Is short.", "1. Is short.", "12) Is short.", "-\tIs short.",
     "- [ ] Is short.", "- [x] Is short.", "3. [X] Is short.", "  - Is short.", "-   Is short.  "],
)  # fmt: skip
def test_a_list_item_is_a_criterion(line: str) -> None:
    assert texts(f"# Rubric\n\n{line}\n") == ["Is short."]


@pytest.mark.parametrize(
    "text",
    ["", "# Heading only\n", "Some words.\n- ", "-no space", "1.no space", "---", "- - -", "* * *",
     "```\n- in a fence\n```", "~~~~\n- a\n~~~\n- b\n~~~~", "    - indented code", "**bold**",
     "- [ ]\n- [x] \n1. [X]", "---\ntags:\n- csv\n- tidy\n---\n", "---\ntitle: x\nlist:\n  - a\n..."],
)  # fmt: skip
def test_anything_else_is_none(text: str) -> None:
    assert texts(text) == []


@pytest.mark.parametrize(
    ("rubric", "found"),
    [
        ("---\ntags:\n- csv\n---\n- real\n", ["real"]),
        ("---\n- a\n---\n- b\n", ["a", "b"]),  # a rule, and no frontmatter
        ("---\nNote: these count.\n- a\n", ["a"]),  # never closed
        ("- a\n---\nkey: value\n- b\n---\n", ["a", "b"]),  # not at the beginning
        ("- [ ]\n- [y] odd\n- [ ] [x] both\n", ["[y] odd", "[x] both"]),
    ],
)
def test_frontmatter_and_empty_boxes_swallow_no_criterion(rubric: str, found: list[str]) -> None:
    assert texts(rubric) == found


def test_a_problem_below_frontmatter_has_its_own_line() -> None:
    with pytest.raises(ValueError, match="the code fence of line 4 is never closed"):
        parse_rubric("---\ntitle: x\n---\n```\n- a\n")


def test_much_that_looks_like_frontmatter_costs_no_more_than_its_length() -> None:
    began = time.process_time()
    assert texts("---\na: b\n" + "x: y\n" * 200_000 + "- a\n") == ["a"]
    assert time.process_time() - began < 60


def test_ids_count_through_all_sections() -> None:
    found = parse_rubric("- a\n\n## B\n- b\n- c\n")
    assert [(criterion.id, criterion.text) for criterion in found] == [
        ("c1", "a"),
        ("c2", "b"),
        ("c3", "c"),
    ]


def test_a_criterion_keeps_the_headings_above_it() -> None:
    found = parse_rubric("- first\n# Rubric #\n## Presence\n- a\n## Absence\n### Deep\n- b\n# Other\n- c\n")
    assert [criterion.section for criterion in found] == [
        "",
        "Rubric / Presence",
        "Rubric / Absence / Deep",
        "Other",
    ]


def test_lines_that_go_on_belong_to_the_criterion() -> None:
    rubric = "- It names\n  the file\nand the line.\n\n  Also here.\n\nA paragraph.\n- Next\n"
    assert texts(rubric) == ["It names the file and the line. Also here.", "Next"]


def test_a_list_inside_an_item_belongs_to_the_criterion() -> None:
    assert texts("- All of\n  - this\n  - that\n- Next\n") == ["All of - this - that", "Next"]


def test_a_fence_inside_an_item_is_no_part_of_it() -> None:
    assert texts("- As in\n  ```ruby\n  - no\n  ```\n- Next\n") == ["As in", "Next"]


@pytest.mark.parametrize(
    ("rubric", "found"),
    [
        ("<!--\n- old\n- older\n-->\n- a\n", ["a"]),
        ("- a\n<!-- - no -->\n- b <!-- why --> c\n", ["a", "b  c"]),
        ("- a <!-- begins\n- no\n--> goes on\n- b\n", ["a goes on", "b"]),
        ("<!-- ``` -->\n- a\n", ["a"]),
        ("```\n<!--\n```\n- a\n", ["a"]),
        ("- Keeps the `<!-- toc -->` mark\n- and ``a ` <!-- b``\n- a ` <!-- x --> b", [
            "Keeps the `<!-- toc -->` mark", "and ``a ` <!-- b``", "a `  b"]),
        ("<!-->\n- a\n<!--->\n- b", ["a", "b"]),
        ("<!-- # no heading -->\n- a --> b\n", ["a --> b"]),
        ("- <!-- nothing else -->\n- a", ["a"]),
    ],
)  # fmt: skip
def test_what_is_in_comments_is_no_criterion(rubric: str, found: list[str]) -> None:
    assert texts(rubric) == found


def test_a_comment_that_stays_open_would_swallow_criteria() -> None:
    with pytest.raises(ValueError, match=r"the comment \(<!--\) of line 2 is never closed"):
        parse_rubric("- a\n<!-- b\n- c\n")


def test_many_backticks_and_comments_cost_little_more_than_their_length() -> None:
    started = time.process_time()
    parse_rubric("- " + "` `` ``` " * 20_000 + "<!-- x -->" + "<!--`-->" * 20_000)
    assert time.process_time() - started < 60


def test_a_fence_that_stays_open_would_swallow_criteria() -> None:
    with pytest.raises(ValueError, match="the code fence of line 2 is never closed"):
        parse_rubric("- a\n```\n- b\n")


def test_a_heading_that_names_a_file_holds_for_what_is_below_it() -> None:
    found = parse_rubric(
        "- a\n## File: report.md\n- b\n### Numbers\n- c\n"
        "#### file: `data/out 1.csv` ##\n- d\n### Words\n- e\n"
        "## Whole\n- f\n# File:x\n- g\n"
    )
    assert [one.file for one in found] == [
        *(None, "report.md", "report.md", "data/out 1.csv", "report.md", None, "x"),
    ]
    assert found[3].section == "File: report.md / Numbers / file: `data/out 1.csv`"
    assert Rubric(found).files == ("report.md", "data/out 1.csv", "x")


@pytest.mark.parametrize("heading", ["Files: a.md", "A file: a.md", "File a.md", "FILE: a.md", "Profile: a"])
def test_other_headings_name_no_file(heading: str) -> None:
    assert parse_rubric(f"## {heading}\n- a\n")[0].file is None


@pytest.mark.parametrize(("written", "path"), [("./a//b.md", "a/b.md"), ("a b.md", "a b.md"), ("`a`", "a")])
def test_a_file_is_named_as_a_work_directory_lists_it(written: str, path: str) -> None:
    assert parse_rubric(f"## File: {written}\n- a\n")[0].file == path


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("", "it is empty"),
        ("``", "it is empty"),
        ("/workspace/a.md", "it must be relative"),
        ("a/../b.md", "must not lead upwards"),
        ("a\\b.md", "holds a backslash; write a/b.md"),
        ("reports/", "must name a file, not a directory"),
        (".", "must name a file, not a directory"),
    ],
)
def test_a_heading_must_name_a_file_that_can_be_there(written: str, said: str) -> None:
    with pytest.raises(ValueError, match="the heading of line 2") as caught:
        parse_rubric(f"- a\n## File: {written}\n- b\n")
    assert said in str(caught.value)


@pytest.fixture
def rubrics(tmp_path: Path) -> Path:
    (tmp_path / "rubrics").mkdir()
    (tmp_path / "secret.md").write_text("- outside\n")
    return tmp_path


def write(home: Path, data: bytes) -> Path:
    (home / "rubrics" / "r.md").write_bytes(data)
    return home


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf- a\n- b\n", b"- a\r\n- b\r\n", b"- a\n- b"])
def test_byte_order_mark_and_line_ends_do_not_matter(rubrics: Path, data: bytes) -> None:
    rubric = read_rubric(write(rubrics, data), "r.md")
    assert [criterion.text for criterion in rubric.criteria] == ["a", "b"]
    assert rubric.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("- ä".encode("utf-16"), "is no UTF-8 text (byte 0); save it as UTF-8"),
        ("- a".encode("utf-16-le"), "is no text: it holds NUL characters"),
        ("- ä".encode("latin-1"), "is no UTF-8 text (byte 2)"),
        (b"", "holds no criterion: write each as a line that begins with `- `"),
        (b"# Rubric\n\nGood work.\n", "holds no criterion"),
        (b"- a\n~~~\n", "the code fence of line 2 is never closed"),
    ],
)
def test_a_rubric_that_says_nothing_is_a_problem(rubrics: Path, data: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=r"^rubrics/r\.md") as caught:
        read_rubric(write(rubrics, data), "r.md")
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "file", ["../secret.md", "/etc/hostname", "link.md", "absent.md", "", ".", "sub", "a\\b.md"]
)
def test_a_rubric_must_lie_in_its_folder(rubrics: Path, file: str) -> None:
    (rubrics / "rubrics" / "sub").mkdir()
    (rubrics / "rubrics" / "link.md").symlink_to(rubrics / "secret.md")
    with pytest.raises(ValueError, match=r"."):
        read_rubric(rubrics, file)


@pytest.mark.parametrize("heading", ["## More", "## More ##", "##\t More \t## \t", "## More#"])
def test_a_heading_may_be_closed(heading: str) -> None:
    assert parse_rubric(f"{heading}\n- a\n")[0].section == "More"


def test_a_heading_with_a_wide_gap_costs_no_more_than_its_length() -> None:
    started = time.process_time()
    [criterion] = parse_rubric(f"# a{' ' * 500_000}b\n- c\n")
    assert time.process_time() - started < 60
    assert len(criterion.section) == 500_002
