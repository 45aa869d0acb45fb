"""Arguments that no command understands: each is wrong usage or selects nothing, and says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fuzzing import HOSTILE, assert_told, fuzzed, run_cli
from hypothesis import given
from hypothesis import strategies as st
from roots import an_eval, plugin
from test_fuzz_runs import RUN_ID, stored

SAYS = {"result-contains": "done"}
# What a system can pass: bytes without NUL, those that are no UTF-8 as surrogates.
WORDS = (
    HOSTILE | st.sampled_from(("csv", "csv::first", "*", "[", "first and (", "not", "last~9", RUN_ID[:9]))
).map(lambda word: word.replace("\0", "").encode("utf-8", "replace").decode()) | st.sampled_from(
    (os.fsdecode(b"caf\xe9"), os.fsdecode(b"\xff" * 300))
)
COMMANDS = st.sampled_from(
    (
        ("validate", "{}"),
        ("validate", "csv::{}"),
        ("validate", "./{}"),
        ("validate", "-k", "{}"),
        ("validate", "--format={}"),
        ("list", "{}"),
        ("show", "{}"),
        ("show", "last", "{}"),
        ("show", "./{}"),
        ("expectations", "show", "{}"),
        ("{}",),
    )
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("root")
    plugin(root)
    an_eval(root, [{"name": "first", "expect": [SAYS]}])
    stored(root)
    return root


@fuzzed(40)
@given(command=COMMANDS, word=WORDS)
def test_no_argument_is_a_fault_of_ours(root: Path, command: tuple[str, ...], word: str) -> None:
    arguments = [part.replace("{}", word) for part in command]
    assert_told(run_cli("--root", root, *arguments), 0, 4, 5)


@fuzzed(15)
@given(WORDS)
def test_no_root_is_a_fault_of_ours(word: str) -> None:
    assert_told(run_cli("--root", f"/nowhere/{word}", "validate"), 4, 5)
