"""Markdown into which nothing can be injected, read the way GitHub reads it."""

from __future__ import annotations

import re
from pathlib import Path

import cmarkgfm
import pytest
from attrs import evolve
from hostile import GITHUB, MARKDOWN, STEERING, hostile_run, payload
from hypothesis import given
from hypothesis import strategies as st
from stored_runs import FAILED, PASSED, UNMEASURED, Left, a_test, a_trial, stored, verdict
from transcripts import calls, replays, result

from skillwalker.outcomes import Reason
from skillwalker.queries import short_name
from skillwalker.reports.markdown import code, markdown
from skillwalker.reports.source import Source

PIECES = st.lists(
    st.sampled_from(["`", "``", " ", "\\", "|", "<b>", "@you", "\n", "a", "https://x.example", "$", "*"])
)


def html(text: str) -> str:
    return str(cmarkgfm.github_flavored_markdown_to_html(text))


def tags(text: str) -> set[str]:
    return set(re.findall(r"<(\w+)", html(text)))


def without_code(text: str) -> str:
    return re.sub(r"<code[^>]*>.*?</code>", "", html(text), flags=re.DOTALL)


@pytest.mark.parametrize(
    "text", [payload(), STEERING, GITHUB, MARKDOWN, "`", "``a`", " a ", "a`", "\\", "|", ""]
)
def test_a_text_in_a_code_span_is_nothing_else(text: str) -> None:
    for frame in ("- before {} after", "## {}", "  - a: {}"):
        line = frame.format(code(text))
        assert tags(line) <= {"ul", "li", "h2", "code"}
        assert "\n" not in line


@given(PIECES)
def test_whatever_the_text_the_span_holds_it_all(pieces: list[str]) -> None:
    text = "".join(pieces)
    shown = without_code(f"- before {code(text)} after")
    if "(empty)" not in shown and "(spaces)" not in shown:
        assert shown == "<ul>\n<li>before  after</li>\n</ul>\n"


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    text = "".join(markdown(Source.of(hostile_run(tmp_path))))

    assert tags(text) <= {"h1", "h2", "p", "ul", "li", "code", "strong", "details", "summary"}
    outside = without_code(text)
    for word in ("octocat", "example.com", "127.0.0.1", "script", "::error", "cell", "owner/repo"):
        assert word not in outside
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())


def test_failures_come_first_with_what_matters(tmp_path: Path) -> None:
    bad = a_trial("bad", 1, verdict(FAILED, "called: none"))
    source = stored(
        tmp_path,
        a_test("good", a_trial("good", 1, verdict(PASSED))),
        a_test("late", a_trial("late", 1, verdict(UNMEASURED), reason=Reason.TIMEOUT)),
        a_test("bad", bad),
        left={bad.id: Left([calls("a", "Bash", command="ls"), result("Done.")])},
    )
    text = "".join(markdown(source))

    assert text.startswith("# Skillwalker: failed\n\n3 tests: 1 passed, 1 failed, 1 unmeasured\n")
    assert text.index("`csv::bad`") < text.index("`csv::late`") < text.index("`csv::good`")
    assert "did: `Bash ls (no result)`" in text
    assert "**timeout**: `late`; raise --timeout" in text


def test_a_summary_never_grows_beyond_what_github_takes(tmp_path: Path) -> None:
    tests = [a_test(f"t{n}", a_trial(f"t{n}", 1, verdict(FAILED, "x" * 2000))) for n in range(20)]
    text = "".join(markdown(stored(tmp_path, *tests, source="rehearsal"), limit=20_000))

    assert len(text.encode()) < 20_000
    assert re.search(r"… \d+ more tests: this is all that there is room for", text)
    assert text.splitlines()[0].startswith("**REHEARSED")
    assert text.splitlines()[-1].startswith("**REHEARSED")


def test_a_failed_test_tells_its_whole_query_and_what_its_rehearsal_is_worth(tmp_path: Path) -> None:
    query = "make a <b>table</b> of all the sales, and then tell @octocat what the best month was"
    trial = a_trial("x", 1, verdict(FAILED))
    test = evolve(a_test(short_name(query), trial), scripted=False)
    text = "".join(
        markdown(stored(tmp_path, test, left={trial.id: Left([replays(query)])}, source="rehearsal"))
    )

    assert f"\n- query: `{query}`\n" in text
    assert "\n- `answered by the simple rule, which only compares words: script this test in " in text


def test_a_command_to_type_names_an_eval_as_code(tmp_path: Path) -> None:
    test = a_test("x", a_trial("x", 1, verdict(FAILED)), eval_name="@octocat")
    call = evolve(test, type="skill-call", scripted=False)
    text = "".join(markdown(stored(tmp_path, call, source="rehearsal")))

    assert "--rehearsal @octocat do it`\n" in text


def test_a_test_with_a_script_gets_no_such_hint(tmp_path: Path) -> None:
    test = evolve(a_test("x", a_trial("x", 1, verdict(FAILED))), scripted=True)
    text = "".join(markdown(stored(tmp_path, test, source="rehearsal")))

    assert "simple rule, which" not in text
    assert "query" not in text
