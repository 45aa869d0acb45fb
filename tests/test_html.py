"""The HTML page as text; what a browser makes of it is in `test_browser.py`."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from attrs import evolve
from hostile import hostile_run, payload
from roots import an_eval, plugin
from stored_runs import EARLIER, FAILED, PASSED, UNMEASURED, Left, a_test, a_trial, keep, stored, verdict
from transcripts import answers, calls, init, replays, result, says

from skillwalker.comparison.compare import compare
from skillwalker.expectations.base import Detail
from skillwalker.outcomes import Reason
from skillwalker.queries import short_name
from skillwalker.reports.html import html
from skillwalker.reports.source import Source
from skillwalker.tree import Tree

VOID = {"meta", "input", "br", "link", "img"}


class Page(HTMLParser):
    """What elements and attributes are in a page, and whether all of them are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.links: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action", "style")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page(source: Source, **more: object) -> str:
    return "".join(html(source, **more))  # type: ignore[arg-type]


def part(text: str, name: str) -> str:
    """The part of a page that belongs to one test."""
    (found,) = (
        one for one in re.split(r'(?=<details class="test")', text) if f'data-name="csv::{name}"' in one
    )
    return found


@pytest.fixture
def source(tmp_path: Path) -> Source:
    plugin(tmp_path)
    an_eval(
        tmp_path,
        [{"name": "bad", "scaffold": "start", "expect": [{"result-contains": "done"}]}],
        scaffolds={"start/old.txt": "old\n"},
    )
    start = tmp_path / "evals/csv/scaffolds/start"
    details = (Detail("is short", FAILED, "it is very long"), Detail("is kind", PASSED, "it greets"))
    bad = [
        a_trial("bad", 1, verdict(FAILED, "1 of 2 criteria", "llm-judge", details), notes=("a note",)),
        a_trial("bad", 2, verdict(UNMEASURED), reason=Reason.TIMEOUT),
        a_trial("bad", 3, verdict(PASSED)),
    ]
    events = [
        init(),
        calls("a", "Agent", subagent_type="acme:auditor"),
        says("inside", parent="a"),
        answers("a", "report"),
        result("Final words"),
    ]
    return stored(
        tmp_path,
        a_test("good", a_trial("good", 1, verdict(PASSED, "called"), cost_usd=None, turns=None, usage=None)),
        a_test("bad", *bad, planned=4),
        left={bad[0].id: Left(events, {"old.txt": b"new\n", "made.md": b"# made\n"}, b"some trouble")},
        inputs={"bad": {"scaffold": Tree.of_directory(start, root=start).digest}},
    )


def test_the_page_is_well_formed_and_needs_nothing_else(source: Source) -> None:
    text = page(source)
    found = Page(text)

    assert found.open == []
    assert text.startswith("<!doctype html>")
    assert found.links == []
    assert not re.search(r"https?://", text)
    assert found.tags["script"] == found.tags["style"] == 1


def test_all_changed_files_are_counted_and_a_list_that_was_cut_does_not_say_that_there_are_none(
    tmp_path: Path,
) -> None:
    trials = [a_trial("a", number, verdict(PASSED)) for number in (1, 2, 3)]
    files: list[dict[str, bytes]] = [{f"{number}.txt": b"" for number in range(60)}, {}, {}]
    left = {one.id: Left([result()], kept) for one, kept in zip(trials, files, strict=True)}
    source = stored(tmp_path, a_test("a", *trials), left=left)
    saved = source.folder(trials[2]) / "workspace.tar"
    saved.write_bytes(b"cut")

    assert re.findall(r'<summary>Files <span class="count">([^<]*)<', page(source)) == [
        "60 changed",
        "no change",
        "no change seen",
    ]


def test_the_policy_allows_our_own_style_and_script_only(source: Source) -> None:
    text = page(source)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; ")
    assert "unsafe" not in policy[1]
    for tag in ("style", "script"):
        (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]


def test_failures_come_first_and_are_open(source: Source) -> None:
    text = page(source)

    assert text.index('data-name="csv::bad"') < text.index('data-name="csv::good"')
    assert re.search(r'data-outcome="failed"[^>]* open>', text) or re.search(
        r'data-outcome="unmeasured"[^>]* open>', text
    )
    assert not re.search(r'data-outcome="passed"[^>]* open>', text)


def test_a_trial_shows_everything_that_is_known(source: Source) -> None:
    text = part(page(source), "bad")

    for shown in (
        "1 of 2 criteria",
        "is short",
        "it is very long",
        "it greets",
        "a note",
        "timeout",
        "raise --timeout",
        "1.5 s",
        "0.2500 USD",
        "2,000",
        "Agent acme:auditor",
        "inside",
        "Final words",
        "-old",
        "+new",
        "made.md",
        "some trouble",
        "evals/csv/tests.json:6",
        "1 of 2 measured passed, 2 unmeasured, 3 needed",
        "1 trial not run, or without a result",
    ):
        assert shown in text, shown


