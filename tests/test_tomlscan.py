from __future__ import annotations

import tomllib
from typing import Any

import pytest
from fuzzing import fuzzed, in_time
from hypothesis import given
from hypothesis import strategies as st

from skillwalker.jsonscan import join
from skillwalker.tomlscan import lines_of

TEXT = '''\
# title = "no key"
a.b = 1
"c d"."e.f" = [1, [2,
  3]]  # ]
'x' = { y = { z = """
z = 1
""" }, w = 2 }

[t]
k = 1979-05-27T07:32:00.5Z
[t.u]
l = "a = 1 # \\" ["
[[s]]
m = 1
[[s]]
m = [
  # none
  { n = 1 },
  { n = 2 },
]
'''


def test_every_key_and_element_has_its_line() -> None:
    assert lines_of(TEXT) == {
        "a": 2,
        "a.b": 2,
        '["c d"]': 3,
        '["c d"]["e.f"]': 3,
        '["c d"]["e.f"][0]': 3,
        '["c d"]["e.f"][1]': 3,
        '["c d"]["e.f"][1][0]': 3,
        '["c d"]["e.f"][1][1]': 4,
        "x": 5,
        "x.y": 5,
        "x.y.z": 5,
        "x.w": 7,
        "t": 9,
        "t.k": 10,
        "t.u": 11,
        "t.u.l": 12,
        "s": 13,
        "s[0]": 13,
        "s[0].m": 14,
        "s[1]": 15,
        "s[1].m": 16,
        "s[1].m[0]": 18,
        "s[1].m[0].n": 18,
        "s[1].m[1]": 19,
        "s[1].m[1].n": 19,
    }
    assert lines_of(TEXT).keys() == paths(tomllib.loads(TEXT))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_last_line_without_an_end(end: str) -> None:
    assert lines_of(f"a = 1{end}b = ''''x''''") == {"a": 1, "b": 2}


def paths(value: Any, path: str = "") -> set[str]:
    members = value.items() if isinstance(value, dict) else enumerate(value)
    found = set()
    for key, inner in members:
        found.add(join(path, key))
        if isinstance(inner, dict | list):
            found |= paths(inner, join(path, key))
    return found


PIECES = st.sampled_from(
    (
        *(
            "a",
            "b",
            '"c d"',
            "'e.f'",
            '"\\u0041"',
            " ",
            "\n",
            "\r\n",
            "=",
            " = ",
            ".",
            ",",
            "[",
            "]",
            "{",
            "}",
        ),
        *(
            "1",
            "1.5",
            "true",
            "'x'",
            '"""\n"""',
            "'''y'''''",
            '"\\""',
            "# x\n",
            "[a]\n",
            "[[b]]\n",
            "\na = 1\n",
        ),
        *("\nb = [1, 2]\n", "\n'e.f' = { a = 1, b = [ ] }\n", "1979-05-27 07:32:00", "+inf"),
    )
)


@fuzzed(400)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_whatever_tomllib_reads_has_lines(text: str) -> None:
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    with in_time():
        found = lines_of(text)
    assert found.keys() == paths(value)
    assert all(1 <= line <= text.count("\n") + 1 for line in found.values())
