"""What the fuzz tests share: profiles, broken inputs, and what must hold of every answer to them.

`make fuzz` (HYPOTHESIS_PROFILE=nightly) tries 20,000 examples a test, or as many as
`FUZZ_EXAMPLES` says; the profile for every day tries the same few dozen each time.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import io
import json
import os
import re
import signal
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer
from attrs import frozen
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from skillwalker.cli import main

# Drawing and shrinking may take long; how long an answer may take is the business of `in_time`.
_COMMON = settings(settings.get_profile("default"), deadline=None, suppress_health_check=list(HealthCheck))
# Not registered with hypothesis: what `conftest.py` registers is for all other tests.
_PROFILES = {
    "ci": settings(_COMMON, derandomize=True, database=None),
    "nightly": settings(_COMMON, max_examples=int(os.environ.get("FUZZ_EXAMPLES", "20000"))),
}
_PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")

_COMMAND = typer.main.get_command(main.app)

LIMIT_SECONDS = 100
"""For one example, on a busy machine; the slowest takes a tenth of a second on an idle one."""


def fuzzed(examples: int) -> settings:
    """Settings of a fuzz test: so many examples every day, all of the profile's at night."""
    profile = _PROFILES[_PROFILE]
    return settings(profile, max_examples=examples) if _PROFILE == "ci" else profile


# --- broken inputs

HOSTILE = st.sampled_from(
    (
        "",
        " ",
        "\x1b[31mred\x1b]0;title\x07",
        "\x9b2J",
        "\u202egnihtyna",
        "\u2028",
        "\x00",
        "a\nb",
        "\rgone",
        "\ud800",
        "../../etc/passwd",
        "/",
        ".",
        "C:\\x",
        "a" * 300,
        "x/" * 3000,
        "\U0001f600e\u0301",
        "%s{0}[bold]",
        "acme:tidy",
        "__proto__",
        " " * 3000 + "x",
    )
) | st.text(max_size=12)

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from((0, -1, 10**400, 1e308, float("inf"), float("nan"), 0.5))
    | HOSTILE
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(HOSTILE, inner, max_size=3),
    max_leaves=6,
) | st.sampled_from((100, 400, 900)).map(lambda depth: _nested(depth))