def test_numbers_that_nobody_saw_are_not_there(source: Source) -> None:
    text = part(page(source), "good")

    assert "cost" not in text
    assert "turns" not in text
    assert "tokens" not in text
    assert "no transcript" in text


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    text = page(Source.of(hostile_run(tmp_path)))
    found = Page(text)

    assert found.open == []
    assert found.links == []
    assert set(found.tags) <= {
        *(
            "html",
            "head",
            "meta",
            "title",
            "style",
            "body",
            "header",
            "h1",
            "h3",
            "ul",
            "li",
            "b",
            "p",
            "i",
            "dl",
            "dt",
        ),
        *(
            "dd",
            "div",
            "details",
            "summary",
            "section",
            "span",
            "nav",
            "label",
            "input",
            "button",
            "main",
            "ol",
        ),
        *("pre", "script"),
    }
    assert found.tags["script"] == 1
    assert not {name for name in found.attributes if name.startswith("on")}
    assert "style" not in found.attributes
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\u2028\U000e0041]", text
    )
    assert r"\u202egnihtyna" in text


def test_huge_texts_are_cut_with_a_note(tmp_path: Path) -> None:
    text = page(Source.of(hostile_run(tmp_path)))

    assert len(text) < 1_000_000
    assert re.search(r"… 2,99\d,\d+ more characters in events.jsonl", text)
    assert "200,000 bytes, too large to be shown" in text


def test_a_rehearsal_says_so_first_and_last(tmp_path: Path) -> None:
    text = page(stored(tmp_path, a_test("a", a_trial("a", 1, verdict(PASSED))), source="rehearsal"))
    body = text.partition("<body>")[2]

    assert body.strip().startswith('<p class="banner">REHEARSED')
    assert text.count('<p class="banner">REHEARSED') == 2


def test_a_run_that_was_cut_short_says_so(tmp_path: Path) -> None:
    text = page(stored(tmp_path, a_test("never", planned=1), interrupted=True))

    assert "interrupted: what did not finish is unmeasured" in text
    assert ">not run</span>" in text


def test_a_copy_elsewhere_can_be_shown(source: Source, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / "copied"
    copy.parent.mkdir()
    source.directory.path.rename(copy)
    from skillwalker.store import RunDirectory

    text = page(Source.of(RunDirectory(copy)))
    assert "Final words" in text
    assert "the scaffold is not there as it was" in text
    assert "made.md" in text


def test_a_comparison_stands_in_the_page(source: Source, tmp_path: Path) -> None:
    before = Source.of(
        keep(tmp_path, a_test("good", a_trial("good", 1, verdict(FAILED, "<b>called: none"))), run_id=EARLIER)
    )
    text = page(source, comparison=compare(before, source))

    assert f"Compared with {EARLIER}" in text
    assert "skill-call (expectation 1): failed → passed" in text
    assert Page(text).open == []


def test_the_whole_query_stands_below_a_name_that_is_cut(tmp_path: Path) -> None:
    query = "make a <b>table</b> of all the sales, and then tell me what the best month was"
    trial = a_trial("x", 1, verdict(PASSED))
    test = a_test(f"Call: {short_name(query)}", trial)
    text = page(stored(tmp_path, test, left={trial.id: Left([init(), replays(query), says("x")])}))

    (summary,) = re.findall(r"<summary><span class=\"pill passed.*?</summary>", text, re.DOTALL)
    shown = "make a &lt;b&gt;table&lt;/b&gt; of all the sales, and then tell me what the best month was"
    assert f'<span class="query">{shown}</span>' in summary


def test_a_hostile_query_is_a_text(tmp_path: Path) -> None:
    query = f"make a table of all the sales, please \x1b[2J \u202e {payload()} {'x' * 10_000}"
    trial = a_trial("x", 1, verdict(PASSED))
    text = page(stored(tmp_path, a_test(short_name(query), trial), left={trial.id: Left([replays(query)])}))

    assert Page(text).links == []
    assert Page(text).tags["script"] == 1
    assert not any(character in text for character in "\x1b\u202e")
    (shown,) = re.findall(r'<span class="query">(.*?)</span>', text, re.DOTALL)
    assert "more characters" in shown


@pytest.mark.parametrize(
    ("evals", "told"),
    [
        (("csv",), "failed: csv (20261130T101500Z-3f9a1c)"),
        (("a&b", "c"), "failed: a&amp;b, c (20261130T101500Z-3f9a1c)"),
        (("a", "b", "c", "d", "e"), "failed: a, b, c and 2 more (20261130T101500Z-3f9a1c)"),
    ],
)
def test_the_title_names_outcome_and_evals(tmp_path: Path, evals: tuple[str, ...], told: str) -> None:
    tests = [a_test("x", a_trial(f"{n}", 1, verdict(FAILED)), eval_name=name) for n, name in enumerate(evals)]
    text = page(stored(tmp_path, *tests))

    assert f"<title>{told}</title>" in text
    assert re.search(r"<h1>.*failed</span> " + re.escape(told[8:].split(" (")[0]) + " <span", text)


@pytest.mark.parametrize(
    ("scripted", "source", "hinted"),
    [(False, "rehearsal", True), (True, "rehearsal", False), (False, "replay", False)],
)
def test_a_failure_of_the_simple_rule_is_called_so(
    tmp_path: Path, scripted: bool, source: str, hinted: bool
) -> None:
    test = evolve(a_test("x", a_trial("x", 1, verdict(FAILED))), scripted=scripted)
    text = page(stored(tmp_path, test, source=source))
    assert ("script this test in rehearsal.json" in text) is hinted
