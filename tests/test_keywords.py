"""`-k` means what it means in pytest."""

from __future__ import annotations

import re

import pytest
from _pytest.mark.expression import Expression  # what is compared with has no public name
from hypothesis import given, settings
from hypothesis import strategies as st

from skillwalker.errors import ConfigurationError
from skillwalker.keywords import Keywords

EXAMPLE = """; write such as -k "csv and not 'two words'\""""


@pytest.mark.parametrize(
    ("expression", "name", "matches"),
    [
        ("review", "Code Review: simple", True),
        ("REVIEW", "code review", True),
        ("view", "code review", True),
        ("straße", "STRASSE", True),
        ("other", "code review", False),
        ("not other", "code review", True),
        ("not not review", "code review", True),
        ("code and review", "code review", True),
        ("code and other", "code review", False),
        ("other or review", "code review", True),
        ("code or other and other", "code review", True),
        ("(code or other) and other", "code review", False),
        ("not code or review", "code review", True),
        ("not (code or review)", "code review", False),
        ("not code and other", "code review", False),
        ("((code))", "code review", True),
        ("code\tand\nreview", "code review", True),
        ("/code-review", "Prompt: /code-review", True),
        ("a[1]", "test a[1]", True),
        ("a.b:c+d\\e", "x a.b:c+d\\e", True),
        ("android", "android or not", True),
        ("notable", "notable", True),
        ("AND", "this and that", True),
        ("'code review'", "my Code Review", True),
        ('"it\'s" and not "(x)"', "it's", True),
        ('"and"', "this and that", True),
        ("''", "anything", True),
        ("", "anything", True),
        ("  ", "anything", True),
    ],
)
def test_an_expression_selects(expression: str, name: str, matches: bool) -> None:
    assert Keywords.parse(expression).matches(name) is matches


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("and", "-k and: expected a word, found 'and' (column 1)" + EXAMPLE),
        ("a and", "-k a and: expected a word, found the end (column 6)" + EXAMPLE),
        ("a or or b", "-k a or or b: expected a word, found 'or' (column 6)" + EXAMPLE),
        ("not", "-k not: expected a word, found the end (column 4)" + EXAMPLE),
        ("(a", "-k (a: expected ')', found the end (column 3)" + EXAMPLE),
        ("a)", "-k a): expected 'and' or 'or', found ')' (column 2)" + EXAMPLE),
        ("()", "-k (): expected a word, found ')' (column 2)" + EXAMPLE),
        ("a not b", "-k a not b: expected 'and' or 'or', found 'not' (column 3)" + EXAMPLE),
        (
            "code  review",
            "-k code  review: expected 'and' or 'or', found 'review' (column 7); "
            """write -k "'code review'" to find these words as they stand""",
        ),
        ("a*", "-k a*: expected a word in quotes, found '*' (column 2)" + EXAMPLE),
        ("a & b", "-k a & b: expected a word in quotes, found '&' (column 3)" + EXAMPLE),
        ("'open", "-k 'open: expected a word in quotes, found \"'\" (column 1)" + EXAMPLE),
        ("a\x1b", r"-k a\x1b: expected a word in quotes, found '\x1b' (column 2)" + EXAMPLE),
        ("(" * 50_000 + "a" + ")" * 50_000, "-k " + "(" * 79 + "…: nested too deeply"),
        ("not " * 50_000 + "a", "-k " + ("not " * 20)[:79] + "…: nested too deeply"),
    ],
    ids=range(15),
)
def test_what_is_no_expression_is_explained_with_its_column(expression: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Keywords.parse(expression)
    assert str(caught.value) == message


def test_its_words_are_known() -> None:
    assert Keywords.parse("a and (not 'b c' or d)").words == ("a", "b c", "d")


tokens = st.lists(
    st.sampled_from(["and", "or", "not", "(", ")", "a", "b", "c-1", "not a", "and b"]), max_size=12
)


@settings(deadline=None, max_examples=500)
@given(tokens.map(" ".join), st.sampled_from(["a", "b", "ab", "C-1 x", "x"]))
def test_pytest_reads_expressions_alike(text: str, name: str) -> None:
    # pytest reads a word before "(" as a call, which -k then refuses.
    text = re.sub(r"\b(a|b|c-1) \(", r"\1 and (", text)
    try:
        theirs = Expression.compile(text).evaluate(lambda word, **_: word.lower() in name.lower())
    except SyntaxError:
        with pytest.raises(ConfigurationError):
            Keywords.parse(text)
    else:
        assert Keywords.parse(text).matches(name) is (theirs or not text.strip())