def _nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def _members(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (holder, key) in a JSON value."""
    pending = [value]
    while pending:
        holder = pending.pop()
        inner: Sequence[tuple[Any, Any]] = ()
        if isinstance(holder, dict):
            inner = list(holder.items())
        elif isinstance(holder, list):
            inner = list(enumerate(holder))
        for key, member in inner:
            yield holder, key
            pending.append(member)


class Blob(bytes):
    """Bytes that a failing test shows in few characters; `Blob.of` makes them again."""

    def __repr__(self) -> str:
        plain = super().__repr__()
        return plain if len(plain) < 1000 else f"Blob.of({base64.b85encode(zlib.compress(self, 9))!r})"

    @classmethod
    def of(cls, shown: bytes) -> Blob:
        return cls(zlib.decompress(base64.b85decode(shown)))


@st.composite
def mutated(draw: st.DrawFn, value: Any, most: int = 3) -> Any:
    """A JSON value like `value`, some members replaced, renamed, left out, added or wrapped."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, most))):
        members = list(_members(value))
        if not members:
            return draw(JSON)
        holder, key = members[draw(st.integers(0, len(members) - 1))]
        how = draw(st.sampled_from(("replace", "text", "delete", "rename", "add", "wrap", "twice")))
        if how == "text" and isinstance(holder[key], str):
            text = holder[key]
            place = draw(st.integers(0, len(text)))
            holder[key] = text[:place] + draw(HOSTILE) + text[place:]
        elif how == "delete":
            del holder[key]
        elif how == "rename" and isinstance(holder, dict):
            holder[draw(HOSTILE | st.just(f"{key}s") | st.just(key[1:]))] = holder.pop(key)
        elif how == "add" and isinstance(holder, dict):
            holder[draw(HOSTILE)] = draw(JSON)
        elif how == "wrap":
            holder[key] = draw(st.sampled_from(([holder[key]], {"x": holder[key]})))
        elif how == "twice" and isinstance(holder, list):
            holder.append(holder[key])
        else:
            holder[key] = draw(JSON)
    return value


@st.composite
def written(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> bytes:
    """JSON values as files, in whatever style."""
    text = json.dumps(draw(values), ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from((1, None))))
    return Blob(text.encode("utf-8", "surrogatepass"))


@st.composite
def broken(draw: st.DrawFn, data: bytes, most: int = 4) -> bytes:
    """`data` with pieces left out, put in, doubled, or its end cut off."""
    for _ in range(draw(st.integers(1, most))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        match draw(st.sampled_from(("cut", "leave out", "put in", "double"))):
            case "cut":
                data = data[:start]
            case "leave out":
                data = data[:start] + data[end:]
            case "put in":
                data = data[:start] + draw(_PIECES) + data[start:]
            case "double":
                data = data[:end] + data[start:end] * draw(st.sampled_from((1, 2, 500))) + data[end:]
    return Blob(data)


_SIGNS = (
    '"',
    "\\",
    "{",
    "]",
    ",",
    ":",
    "\n",
    "\r",
    "---",
    "\ufeff",
    "\0",
    "\x1b[1m",
    " ",
    "#",
    "`",
    "<!--",
    "-->",
)
_PIECES = (
    st.binary(max_size=8)
    | st.sampled_from([sign.encode() for sign in _SIGNS] + [b"\xed\xa0\x80"])
    | st.sampled_from([sign.encode() * 2000 for sign in _SIGNS if sign.isascii()])
)


def json_files(value: Any) -> st.SearchStrategy[bytes]:
    """Files that were meant to be like `value`."""
    whole = json.dumps(value, indent=1).encode()
    return written(mutated(value)) | broken(whole) | written(JSON) | st.binary(max_size=40)


# --- what must hold


class _TooLate(BaseException):
    """Not an Exception, so that no handler in between takes it."""


@contextlib.contextmanager
def in_time(seconds: float = LIMIT_SECONDS) -> Iterator[None]:
    """Fails where the block does not end; says where it hung."""

    def late(*_: Any) -> None:
        raise _TooLate

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _TooLate as error:
        raise AssertionError(f"not done after {seconds} s") from error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@frozen
class Called:
    """What one call of the command line did."""

    code: int
    out: str
    err: str


@contextlib.contextmanager
def _built() -> Iterator[None]:
    """The command line as typer makes it for each call anew, which is nine tenths of a call's time."""
    before = main.app
    main.app = _COMMAND  # type: ignore[assignment]  # called in the same way
    try:
        yield
    finally:
        main.app = before


def run_cli(*arguments: str | Path) -> Called:
    """Calls the command line in this process, its streams as strict as a terminal's."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    with in_time(), _built(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main.exit_code([str(argument) for argument in arguments])
    texts = []
    for stream in (out, err):
        stream.seek(0)
        texts.append(stream.read())
    return Called(code, *texts)


def assert_told(called: Called, *codes: int) -> None:
    """It ended in a documented way, and what it printed cannot steer a terminal."""
    assert called.code in codes, called.err
    assert "Traceback" not in called.err
    assert called.code == 0 or called.out + called.err
    assert_harmless(called.out + called.err, lines=True)


def assert_harmless(text: str, *, lines: bool = False) -> None:
    """No control, format or surrogate character; line breaks and tabs only where `lines` says so."""
    bad = {
        character
        for character in set(text) - (set("\n\t") if lines else set())
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    }
    assert not bad, (bad, text)


def assert_placed(problems: Sequence[dict[str, Any]], root: Path) -> None:
    """Every problem has words, and whatever place it names is there."""
    assert problems
    for problem in problems:
        assert problem["message"].strip()
        for key in ("message", "file", "path"):
            assert_harmless(problem[key] or "")
        file = root / (problem["file"] or "")
        assert file.exists(), problem
        if problem["line"] is not None:
            lines = re.split(r"\r\n|\r|\n", file.read_bytes().decode("utf-8", "replace"))
            assert 1 <= problem["line"] <= len(lines), problem
            if problem["path"] is not None:
                _assert_there(problem, file, lines)


_STEP = re.compile(r'\[(?P<index>\d+)\]|\.?(?P<key>[^.\[\]"]+)')


def _assert_there(problem: dict[str, Any], file: Path, lines: Sequence[str]) -> None:
    """The path leads to something, or is missing from something that is there; its key stands in the line."""
    path = problem["path"]
    try:
        value = json.loads(file.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return  # json cannot say where things are; the line has been checked
    if "duplicate key" in problem["message"] or '["' in path or path == "$":
        return
    steps = [int(step["index"]) if step["index"] else step["key"] for step in _STEP.finditer(path)]
    for position, step in enumerate(steps):
        there = (isinstance(value, dict) and step in value) or (
            isinstance(value, list) and isinstance(step, int) and step < len(value)
        )
        if not there:
            assert position == len(steps) - 1, (problem, "leads nowhere")
            return
        value = value[step]
    if isinstance(steps[-1], str):
        assert f'"{steps[-1]}"' in lines[problem["line"] - 1], problem
