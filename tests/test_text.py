"""What others wrote cannot steer a terminal."""

from __future__ import annotations

import unicodedata

import pytest

from skillwalker.text import count, did_you_mean, has_controls, is_blank, listed, near, safe


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words, ü, 東京, 😀", "plain words, ü, 東京, 😀"),
        ("", ""),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x9b2J", r"\x9b2J"),
        ("a\nb\rc\td\0", r"a\nb\rc\td\x00"),
        ("over\u202eridden\u2066isolated\u2069", r"over\u202eridden\u2066isolated\u2069"),
        ("zero\u200bwidth\ufeff\u00ad", r"zero\u200bwidth\ufeff\xad"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("half \ud83d", r"half \ud83d"),
        ("two\u2028lines\u2029", r"two\u2028lines\u2029"),
        ("no-break\u00a0space", "no-break\u00a0space"),
        ("back\\slash", "back\\slash"),
    ],
)
def test_what_could_steer_a_terminal_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert safe(text) == shown


def test_every_character_of_the_harmful_categories_is_escaped_and_no_other() -> None:
    every = [
        chr(code) for code in (*range(0x20000), *range(0xE0000, 0xE1000))
    ]  # the other planes: ideographs
    harmful = [each for each in every if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    harmless = "".join(set(every) - set(harmful))
    assert safe(harmless) == harmless
    assert len(harmful) > 2_200  # most of them surrogates
    for each in harmful:
        assert safe(each).startswith("\\")
        assert safe(each).isprintable()


def test_the_result_can_always_be_written_as_utf_8() -> None:
    assert safe("".join(map(chr, range(0xD000, 0xE100)))).encode("utf-8")


def test_lines_and_tabs_stay_where_lines_are_wanted() -> None:
    assert safe("a\r\nb\n\tc\rd\x1b", lines=True) == "a\nb\n\tc\\rd\\x1b"


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("12345", 5, "12345"),
        ("123456", 5, "1234…"),
        ("\n\n\n", 5, r"\n\n…"),
        ("", 0, ""),
        ("x", 0, "…"),
        ("x" * 10_000_000, 3, "xx…"),
    ],
)
def test_a_long_text_is_cut_with_a_mark(text: str, limit: int, shown: str) -> None:
    assert safe(text, limit) == shown


@pytest.mark.parametrize(
    ("text", "held"), [("a b", False), ("\u200b", False), ("a\n", True), ("\ud800", True)]
)
def test_controls_are_told_from_what_only_looks_odd(text: str, held: bool) -> None:
    assert has_controls(text) is held


@pytest.mark.parametrize(
    ("text", "blank"),
    [
        ("", True),
        (" \t\r\n\u3000", True),
        ("\u200b\ufeff\u2060\u00ad\u200e", True),
        ("\u3164\u2800\ufe0f\x00\U000e0041", True),
        ("\u200bx", False),
        ("\ufe0f\u2764", False),
        ("\u3042", False),
    ],
)
def test_a_text_is_blank_where_nothing_can_be_seen(text: str, blank: bool) -> None:
    assert is_blank(text) is blank


def test_things_are_counted_in_words() -> None:
    assert [count(number, "test") for number in (0, 1, 2, 1_000)] == [
        "0 tests",
        "1 test",
        "2 tests",
        "1,000 tests",
    ]
    assert count(2, "criterion", "criteria") == "2 criteria"


def test_near_words_come_nearest_first_whatever_their_case() -> None:
    names = ["promptFile", "prompt", "plugins", "PROMPT"]
    assert near("promt", names) == ("prompt", "PROMPT", "promptFile")
    assert near("promt", names, limit=1) == ("prompt",)
    assert near("xyzzy", names) == ()


def test_a_suggestion_is_made_only_where_something_is_near() -> None:
    assert did_you_mean("promt", ["promptFile"]) == " (did you mean promptFile?)"
    assert did_you_mean("a", ["zzz\x1b"]) == ""
    assert did_you_mean("zz\x1b", ["zzz\x1b"]) == r" (did you mean zzz\x1b?)"


def test_a_long_list_says_how_much_it_leaves_out() -> None:
    assert listed(["a", "b\n"]) == r"a, b\n"
    assert listed([str(number) for number in range(7)], limit=3) == "0, 1, 2 and 4 more"
    assert listed([]) == ""


def test_no_text_begins_a_command_of_a_ci():
    assert safe("a ##[add-mask]b") == r"a #\x23[add-mask]b"
    assert safe("###[x]", lines=True) == r"##\x23[x]"
    assert "##[" not in safe("##[" * 9, limit=12)
    assert safe("## [1]") == "## [1]"
