"""JSON is read strictly, and a problem is found again in the text."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillwalker.errors import ConfigurationError
from skillwalker.jsonfile import child, decode, load, locate, parse
from skillwalker.jsonscan import NotJsonError, scan


def refused(text: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        parse(text)
    return str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_utf_8_is_read_with_and_without_a_mark(encoding: str) -> None:
    assert decode("grüßt\r\n😀".encode(encoding)) == "grüßt\r\n😀"


def test_only_the_first_mark_is_one() -> None:
    assert decode(b"\xef\xbb\xbf\xef\xbb\xbfx") == "\ufeffx"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_wide_encodings_are_named(encoding: str) -> None:
    with pytest.raises(ConfigurationError, match=r"UTF-(16|32).*; save it as UTF-8"):
        decode('{"plugins": []}'.encode(encoding))


@pytest.mark.parametrize("data", [b"a\nb\n\xe9t\xe9", b"a\nb\n\xed\xa0\x80", b"a\nb\n\xc0\xaf"])
def test_other_bytes_are_named_with_their_line(data: bytes) -> None:
    with pytest.raises(ConfigurationError) as caught:
        decode(data)
    [problem] = caught.value.problems
    assert problem.line == 3
    assert problem.message == f"is not UTF-8: byte 0x{data[4]:02x} in line 3; save it as UTF-8"


def test_a_text_may_hold_some_nul_bytes() -> None:
    assert decode(b"print \0 please") == "print \0 please"


def test_a_file_is_loaded_with_its_text(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(b'\xef\xbb\xbf{"a": [1, 2.5, null]}\r\n')
    document = load(file)
    assert (document.value, document.text, document.problems) == (
        {"a": [1, 2.5, None]},
        '{"a": [1, 2.5, null]}\r\n',
        (),
    )


def test_what_readers_disagree_on_is_a_problem_and_the_rest_is_read() -> None:
    document = parse('{"a": 1,\n"b": {"c": [NaN, {"d": "\\udc00"}]},\n"a": 2, "\\ud800": -1e999}')
    assert [str(problem) for problem in document.problems] == [
        "2: b.c[0]: NaN is no JSON number",
        "2: b.c[1].d: half a surrogate pair, which is no character",
        "3: a: duplicate key a (first in line 1)",
        '3: ["\\ud800"]: half a surrogate pair, which is no character',
        '3: ["\\ud800"]: the number -1e999 is out of range',
    ]
    assert document.value["a"] == 2


def test_a_pair_of_surrogates_is_a_character() -> None:
    document = parse('["\\ud83d\\ude00", "\\\\ud800"]')
    assert (document.value, document.problems) == (["😀", "\\ud800"], ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1: is empty"),
        (" \n ", "1: is empty"),
        ("{", "1: is not JSON: it ends too early: the { in line 1 is not closed"),
        ('{"a"', "1: is not JSON: it ends too early: the { in line 1 is not closed"),
        ('[\n{"a":\n', "3: is not JSON: it ends too early: the { in line 2 is not closed"),
        ("[1,\n]", "2: is not JSON: a comma too many before ]"),
        ("[,]", "1: is not JSON: expected a value, found ,"),
        ("[1 2]", "1: is not JSON: expected a comma or ], found 2"),
        ('{"a": 1 "b": 2}', '1: is not JSON: a comma is missing before "b"'),
        ("[nul]", "1: is not JSON: unknown word nul (did you mean null?)"),
        ("[+1]", "1: is not JSON: +1 is no JSON number"),
        ("[0x10]", "1: is not JSON: 0x10 is no JSON number"),
        ("[1.]", "1: is not JSON: 1. is no JSON number"),
        ("[-]", "1: is not JSON: - is no JSON number"),
        ('["\\x41"]', r"1: is not JSON: unknown escape \x in a string; a backslash is written \\"),
        ('["\\u12"]', r"1: is not JSON: unknown escape \u in a string; a backslash is written \\"),
        ('["a\x1b"]', r"1: is not JSON: a control character in a string; write it as \x1b"),
        ("\ufeff{}", r"1: is not JSON: expected a value, found \ufeff"),
        ("[1] [2]", "1: is not JSON: it has more after its end: ["),
        ("]", "1: is not JSON: expected a value, found ]"),
        ("[1}", "1: is not JSON: expected a comma or ], found }"),
        ("[\u202e]", r"1: is not JSON: expected a value, found \u202e"),
        ("[" * 100_000, "1: is not JSON: it is nested more than 200 levels deep"),
        ('{"a":\n' * 100_000, "201: is not JSON: it is nested more than 200 levels deep"),
        (f"[{'1' * 5000}]", "1: [0]: a number of more than 4300 digits"),
    ],
)
def test_what_is_not_json_is_explained(text: str, message: str) -> None:
    assert refused(text) == message


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("$", 1),
        ("a", 2),
        ("a.b", 3),
        ("a.b[0]", 4),
        ("a.b[1].c-d", 5),
        ('a.b[1]["e.f"]', 6),
        ('a.b[1]["é \\"q\\""]', 7),
        ("a.b[1].absent.x[3]", 5),
        ("a.b[9]", 3),
        ("zzz", 1),
        ("esc", 9),
    ],
)
def test_a_path_leads_to_its_line_or_the_nearest_above(path: str, line: int) -> None:
    text = (
        '{\r\n"a": {\r\n"b": [\r\n1,\r\n{"c-d": "}],{",\r\n"e.f": 1,\r\n"é \\"q\\"": {}}\r\n'
        ']},\r\n"\\u0065sc": "\\"\\\\"\r\n}'
    )
    assert locate(text, path) == line


def test_a_path_into_a_text_that_is_no_json_has_no_line() -> None:
    assert locate("{", "a") is None


@pytest.mark.parametrize(
    "key", ["a", "a-b", "$x", "", "a.b", "[0]", 'q"', "ключ", "a\nb", "1", "\u202e", "\ud800", "😀"]
)
def test_every_key_is_found_again_by_its_path(key: str) -> None:
    text = json.dumps({"other": 1, "list": [0, {key: {key: 1}}]}, indent=1)
    lines = text.split("\n")
    at = next(number for number, line in enumerate(lines, 1) if line.startswith("    "))
    assert locate(text, child("list", 1, key, key)) == at


def test_paths_read_as_authors_write_them() -> None:
    assert (
        child("tests", 0, "expect", 1, "llm-judge", "threshold") == "tests[0].expect[1].llm-judge.threshold"
    )
    assert child("", "plugins") == "plugins"
    assert child("a", "x.y") == 'a["x.y"]'


def test_a_big_file_is_placed_quickly() -> None:
    tests = [
        {"name": f"test {number}", "expect": [{"result-contains": "x" * 100}] * 3} for number in range(5_000)
    ]
    text = json.dumps({"tests": tests}, indent=1)
    started = time.process_time()
    assert locate(text, "tests[4999].expect[2].result-contains") == text.count("\n") - 4
    for number in range(200):
        locate(text, f"tests[{number}].name")
    assert time.process_time() - started < 60  # well under a second; a scan for each path would take minutes


def read_by_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def read_by_scan(text: str) -> bool:
    try:
        scan(text)
    except NotJsonError:
        return False
    return True


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@settings(deadline=None)
@given(
    json_values,
    st.booleans(),
    st.sampled_from([None, 1]),
    st.randoms(use_true_random=False),
    st.integers(0, 3),
)
def test_the_scanner_and_json_agree_on_what_is_json(
    value: object, ascii_only: bool, indent: int | None, chance: random.Random, edits: int
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    for _ in range(edits):
        at = chance.randrange(len(text) + 1)
        text = (
            text[:at]
            + chance.choice(list('{}[]",:\\/u0123eE+-.nNtrue \n\t\x00'))
            + text[at + chance.randrange(2) :]
        )
    assert read_by_scan(text) == read_by_json(text)


@settings(deadline=None)
@given(st.text(alphabet='{}[]",:\\u01-.eEntrfalsNI \n', max_size=30))
def test_they_agree_on_soup_too(text: str) -> None:
    assert read_by_scan(text) == read_by_json(text)
