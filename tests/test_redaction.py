"""Known secrets do not get through, in whatever pieces they come."""

from __future__ import annotations

import base64
import hashlib
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwalker.redaction import RedactedContent, Redactor, secrets_in

SECRET = "sk-ant-api03-Not/a+real=key"
REDACTOR = Redactor((SECRET,))


def test_secrets_are_known_by_the_names_of_variables():
    environment = {
        "ANTHROPIC_API_KEY": "a" * 20,
        "ANTHROPIC_AUTH_TOKEN": "b" * 20,
        "CLAUDE_CODE_OAUTH_TOKEN": "c" * 20,
        "DB_PASSWORD": "d" * 20,
        "KEYBOARD": "e" * 20,
        "MY_TOKEN": "short",
        "HOME": "/root",
    }

    assert set(secrets_in(environment)) == {letter * 20 for letter in "abcd"}


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        "sk-ant-api03-Not%2Fa%2Breal%3Dkey",
        SECRET.lower(),
        json.dumps(SECRET)[1:-1],
    ],
)
def test_a_secret_is_overwritten_and_nothing_else(form):
    found = REDACTOR.data(f"key={form};".encode())

    assert found == b"key=" + b"*" * len(form) + b";"


@pytest.mark.parametrize("before", ["", "x", "xy", "user:"])
@pytest.mark.parametrize("after", ["", "z", "zz"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_hides_no_secret_whatever_stands_around_it(before, after, encode):
    encoded = encode((before + SECRET + after).encode())

    found = REDACTOR.data(encoded)

    assert len(found) == len(encoded)
    assert found.count(b"*") >= len(SECRET) * 4 // 3 - 8
    assert SECRET[3:-3].encode() not in base64.b64decode(found.replace(b"*", b"A"), altchars=b"-_")


@given(st.lists(st.integers(1, 9), min_size=1), st.binary(max_size=20), st.binary(max_size=20))
def test_pieces_make_no_difference(sizes, before, after):
    data = before + SECRET.encode() + after + SECRET.encode()[:5]
    stream, out, at, index = REDACTOR.stream(), b"", 0, 0
    while at < len(data):
        size = sizes[index % len(sizes)]
        out += stream.feed(data[at : at + size])
        at, index = at + size, index + 1
    out += stream.finish()

    assert out == REDACTOR.data(data)
    assert SECRET.encode() not in out


def test_what_cannot_be_a_secret_is_passed_on_at_once():
    stream = REDACTOR.stream()

    assert stream.feed(b'{"type":"result"}\n') == b'{"type":"result"}\n'
    assert stream.feed(b"text sk-an") == b"text "
    assert stream.feed(b"swer") == b"sk-answer"


def test_a_file_is_as_long_as_before_whatever_is_read_of_it_at_a_time():
    content = f"token: {SECRET}\n".encode() * 10_000
    for size in (7, 16_384, -1):
        file = RedactedContent(io.BytesIO(content), REDACTOR)
        read = b""
        while part := file.read(size):
            read += part
        assert read == content.replace(SECRET.encode(), b"*" * len(SECRET))
        assert file.found
        assert file.sha256 == hashlib.sha256(content).hexdigest()


def test_a_file_without_a_secret_is_the_same():
    file = RedactedContent(io.BytesIO(b"sk-answer"), REDACTOR)
    assert (file.read(100), file.found) == (b"sk-answer", False)


@pytest.mark.parametrize("word", ["postgres", "Password1", "changeme", "CHANGEME", "12345678"])
def test_a_word_that_stands_for_none_is_no_secret_whatever_its_name_says(word):
    assert secrets_in({"POSTGRES_PASSWORD": word}) == ()


@pytest.mark.parametrize(
    "value", ["correct-horse", "hunter2hunter2", "supersecret", "Sunshine123", "20261130"]
)
def test_what_may_be_one_is(value):
    assert secrets_in({"POSTGRES_PASSWORD": value}) == (value,)


def test_json_values_are_searched_in_depth():
    assert REDACTOR.value({"a": [f"x {SECRET}", 1, None]}) == {"a": ["x " + "*" * len(SECRET), 1, None]}


def test_a_secret_of_digits_leaves_a_value_that_can_be_written():
    redactor = Redactor(("00000000", "123456789012"))
    value = {
        "cost": 0.1 + 0.2,
        "account": 123456789012,
        "123456789012": ["is 123456789012", True, None, 7],
    }
    assert redactor.value(value) == {
        "cost": 0.1 + 0.2,
        "account": None,
        "*" * 12: ["is " + "*" * 12, True, None, 7],
    }


def test_without_secrets_nothing_is_touched():
    value = {"a": object}

    assert Redactor().value(value) is value
    assert Redactor(("short",)).data(b"short") == b"short"
    assert Redactor().stream().feed(b"all") == b"all"
