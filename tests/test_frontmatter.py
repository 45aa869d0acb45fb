"""Each style of frontmatter is a file; beside it stands what Claude Code 2.1.332 listed for it, if it did."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugin_files import STYLES, file

from skillwalker.frontmatter import is_true, read_frontmatter, text_of
from skillwalker.listing import SHOWN_CHARACTERS, agent_description, shown, shown_description


@pytest.mark.parametrize("path", sorted(STYLES.glob("*.md")), ids=lambda path: path.stem)
def test_a_skill_is_shown_as_claude_code_shows_it(path: Path) -> None:
    front = read_frontmatter(path.read_bytes())
    expected = path.with_suffix(".expected").read_text("utf-8").removesuffix("\n")
    assert shown_description(front) == (expected or None)


@pytest.mark.parametrize(
    ("data", "problem", "line"),
    [
        (b"", "the file is empty", 1),
        (b"\n---\nname: x\n---\n", "does not begin with a line `---`", 1),
        (b"---\nname: x\n", "no closing `---`", 1),
        (b"\xff\xfe-\0", "UTF-16", None),
        (b"---\nname: \0\n---\n", "NUL", 2),
        (b'---\nname: x\ndescription: "a" b\n---\n', "not valid YAML: ", 3),
        (
            b"---\nname: x\ndescription: 'a\nb'\n---\n",
            "not valid YAML: quoted text goes on in a line that is not indented",
            4,
        ),
        (b"---\n- a\n---\n", "no list of `name: value` lines", None),
        (b"---\nname: x\nit is\ntools: y\n---\n", "a line without `name:`", 3),
        (b"---\nname: x\n  tools: y\n---\n", "a second `name:` in a value", 3),
        (
            b"---\nname: x\n<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> b\n---\n",
            "a merge conflict was left in it",
            3,
        ),
        (b"---\nname: x\na: >\n\ttext\n---\n", "a tab is no indentation", 4),
        (b"---\nname: x\na: 'b\n---\n", "a quote that is opened here is not closed", 3),
    ],
)
def test_a_problem_says_why_claude_code_sees_nothing(data: bytes, problem: str, line: int | None) -> None:
    front = read_frontmatter(data)
    assert front.fields == {}
    assert front.problem is not None
    assert problem in front.problem
    assert front.line == line


def test_an_empty_frontmatter_is_no_problem() -> None:
    assert read_frontmatter(b"---\n\n---\nBody") == read_frontmatter(b"---\n# nothing\n---\nBody")
    assert read_frontmatter(b"---\n---\nBody").problem is None


def test_broken_yaml_is_repaired_and_says_so() -> None:
    front = read_frontmatter(file("Cleans: up", "tidy").encode())
    assert front.repaired
    assert front.fields == {"name": "tidy", "description": "Cleans: up"}
    assert not read_frontmatter(file("Cleans up").encode()).repaired


def test_the_body_is_what_follows_the_fence() -> None:
    assert read_frontmatter(b"---\nname: x\n---\n\n# Title\n").body == "# Title\n"
    assert read_frontmatter(b'---\nname: "\n---\n# Title\n').body == "# Title\n"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("yes", "yes"),
        ("on", "on"),
        ("TRUE", True),
        ("~", None),
        ("012", 12.0),
        ("0o14", 12.0),
        ("0x1F", 31.0),
        ("0b11", "0b11"),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("2026-11-30", "2026-11-30"),
        (".5", 0.5),
        ("-.inf", -math.inf),
        ("'12'", "12"),
        ("[a, 1, [b]]", ["a", 1.0, ["b"]]),
        ("{a: {b: c}}", {"a": {"b": "c"}}),
        ("&a [*a]", [None]),
    ],
)
def test_values_are_those_of_yaml_1_2(written: str, value: object) -> None:
    assert read_frontmatter(f"---\nkey: {written}\n---\n".encode()).fields == {"key": value}


def test_an_alias_is_the_value_it_names() -> None:
    fields = read_frontmatter(b"---\na: &x [1, 2]\nb: *x\n---\n").fields
    assert fields["b"] == fields["a"] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "true"),
        (1.0, "1"),
        (1.5, "1.5"),
        (-0.0, "0"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (12345678901234567890.0, "12345678901234567000"),
        (0.000001, "0.000001"),
        (1e-7, "1e-7"),
        (1.5e300, "1.5e+300"),
        (math.inf, "Infinity"),
        (math.nan, "NaN"),
        (["a", None, ["b", 1.0]], "a,,b,1"),
        ({"a": 1}, "[object Object]"),
    ],
)
def test_values_become_text_as_in_javascript(value: object, text: str) -> None:
    assert text_of(value) == text


def test_switches_are_on_in_many_words() -> None:
    assert all(map(is_true, (True, "true", " TRUE ", "yes", "on", "1", 1.0)))
    assert not any(map(is_true, (False, None, "y", "enabled", 0.0, 2.0, ["true"], {}, "")))


@given(st.binary(max_size=200))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    front = read_frontmatter(data)
    assert (front.problem is None) or front.fields == {}


@given(st.text(alphabet="-:#'\"[]{}&*!|>%@`\\ \n\tab\r\u2028\x01", max_size=60))
def test_no_yaml_makes_it_raise(block: str) -> None:
    shown_description(read_frontmatter(f"---\ndescription: {block}\n---\n".encode()))


def test_a_long_description_is_cut_after_markup_is_escaped() -> None:
    text = shown("<" * 1000)
    assert len(text) == SHOWN_CHARACTERS
    assert text.endswith("&lt;&lt;&lt…")
    assert shown("x" * SHOWN_CHARACTERS) == "x" * SHOWN_CHARACTERS


def test_runs_of_invisible_characters_become_one_space() -> None:
    assert shown("a\n\n\u200b\tb") == "a b"
    assert shown("a \n b") == "a   b"
    assert shown("a\ufe0fb \U0001f44d\ufe0f 1\ufe0f\u20e3") == "a b \U0001f44d\ufe0f 1\ufe0f\u20e3"
    assert shown("red\x1b[31m here\x1b[0m") == "red here"


def test_an_agent_is_shown_as_written() -> None:
    front = read_frontmatter(b"---\ndescription: |\n  <b>One</b>\n\n  Two\nwhen_to_use: Never\n---\n")
    assert agent_description(front) == "<b>One</b>\n\nTwo"
    assert agent_description(read_frontmatter(b"---\nwhen_to_use: Often\n---\n")) == "Often"
    assert agent_description(read_frontmatter(b"---\ndescription: [a]\n---\n")) is None


def test_aliases_that_stand_for_more_than_memory_holds_are_refused() -> None:
    lines = ["a: &a [x, x, x]"] + [f"k{n}: &k{n} [*{last}, *{last}, *{last}]" for n, last in
             enumerate(["a"] + [f"k{n}" for n in range(20)])]  # fmt: skip
    front = read_frontmatter("\n".join(["---", *lines, "name: *k20", "---"]).encode())
    assert front.fields == {}
    assert front.problem is not None
    assert "aliases" in front.problem


def test_an_alias_may_be_used_often() -> None:
    front = read_frontmatter(b"---\na: &a [x, y]\nb: [*a, *a]\n---\n")
    assert front.fields["b"] == [["x", "y"], ["x", "y"]]


@pytest.mark.parametrize(
    "data",
    [" " * 200_000 + "x", "---" + "\n" * 200_000 + "x", "---\na: {\nb:" + " " * 200_000 + "x\ry\n---\n"],
    ids=["spaces", "line ends", "a broken pair"],
)
def test_a_long_run_of_white_space_costs_no_more_than_its_length(data: str) -> None:
    started = time.process_time()
    read_frontmatter(data.encode())
    assert time.process_time() - started < 60
