"""Configurations and variables that nobody would write: each is used or explained."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fuzzing import HOSTILE, JSON, assert_harmless, assert_told, broken, fuzzed, mutated, run_cli
from hypothesis import given
from hypothesis import strategies as st
from roots import an_eval, plugin

from skillwalker.settings import OPTIONS
from skillwalker.sources import variable

GOOD = (Path(__file__).parent / "data" / "configuration" / "valid" / "everything.toml").read_bytes()
VALUE: dict[str, Any] = {
    "run": {
        "jobs": 4,
        "timeout": 60.5,
        "isolated": True,
        "model": "haiku",
        "record": "x",
        "format": "console",
    },
    "sandbox": {"memory_mib": 512, "cpus": 1.5, "env": ["A"], "network": {"allow": ["a.b:1", "[::1]:2"]}},
    "model": {"subscription": True},
    "prices": {
        "claude-x": {"input": 1, "output": 2, "cache_read": 0.1, "cache_write_5m": 1.25, "cache_write_1h": 2}
    },
}


def as_toml(value: Any) -> str:
    """Inline, so that any value can be written anywhere; what TOML does not know is as in JSON."""
    return _JSON_PAIR.sub(r"\1 =", _json(value))


# Outside of texts JSON and inline TOML differ in the sign between a key and its value, and in two words.
_JSON_PAIR = re.compile(r'("(?:[^"\\]|\\.)*"):')


def _json(value: Any) -> str:
    return json.dumps(value).replace("Infinity", "inf").replace("NaN", "nan").replace("\\ud", "?")


def document(value: Any) -> bytes:
    if not isinstance(value, dict):
        return as_toml(value).encode()
    return "".join(f"{_json(str(key))} = {as_toml(inner)}\n" for key, inner in value.items()).encode()


FILES = mutated(VALUE).map(document) | broken(GOOD) | JSON.map(document) | st.binary(max_size=40)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("root")
    plugin(root)
    an_eval(root, [{"name": "first", "expect": [{"result-contains": "done"}]}])
    return root


@contextlib.contextmanager
def file_of(root: Path, name: str, data: bytes) -> Iterator[None]:
    path = root / name
    path.write_bytes(data)
    try:
        yield
    finally:
        path.unlink()


@fuzzed(120)
@given(data=FILES, name=st.sampled_from(("skillwalker.toml", "pyproject.toml")))
def test_no_configuration_is_a_fault_of_ours(root: Path, data: bytes, name: str) -> None:
    if name == "pyproject.toml":
        data = b"[tool.skillwalker]\n" + data
    with file_of(root, name, data):
        called = run_cli("--root", root, "validate", "--format", "json")
        assert_told(called, 0, 4)
        problems = json.loads(called.out)["problems"]
        assert (called.code == 4) == bool(problems)
        lines = data.decode("utf-8", "replace").count("\n") + 1
        for problem in problems:
            assert problem["message"].strip()
            assert problem["file"] == name
            assert problem["line"] is None or 1 <= problem["line"] <= lines
            for key in ("message", "path"):
                assert_harmless(problem[key] or "")
        planned = run_cli("--root", root, "run", "--dry-run")
        assert_told(planned, *((4,) if problems else (0, 4, 5)))


@fuzzed(60)
@given(
    st.dictionaries(
        st.sampled_from([variable(option) for option in OPTIONS if option != "dry_run"]),
        (
            HOSTILE
            | st.sampled_from(("1", "0", "true", "-1", "1e9", "nan", "haiku", "json", "²", "9" * 5000))
        ).map(lambda text: text.replace("\0", "").encode("utf-8", "replace").decode())
        | st.just(os.fsdecode(b"caf\xe9")),
        max_size=4,
    )
)
def test_no_variable_is_a_fault_of_ours(root: Path, variables: dict[str, str]) -> None:
    os.environ.update(variables)
    try:
        assert_told(run_cli("--root", root, "run", "--dry-run"), 0, 4, 5)
        assert_told(run_cli("--root", root, "validate"), 0, 4)
    finally:
        for name in variables:
            del os.environ[name]
